/** Sessions: several runs that share network, processes and /tmp. */
import { spawn } from 'node:child_process';
import { ConfineError } from './errors.js';
import { SESSION_OPTIONS, words } from './options.js';
import { findProgram } from './program.js';

/** What it says, as { status, out, err }. */
function ask(program, environ, asked) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['session', ...asked], { stdio: ['ignore', 'pipe', 'pipe'], env: environ });
    let out = '', err = '';
    child.on('error', reject); // of one for which descriptors have run out there is no stream either
    child.stdout?.setEncoding('utf8').on('data', (text) => { out += text; });
    child.stderr?.setEncoding('utf8').on('data', (text) => { err += text; });
    child.on('close', (status) => resolve({ status, out, err }));
  });
}

async function call(program, environ, asked) {
  const { status, out, err } = await ask(program, environ, asked);
  if (status !== 0) throw new ConfineError(err.trim() || `confine session ended with status ${status}`);
  return out;
}

export class Session {
  #program;
  #environ;

  /** Use Session.start(). */
  constructor(name, program, environ) {
    this.name = name;
    this.#program = program;
    this.#environ = environ;
  }

  /** It ends with end(), or with the owner (this process), however that ends. */
  static async start(name, { program, environ, owner = process.pid, ...options } = {}) {
    const found = findProgram(program);
    await call(found, environ, ['start', name, `--owner=${owner}`, ...words(options, SESSION_OPTIONS)]);
    return new Session(name, found, environ);
  }

  /** The sessions of this user, each as `confine session list --json` shows it. */
  static async list({ program, environ } = {}) {
    return JSON.parse(await call(findProgram(program), environ, ['list', '--json'])).sessions;
  }

  /** Add rules, as `--allow` takes them, for all runs of a session that was started with a list. */
  async allow(...rules) {
    for (const rule of rules) if (!rule || rule.startsWith('-')) throw new TypeError(`${JSON.stringify(rule)}: no rule`);
    await call(this.#program, this.#environ, ['allow', this.name, ...rules]);
  }

  /** Kill everything of the session, with proof. Of one that has ended already nothing is left to do. */
  async end() {
    try {
      await call(this.#program, this.#environ, ['end', this.name]);
    } catch (error) {
      if (await this.#mayLive()) throw error;
    }
  }

  /** Is it listed, or one of those that do not answer? Others of these make the list fail, and are not asked about. */
  async #mayLive() {
    const { out } = await ask(this.#program, this.#environ, ['list', '--json']);
    try {
      const { sessions, silent } = JSON.parse(out);
      return silent.includes(this.name) || sessions.some(({ name }) => name === this.name);
    } catch {
      return true;
    }
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() { await this.end(); }
}
