// Standard input and output of a measured process as pipes that another program can open by their names.

import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export class Pipes {
  #held;

  constructor(input, output, held) {
    this.input = input;
    this.output = output;
    this.#held = held;
  }

  /** Makes both in a folder, and holds them open: whoever opens and closes them from outside is not the end of them. */
  static async make(folder) {
    const paths = ['input', 'output'].map((name) => join(folder, name));
    await run('mkfifo', paths);
    const held = [];
    for (const path of paths) held.push(await open(path, 'r+'));
    return new Pipes(...paths, held);
  }

  get inputFd() {
    return this.#held[0].fd;
  }

  get outputFd() {
    return this.#held[1].fd;
  }

  async close() {
    for (const handle of this.#held) await handle.close();
  }
}
