/// <reference types="node" />
import type { Readable, Writable } from 'node:stream';

export type Mode = 'read-only' | 'workspace-write' | 'danger-full-access';
export type Backend = 'auto' | 'namespace' | 'bubblewrap' | 'landlock' | 'custom' | 'refuse';
export type Enforcement = 'none' | 'partial' | 'full';
export type SurfaceState = 'open' | 'partial' | 'enforced' | 'absent';
export type Evidence = 'none' | 'declared' | 'probed' | 'attested';

/** One element of a report's `surfaces`. */
export interface Surface {
  id: string;
  state: SurfaceState;
  tried: number;
  reason: string | null;
  /** How often somebody allowed more while it ran. */
  approved?: number;
  by: { mechanism: string; evidence: Evidence }[];
}

/** `outcome` of a report. */
export interface Outcome {
  kind: 'exited' | 'signaled' | 'timed-out' | 'limit' | 'not-started';
  status: number | null;
  signal: number | null;
  limit: string | null;
  wall_ms: number | null;
  cpu_ms: number | null;
  max_rss_kib: number | null;
  survivors_killed: number | null;
  output_truncated: boolean;
}

/** One access that was refused. Paths and names are the command's choice: untrusted text. */
export interface Denial {
  surface: string;
  operation: 'read' | 'write' | 'create' | 'truncate' | 'remove' | 'rename' | 'link' | 'metadata' | 'execute' | 'connect' | 'bind' | 'send' | 'ioctl';
  path: string | null;
  address: string | null;
  evidence: 'predicted' | 'refused' | 'kernel' | 'kernel+observed';
  pid: number | null;
  executable: string | null;
  count: number;
  rule: string;
  /** The narrowest piece of a policy that would have granted it, and the same as an option; for a person to choose. */
  grant: Record<string, unknown> | null;
  grant_option: string | null;
  warning: string | null;
  by_mode: boolean;
  within: boolean;
  noise: string | null;
  [key: string]: unknown;
}

/** One connection of a listed network, or of a port that was forwarded or published. */
export interface Connection {
  name: string | null;
  address: string | null;
  port: number;
  protocol: string;
  rule: string | null;
  refused: string | null;
  option: string | null;
  sent: number | null;
  received: number | null;
  ms: number | null;
  error: string | null;
  [key: string]: unknown;
}

/** What the command wrote that something outside runs later. */
export interface Planted {
  kind: 'named' | 'git-hook' | 'git-setting' | 'git-file' | 'git-attributes';
  path: string;
  runs: string;
  detail: string | null;
  moved: string | null;
  stays: string | null;
  [key: string]: unknown;
}

/** The object of confine-report(5). What it may have beyond this is in its schema. */
export interface Report {
  schema: 'confine/report/1';
  version: string;
  run: string;
  started: string;
  summary: string;
  command: string[];
  cwd: string | null;
  workspace: string | null;
  session: string | null;
  mode: { effective: Mode | null; from: 'option' | 'policy' | 'default' | 'approved' | null };
  network: { mode: 'none' | 'listed' | 'host' | null; shared: boolean; connections: Connection[]; counted: Record<string, unknown>[] };
  tried_backends: { name: string; reason: string; message: string }[];
  denials: {
    channel: 'none' | 'observer' | 'audit' | 'inferred';
    complete: boolean;
    lost: number | null;
    unreadable: number | null;
    reason: string | null;
    covers: string[];
    items: Denial[];
    [key: string]: unknown;
  };
  approvals: {
    asked: number;
    unasked: number;
    unlisted: number;
    items: { operation: AskEvent['operation']; path: string | null; address: string | null; answer: 'once' | 'run'; pid: number; executable: string | null; count: number }[];
  } | null;
  planted: Planted[];
  planted_complete: boolean | null;
  escalation: { from: Mode; to: Mode } | { grant: Record<string, unknown>; options: string[]; sufficient: boolean } | null;
  /** null where it was refused before one was chosen. */
  backend: string | null;
  enforcement: Enforcement;
  gaps: string[];
  surfaces: Surface[];
  outcome: Outcome;
  environment: { unset: string[] };
  warnings: string[];
  error: { code: ErrorCode; reason: string; message: string; hint: string | null; surface: string | null } | null;
  [key: string]: unknown;
}

