// What was found, without the credentials that it was found with, and no more of it than shows it.

import { AROUND, KEPT_LEAKS, LONGEST_EVIDENCE, SHORTEST_MARKER } from './bounds.js';
import type { Ear } from './lane.js';
import { inUrl, type Markers } from './markers.js';
import type { TenantLeak, TestedTransport } from '../types/testing.js';

/** A caller that is no tenant. */
export const STRANGER = 'a stranger';

export class Findings {
  readonly markers: Markers;
  readonly leaks: TenantLeak[] = [];
  more = 0;
  readonly skipped: string[] = [];
  readonly #secrets: readonly string[];
  readonly #signal: AbortSignal;
  readonly #known = new Set<string>();

  /** Nothing is found any more once `signal` is aborted: what is given up looks like what was refused. */
  constructor(markers: Markers, secrets: Iterable<string>, signal: AbortSignal) {
    this.markers = markers;
    this.#signal = signal;
    // The longest first, so that none is left in half.
    this.#secrets = [...new Set(secrets)].toSorted((one, other) => other.length - one.length);
  }

  /** One leak of a kind between two tenants is shown; further ones are counted. */
  add(leak: TenantLeak): void {
    if (this.#signal.aborted) return;
    const { kind, transport, operation, tenant, of } = leak;
    const key = JSON.stringify([kind, transport, operation, tenant, of]);
    if (this.#known.has(key) || this.leaks.length >= KEPT_LEAKS) {
      this.more += 1;
      return;
    }
    this.#known.add(key);
    this.leaks.push({ ...leak, evidence: this.#shown(leak.evidence) });
  }

  skip(what: string): void {
    if (!this.#signal.aborted && !this.skipped.includes(what)) this.skipped.push(what);
  }

  /** Hears for a tenant, or for a stranger. */
  earOf(tenant: string, transport: TestedTransport): Ear {
    return {
      hear: (text, operation, said) => {
        this.markers.note(tenant, text);
        const unsaid = without(text, said);
        const sighting = this.markers.find(tenant, unsaid);
        if (sighting === undefined) return;
        const { of, at, length } = sighting;
        const from = Math.max(0, at - AROUND);
        const until = Math.min(unsaid.length, at + length + AROUND);
        const evidence = `${from > 0 ? '…' : ''}${unsaid.slice(from, until)}${until < unsaid.length ? '…' : ''}`;
        this.add({ kind: 'content', transport, operation, tenant, of, evidence });
      },
    };
  }

  #shown(text: string): string {
    let shown = text;
    for (const secret of this.#secrets) shown = shown.replaceAll(secret, '[header]');
    // One line, whatever is in it.
    shown = Array.from(shown, (char) => (char < ' ' || char === '\u007f' ? ' ' : char)).join('');
    return shown.length > LONGEST_EVIDENCE ? `${shown.slice(0, LONGEST_EVIDENCE)}…` : shown;
  }
}

/** What in a text is not said by its reader itself. */
export function without(text: string, said: readonly string[], put = '…'): string {
  let rest = text;
  for (const own of said) {
    for (const form of new Set([own, JSON.stringify(own).slice(1, -1), inUrl(own)])) {
      if (form !== '') rest = rest.replaceAll(form, put);
    }
  }
  return rest;
}

/** The parts of headers that must not be shown: values, and what follows the scheme of a credential. */
export function secretsOf(id: string, headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers)
    .flatMap((value) => [value, value.replace(/^\S+\s+/, '')])
    .filter((value) => value !== id && value.length >= SHORTEST_MARKER);
}
