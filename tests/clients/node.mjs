#!/usr/bin/env node
// node.mjs - the Node client: the vectors in both forms, cancellation, 50 runs at once, sessions. A TAP program.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as confine from '../../bindings/node/index.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const PROGRAM = path.join(process.env.CONFINE_STAGE, 'bin/confine');
const ASKING = path.join(HERE, 'asking');
const PATIENCE = 120000; // for what must come; nothing is measured by it
const { vectors } = JSON.parse(fs.readFileSync(path.join(HERE, 'vectors.json')));
process.env.HOME = fs.mkdtempSync('/var/tmp/confine-home.'); // the user's own would be taken for one that is not there
process.on('exit', () => fs.rmSync(process.env.HOME, { recursive: true, force: true }));
process.chdir('/var/tmp');

function assert(condition, why) {
  if (!condition) throw new Error(why);
}

async function inWorkspace(work) {
  const place = fs.mkdtempSync('/var/tmp/confine-client.');
  try {
    fs.mkdirSync(`${place}/sub`);
    fs.writeFileSync(`${place}/sub/secret`, 'secret\n');
    const fill = (value) => {
      if (typeof value === 'string') return value.replaceAll('WORKSPACE', place);
      if (Array.isArray(value)) return value.map(fill);
      if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item)]));
      return value;
    };
    return await work(place, fill);
  } finally {
    fs.rmSync(place, { recursive: true });
  }
}

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

function given(vector, fill) {
  const options = Object.fromEntries(Object.entries(fill(vector.options ?? {})).map(([name, value]) => [camel(name), value]));
  return {
    program: PROGRAM, ...options,
    ...(vector.environ && { environ: { ...process.env, ...vector.environ } }),
    ...(vector.answers && { onAsk: ((answers) => async () => answers.shift())([...vector.answers]) }),
    ...(vector.policy && { policy: fill(vector.policy) }),
  };
}

function dataOf({ input, input_length: length }) {
  return length ? Buffer.alloc(length, 'x') : input;
}

function compare({ expect }, result, events, place) {
  const { outcome, error } = result;
  const seen = {
    status: result.status, kind: outcome.kind, signal: outcome.signal, limit: outcome.limit,
    stdout: String(result.stdout ?? ''), stderr: String(result.stderr ?? ''), stdout_length: result.stdout?.length,
    error: error && error.code, reason: error && error.reason,
    events: events.map(({ type }) => type).filter((type) => type !== 'warning' && type !== 'denial'),
    unset: result.report.environment.unset,
  };
  for (const [key, value] of Object.entries(expect)) {
    if (key === 'files') {
      for (const [name, content] of Object.entries(value)) {
        const file = path.join(place, name);
        const there = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
        assert(there === content, `${name}: ${JSON.stringify(there)}, expected ${JSON.stringify(content)}`);
      }
    } else if (key === 'survivors_least') {
      assert(outcome.survivors_killed === null || outcome.survivors_killed >= value, `${outcome.survivors_killed} survivors`);
    } else {
      assert(JSON.stringify(seen[key]) === JSON.stringify(value),
        `${key}: ${JSON.stringify(seen[key])}, expected ${JSON.stringify(value)}; ${JSON.stringify(result.report.error)} ${seen.stderr}`);
    }
  }
}

const plain = (vector) => inWorkspace(async (place, fill) => {
  const events = [];
  const result = await confine.run(fill(vector.command), { input: dataOf(vector), onEvent: (event) => events.push(event), ...given(vector, fill) });
  compare(vector, result, events, place);
});

const streamed = (vector) => inWorkspace(async (place, fill) => {
  const data = dataOf(vector), events = [], out = [], happened = new Map();
  const moment = (name) => {
    if (!happened.has(name)) {
      const one = {};
      one.promise = new Promise((resolve) => { one.resolve = resolve; });
      happened.set(name, one);
    }
    return happened.get(name);
  };
  moment('nothing').resolve();
  const abort = new AbortController();
  const run = confine.start(fill(vector.command), { stdin: data !== undefined || vector.input_open ? 'pipe' : 'ignore', signal: abort.signal, ...given(vector, fill) });
  const listening = (async () => {
    for await (const event of run) {
      events.push(event);
      moment(event.type).resolve();
    }
  })();
  if (data !== undefined) run.stdin.end(data);
  if (vector.orders)
    run.stdout.on('data', (piece) => {
      out.push(piece);
      for (const line of String(piece).split('\n')) moment(`stdout:${line}`).resolve();
    });
  for (const order of vector.orders ?? []) {
    await moment(order.after).promise;
    if (!order.cancel) {
      run.say(order.say);
      continue;
    }
    abort.abort(new Error('enough'));
    let seen = null;
    await run.wait().catch((error) => { seen = error; });
    assert(seen?.message === 'enough', `cancelled, and ${seen}`);
    assert(vector.expect.cancelled, 'was not to be cancelled');
    const started = events.find(({ type }) => type === 'started');
    assert(!started || !fs.existsSync(`/proc/${started.pid}`), 'the command is still there');
    return;
  }
  const result = await run.wait();
  await listening;
  if (vector.orders) result.stdout = Buffer.concat(out);
  compare(vector, result, events, place);
});

