/** The command did not run: code and reason are those of `error` in the report. Its text is as on the command line: the message, and
 * the way out behind it. */
export class ConfineError extends Error {
  constructor(message, { code = 'INTERNAL', reason = '', hint = null, surface = null, report = null } = {}) {
    super(hint ? `${message} (${hint})` : message);
    this.name = 'ConfineError';
    Object.assign(this, { code, reason, hint, surface, report });
  }
}

/** The command ran and did not exit with 0. */
export class CommandFailed extends Error {
  constructor(result) {
    super(result.summary);
    this.name = 'CommandFailed';
    this.result = result;
  }
}
