/** What is asked for, as words of confine-run(1). */
/** Options that a run, or a session, takes. Each is the option of its name in confine-run(1). */
export const RUN_OPTIONS = new Set([
  'mode', 'workspace', 'chdir', 'read', 'readable', 'write', 'hide', 'show', 'protect', 'unprotect', 'socket', 'caches', 'tmp',
  'device', 'network', 'allow', 'proxyEnv', 'upstream', 'forward', 'publish', 'backend', 'open', 'require', 'approvedMode', 'env',
  'unsetEnv', 'cleanEnv', 'user', 'timeout', 'limit', 'grace', 'waitAll', 'tty', 'size', 'denials', 'ask', 'planted', 'session',
]);
export const SESSION_OPTIONS = new Set(['network', 'allow', 'upstream', 'forward', 'publish', 'limit', 'workspace', 'user', 'backend']);

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

/** The options as words of a command line; each is one word, so that no value can be read as an option. */
export function words(options, known = RUN_OPTIONS) {
  const out = [];
  for (const [name, value] of Object.entries(options)) {
    if (!known.has(name)) throw new TypeError(`${name}: no such option`);
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
