// What the kit throws when tenants are not isolated.

import type { TenantLeak } from '../types/testing.js';
import { SHOWN_LEAKS } from './bounds.js';

/** A tenant got something of another one. */
export class TenantIsolationError extends Error {
  override readonly name = 'TenantIsolationError';
  readonly code = 'tenant-leak';
  /** What was found: the first 50. */
  readonly leaks: readonly TenantLeak[];
  /** How many more were found. */
  readonly more: number;

  constructor(leaks: readonly TenantLeak[], more: number) {
    const shown = leaks.slice(0, SHOWN_LEAKS).map(lineOf);
    const rest = leaks.length + more - shown.length;
    if (rest > 0) shown.push(`… and ${rest} more`);
    super(`tenants are not isolated:\n${shown.join('\n')}`);
    this.leaks = leaks;
    this.more = more;
  }
}

function lineOf({ kind, transport, operation, tenant, of, evidence }: TenantLeak): string {
  return `- ${kind} of ${JSON.stringify(of)} reached ${JSON.stringify(tenant)} over ${transport}, ${operation}: ${evidence}`;
}
