#!/usr/bin/env node
// runs.js - a Node program that drives 50 runs at once, with nothing but child_process and the control channel
// as stdio[3]. A TAP program.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const net = require('net');
const path = require('path');

const CONFINE = path.join(process.env.CONFINE_STAGE, 'bin/confine');
const RUNS = 50;
const PATIENCE = 100000; // for what must come; nothing is measured by it
process.env.HOME = fs.mkdtempSync('/var/tmp/confine-home.'); // the user's own would be taken for one that is not there
process.on('exit', () => fs.rmSync(process.env.HOME, { recursive: true, force: true }));
process.chdir('/var/tmp');

function assert(condition, why) {
  if (!condition) throw new Error(why);
}

// One run. Resolves events one by one: `next(type)` is the next line of that type.
class Run {
  constructor(words, command, { through = 'descriptor', stdin = 'ignore' } = {}) {
    const stdio = [stdin, 'pipe', 'pipe'];
    if (through === 'descriptor') {
      stdio.push('pipe');
      words = ['--control=fd:3', ...words];
    }
    this.lines = [];
    this.waiting = [];
    this.rest = '';
    this.closed = false;
    this.failure = null;
    this.child = spawn(CONFINE, ['run', ...words, '--', ...command], { stdio });
    this.out = '';
    this.child.stdout.on('data', (data) => { this.out += data; });
    this.child.stderr.on('data', (data) => { this.out += `stderr: ${data}`; });
    this.exit = new Promise((resolve) => this.child.on('close', (code, signal) => resolve({ code, signal })));
    if (through === 'descriptor') this.attach(this.child.stdio[3]);
  }

  attach(channel) {
    this.channel = channel;
    channel.setEncoding('utf8');
    channel.on('data', (data) => this.take(data));
    channel.on('error', (error) => { this.failure = error; });
    channel.on('close', () => { this.closed = true; this.wake(); });
  }

  take(data) {
    this.rest += data;
    for (let end; (end = this.rest.indexOf('\n')) >= 0; this.rest = this.rest.slice(end + 1))
      this.lines.push(JSON.parse(this.rest.slice(0, end)));
    this.wake();
  }

  wake() {
    this.waiting = this.waiting.filter((look) => !look());
  }

  next(type) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.lines.find((line) => line.type === type);
        if (found) resolve(found);
        else if (this.closed) reject(new Error(`no ${type}: ${JSON.stringify(this.lines.map((line) => line.type))} ${this.out}`));
        return found || this.closed;
      };
      if (!look()) this.waiting.push(look);
    });
  }

  say(message) {
    this.channel.write(`${JSON.stringify(message)}\n`);
  }
}

// Each kind of a run ends as it must, or throws.
const kinds = [
  async function itself(number) {
    const run = new Run([], ['sh', '-c', `echo ${number}; exit ${number}`]);
    const ended = await run.next('ended');
    const { code } = await run.exit;
    assert(code === number && ended.status === number && run.out === `${number}\n`, `${code} ${ended.status} ${run.out}`);
    assert(ended.report.outcome.kind === 'exited', ended.report.outcome.kind);
    assert(run.lines[0].type === 'started' && run.lines.at(-1).type === 'ended', 'order');
    return run;
  },
  async function killed() {
    const run = new Run(['--grace=1000s'], ['sh', '-c', 'trap "" TERM; (setsid sleep 1000 &); sleep 1000']);
    await run.next('started');
    run.say({ type: 'kill' });
    const { code } = await run.exit;
    const { report } = await run.next('ended');
    assert(code === 137 && report.outcome.kind === 'limit' && report.outcome.limit === 'control', JSON.stringify(report.outcome));
    return run;
  },
  async function signalled() {
    const run = new Run([], ['sleep', '1000']);
    await run.next('started');
    run.say({ type: 'signal', signal: 'SIGTERM' });
    const { code } = await run.exit;
    const { report } = await run.next('ended');
    assert(code === 143 && report.outcome.signal === 15, JSON.stringify(report.outcome));
    return run;
  },
  async function closed() {
    const run = new Run([], ['sh', '-c', '(setsid sleep 1000 &); sleep 1000']);
    await run.next('started');
    run.channel.destroy();
    const { code } = await run.exit; // `close`: the pipes, which all of the run hold, have ended as well
    assert(code === 137, `${code} ${run.out}`);
    return run;
  },
  async function refused() {
    const run = new Run(['--backend=refuse'], ['echo', 'ran']);
    const { report } = await run.next('ended');
    const { code } = await run.exit;
    assert(code === 125 && report.error.code === 'SANDBOX_UNAVAILABLE' && !run.out.includes('ran\n'), run.out);
    return run;
  },
  async function timed() {
    const run = new Run(['--timeout=50ms', '--grace=50ms'], ['sleep', '1000']);
    const { code } = await run.exit;
    const limit = await run.next('limit');
    assert(code === 124 && limit.limit === 'time', `${code}`);
    return run;
  },
  async function terminated() { // as a harness ends any child of its
    const run = new Run([], ['sleep', '1000']);
    await run.next('started');
    run.child.kill('SIGTERM');
    const { code } = await run.exit;
    const { report } = await run.next('ended');
    assert(code === 143 && report.outcome.kind === 'signaled', `${code}`);
    return run;
  },
];

async function many() {
  const seen = await Promise.all(Array.from({ length: RUNS }, (_, number) =>
    kinds[number % kinds.length](number).then((run) => {
      assert(!run.failure, `the channel: ${run.failure}`);
    }).catch((error) => { error.message = `${kinds[number % kinds.length].name}: ${error.message}`; throw error; })));
  assert(seen.length === RUNS, 'runs are missing');
}

async function busy() { // the event loop does not turn while the command runs and ends
  const run = new Run([], ['sh', '-c', 'echo on']);
  await run.next('started');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  const { report } = await run.next('ended');
  assert(report.outcome.status === 0 && (await run.exit).code === 0, 'a busy harness spoils the run');
}

async function named() { // where no descriptor can be handed over, as with node-pty
  const directory = fs.mkdtempSync('/var/tmp/confine-node.');
  const server = net.createServer();
  try {
    await new Promise((resolve) => server.listen(`${directory}/s`, resolve));
    const attached = new Promise((resolve) => server.once('connection', resolve));
    const run = new Run([`--control=unix:${directory}/s`], ['sleep', '1000'], { through: 'name' });
    run.attach(await attached);
    await run.next('started');
    run.say({ type: 'kill' });
    assert((await run.exit).code === 137, run.out);
  } finally {
    server.close();
    fs.rmSync(directory, { recursive: true });
  }
}

async function main() {
  const tests = [...kinds.map((kind) => [kind.name, () => kind(3)]), ['busy', busy], ['named', named], [`${RUNS} at once`, many]];
  let number = 0, failed = 0;
  console.log(`TAP version 13\n1..${tests.length}`);
  for (const [name, test] of tests) {
    number++;
    try {
      let timer;
      await Promise.race([test(), new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('not done')), PATIENCE); })]);
      clearTimeout(timer);
      console.log(`ok ${number} - ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${number} - ${name}\n# ${String(error.stack).replace(/\n/g, '\n# ')}`);
    }
  }
  process.exit(failed ? 1 : 0);
}

main();