export type ErrorCode =
  | 'SANDBOX_UNAVAILABLE' | 'ATTESTATION_FAILED' | 'POLICY_INVALID' | 'COMMAND_NOT_FOUND' | 'COMMAND_NOT_EXECUTABLE' | 'USAGE' | 'INTERNAL';

interface Line {
  /** How many lines were dropped before this one, because nobody read them in time. */
  lost?: number;
}

/** A call waits that would be refused; beside these the members are those of a denial. The path is chosen by the command. */
export interface AskEvent extends Line {
  type: 'ask';
  id: number;
  timeout_ms: number;
  /** The file would be opened to be read as well. */
  reads: boolean;
  operation: 'write' | 'create' | 'truncate' | 'connect';
  /** null for a connection. */
  path: string | null;
  /** name:port of a connection, which can be allowed for the run, and not once; else null. */
  address: string | null;
  executable: string | null;
  [key: string]: unknown;
}

/** This call; this path for the rest of the run; neither; nor whatever lies in the same directory, for the rest of the run. */
export type Answer = 'once' | 'run' | 'deny' | 'deny-like';

/** One line of confine-control(5). */
export type Event =
  | (Line & { type: 'started'; run: string; pid: number; backend: string; enforcement: Enforcement; surfaces: Surface[] })
  | (Line & { type: 'limit'; limit: string })
  | (Line & { type: 'warning'; message: string })
  | (Line & { type: 'error'; line: number; reason: string; message: string })
  | (Line & { type: 'denial'; } & Denial)
  | (Line & { type: 'connection'; id: number } & Connection)
  | (Line & { type: 'allowed'; rule: string })
  | AskEvent
  | (Line & { type: 'answered'; id: number; allowed: boolean; reason: string | null })
  | (Line & { type: 'ended'; status: number; report: Report });

/** A policy as in confine-policy(5). */
export interface Policy {
  policy: 1;
  [key: string]: unknown;
}

/** Options of confine-run(1): each is the one of its name. An array repeats it; true gives it without a value. */
export interface Options {
  mode?: Mode;
  workspace?: string;
  chdir?: string;
  read?: string | string[];
  readable?: 'all' | 'listed';
  write?: string | string[];
  hide?: string | string[];
  show?: string | string[];
  protect?: string | string[];
  unprotect?: string | string[];
  socket?: string | string[];
  caches?: 'private' | 'host' | 'off';
  tmp?: string;
  device?: string | string[];
  network?: 'none' | 'listed' | 'host';
  allow?: string | string[];
  proxyEnv?: boolean;
  upstream?: string;
  forward?: string | string[];
  publish?: string | string[];
  backend?: Backend;
  open?: string | string[];
  require?: string | string[];
  approvedMode?: Mode;
  env?: string[] | Record<string, string>;
  unsetEnv?: string | string[];
  cleanEnv?: boolean;
  user?: string;
  /** Seconds, or a text with its unit. */
  timeout?: number | string;
  limit?: string[] | Record<string, string | number | boolean>;
  grace?: number | string;
  waitAll?: boolean;
  tty?: 'auto' | 'private' | 'none';
  size?: string;
  denials?: 'auto' | 'on' | 'reads' | 'off';
  /** Seconds, or a text with its unit: how long a refused access waits for an answer. */
  ask?: number | string;
  planted?: 'report' | 'quarantine';
  session?: string;
}

type Stream = 'pipe' | 'ignore' | 'inherit' | number | import('node:stream').Stream;

