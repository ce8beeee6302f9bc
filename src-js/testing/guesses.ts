// Sessions of others: used, ended, come back to, and guessed.

import { GUESSED_SESSIONS } from './bounds.js';
import { type Findings, STRANGER, without } from './findings.js';
import { ask, type Place, type Reply } from './http.js';
import { type Json, JSON_AND_EVENTS, type Lane, SESSION_REVISION } from './lane.js';
import { SessionLane } from './streamable-lane.js';
import { SseLane } from './stream-lanes.js';
import type { TestedTransport } from '../types/testing.js';
import { unlike } from './unlike.js';

/** Somebody with the headers of a tenant, or of none. */
export interface Guesser {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Guessing {
  readonly findings: Findings;
  readonly transport: TestedTransport;
  readonly place: Place;
  readonly settleMs: number;
  readonly requestTimeoutMs: number;
  readonly signal: AbortSignal;
  /** One more request was sent. */
  readonly count: () => void;
}

const PING: Json = { jsonrpc: '2.0', id: 'guess', method: 'ping', params: {} };
const TOOLS: Json = { jsonrpc: '2.0', id: 'guess', method: 'tools/list', params: {} };

/** Has somebody use the session of a tenant in every way that there is; ends with ending it. */
export async function guess(guessing: Guessing, guesser: Guesser, owner: { id: string; lane: Lane }): Promise<void> {
  const { lane } = owner;
  if (lane instanceof SessionLane && lane.sessionId !== undefined) {
    const { sessionId } = lane;
    for (const message of [PING, TOOLS]) {
      await attempt(guessing, guesser, owner.id, `${methodOf(message)} in another's session`, sessionId, (id) =>
        inSession(guessing, guesser, 'POST', id, message),
      );
    }
    await attempt(guessing, guesser, owner.id, "the stream of another's session", sessionId, (id) =>
      inSession(guessing, guesser, 'GET', id),
    );
    await attempt(guessing, guesser, owner.id, "the end of another's session", sessionId, (id) =>
      inSession(guessing, guesser, 'DELETE', id),
    );
    await stillAlive(guessing, guesser, owner);
  } else if (lane instanceof SseLane && lane.endpoint !== undefined) {
    const endpoint = lane.endpoint.href;
    for (const message of [PING, TOOLS]) {
      await attempt(guessing, guesser, owner.id, `${methodOf(message)} in another's session`, endpoint, (url) =>
        send(guessing, guesser, { ...guessing.place, url: new URL(url) }, 'POST', {}, message),
      );
    }
    await stillAlive(guessing, guesser, owner);
  }
}

/** Somebody comes back to a stream of its own, with the number of an event of another tenant. */
export async function replay(guessing: Guessing, guesser: Guesser & { lane: Lane }, owner: Lane): Promise<void> {
  const { lane } = guesser;
  if (!(lane instanceof SessionLane) || lane.sessionId === undefined) return;
  if (!(owner instanceof SessionLane) || owner.lastEventId === undefined) return;
  await inSession(guessing, guesser, 'GET', lane.sessionId, undefined, { 'last-event-id': owner.lastEventId });
}

/** Opens sessions and looks at how their ids differ from one another and from that of a tenant. */
export async function compareIds(
  guessing: Guessing,
  guesser: Guesser,
  owner: { id: string; lane: Lane },
  open: () => Lane,
): Promise<void> {
  const ids = [idOf(owner.lane)];
  for (let count = 0; count < GUESSED_SESSIONS; count += 1) {
    const lane = open();
    await lane.open();
    ids.push(idOf(lane));
    await lane.close();
  }
  const known = ids.filter((id) => id !== undefined);
  if (known.length < ids.length) return;
  const varying = varyingParts(known);
  const widest = Math.max(...varying.map(({ length }) => length));
  if (widest >= UNGUESSABLE) return;
  const { findings, transport } = guessing;
  const evidence = `the ids of ${known.length} sessions differ in ${widest} characters alone: ${varying.map((part) => JSON.stringify(part)).join(', ')}`;
  findings.add({
    kind: 'session',
    transport,
    operation: 'guessing the id of a session',
    tenant: guesser.id,
    of: owner.id,
    evidence,
  });
}

/** Characters that differ, at the least, between ids that nobody can guess: 32 bits of hexadecimal digits. */
const UNGUESSABLE = 8;

function idOf(lane: Lane): string | undefined {
  if (lane instanceof SessionLane) return lane.sessionId;
  return lane instanceof SseLane ? lane.endpoint?.href : undefined;
}

/** Without what all of them begin and end with. */
function varyingParts(texts: readonly string[]): string[] {
  const [first = ''] = texts;
  const shortest = Math.min(...texts.map(({ length }) => length));
  let start = 0;
  while (start < shortest && texts.every((text) => text[start] === first[start])) start += 1;
  let end = 0;
  while (end < shortest - start && texts.every((text) => text.at(-1 - end) === first.at(-1 - end))) end += 1;
  return texts.map((text) => text.slice(start, text.length - end));
}

async function attempt(
  guessing: Guessing,
  guesser: Guesser,
  of: string,
  operation: string,
  id: string,
  use: (id: string) => Promise<Reply | undefined>,
): Promise<void> {
  const { findings, transport } = guessing;
  const reply = await use(id);
  if (reply === undefined) return;
  const found = { kind: 'session', transport, operation, tenant: guesser.id, of } as const;
  const { status, body, ended } = reply;
  if (isServed(reply)) {
    findings.add({ ...found, evidence: `HTTP ${status}${ended === undefined ? ` ${body}` : ', a stream'}` });
    return;
  }
  const unknown = unlike(id);
  const other = await use(unknown);
  if (other === undefined) return;
  const told = normal(status, body, id);
  const expected = normal(other.status, other.body, unknown);
  if (told !== expected) {
    findings.add({
      ...found,
      evidence: `a session of another is refused with ${told}, and one that is none with ${expected}`,
    });
  }
}

function normal(status: number, body: string, id: string): string {
  return without(`HTTP ${status} ${body}`, [id]).trim();
}

/** A session was used: with an answer, by a stream, or as it was told. */
function isServed({ status, body, ended }: Reply): boolean {
  if (status < 200 || status >= 300) return false;
  return ended !== undefined || !/"error"\s*:/.test(body);
}

async function stillAlive(
  { findings, transport }: Guessing,
  guesser: Guesser,
  { id, lane }: { id: string; lane: Lane },
): Promise<void> {
  const { answer, status, refusal } = await lane.request('ping');
  // Silence may be a slow machine; a session that is gone is refused.
  if (answer !== undefined || status < 400) return;
  findings.add({
    kind: 'session',
    transport,
    operation: "the end of another's session",
    tenant: guesser.id,
    of: id,
    evidence: `the session of ${JSON.stringify(id)} does not answer any more: ${refusal}`,
  });
}

function inSession(
  guessing: Guessing,
  guesser: Guesser,
  method: 'GET' | 'POST' | 'DELETE',
  sessionId: string,
  message?: Json,
  more: Record<string, string> = {},
): Promise<Reply | undefined> {
  const headers = { 'mcp-session-id': sessionId, 'mcp-protocol-version': SESSION_REVISION, ...more };
  return send(guessing, guesser, guessing.place, method, headers, message, sessionId);
}

/** Nothing where there is no reply at all. */
async function send(
  { findings, transport, settleMs, requestTimeoutMs, signal, count }: Guessing,
  { id, headers: own }: Guesser,
  place: Place,
  method: 'GET' | 'POST' | 'DELETE',
  headers: Record<string, string>,
  message?: Json,
  said: string = place.url.href,
): Promise<Reply | undefined> {
  const ear = findings.earOf(id, transport);
  const hear = (text: string): void =>
    ear.hear(text, `${message === undefined ? method : methodOf(message)} in another's session`, [said]);
  // A stream is left after a while; what it brings until then is heard.
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  const patience = setTimeout(leave, settleMs + requestTimeoutMs);
  count();
  try {
    const reply = await ask(place, {
      method,
      headers: { ...(method === 'GET' ? { accept: 'text/event-stream' } : JSON_AND_EVENTS), ...headers, ...own },
      ...(message === undefined ? {} : { body: JSON.stringify(message) }),
      signal: leaving.signal,
      onEvent: ({ raw }) => hear(raw),
    });
    hear(`${reply.head}\n${reply.body}`);
    if (reply.ended !== undefined) {
      const settled = setTimeout(leave, settleMs);
      await reply.ended;
      clearTimeout(settled);
    }
    return reply;
  } catch {
    return undefined;
  } finally {
    clearTimeout(patience);
    signal.removeEventListener('abort', leave);
  }
}

function methodOf(message: Json): string {
  return typeof message['method'] === 'string' ? message['method'] : '';
}

/** A caller without any header of its own. */
export const NOBODY: Guesser = { id: STRANGER, headers: {} };
