/**
 * Run commands that nobody vouches for inside a boundary that the kernel enforces.
 *
 * Nothing is confined in this process: each run is a process of the program confine, talked to over one socket
 * (confine-control(5)). No native addon, no thread, no dependency.
 */
export { CommandFailed, ConfineError } from './lib/errors.js';
export { PACKAGE, PLACES, findProgram } from './lib/program.js';
export { Run, run, start } from './lib/run.js';
export { Session } from './lib/session.js';
