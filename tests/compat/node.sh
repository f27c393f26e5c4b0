#!/bin/bash
# node.sh - node: files, workers, children, its test runner; npm without the network.
. "$(dirname "$0")/compat.sh"
need node

cat >"$w/fs.test.js" <<'JS'
const test = require('node:test'), assert = require('node:assert'), fs = require('node:fs'), os = require('node:os'), path = require('node:path');
test('files', () => {
  fs.mkdirSync('d/e', { recursive: true }); fs.writeFileSync('d/e/f', 'x'); fs.copyFileSync('d/e/f', 'd/g');
  fs.symlinkSync('e', 'd/l'); fs.linkSync('d/g', 'd/e/h'); fs.chmodSync('d/g', 0o640); fs.utimesSync('d/g', 1, 2);
  assert.equal(fs.statSync('d/e/h').mtimeMs, 2000); fs.renameSync('d/e/f', 'd/f'); fs.appendFileSync('d/f', 'y');
  assert.equal(fs.readFileSync('d/f', 'utf8'), 'xy'); fs.cpSync('d', 'k', { recursive: true }); fs.rmSync('d', { recursive: true });
});
test('a temp directory', () => { const d = fs.mkdtempSync(path.join(os.tmpdir(), 'x-')); fs.writeFileSync(d + '/a', ''); });
test('a watch', async () => {
  const w = fs.watch('.'); const seen = new Promise(r => w.once('change', r)); setTimeout(() => fs.writeFileSync('watched', ''), 50);
  await seen; w.close();
});
test('outside is refused with EACCES', () => { assert.throws(() => fs.writeFileSync('/etc/confine-test', ''), { code: /EACCES|EROFS/ }); });
test('a server on loopback, or EPERM at once', async () => {
  const net = require('node:net'), s = net.createServer(c => c.end('hello'));
  const e = new Promise(r => { s.once('error', r); s.once('listening', r); }); s.listen(0, '127.0.0.1');
  if (!process.env.LOOPBACK) return assert.equal((await e).code, 'EPERM');
  assert.equal(await e, undefined);
  const c = net.connect(s.address().port, '127.0.0.1');
  assert.equal((await new Promise(r => c.once('data', r))).toString(), 'hello'); c.destroy(); s.close();
});
JS
cat >"$w/work.test.js" <<'JS'
const test = require('node:test'), assert = require('node:assert');
const { Worker, isMainThread, parentPort } = require('node:worker_threads'), cp = require('node:child_process');
if (!isMainThread) parentPort.on('message', x => parentPort.postMessage(x * 2));
else {
  test('workers', async () => {
    const w = new Worker(__filename); w.postMessage(21);
    assert.equal(await new Promise(r => w.once('message', r)), 42); await w.terminate();
  });
  test('children: exec, spawn with pipes, a shell, a signal', async () => {
    assert.equal(cp.execFileSync('cat', { input: 'in' }).toString(), 'in');
    assert.equal(cp.spawnSync('sh', ['-c', 'echo out; exit 3']).status, 3);
    const c = cp.spawn('sleep', ['9']); c.kill(); assert.equal((await new Promise(r => c.on('exit', (s, n) => r(n)))), 'SIGTERM');
  });
  test('fork with a channel', async () => {
    const c = cp.fork('child.js'); c.send('hello'); assert.equal(await new Promise(r => c.once('message', r)), 'hello, child'); c.disconnect();
  });
  test('crypto, zlib, streams in the thread pool', async () => {
    const z = require('node:zlib'), { promisify } = require('node:util');
    assert.equal((await promisify(z.gunzip)(await promisify(z.gzip)(Buffer.alloc(1e6)))).length, 1e6);
    assert.equal((await promisify(require('node:crypto').pbkdf2)('a', 'b', 1000, 32, 'sha256')).length, 32);
  });
}
JS
echo "process.on('message', m => process.send(m + ', child'));" >"$w/child.js"
own "$w"
if views; then inside=(LOOPBACK=1); fi
does "the test runner: files, temp directory, watch, a server; outside refused" 'node --test fs.test.js >log 2>&1 || { cat log; exit 1; }'
does "the test runner: workers, children, channels, thread pool" 'node --test work.test.js >log 2>&1 || { cat log; exit 1; }'
does "a module, standard input, a REPL" 'echo "export default 42" >m.mjs && node --input-type=module -e "import x from \"./m.mjs\"; if (x !== 42) process.exit(1)"
    echo "1 + 1" | node -p - | grep -qx 2'

if ! outside sh -c 'command -v npm' >/dev/null 2>&1; then
    skip "npm" "npm is not installed for this user"
    close
fi
does "npm init and npm pack" 'mkdir part && cd part && npm init -y >/dev/null && echo "module.exports = 42" >index.js && npm pack --silent | grep -qx part-1.0.0.tgz'
does "npm install of a local package and of a directory" 'mkdir app far && (cd far && npm init -y >/dev/null && echo "module.exports = 1" >index.js)
    cd app && npm init -y >/dev/null && npm install --no-audit --no-fund --offline ../part/part-1.0.0.tgz ../far >/dev/null
    node -e "if (require(\"part\") !== 42 || require(\"far\") !== 1) process.exit(1)"'
does "npm ci from the lock file, and again from nothing" 'cd app && rm -rf node_modules && npm ci --no-audit --no-fund --offline >/dev/null && test -e node_modules/part/index.js && test -L node_modules/far'
does "npm test and npm run, with the status of the script" 'cd app && npm pkg set scripts.test="node -p 1" scripts.bad="exit 7" && npm test 2>/dev/null | grep -qx 1 && { s=0; npm run -s bad || s=$?; test $s = 7; }'
does "npx runs a program of the package" 'cd app && npm pkg set bin=run.js && printf "#!/usr/bin/env node\nconsole.log(5)\n" >run.js && chmod +x run.js && mkdir -p node_modules/.bin && ln -sf ../../run.js node_modules/.bin/mine && npx --no-install mine | grep -qx 5'
ok "npm's cache is the private one of this workspace" test -d "$home/.cache/confine/caches"/*/npm/_cacache
refuses "npm install from the registry fails, in seconds, and not as a missing file" 'EPERM|EAI_AGAIN|ENOTFOUND|ECONN|ENOTCACHED|network' \
    'cd app && timeout 120 npm install --no-audit --no-fund --fetch-retries 0 left-pad'
close
