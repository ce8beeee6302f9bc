// The entry of the server half.

export { McpError } from './errors.js';
export type { McpErrorCode } from './errors.js';
