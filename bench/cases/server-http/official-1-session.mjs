// Subject: the official SDK, version 1, with sessions, as its documentation has it.

import { highLevel } from '../../lib/servers/official-1.mjs';
import { serveSessions } from './sessions.mjs';

export function start({ tools }) {
  return serveSessions(highLevel(tools));
}
