import { CommandFailed, ConfineError } from './errors.js';

/** A run that has ended, and nothing of it is left. */
export class Result {
  constructor(ended, stdout, stderr) {
    this.status = ended.status;
    this.report = ended.report;
    this.stdout = stdout;
    this.stderr = stderr;
  }

  get outcome() { return this.report.outcome; }

  /** Fixed sentences for a person or a model. */
  get summary() { return this.report.summary; }

  get started() { return this.outcome.kind !== 'not-started'; }

  /** Why the command did not run, or null. */
  get error() {
    const { error } = this.report;
    return error ? new ConfineError(error.message, { ...error, report: this.report }) : null;
  }

  /** This result if the command ran and exited with 0, an exception otherwise. */
  check() {
    if (this.error) throw this.error;
    if (this.outcome.kind !== 'exited' || this.status !== 0) throw new CommandFailed(this);
    return this;
  }
}
