/** The command did not run: code and reason are those of `error` in the report. */
export class ConfineError extends Error {
  constructor(message, { code = 'INTERNAL', reason = '', hint = null, surface = null, report = null } = {}) {
    super(message);
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
