// What the driver does in each scenario of the official suite, with the public surface of the package and nothing else.
// Every scenario that is not here is in `left-out.json`, with the reason.

/** @typedef {{ url: string, context: Record<string, unknown>, connect: (options?: object) => Promise<object> }} Scene */

/** @type {Record<string, (scene: Scene) => Promise<void>>} */
export const scenarios = {
  async initialize({ connect }) {
    await connect();
  },

  async tools_call({ connect }) {
    const toolset = await connect();
    await toolset.call('suite__add_numbers', { a: 5, b: 3 });
  },

  // The answer is empty: what the schema gives as defaults is filled in by the package.
  async 'elicitation-sep1034-client-defaults'({ connect }) {
    const toolset = await connect({ elicitation: () => ({ action: 'accept', content: {} }) });
    await toolset.call('suite__test_client_elicitation_defaults', {});
  },

  async 'sse-retry'({ connect }) {
    const toolset = await connect();
    await toolset.call('suite__test_reconnection', {});
  },

  async 'request-metadata'({ connect }) {
    const toolset = await connect({
      roots: [],
      sampling: () => ({ role: 'assistant', model: 'none', content: { type: 'text', text: 'nothing to say' } }),
      elicitation: () => ({ action: 'decline' }),
    });
    for (const name of Object.keys(toolset.tools)) await toolset.call(name, {});
  },

  async 'sep-2322-client-request-state'({ connect }) {
    const toolset = await connect({ elicitation: () => ({ action: 'accept', content: { confirmed: true } }) });
    await toolset.call('suite__test_mrtr_echo_state', {});
    await toolset.call('suite__test_mrtr_no_state', {});
    await toolset.call('suite__test_mrtr_unrelated', {});
    await toolset.call('suite__test_mrtr_no_result_type', {});
  },

  async 'http-standard-headers'({ connect }) {
    const toolset = await connect();
    for (const name of Object.keys(toolset.tools)) await toolset.call(name, {});
    for (const { server, uri } of await toolset.resources.list()) await toolset.resources.read(server, uri);
    for (const { server, name } of await toolset.prompts.list()) await toolset.prompts.get(server, name);
  },

  async 'http-custom-headers'({ connect, context }) {
    const toolset = await connect();
    for (const { name, arguments: args } of context.toolCalls) await toolset.call(`suite__${name}`, args);
  },

  // Whatever survives the listing is called; of the tools in it only one is valid.
  async 'http-invalid-tool-headers'({ connect }) {
    const toolset = await connect();
    for (const name of Object.keys(toolset.tools)) await toolset.call(name, { region: 'us-west1' });
  },

  async 'json-schema-ref-no-deref'({ connect }) {
    await connect();
  },

  async 'json-schema-2020-12-preservation'({ connect }) {
    const toolset = await connect();
    const schema = toolset.tools['suite__json_schema_2020_12_tool'].input['~standard'].jsonSchema.input();
    await toolset.call('suite__json_schema_echo', { schema });
  },
};