async function many() {
  await Promise.all(Array.from({ length: 50 }, async (_, number) => {
    if (number % 5 === 4) {
      const abort = new AbortController();
      const run = confine.start(['sh', '-c', 'setsid sleep 1000 & sleep 1000'], { program: PROGRAM, signal: abort.signal });
      const { pid } = await run.started();
      abort.abort();
      let aborted = false;
      await run.wait().catch(({ name }) => { aborted = name === 'AbortError'; });
      assert(aborted && !fs.existsSync(`/proc/${pid}`), `${number} is still there`);
      return;
    }
    const result = await confine.run(['sh', '-c', `echo ${number}; exit ${number}`], { program: PROGRAM });
    assert(result.status === number && String(result.stdout) === `${number}\n`, JSON.stringify(result.report.outcome));
  }));
}

async function throws(work, match) {
  let seen = null;
  try {
    await work();
  } catch (error) {
    seen = error;
  }
  assert(seen && match(seen), `seen ${seen?.stack}`);
}

async function mistakes() {
  for (const [command, options] of [['ls'], [[]], [['a\0b']], [['ls'], { report: 'x' }], [['ls'], { write: ['a\0b'] }], [['ls'], { env: { A: true } }], [['ls'], { mode: {}.x, timeout: NaN }]])
    await throws(() => confine.start(command, { program: PROGRAM, ...options }), (error) => error instanceof TypeError);
  for (const [options, said] of [[{ cwd: '/' }, 'did you mean chdir?'], [{ workspce: '.' }, 'did you mean workspace?'], [{ clean_env: true }, 'did you mean cleanEnv?'],
    [{ worksapce: '.' }, 'did you mean workspace?'], [{ nothing: 1 }, 'confine-run(1)'], [{ policy: './agent.json' }, 'JSON.parse()']])
    await throws(() => confine.start(['ls'], { program: PROGRAM, ...options }), (error) => error instanceof TypeError && error.message.includes(said));
  await throws(() => confine.run(['ls'], { program: '/nowhere/confine' }), ({ code }) => code === 'ENOENT');
  await throws(() => confine.run(['ls'], { program: PROGRAM, directory: '/nowhere/at/all' }), ({ code, message }) => code === 'ENOENT' && message.includes('/nowhere/at/all'));
  const hinted = await confine.run(['ls'], { program: PROGRAM, workspace: '/nowhere/at/all' });
  await throws(() => hinted.check(), ({ message, hint }) => hint && message === `${hinted.report.error.message} (${hint})`);
  await throws(() => confine.run(['ls'], { program: '/bin/true' }), (error) => error instanceof confine.ConfineError && error.message.includes('no report'));
  await throws(() => confine.run(['ls'], { program: '/bin/echo' }), (error) => error instanceof confine.ConfineError);
  await throws(() => confine.start(['ls'], { program: PROGRAM, signal: AbortSignal.abort() }), ({ name }) => name === 'AbortError');
  const failed = await confine.run(['false'], { program: PROGRAM });
  await throws(() => failed.check(), (error) => error instanceof confine.CommandFailed && error.result === failed);
  const refused = await confine.run(['ls'], { program: PROGRAM, backend: 'refuse' });
  await throws(() => refused.check(), ({ code, report }) => code === 'SANDBOX_UNAVAILABLE' && report.outcome.kind === 'not-started');
  let pid = 0;
  await throws(() => confine.run(['sleep', '1000'], {
    program: PROGRAM,
    onEvent: (event) => {
      pid = event.pid;
      throw new Error('of the callback');
    },
  }), ({ message }) => message === 'of the callback');
  assert(pid > 0 && !fs.existsSync(`/proc/${pid}`), 'the command outlived the callback');
}

