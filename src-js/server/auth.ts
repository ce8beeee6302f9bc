// Who sends a request, as its bearer token says. The core reads the header and writes the refusals; here the program's own
// function judges the token.

import type { AuthInfo, NetworkRequest, TransportAuth } from '../types/server.js';
import { type Bag, assertType, isObject } from './check.js';

/** Whose a token is, or why it does not let its sender in. */
export type Verdict = { auth: AuthInfo } | { refused: 'token' | 'scope' };

type Warn = (message: string, error: unknown) => void;

export class Authenticator {
  readonly #verify: TransportAuth['verify'];
  readonly #scopes: readonly string[];
  /** What the core has to know. */
  readonly data: Bag;

  /** Throws a `TypeError` that names the option; what is data is judged by the core. */
  constructor(option: unknown) {
    if (!isObject(option)) throw new TypeError('auth must be an object');
    const { verify, ...data } = option;
    if (verify === undefined) throw new TypeError('auth.verify must be a function');
    assertType('auth.verify', verify, 'function');
    this.#verify = verify as TransportAuth['verify'];
    this.#scopes = Array.isArray(data['scopes']) ? (data['scopes'] as string[]).slice() : [];
    this.data = data;
  }

  /** A verifier that throws lets nobody in. */
  async authenticate(token: string, request: NetworkRequest, warn: Warn): Promise<Verdict> {
    let info: unknown;
    try {
      info = await this.#verify(token, request);
    } catch (error) {
      warn('auth.verify failed', error);
      return { refused: 'token' };
    }
    if (info === undefined) return { refused: 'token' };
    if (!isObject(info)) {
      warn('auth.verify failed', new TypeError('auth.verify must give an object, or undefined'));
      return { refused: 'token' };
    }
    const { expiresAt, scopes } = info;
    if (typeof expiresAt === 'number' && expiresAt * 1000 <= Date.now()) return { refused: 'token' };
    const granted: unknown[] = Array.isArray(scopes) ? scopes : [];
    if (!this.#scopes.every((scope) => granted.includes(scope))) return { refused: 'scope' };
    return { auth: { ...info, token, scopes: granted as string[] } };
  }
}