export interface StartOptions extends Options {
  /** The program confine; without it the first of PLACES, else that of PACKAGE. Never looked for along PATH. */
  program?: string;
  /** One, or several: the weakest first. */
  policy?: Policy | Policy[];
  /** Where confine starts: relative names in the options start there. */
  directory?: string;
  /** The environment that confine gets; without it this process's. */
  environ?: NodeJS.ProcessEnv;
  stdin?: Stream;
  stdout?: Stream;
  stderr?: Stream;
  /** Descriptors for the command, which keep their numbers. */
  passFds?: number[];
  /** Aborting kills the run; wait() then rejects with the signal's reason when nothing of it is left. */
  signal?: AbortSignal;
  /** Called with every question; a rejection, or what is no Answer, ends the run; wait() and the iteration reject with it. Without `ask` each waits for a minute. */
  onAsk?: (question: AskEvent) => Answer | Promise<Answer>;
}

export interface RunOptions extends StartOptions {
  input?: string | Uint8Array;
  /** Collect stdout and stderr, as without it; false: onOutput alone has them, or without it they are this process's. */
  capture?: boolean;
  /** Called with each piece of the output as it comes, and waited for. A piece ends anywhere, in the middle of a letter as well. */
  onOutput?: (stream: 'stdout' | 'stderr', piece: Buffer) => void | Promise<void>;
  /** Called with every event as it comes, and waited for before the next. */
  onEvent?: (event: Event) => void | Promise<void>;
}

/** A run that has ended, and nothing of it is left. */
export interface Result {
  /** Of confine: the command's, 128 + N, 124, 125, 126 or 127. */
  readonly status: number;
  readonly report: Report;
  /** What was captured; null where somebody else read it, or nobody asked for it. */
  readonly stdout: Buffer | null;
  readonly stderr: Buffer | null;
  readonly outcome: Outcome;
  readonly summary: string;
  readonly started: boolean;
  readonly error: ConfineError | null;
  /** This result if the command ran and exited with 0, an exception otherwise. */
  check(): Result;
}

/** The command did not run. `message` is as on the command line: with the hint, the way out, behind it. */
export class ConfineError extends Error {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly hint: string | null;
  readonly surface: string | null;
  readonly report: Report | null;
}

/** The command ran and did not exit with 0. */
export class CommandFailed extends Error {
  readonly result: Result;
}

/** A run that was started. Its events are read once, by one reader. */
export class Run implements AsyncIterable<Event>, AsyncDisposable {
  private constructor();
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** The event that the command's program runs; null where it never did. */
  started(): Promise<Extract<Event, { type: 'started' }> | null>;
  [Symbol.asyncIterator](): AsyncIterator<Event>;
  /** An order of confine-control(5). After the end nothing happens. */
  say(message: { type: string; [key: string]: unknown }): void;
  signal(signal: string | number): void;
  resize(columns: number, rows: number): void;
  closeInput(): void;
  allow(rule: string): void;
  /** Answer a question, for whoever reads the events instead of giving onAsk. What is no Answer throws. */
  answer(id: number, answer: Answer): void;
  kill(): void;
  /** The end, with what was captured of the streams that nobody else reads. */
  wait(): Promise<Result>;
  /** Kill what is still there; resolves when nothing of it is left. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const PLACES: readonly string[];
/** The npm package of the program for this machine. */
export const PACKAGE: string;
export function findProgram(program?: string): string;

/** Start a command confined. Mistakes of the caller throw at once, errors of the machine come from wait(). */
export function start(command: string[], options?: StartOptions): Run;

/** Run a command confined and wait for its end. Resolves also where the command failed or did not run. */
export function run(command: string[], options?: RunOptions): Promise<Result>;

export interface SessionOptions extends Pick<Options, 'network' | 'allow' | 'upstream' | 'forward' | 'publish' | 'limit' | 'workspace' | 'user' | 'backend'> {
  program?: string;
  environ?: NodeJS.ProcessEnv;
  /** The process with which the session ends; without it this one. */
  owner?: number;
}

/** Several runs that share network, processes and /tmp: `run(command, {session: session.name})`. */
export class Session implements AsyncDisposable {
  private constructor();
  readonly name: string;
  static start(name: string, options?: SessionOptions): Promise<Session>;
  static list(options?: { program?: string; environ?: NodeJS.ProcessEnv }): Promise<Record<string, unknown>[]>;
  /** Add rules, as `--allow` takes them, for all runs of a session that was started with a list. */
  allow(...rules: string[]): Promise<void>;
  end(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
