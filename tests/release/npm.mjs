#!/usr/bin/env node
// npm.mjs - the packages for npm: installed by npm from a registry of this test's own, and used through the client. A TAP program.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const OUT = process.env.CONFINE_RELEASE;
const OURS = `confine-linux-${process.arch}`, OTHER = process.arch === 'x64' ? 'arm64' : 'x64';

function skipAll(why) {
  console.log(`1..0 # SKIP ${why}`);
  process.exit(0);
}
if (!OUT) skipAll('CONFINE_RELEASE names no release');

// Not below /tmp, which is private where the command is; and not where this user's own packages are found.
const dir = fs.mkdtempSync('/var/tmp/confine-npm.');
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(143));

/** A program's end: its status and everything that it wrote. */
function call(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => { text += piece; });
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, text }));
  });
}

/** name -> { version, file, json } of every package that was made. */
async function packages() {
  const found = {};
  for (const file of fs.readdirSync(OUT).filter((name) => name.endsWith('.tgz'))) {
    const { text } = await call('tar', ['-xOf', path.join(OUT, file), 'package/package.json']);
    const json = JSON.parse(text);
    found[json.name] = { file, json, version: json.version };
  }
  return found;
}

/** What npm asks of a registry: a package's description, and the package. */
function serve(all) {
  return new Promise((resolve) => {
    const server = http.createServer((request, response) => {
      const name = request.url.slice(1);
      const file = Object.values(all).find((one) => name === one.file);
      if (file) return response.end(fs.readFileSync(path.join(OUT, file.file)));
      const one = all[decodeURIComponent(name)];
      if (!one) return response.writeHead(404).end('{}');
      const integrity = `sha512-${createHash('sha512').update(fs.readFileSync(path.join(OUT, one.file))).digest('base64')}`;
      const version = { ...one.json, dist: { integrity, tarball: `http://127.0.0.1:${server.address().port}/${one.file}` } };
      return response.end(JSON.stringify({ name: one.json.name, 'dist-tags': { latest: one.version }, versions: { [one.version]: version } }));
    });
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

let registry;
/** A directory with the client installed into it. */
async function install(name, ...args) {
  const place = path.join(dir, name);
  fs.mkdirSync(place);
  fs.writeFileSync(path.join(place, 'package.json'), '{"name": "user", "version": "1.0.0", "type": "module"}');
  const { status, text } = await call('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', `--registry=${registry}`, ...args], {
    cwd: place, env: { PATH: process.env.PATH, HOME: path.join(dir, 'home'), npm_config_cache: path.join(dir, 'cache'), npm_config_update_notifier: 'false' },
  });
  if (status !== 0) throw new Error(`npm install ended with ${status}: ${text}`);
  return place;
}
const installed = (place) => fs.readdirSync(path.join(place, 'node_modules')).filter((name) => name.startsWith('confine')).sort().join(' ');

/** The user's program, in a process of its own: an object, or the error that it met. */
async function use(place, text, environment = {}) {
  fs.writeFileSync(path.join(place, 'use.mjs'), `import * as confine from 'confine';
try { console.log(JSON.stringify(await (async () => { ${text} })())); } catch (error) { console.log(JSON.stringify({ code: error.code, reason: error.reason, message: error.message })); }`);
  const { text: out } = await call(process.execPath, ['use.mjs'], { cwd: place, env: { ...process.env, HOME: path.join(dir, 'home'), ...environment } });
  try {
    return JSON.parse(out);
  } catch {
    throw new Error(out);
  }
}

function assert(condition, why) {
  if (!condition) throw new Error(typeof why === 'string' ? why : JSON.stringify(why));
}

let count = 0, failed = 0;
async function point(name, work, skip) {
  count++;
  if (skip) return console.log(`ok ${count} - ${name} # SKIP ${skip}`);
  try {
    await work();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${count} - ${name}\n# ${String(error.stack).slice(0, 2000).replace(/\n/g, '\n# ')}`);
  }
}

const all = await packages();
const server = await serve(all);
registry = `http://127.0.0.1:${server.address().port}`;
fs.mkdirSync(path.join(dir, 'home'));
fs.mkdirSync(path.join(dir, 'work'));
const work = path.join(dir, 'work');
const { PLACES } = await import(new URL('../../bindings/node/index.js', import.meta.url));
const elsewhere = PLACES.find((place) => fs.existsSync(place));
const hidden = elsewhere && `${elsewhere} is installed here, and comes first`;

await point('three packages, of which none runs anything when it is installed', () => {
  assert(Object.keys(all).sort().join(' ') === 'confine confine-linux-arm64 confine-linux-x64', Object.keys(all));
  for (const { json } of Object.values(all)) assert(!json.scripts && !json.gypfile, json);
});
let place;
await point('npm installs the client, and of the programs this machine\'s alone', async () => {
  place = await install('ours', 'confine');
  assert(installed(place) === `confine ${OURS}`, installed(place));
});
const binary = path.join(place, 'node_modules', OURS, 'bin/confine');
await point('what is a program can be executed, and nobody else can write it', () => {
  for (const folder of ['bin', 'libexec/confine']) {
    for (const name of fs.readdirSync(path.join(place, 'node_modules', OURS, folder))) {
      const { mode } = fs.statSync(path.join(place, 'node_modules', OURS, folder, name));
      assert((mode & 0o777) === 0o755, `${name}: ${mode.toString(8)}`);
    }
  }
});
await point('the client finds it', async () => {
  const found = await use(place, 'return confine.findProgram();');
  assert(found === binary, found);
}, hidden);
await point('a confined command: the workspace is written, the directory above is not', async () => {
  const seen = await use(place, `const result = await confine.run(['sh', '-c', 'echo x >made; echo x >../made'], { workspace: ${JSON.stringify(work)}, directory: ${JSON.stringify(work)}, program: ${hidden ? JSON.stringify(binary) : 'undefined'}, backend: process.env.BACKEND });
    return { status: result.status, write: result.report.surfaces.find(({ id }) => id === 'fs.write').state, error: result.report.error };`,
    { BACKEND: process.getuid() === 0 ? 'namespace' : 'auto' });
  assert(seen.status !== 0 && seen.status !== 125 && seen.write === 'enforced' && !seen.error, seen);
  assert(fs.existsSync(path.join(work, 'made')) && !fs.existsSync(path.join(dir, 'made')), 'from outside it looks otherwise');
});
await point('npx confine', async () => {
  const { status, text } = await call('npx', ['--no-install', 'confine', '--version'], { cwd: place, env: { ...process.env, HOME: path.join(dir, 'home') } });
  assert(status === 0 && text.includes(all.confine.version), text);
});
await point('where the command may write what is installed, nothing runs', async () => {
  const seen = await use(place, `const result = await confine.run(['touch', 'ran'], { workspace: ${JSON.stringify(place)}, directory: ${JSON.stringify(place)}, program: ${JSON.stringify(binary)} });
    return result.report.error;`);
  assert(seen.reason === 'launcher-writable' && !fs.existsSync(path.join(place, 'ran')), seen);
});
await point('another architecture gets its own', async () => {
  const other = await install('other', `--cpu=${OTHER}`, 'confine');
  assert(installed(other) === `confine confine-linux-${OTHER}`, installed(other));
});
await point('installed without it, the error names the package', async () => {
  const none = await install('none', '--omit=optional', 'confine');
  const seen = await use(none, "return (await confine.run(['true'])).report;");
  assert(installed(none) === 'confine' && seen.code === 'ENOENT' && seen.message.includes(`npm install ${OURS}@${all.confine.version}`), seen);
}, hidden);
await point('and where there is none for a machine, it says so', async () => {
  const seen = await use(place, "Object.defineProperty(process, 'arch', { value: 's390x' }); return (await import('./node_modules/confine/lib/program.js?again')).findProgram();");
  assert(seen.code === 'ENOENT' && seen.message.includes('no package of it for linux on s390x'), seen);
}, hidden);
await point('a package that is not whole is named, and no other program taken', async () => {
  fs.chmodSync(binary, 0o644);
  const seen = await use(place, 'return confine.findProgram();');
  assert(process.getuid() === 0 || (seen.code === 'ENOENT' && seen.message.includes('is not whole')), seen);
  fs.rmSync(binary);
  const gone = await use(place, 'return confine.findProgram();');
  assert(gone.code === 'ENOENT' && gone.message.includes('is not whole'), gone);
}, hidden);
console.log(`1..${count}`);
server.close();
process.exitCode = failed ? 1 : 0;
