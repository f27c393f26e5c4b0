/** What is asked for, as words of confine-run(1). */
/** Options that a run, or a session, takes. Each is the option of its name in confine-run(1). */
export const RUN_OPTIONS = new Set([
  'mode', 'workspace', 'chdir', 'read', 'readable', 'write', 'hide', 'show', 'protect', 'unprotect', 'socket', 'caches', 'tmp',
  'device', 'network', 'allow', 'proxyEnv', 'upstream', 'forward', 'publish', 'backend', 'open', 'require', 'approvedMode', 'env',
  'unsetEnv', 'cleanEnv', 'user', 'timeout', 'limit', 'grace', 'waitAll', 'tty', 'size', 'denials', 'ask', 'planted', 'session',
]);
export const SESSION_OPTIONS = new Set(['network', 'allow', 'upstream', 'forward', 'publish', 'limit', 'workspace', 'user', 'backend']);

/** What else it may be looked for by. */
const FOREIGN = { __proto__: null, cwd: 'chdir', port: 'publish', environment: 'env', memory: 'limit' };

/** A number is seconds. */
const DURATIONS = new Set(['timeout', 'grace', 'ask']);

/** true and false are values of what these hold by name: `limit: {output_end: true}`. */
const SWITCHES = new Set(['limit']);

function word(name, value) {
  if (typeof value === 'number' && Number.isFinite(value)) return DURATIONS.has(name) ? `${value.toFixed(6)}s` : String(value);
  if (typeof value === 'string') return value;
  throw new TypeError(`${name}: ${value} is no value of this option`);
}

const member = (name, value) => (typeof value === 'boolean' && SWITCHES.has(name) ? String(value) : word(name, value));

const letters = (name) => name.replace(/[-_]/g, '').toLowerCase();

/** Are the names alike but for one letter: too much, too few, another, or two that changed places? */
function near(left, right) {
  let from = 0;
  let until = 0;
  while (from < left.length && left[from] === right[from]) from++;
  while (until < Math.min(left.length, right.length) - from && left.at(-1 - until) === right.at(-1 - until)) until++;
  const [one, other] = [left, right].map((name) => name.slice(from, name.length - until));
  return Math.max(one.length, other.length) < 2 || (one.length === 2 && one[0] === other[1] && one[1] === other[0]);
}

function unknown(name, known) {
  const meant = FOREIGN[name] ?? [...known].find((each) => near(letters(each), letters(name)));
  return `${name}: no such option${meant && known.has(meant) ? ` (did you mean ${meant}?)` : '; confine-run(1) has them all'}`;
}

/** The options as words of a command line; each is one word, so that no value can be read as an option. */
export function words(options, known = RUN_OPTIONS) {
  const out = [];
  for (const [name, value] of Object.entries(options)) {
    if (!known.has(name)) throw new TypeError(unknown(name, known));
    const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    if (value === undefined || value === null || value === false) continue;
    if (value === true) out.push(option);
    else if (Array.isArray(value)) out.push(...value.map((item) => `${option}=${word(name, item)}`));
    else if (typeof value === 'object') out.push(...Object.entries(value).map(([key, item]) => `${option}=${key}=${member(name, item)}`));
    else out.push(`${option}=${word(name, value)}`);
  }
  for (const one of out) if (one.includes('\0')) throw new TypeError(`${JSON.stringify(one)}: a word cannot have a NUL in it`);
  return out;
}