/** Output comes while the command runs, piece by piece and each by its name; what a callback throws ends the run. */
const live = () => inWorkspace(async (place) => {
  // The command goes on when the caller has seen what it wrote before: none of the pieces can have waited for the end.
  const script = 'echo one; until test -e go1; do sleep 0.05; done; echo two >&2; until test -e go2; do sleep 0.05; done; printf three; exit 3';
  const attempt = async (more, failing) => {
    for (const name of ['go1', 'go2']) fs.rmSync(`${place}/${name}`, { force: true });
    const seen = [];
    const result = await confine.run(['sh', '-c', script], {
      program: PROGRAM, workspace: place, chdir: place, timeout: PATIENCE / 1000, ...more,
      onOutput: async (name, piece) => {
        assert(Buffer.isBuffer(piece), 'a piece is bytes');
        seen.push(`${name}: ${piece}`);
        await new Promise((resolve) => { setTimeout(resolve, 1); });
        if (failing) throw new Error('of the callback');
        fs.writeFileSync(`${place}/go${seen.length}`, '');
      },
    });
    return [seen.join('|'), result.status, result.stdout && String(result.stdout), result.stderr && String(result.stderr)].join(' ');
  };
  const all = 'stdout: one\n|stderr: two\n|stdout: three 3';
  for (const [more, expected] of [[{}, `${all} one\nthree two\n`], [{ capture: false }, `${all}  `]]) {
    const seen = await attempt(more, false);
    assert(seen === expected, JSON.stringify(seen));
  }
  await throws(() => attempt({}, true), ({ message }) => message === 'of the callback');
  await throws(() => confine.run(['sleep', '1000'], { program: PROGRAM, onEvent: async () => { throw new Error('of an event'); } }), ({ message }) => message === 'of an event');
  const started = Date.now();
  await throws(() => confine.run(['yes'], { program: PROGRAM, capture: false, signal: AbortSignal.timeout(200), onOutput: () => {} }), ({ name }) => name === 'TimeoutError');
  assert(Date.now() - started < PATIENCE, 'it came too late');
});

/** What a report proposes is a policy, for one more try: behind the harness's own. */
const again = () => inWorkspace(async (place) => {
  const words = ['sh', '-c', `echo $P; echo x > ${place}/made`], base = { policy: 1, environment: { set: { P: 'base' } } };
  const first = await confine.run(words, { program: PROGRAM, workspace: `${place}/sub`, policy: base });
  if (!first.report.escalation) return `nobody saw what was refused: ${first.report.denials.reason}`;
  const second = await confine.run(words, { program: PROGRAM, workspace: `${place}/sub`, policy: [base, { policy: 1, ...first.report.escalation.grant }] });
  assert(second.status === 0 && String(second.stdout) === 'base\n' && fs.existsSync(`${place}/made`), `${second.summary} ${second.stderr}`);
  return null;
});

/** Descriptors keep their numbers, in whatever order they are named, behind those of the client. */
const passed = () => inWorkspace(async (place) => {
  const open = [1, 2, 3].map((number) => {
    fs.writeFileSync(`${place}/${number}`, `${number}`);
    return fs.openSync(`${place}/${number}`, 'r');
  });
  const [low, , high] = open;
  const result = await confine.run(['bash', '-c', `cat <&${high}; cat <&${low}`], { program: PROGRAM, policy: [{ policy: 1 }, { policy: 1 }], passFds: [high, low] });
  assert(String(result.stdout) === '31', `${result.stdout} ${result.stderr}`);
  await throws(() => confine.start(['true'], { program: PROGRAM, policy: [{ policy: 1 }, { policy: 1 }], passFds: [5] }), ({ message }) => message.includes('from 6 on'));
  for (const fd of open) fs.closeSync(fd);
});

/** Whoever decides throws: the run goes, and what was asked about has not been done. */
const undecided = () => inWorkspace(async (place) => {
  let pid = 0;
  await throws(() => confine.run(['sh', '-c', `echo x > ${place}/made; setsid sleep 1000 & sleep 1000`], {
    program: PROGRAM,
    workspace: `${place}/sub`,
    onEvent: (event) => { if (event.type === 'started') pid = event.pid; },
    onAsk: async ({ path: asked, operation, reads, timeout_ms: timeout }) => {
      throw new Error(asked === `${place}/made` && operation === 'create' && reads === false && timeout === 60000 ? 'undecided' : 'another question');
    },
  }), ({ message }) => message === 'undecided');
  await throws(async () => {
    const running = confine.start(['sh', '-c', `echo x > ${place}/made`], { program: PROGRAM, workspace: `${place}/sub`, onAsk: () => { throw new Error('undecided'); } });
    try {
      for await (const event of running) if (event.type === 'ended') throw new Error('it came to its end');
    } finally {
      await running.close();
    }
  }, ({ message }) => message === 'undecided');
  assert(pid > 0 && !fs.existsSync(`/proc/${pid}`) && !fs.existsSync(`${place}/made`), 'something of it is left');
});

/** Whoever decides has no answer: as if he had thrown, and what he was asked about is denied at once. */
const noAnswer = () => inWorkspace(async (place) => {
  for (const [answer, address] of [['yes'], [undefined], [null], [true], [['once']], ['once', 'example.org:443']]) {
    const told = `${place}/told`;
    await throws(() => confine.run(address ? [told, address] : [told], { program: ASKING, onAsk: () => answer }),
      (error) => error instanceof TypeError && error.message.includes('is no answer'));
    const seen = fs.readFileSync(told, 'utf8');
    assert(seen === '{"type":"answer","id":1,"answer":"deny"}\n', `${answer}: told ${seen}`);
    fs.rmSync(told);
  }
});

