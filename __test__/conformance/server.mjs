// The server that the official conformance suite is run against, written with nothing but the package's own public names.
// Prints its address, and serves until standard input ends.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { createStreamableHttpTransport, MCPServer } from 'espalier/server';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const text = (words) => ({ type: 'text', text: words });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const content = (...blocks) => ({ content: blocks });
const embedded = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const strings = (...names) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
});
const user = (words) => ({ role: 'user', content: text(words) });

const server = new MCPServer({ name: 'espalier-conformance', version: '1.0.0' });

/** Registers a tool without arguments, or with a schema for them. */
function tool(name, description, handler, inputSchema = { type: 'object', properties: {} }) {
  server.register({ name, description, inputSchema, handler });
}

tool('test_simple_text', 'Gives one text.', () => 'This is a simple text response for testing.');
tool('test_image_content', 'Gives an image.', () => content(image));
tool('test_audio_content', 'Gives audio.', () => content({ type: 'audio', data: WAV, mimeType: 'audio/wav' }));
tool('test_embedded_resource', 'Gives a resource.', () =>
  content(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
);
tool('test_multiple_content_types', 'Gives several kinds of content.', () =>
  content(
    text('Multiple content types test:'),
    image,
    embedded('test://mixed-content-resource', 'application/json', JSON.stringify({ test: 'data', value: 123 })),
  ),
);
tool('test_tool_with_logging', 'Logs while it works.', async (_args, { log }) => {
  for (const step of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
    log('info', step);
    await pause(50);
  }
  return 'Logged.';
});
tool('test_tool_with_progress', 'Tells how far it is.', async (_args, { progress }) => {
  for (const done of [0, 50, 100]) {
    progress(done, 100, `Completed step ${done} of 100`);
    await pause(50);
  }
  return 'Done.';
});
tool('test_error_handling', 'Always fails.', () => ({
  success: false,
  error: 'This tool intentionally returns an error for testing',
}));
tool('test_reconnection', 'Sends its client away before it answers.', async (_args, { closeStream, log }) => {
  log('info', 'The stream is about to be closed.');
  await pause(20);
  closeStream(500);
  await pause(100);
  return 'Reconnected.';
});
tool(
  'test_sampling',
  'Asks the model of its client.',
  async ({ prompt: words }, { sample }) => {
    const answer = await sample({ messages: [user(words)], maxTokens: 100 });
    return `LLM response: ${answer.content.text ?? ''}`;
  },
  strings('prompt'),
);

/** Asks for a form, and says what came of it. */
function asking(schema) {
  return async ({ message = 'Please fill this in.' }, { elicit }) => {
    const { action, content: given = {} } = await elicit({ message, requestedSchema: schema });
    return `Elicitation completed: action=${action}, content=${JSON.stringify(given)}`;
  };
}

tool('test_elicitation', 'Asks the user.', asking(strings('username', 'email')), strings('message'));
tool(
  'test_elicitation_sep1034_defaults',
  'Asks with a default for each field.',
  asking({
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
    required: [],
  }),
);
const titled = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
  { const: 'value3', title: 'Third Option' },
];
tool(
  'test_elicitation_sep1330_enums',
  'Asks for one of several values, in every form there is.',
  asking({
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: { type: 'array', items: { anyOf: titled } },
    },
    required: [],
  }),
);
tool('json_schema_2020_12_tool', 'Has a schema with much of 2020-12 in it.', (args) => JSON.stringify(args), {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
});
tool('test_x_mcp_header', 'Has an argument that is repeated in a header.', ({ region }) => `Region: ${region}`, {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
});
tool('test_missing_capability', 'Needs the model of its client.', async (_args, { sample }) => {
  const answer = await sample({ messages: [user('Hello.')], maxTokens: 10 });
  return answer.content.text ?? '';
});
tool('test_streaming_elicitation', 'Could ask, and does not.', async (_args, { progress }) => {
  progress(1, 2);
  await pause(10);
  return 'Not asked.';
});
tool('test_logging_tool', 'Logs, where logs are wanted.', (_args, { log }) => {
  log('info', 'A message for whoever wants it.');
  return 'Logged.';
});
tool('test_trigger_tool_change', 'Changes the tools.', () => {
  tool('test_changed_tool', 'Was changed.', () => 'Changed.');
  return 'Changed.';
});
tool('test_trigger_prompt_change', 'Changes the prompts.', () => {
  prompt('test_changed_prompt', 'Was changed.', () => 'Changed.');
  return 'Changed.';
});

// Questions in rounds.

const nameForm = { message: 'What is your name?', requestedSchema: strings('name') };

/** What was accepted under a name; anything else is asked for again, by giving up. */
function accepted({ action, content: given }, name) {
  const value = action === 'accept' ? given?.[name] : undefined;
  if (value === undefined) throw new Error('the user did not say');
  return value;
}

