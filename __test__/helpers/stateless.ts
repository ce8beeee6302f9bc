import { scripted, type Script, type Scripted, type Step } from './scripted.js';
import type { StdioConfig } from './servers.js';

/** What a child of the stateless era says to `initialize`. */
export const NO_INITIALIZE: Step = { error: { code: -32_601, message: 'Method not found' } };

/** The answer to `server/discover`. */
export function discovered(capabilities: unknown = { tools: {} }, versions = ['2026-07-28']): Step {
  return {
    reply: {
      resultType: 'complete',
      supportedVersions: versions,
      capabilities,
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'stateless-child', version: '1.0.0' } },
    },
  };
}

/** What answers `subscriptions/listen`: everything that was asked for is honoured, then the rest. */
export function acknowledging(notifications: object, ...rest: Step[]): Step[] {
  return [listenNote('notifications/subscriptions/acknowledged', { notifications }), ...rest];
}

/** A notification of the subscription at hand, which fills in its id. */
export function listenNote(method: string, params: object = {}): Step {
  const meta = '"_meta":{"io.modelcontextprotocol/subscriptionId":$id}';
  const rest = JSON.stringify(params).slice(1, -1);
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":{${rest === '' ? '' : `${rest},`}${meta}}}`;
}

/** A child that speaks the stateless era and nothing else. */
export function statelessChild(
  name: string,
  { capabilities, on, ...script }: Script = {},
  more: Partial<StdioConfig> = {},
): Scripted {
  return scripted(
    name,
    { ...script, on: { initialize: [[NO_INITIALIZE]], 'server/discover': [[discovered(capabilities)]], ...on } },
    more,
  );
}
