// What must be seen by nobody but its owner, in the forms in which it may come: as it is, as JSON writes it, in a URL, or
// in base64.

import { SHORTEST_MARKER } from './bounds.js';

/** A text of another owner in what somebody was sent. */
export interface Sighting {
  readonly of: string;
  /** Where it begins, and how long it is as it came. */
  readonly at: number;
  readonly length: number;
}

interface Mark {
  readonly owner: string;
  readonly forms: readonly string[];
  /** The caller gave it; others are ids of the kit's own. */
  readonly isGiven: boolean;
}

export class Markers {
  readonly #marks: Mark[] = [];
  /** Owners that were sent a text of their own. */
  readonly #seen = new Set<string>();

  /** What the caller gave. */
  give(owner: string, text: string): void {
    this.#marks.push({ owner, forms: formsOf(text), isGiven: true });
  }

  /** What is its owner's besides, such as the ids of its requests. */
  add(owner: string, text: string): void {
    this.#marks.push({ owner, forms: [text], isGiven: false });
  }

  /** The first text in it that is not its reader's. */
  find(reader: string, text: string): Sighting | undefined {
    for (const { owner, forms } of this.#marks) {
      if (owner === reader) continue;
      for (const form of forms) {
        const at = text.indexOf(form);
        if (at >= 0) return { of: owner, at, length: form.length };
      }
    }
    return undefined;
  }

  /** Notes whether its reader is sent what was given as its own. */
  note(reader: string, text: string): void {
    if (this.#seen.has(reader)) return;
    const own = this.#marks.filter(({ owner, isGiven }) => owner === reader && isGiven);
    if (own.some(({ forms }) => forms.some((form) => text.includes(form)))) this.#seen.add(reader);
  }

  /** Whether somebody was sent what is its own, so that it would have been noticed elsewhere. */
  isSeen(owner: string): boolean {
    return this.#seen.has(owner);
  }

  forgetSeen(): void {
    this.#seen.clear();
  }
}

function formsOf(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const forms = [text, json, asciiOf(json), inUrl(text)];
  const bytes = Buffer.from(text);
  // In base64 a text looks otherwise at each of three places; what its neighbours change is left out.
  for (const before of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const whole = encoded.slice(
      before === 0 ? 0 : before + 1,
      encoded.length - ((before + bytes.length) % 3 === 0 ? 0 : 1),
    );
    if (whole.length >= 2 * SHORTEST_MARKER) forms.push(whole);
  }
  return [...new Set(forms)];
}

/** As URLs have it; half a character, which URLs cannot have, is as text in UTF-8 has it. */
export function inUrl(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString());
}

/** As those write JSON who write nothing but ASCII. */
function asciiOf(json: string): string {
  return Array.from({ length: json.length }, (_, index) => {
    const code = json.charCodeAt(index);
    return code < 0x80 ? json[index] : `\\u${code.toString(16).padStart(4, '0')}`;
  }).join('');
}
