// Names of what is not there, as long as those of what is: a text may depend on how long a name is.

import { randomBytes } from 'node:crypto';

/** A text of the same length that ends otherwise. */
export function unlike(text: string): string {
  const length = Math.min(8, text.length);
  const end = randomBytes(8).toString('hex').slice(0, length);
  return `${text.slice(0, text.length - length)}${end}`;
}
