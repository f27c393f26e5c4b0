/** A run: started, listened to, ordered about, cancelled, waited for. */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import { Lines, order } from './channel.js';
import { ConfineError } from './errors.js';
import { words } from './options.js';
import { findProgram } from './program.js';
import { Result } from './result.js';

const CHANNEL = 3, POLICIES = 4; // of the program's descriptors: the first of the policies'

function check(command, passed) {
  if (!Array.isArray(command) || command.length === 0)
    throw new TypeError('the command is an array of words, with one at least: there is no shell that would split a text');
  for (const word of command)
    if (typeof word !== 'string' || word.includes('\0')) throw new TypeError(`${JSON.stringify(word)}: a word is a string without a NUL`);
  for (const one of passed) if (!Number.isInteger(one) || one < 0) throw new TypeError(`passFds: ${one} is no descriptor`);
}

const ANSWERS = ['once', 'run', 'deny', 'deny-like'];

/** The answer, where it is one, and one to the question. Of another the program would tell the channel alone, and the call would
 * wait on for as long as a question may. */
function checkAnswer(answer, question) {
  if (!ANSWERS.includes(answer)) throw new TypeError(`${inspect(answer)} is no answer to a question: once, run, deny or deny-like`);
  if (answer === 'once' && question?.address)
    throw new TypeError("'once' is no answer to the question about a connection: run, deny or deny-like");
  return answer;
}

/** The channel. Where descriptors have run out, node starts nothing, makes no stream and says so later: then it is one that leads
 * nowhere, until it has said it. */
function channelOf(child) {
  return child.stdio?.[CHANNEL] ?? new Duplex({ read() {}, write(_piece, _encoding, done) { done(); } });
}

