// The example of a protected server in README.md.

import { createJwtVerifier, createStreamableHttpTransport } from 'espalier/server';

export const transport = createStreamableHttpTransport({
  port: 3001,
  auth: {
    verify: createJwtVerifier({
      issuer: 'https://id.example',
      audience: 'https://mcp.example/mcp',
      jwks: 'https://id.example/.well-known/jwks.json',
    }),
    resource: 'https://mcp.example/mcp',
    authorizationServers: ['https://id.example'],
    scopes: ['tides:read'],
  },
  tenantIdExtractor: ({ auth }) => auth?.extra?.['tenant'] as string | undefined,
});
