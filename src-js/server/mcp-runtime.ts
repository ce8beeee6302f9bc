// A ledger of capabilities that do not come from a host's tools, over a server's registrations.

import type {
  McpRegistration,
  McpPromptRegistration,
  McpResourceRegistration,
  McpToolRegistration,
  MCPPrompt,
  MCPResource,
} from '../types/server.js';
import { assertName, isObject, methodOf } from './check.js';
import { type MCPServer, type Registrar, registrarOf } from './mcp-server.js';

const KINDS = ['tool', 'resource', 'prompt'] as const satisfies readonly McpRegistration['kind'][];

/** A preview: it may change between versions. */
export class McpRuntime {
  readonly #server: Registrar;
  readonly #ledger = new Map<string, { registration: McpRegistration; takeBack: () => void }>();

  /** Throws a `TypeError` for what is no server. */
  constructor(server: MCPServer) {
    this.#server = registrarOf(server);
  }

  /**
   * Registers a tool, resource or prompt. Of two with one kind and name the later one counts, on the wire as well. A
   * resource or prompt without a handler stays in the ledger alone.
   *
   * Rejects with a `TypeError` for what is none of these.
   *
   * @example
   * await mcpRuntime.registerCapability({ kind: 'resource', name: 'runbook', uri: 'file:///runbooks/agent.md' });
   */
  async registerCapability(registration: McpRegistration): Promise<void> {
    if (!isObject(registration)) throw new TypeError('a capability must be an object');
    const { kind, name } = registration;
    if (!KINDS.includes(kind)) throw new TypeError(`the kind of a capability must be one of ${KINDS.join(', ')}`);
    assertName('the name of a capability', name);
    const register = this.#registerOf(registration);
    const key = `${kind} ${name}`;
    const before = this.#ledger.get(key);
    this.#ledger.delete(key);
    // Under another URI the one before would stay.
    before?.takeBack();
    this.#ledger.set(key, { registration, takeBack: register() });
  }

  /** What was registered, in order: all of it, or one kind. */
  capabilities(): McpRegistration[];
  capabilities(kind: 'tool'): McpToolRegistration[];
  capabilities(kind: 'resource'): McpResourceRegistration[];
  capabilities(kind: 'prompt'): McpPromptRegistration[];
  capabilities(kind?: McpRegistration['kind']): McpRegistration[] {
    const all = Array.from(this.#ledger.values(), ({ registration }) => registration);
    return kind === undefined ? all : all.filter((registration) => registration.kind === kind);
  }

  /** Checks a registration; what is returned makes it, and gives what takes it back. */
  #registerOf(registration: McpRegistration): () => () => void {
    const isMute = methodOf('the handler of a capability', registration, 'handler') === undefined;
    switch (registration.kind) {
      case 'tool':
        return this.#server.tool(registration);
      case 'resource': {
        assertName('the uri of a resource', registration.uri);
        return isMute ? nothing : this.#server.resource(registration as MCPResource);
      }
      case 'prompt':
      default: {
        return isMute ? nothing : this.#server.prompt(registration as MCPPrompt);
      }
    }
  }
}

function nothing(): () => void {
  return () => {};
}