/** All of a stream. */
async function collect(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Fed by the channel, read by one reader or none: what nobody asks for stays here until somebody does. */
class Events {
  #lines = [];
  #done = false;
  #wake = () => {};

  push(line) {
    this.#lines.push(line);
    this.#wake();
  }

  close() {
    this.#done = true;
    this.#wake();
  }

  async* [Symbol.asyncIterator]() {
    for (;;) {
      while (this.#lines.length) yield this.#lines.shift();
      if (this.#done) return;
      await new Promise((resolve) => { this.#wake = resolve; });
    }
  }
}

export class Run {
  #child;
  #channel;
  #signal;
  #abort;
  #events = new Events();
  #ended = null;
  #failure = null;
  #undecided = null;
  #started;
  #closed;
  #result = null;

  /** Use start(). */
  constructor(child, signal, onAsk) {
    this.#child = child;
    this.#channel = channelOf(child);
    this.#signal = signal;
    const lines = new Lines();
    let begun;
    this.#started = new Promise((resolve) => { begun = resolve; });
    this.#channel.on('data', (data) => {
      try {
        for (const line of lines.feed(data)) {
          if (line.type === 'started') begun(line);
          if (line.type === 'ended') this.#ended = line;
          this.#events.push(line);
          if (onAsk && line.type === 'ask') void this.#ask(onAsk, line);
        }
      } catch (error) {
        this.#fail(error);
      }
    });
    this.#channel.on('error', () => {}); // the end of the program shows in its exit
    this.#channel.on('close', () => { begun(null); this.#events.close(); });
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {});
    this.#closed = new Promise((resolve) => {
      child.on('error', (error) => { this.#fail(error); if (child.pid === undefined) { begun(null); this.#events.close(); resolve(null); } });
      child.on('exit', () => { this.#signal?.removeEventListener('abort', this.#abort); });
      child.on('close', (status) => resolve(status));
    });
    this.#abort = () => { void this.close(); };
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Whoever decides and cannot, or has no answer, ends the run: wait() and the iteration reject with that. */
  async #ask(onAsk, question) {
    try {
      this.answer(question.id, checkAnswer(await onAsk(question), question));
    } catch (error) {
      this.answer(question.id, 'deny');
      this.#undecided ??= error;
      this.#fail(error);
    }
  }

  #fail(error) {
    this.#failure ??= error;
    this.#channel.destroy();
  }

  /** The command's input, where `stdin` is 'pipe'. */
  get stdin() { return this.#child.stdin; }

  /** What the command writes, where `stdout` is 'pipe'. Read it, or wait(): else the command waits for you. */
  get stdout() { return this.#child.stdout; }

  get stderr() { return this.#child.stderr; }

  /** The event that the command's program runs; null where it never did. */
  started() { return this.#started; }

  /** Each event once. */
  async* [Symbol.asyncIterator]() {
    yield* this.#events;
    if (this.#undecided) throw this.#undecided;
  }

  /** An order of confine-control(5). After the end it is nobody's, and nothing happens. */
  say(message) {
    const line = order(message);
    if (this.#channel.writable) this.#channel.write(line);
  }

  signal(signal) { this.say({ type: 'signal', signal }); }

  resize(columns, rows) { this.say({ type: 'resize', columns, rows }); }

  closeInput() { this.say({ type: 'stdin-close' }); }

  allow(rule) { this.say({ type: 'allow', rule }); }

  /** Answer a question, for whoever reads the events instead of giving onAsk. */
  answer(id, answer) { this.say({ type: 'answer', id, answer: checkAnswer(answer) }); }

  kill() { this.say({ type: 'kill' }); }

  /** The end, with what was captured of the streams that nobody else reads. May be called again. */
  wait() {
    this.#result ??= this.#wait();
    return this.#result;
  }

  async #wait() {
    const streams = [this.stdout, this.stderr].map((stream) =>
      (stream && !stream.readableFlowing && stream.listenerCount('data') === 0 && stream.listenerCount('readable') === 0
        ? collect(stream).catch(() => null) : null));
    const status = await this.#closed;
    const [out, err] = await Promise.all(streams);
    if (this.#signal?.aborted) this.#signal.throwIfAborted();
    if (this.#failure) throw this.#failure;
    if (!this.#ended) {
      const last = err?.toString().trim().split('\n').at(-1);
      throw new ConfineError(`the program ended with status ${status} and no report${last ? `: ${last}` : ''}`);
    }
    return new Result(this.#ended, out, err);
  }

  /** Kill what is still there; resolves when nothing of it is left. */
  async close() {
    this.#channel.destroy(); // a channel that closes kills
    this.stdin?.destroy();
    this.stdout?.resume();
    this.stderr?.resume();
    await this.#closed;
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() { await this.close(); }
}

/** Start a command confined. Errors of the machine come from wait(), mistakes of the caller at once. */
export function start(command, { program, policy, directory, environ, stdin = 'ignore', stdout = 'pipe', stderr = 'pipe', passFds = [], signal, onAsk, ...options } = {}) {
  check(command, passFds);
  const asked = words(onAsk ? { ask: 60, ...options } : options);
  const stdio = [stdin, stdout, stderr, 'pipe'];
  const own = [`--control=fd:${CHANNEL}`];
  const policies = [policy ?? []].flat();
  for (const one of policies)
    if (typeof one !== 'object' || one === null) throw new TypeError(`policy: ${one} is no policy: give what stands in the file, as JSON.parse() reads it`);
  for (const index of policies.keys()) {
    stdio.push('pipe');
    own.push(`--policy=fd:${POLICIES + index}`);
  }
  const first = stdio.length;
  for (const one of passFds) {
    if (one < first) throw new TypeError(`passFds: ${one} is taken; passed descriptors keep their numbers, from ${first} on`);
    while (stdio.length < one) stdio.push('ignore');
    stdio[one] = one;
    own.push(`--pass-fd=${one}`);
  }
  signal?.throwIfAborted();
  if (directory !== undefined) statSync(directory); // of a missing one spawn() says that it is the program
  const child = spawn(findProgram(program), ['run', ...own, ...asked, '--', ...command], { cwd: directory, env: environ, stdio });
  for (const [index, one] of policies.entries()) {
    const pipe = child.stdio?.[POLICIES + index];
    pipe?.on('error', () => {}); // a program that ends before it reads says why itself
    pipe?.end(JSON.stringify(one));
  }
  return new Run(child, signal, onAsk);
}

/** Each piece of a stream to onOutput, which is waited for. Return: all of it, where it is to be collected. */
async function hand(stream, name, onOutput, capture) {
  const pieces = [];
  for await (const piece of stream) {
    if (capture) pieces.push(piece);
    await onOutput(name, piece);
  }
  return capture ? Buffer.concat(pieces) : null;
}

/** Run a command confined and wait for its end: start() and wait(), with an input and callbacks. */
export async function run(command, { input, capture = true, onOutput, onEvent, ...rest } = {}) {
  const output = capture || onOutput ? 'pipe' : 'inherit';
  const running = start(command, { stdin: input === undefined ? 'ignore' : 'pipe', stdout: output, stderr: output, ...rest });
  try {
    if (input !== undefined) running.stdin?.end(input);
    const handed = ['stdout', 'stderr'].map((name) => (onOutput && running[name] ? hand(running[name], name, onOutput, capture) : undefined));
    const events = (async () => { for await (const event of running) await onEvent?.(event); })();
    const [result, , out, err] = await Promise.all([running.wait(), events, ...handed]);
    return new Result(result, out ?? result.stdout, err ?? result.stderr);
  } finally {
    await running.close();
  }
}
