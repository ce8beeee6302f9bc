// The harness's handle on one measured process.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url));

export class Subject {
  #process;
  #pending = new Map();
  #lastId = 0;
  #exited;

  /**
   * `subject` and `work` are module URLs; `execPath` runs them, with the flags `execArgv` besides `--expose-gc`. Its standard
   * input and output are those of `pipes`, where there are any.
   */
  constructor({ name, subject, work = '-', execPath = process.execPath, execArgv = [], pipes }) {
    this.name = name;
    this.#process = fork(CHILD, [subject, work], {
      execPath,
      execArgv: ['--expose-gc', ...execArgv],
      stdio: [pipes?.inputFd ?? 'ignore', pipes?.outputFd ?? 'inherit', 'inherit', 'ipc'],
    });
    this.#process.on('message', ({ id, value, error }) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (error === undefined) pending?.resolve(value);
      else pending?.reject(new Error(`${this.name}: ${error}`));
    });
    this.#exited = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        const error = new Error(`${this.name}: its process ended (${signal ?? `exit code ${code}`})`);
        for (const pending of this.#pending.values()) pending.reject(error);
        this.#pending.clear();
        resolve();
      });
    });
  }

  get pid() {
    return this.#process.pid;
  }

  start(input) {
    return this.#request('start', { input }, 120);
  }

  /** Does the work once; `seconds` is how long it is meant to take. */
  measure(params, { seconds = 10, profileTo } = {}) {
    return this.#request('measure', { params, profileTo }, seconds * 10 + 60);
  }

  begin({ profileTo } = {}) {
    return this.#request('begin', { profileTo }, 60);
  }

  end({ profileTo } = {}) {
    return this.#request('end', { profileTo }, 60);
  }

  /** Closes the subject, then the process. Resolves to what the subject held at the end, where it could tell. */
  async stop() {
    try {
      return this.#process.connected ? await this.#request('stop', {}, 30) : undefined;
    } finally {
      if (this.#process.connected) this.#process.disconnect();
      const kill = setTimeout(() => this.#process.kill('SIGKILL'), 10_000);
      await this.#exited;
      clearTimeout(kill);
    }
  }

  #request(operation, input, limitSeconds) {
    return new Promise((resolve, reject) => {
      if (!this.#process.connected) {
        reject(new Error(`${this.name}: its process is gone`));
        return;
      }
      const id = ++this.#lastId;
      const limit = setTimeout(() => {
        this.#pending.delete(id);
        reject(new Error(`${this.name}: no answer to "${operation}" within ${limitSeconds} s`));
      }, limitSeconds * 1000);
      const settle = (how) => (value) => {
        clearTimeout(limit);
        how(value);
      };
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#process.send({ id, operation, ...input });
    });
  }
}
