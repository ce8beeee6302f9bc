// Verifying tokens: the core does it, keys and all.

import type { AuthInfo, JwtVerifier, JwtVerifierOptions } from '../types/server.js';
import type { NativeVerdict } from '../../native/binding.cjs';
import { native, toError } from '../native.js';
import { assertBag, encodeData, unwrapOption } from './check.js';

const OPTIONS = Object.keys({ issuer: 0, audience: 0, jwks: 0 } satisfies Record<keyof JwtVerifierOptions, number>);

interface Waiting {
  readonly token: string;
  resolve(info: AuthInfo | undefined): void;
  reject(error: unknown): void;
}

interface Inbox {
  readonly waiting: Map<number, Waiting>;
  /** There while somebody waits. */
  release?: () => void;
}

/**
 * Verifies JSON Web Tokens of one authorization server, for the option `auth.verify` of a transport: signature, `exp`,
 * `nbf`, `iss` and `aud`. Keys behind a URL are fetched when they are needed, kept for ten minutes, and fetched again for
 * a token that names an unknown one. Gives `undefined` for a token that is not good, and rejects with an `McpError` when
 * there are no keys to judge it with.
 *
 * Throws a `TypeError` that names the option.
 *
 * @example
 * const verify = createJwtVerifier({
 *   issuer: 'https://id.example',
 *   audience: 'https://mcp.example/mcp',
 *   jwks: 'https://id.example/.well-known/jwks.json',
 * });
 */
export function createJwtVerifier(options: JwtVerifierOptions): JwtVerifier {
  const whole: unknown = options;
  assertBag('the options of the verifier', whole, OPTIONS);
  const { jwks } = options;
  const data = { ...options, jwks: jwks instanceof URL ? jwks.href : jwks };
  const inbox: Inbox = { waiting: new Map() };
  const core = new native.NativeJwtVerifier(mailbox(inbox));
  const { waiting } = inbox;
  unwrapOption(core.configure(encodeData('the options of the verifier', data)));
  let last = 0;
  return async (token) => {
    if (typeof token !== 'string') throw new TypeError('the token must be a string');
    return new Promise((resolve, reject) => {
      // Whoever waits keeps the process alive.
      if (inbox.release === undefined) {
        core.hold();
        inbox.release = () => core.release();
      }
      last += 1;
      waiting.set(last, { token, resolve, reject });
      core.verify(last, token);
    });
  };
}

/** The function that native code holds. It must not hold the verifier: no garbage collector sees through that circle. */
function mailbox(inbox: Inbox): (verdicts: NativeVerdict[]) => void {
  return (verdicts) => {
    for (const verdict of verdicts) settle(inbox.waiting, verdict);
    if (inbox.waiting.size > 0) return;
    inbox.release?.();
    delete inbox.release;
  };
}

function settle(waiting: Map<number, Waiting>, { id, text, failure }: NativeVerdict): void {
  const one = waiting.get(id);
  waiting.delete(id);
  if (one === undefined) return;
  if (failure != null) one.reject(toError(failure));
  else if (text == null) one.resolve(undefined);
  else one.resolve({ ...(JSON.parse(text) as Omit<AuthInfo, 'token'>), token: one.token });
}
