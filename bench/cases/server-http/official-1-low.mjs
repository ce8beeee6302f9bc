// Subject: the same by its lower level.

import { lowLevel } from '../../lib/servers/official-1.mjs';
import { serveSessions } from './sessions.mjs';

export function start({ tools }) {
  return serveSessions(lowLevel(tools));
}