tool('test_input_required_result_elicitation', 'Asks for a name.', async (_args, { elicit }) => {
  return `Hello, ${accepted(await elicit(nameForm, { key: 'user_name' }), 'name')}!`;
});
tool('test_input_required_result_sampling', 'Asks for a capital.', async (_args, { sample }) => {
  const request = { messages: [user('What is the capital of France?')], maxTokens: 100 };
  const answer = await sample(request, { key: 'capital_question' });
  return answer.content.text ?? '';
});
tool('test_input_required_result_list_roots', 'Asks for roots.', async (_args, { roots }) => {
  return JSON.stringify(await roots({ key: 'client_roots' }));
});
const confirmation = {
  message: 'Go on?',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
};
tool('test_input_required_result_request_state', 'Carries its state.', async (_args, { elicit }) => {
  await elicit(confirmation, { key: 'confirm' });
  return 'state-ok';
});
tool('test_input_required_result_multiple_inputs', 'Asks three things at once.', async (_args, ctx) => {
  const [name, greeting, folders] = await Promise.all([
    ctx.elicit(nameForm, { key: 'user_name' }),
    ctx.sample({ messages: [user('Say hello.')], maxTokens: 50 }, { key: 'greeting' }),
    ctx.roots({ key: 'client_roots' }),
  ]);
  return JSON.stringify({ name, greeting, folders });
});
tool('test_input_required_result_multi_round', 'Asks one thing after another.', async (_args, { elicit }) => {
  const name = await elicit(nameForm, { key: 'step1' });
  const color = await elicit({ message: 'Which colour?', requestedSchema: strings('color') }, { key: 'step2' });
  return JSON.stringify({ name, color });
});
tool('test_input_required_result_tampered_state', 'Trusts its own state alone.', async (_args, { elicit }) => {
  await elicit(confirmation, { key: 'confirm' });
  return 'state-ok';
});
tool('test_input_required_result_capabilities', 'Asks what can be asked.', async (_args, ctx) => {
  if (ctx.clientCapabilities.elicitation !== undefined) await ctx.elicit(confirmation, { key: 'confirm' });
  if (ctx.clientCapabilities.sampling !== undefined) {
    await ctx.sample({ messages: [user('Say hello.')], maxTokens: 50 }, { key: 'greeting' });
  }
  return 'Asked.';
});

// Resources.

server.registerResource({
  uri: 'test://static-text',
  name: 'Static text',
  description: 'A text that stays as it is.',
  mimeType: 'text/plain',
  handler: () => ({ text: 'This is the content of the static text resource.' }),
});
server.registerResource({
  uri: 'test://static-binary',
  name: 'Static binary',
  description: 'An image that stays as it is.',
  mimeType: 'image/png',
  handler: () => ({ blob: PNG }),
});
server.registerResource({
  uri: 'test://watched-resource',
  name: 'Watched resource',
  description: 'A text that may be subscribed to.',
  mimeType: 'text/plain',
  handler: () => ({ text: 'Watched.' }),
});
server.registerResourceTemplate({
  uriTemplate: 'test://template/{id}/data',
  name: 'Template',
  description: 'Data by id.',
  mimeType: 'application/json',
  handler: (_uri, { id }) => ({ text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }) }),
});

// Prompts.

/** Registers a prompt whose arguments are all required. */
function prompt(name, description, handler, ...args) {
  const named = args.map((argument) => ({ name: argument, description: `The ${argument}.`, required: true }));
  server.registerPrompt({ name, description, arguments: named, handler });
}

prompt('test_simple_prompt', 'One message.', () => 'This is a simple prompt for testing.');
prompt(
  'test_prompt_with_arguments',
  'Repeats its arguments.',
  ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  'arg1',
  'arg2',
);
prompt(
  'test_prompt_with_embedded_resource',
  'Holds a resource.',
  ({ resourceUri }) => ({
    messages: [
      { role: 'user', content: embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.') },
      user('Please process the embedded resource above.'),
    ],
  }),
  'resourceUri',
);
prompt('test_prompt_with_image', 'Holds an image.', () => ({
  messages: [{ role: 'user', content: image }, user('Please analyze the image above.')],
}));
prompt('test_input_required_result_prompt', 'Asks before it speaks.', async (_args, { elicit }) => {
  const request = { message: 'In which context?', requestedSchema: strings('context') };
  return `Context: ${accepted(await elicit(request, { key: 'user_context' }), 'context')}`;
});
server.registerCompletion((_ref, { value }) => ['test-one', 'test-two'].filter((word) => word.startsWith(value)));

// A page of its own may speak to it, as the suite wants; so its port has to be known beforehand.
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();
await once(probe, 'close');
const origin = `http://127.0.0.1:${port}`;
await server.start(createStreamableHttpTransport({ port, allowedOrigins: [origin] }));
process.stdout.write(`${origin}/mcp\n`);
process.stdin.resume();
process.stdin.once('end', () => void server.stop());
