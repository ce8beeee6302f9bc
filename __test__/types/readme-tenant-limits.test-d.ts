// The example of README.md about limits per tenant, word for word, so that it is compiled.

import { MCPServer } from 'espalier/server';

export const server = new MCPServer({
  tenantLimits: {
    maxConcurrentRequests: 16,
    maxRequestsPerSecond: 100,
    maxConnections: 50,
    maxBytesInFlight: 16 * 1024 * 1024,
  },
});
