/** The lines of the control channel: bytes in, events out. */
import { ConfineError } from './errors.js';

export class Lines {
  #pieces = [];

  /** The objects that are complete with this piece. */
  feed(data) {
    const lines = [];
    for (let end; (end = data.indexOf(10)) >= 0; data = data.subarray(end + 1)) {
      const text = Buffer.concat([...this.#pieces, data.subarray(0, end)]).toString();
      this.#pieces = [];
      let line;
      try {
        line = JSON.parse(text);
      } catch {
        line = null;
      }
      if (line === null || typeof line !== 'object' || typeof line.type !== 'string')
        throw new ConfineError(`the program said something that is no event: ${JSON.stringify(text.slice(0, 200))}`);
      lines.push(line);
    }
    if (data.length) this.#pieces.push(data);
    return lines;
  }
}

export function order(message) {
  const line = `${JSON.stringify(message)}\n`;
  if (Buffer.byteLength(line) > 65536) throw new RangeError('an order has at most 65536 bytes');
  return line;
}
