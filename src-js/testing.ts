// The entry of the kit for tests of servers.

export { assertTenantIsolation } from './testing/assert.js';
export { TenantIsolationError } from './testing/error.js';
export { McpError } from './errors.js';
export type { McpErrorCode } from './errors.js';
export type {
  IsolationEndpoints,
  IsolationOptions,
  IsolationReport,
  TenantLeak,
  TenantLeakKind,
  TestedCall,
  TestedCompletion,
  TestedPrompt,
  TestedTenant,
  TestedTransport,
} from './types/testing.js';