async function session() {
  const name = `client-${process.pid}`;
  const one = await confine.Session.start(name, { program: PROGRAM, allow: ['example.org'] });
  try {
    assert((await confine.Session.list({ program: PROGRAM })).some((item) => item.name === name), 'it is not listed');
    (await confine.run(['sh', '-c', 'echo kept > /tmp/file'], { program: PROGRAM, session: name })).check();
    const seen = (await confine.run(['cat', '/tmp/file'], { program: PROGRAM, session: name })).check();
    assert(String(seen.stdout) === 'kept\n', seen.stdout);
    await throws(() => confine.Session.start(name, { program: PROGRAM }), (error) => error instanceof confine.ConfineError);
    await one.allow('example.net', '*.example.com:443');
    for (const rule of ['127.0.0.1:80', 'no rule']) await throws(() => one.allow(rule), (error) => error instanceof confine.ConfineError);
    await throws(() => one.allow('--help'), (error) => error instanceof TypeError);
  } finally {
    await one.end();
  }
  assert(!(await confine.Session.list({ program: PROGRAM })).some((item) => item.name === name), 'it is still listed');
  await one.end(); // a second time does nothing
  const silent = await confine.Session.start(`silent-${name}`, { program: PROGRAM });
  const keeper = Number(spawnSync('pgrep', ['-f', `session start silent-${name} `]).stdout);
  process.kill(keeper, 'SIGSTOP');
  try {
    await one.end(); // nor while another one does not answer
  } finally {
    process.kill(keeper, 'SIGCONT');
    await silent.end();
  }
}

/** A host without a descriptor left is told so by whatever it waits for, and goes on. */
const WITHOUT = `
  const confine = await import(process.argv[1]), program = process.argv[2], kept = [];
  try { for (;;) kept.push(fs.openSync('/dev/null')); } catch (error) { if (error.code !== 'EMFILE') throw error; }
  const run = confine.start(['true'], { program, policy: { policy: 1 } }), events = [];
  const calls = [run.started().then((event) => { if (event) throw new Error('started'); }), run.wait(),
                 (async () => { for await (const event of run) events.push(event); })(), confine.run(['true'], { program }),
                 confine.Session.start('none', { program }), confine.Session.list({ program })];
  const seen = await Promise.allSettled(calls);
  await run.close();
  for (const one of kept) fs.closeSync(one);
  const after = await confine.run(['true'], { program });
  console.log([...seen.map(({ reason }) => reason?.code ?? 'none'), events.length, after.status].join(' '));`;

function exhausted() {
  const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, '--input-type=module', '-e', `import fs from 'node:fs';${WITHOUT}`,
    path.join(HERE, '../../bindings/node/index.js'), PROGRAM], { encoding: 'utf8', timeout: PATIENCE });
  assert(stdout === 'none EMFILE none EMFILE EMFILE EMFILE 0 0\n', stdout + stderr);
}

async function main() {
  const namespace = (await confine.run(['true'], { program: PROGRAM, backend: 'namespace' })).started;
  const runtime = fs.mkdtempSync('/var/tmp/confine-runtime.');
  process.env.XDG_RUNTIME_DIR = runtime;
  const tests = [];
  for (const vector of vectors) {
    tests.push([`streamed: ${vector.name}`, () => streamed(vector), vector.needs]);
    if (!vector.orders) tests.push([`plain: ${vector.name}`, () => plain(vector), vector.needs]);
  }
  tests.push(['50 at once, ten of them cancelled', many], ['undecided', undecided], ['no answer', noAnswer], ['live output', live], ['one more try', again], ['descriptors', passed], ['no descriptors', exhausted], ['mistakes', mistakes], ['a session', session, 'namespace']);
  console.log(`TAP version 13\n1..${tests.length}`);
  let number = 0, failed = 0;
  for (const [name, test, needs] of tests) {
    number++;
    if (needs === 'namespace' && !namespace) {
      console.log(`ok ${number} - ${name} # SKIP the backend namespace does not work here`);
      continue;
    }
    let timer;
    try {
      const skipped = await Promise.race([test(), new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('not done')), PATIENCE); })]);
      console.log(`ok ${number} - ${name}${skipped ? ` # SKIP ${skipped}` : ''}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${number} - ${name}\n# ${String(error.stack).replace(/\n/g, '\n# ')}`);
    }
    clearTimeout(timer);
  }
  fs.rmSync(runtime, { recursive: true });
  process.exitCode = failed ? 1 : 0;
}

await main();
