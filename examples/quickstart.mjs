// A tour of the client in one file: three MCP servers that other people wrote, driven through one `mcpTools` call.
//
//   npm run quickstart             installs and builds what is missing, then runs this file
//   node examples/quickstart.mjs   runs it alone
//
// Every result is checked; the exit code is 0 only if all of it went as it should. Nothing here uses the network.

import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { estimateTokens, mcpTools } from 'espalier/node';
import { installedServer } from './support/installed-server.mjs';
import { canListProcesses, descendants, survivors } from './support/processes.mjs';
import { callLine, check, heading, line, milliseconds, table } from './support/report.mjs';

// The servers get a folder of their own, which is removed at the end.
const folder = await realpath(await mkdtemp(join(tmpdir(), 'espalier-quickstart-')));
const note = join(folder, 'note.txt');
const graph = join(folder, 'graph.jsonl');

const everything = installedServer('@modelcontextprotocol/server-everything');
const filesystem = installedServer('@modelcontextprotocol/server-filesystem');
const memory = installedServer('@modelcontextprotocol/server-memory');

// A stdio server is a name, a command and its arguments. A child sees none of our environment but PATH, HOME and the
// like: what it needs beyond that is said in `env`. The last entry cannot start, and costs nobody else anything.
const servers = [
  { type: 'stdio', name: 'everything', ...everything.launch },
  { type: 'stdio', name: 'filesystem', ...filesystem.launch, args: [...filesystem.launch.args, folder] },
  { type: 'stdio', name: 'memory', ...memory.launch, env: { MEMORY_FILE_PATH: graph } },
  { type: 'stdio', name: 'missing', command: 'espalier-quickstart-no-such-command' },
];

const diagnostics = [];
const stderr = [];
let toolset;

try {
  // 1. Connect. Every server starts at once; what goes wrong with one arrives as a diagnostic, not as an exception.
  heading('Connect', `${servers.length} servers in one mcpTools call, one of them impossible to start`);
  const connecting = performance.now();
  toolset = await mcpTools(servers, {
    timeoutMs: 30_000,
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    onStderr: (server, text) => stderr.push(`${server}: ${text}`),
  });
  const connected = performance.now() - connecting;

  const states = new Map(toolset.servers().map((server) => [server.name, server]));
  const installed = { everything, filesystem, memory };
  table(
    ['server', 'package', 'reports', 'protocol', 'tools', 'tokens', 'connect'],
    servers.map(({ name }) => {
      const server = states.get(name);
      if (server?.state !== 'ready') return [name, '-', 'not started', '-', '-', '-', '-'];
      return [
        name,
        installed[name].version,
        server.serverInfo.version,
        server.protocolVersion,
        String(server.tools),
        String(tokensOf(server.projectedName)),
        milliseconds(server.connectMs),
      ];
    }),
    ['tools', 'tokens', 'connect'],
  );
  line(`all of them after ${milliseconds(connected)}; tokens = descriptions and input schemas, 4 characters each`);

  for (const name of Object.keys(installed)) {
    check(states.get(name)?.state === 'ready', `${name} is connected`, states.get(name)?.lastError ?? 'not ready');
    check(states.get(name).tools > 0, `${name} publishes tools`, states.get(name).tools);
  }

  // 2. The server that could not start.
  const failed = diagnostics.filter((diagnostic) => diagnostic.origin === 'missing');
  check(failed.length === 1, 'the missing server has one diagnostic', diagnostics);
  check(failed[0].rule === 'connection-failure', 'its rule is connection-failure', failed[0].rule);
  check(failed[0].message.includes('missing'), 'its message names the server', failed[0].message);
  check(diagnostics.length === 1, 'nobody else has a diagnostic', diagnostics);
  heading('Diagnostic', 'what onDiagnostic heard about the server that could not start');
  line(`${failed[0].rule}: ${failed[0].message}`);

  // 3. Call tools. A tool's name is `<server>__<its own name>`; `execute` resolves to structured content or text.
  heading('Call', 'every result is compared with what it has to be');
  await call('everything__echo', { message: 'hello, espalier' }, (result) => result === 'Echo: hello, espalier');
  await call('everything__get-sum', { a: 19, b: 23 }, (result) => /\b42\b/.test(result));

  const text = 'trained flat against a wall,\none branch at a time\n';
  await call(
    'filesystem__write_file',
    { path: note, content: text },
    async () => (await readFile(note, 'utf8')) === text,
  );
  await call('filesystem__read_text_file', { path: note }, (result) => result.content === text);

  const entities = [
    { name: 'espalier', entityType: 'library', observations: ['speaks MCP'] },
    { name: 'pear tree', entityType: 'plant', observations: ['grows along wires'] },
  ];
  await call('memory__create_entities', { entities }, (result) => result.entities.length === 2);
  await call('memory__read_graph', {}, (result) => same(result.entities, entities));

  // 4. Cancel a call that is under way: the server has reported progress, so it is really at work.
  heading('Cancel', 'a call of 30 s, aborted at its first sign of progress');
  const stopper = new AbortController();
  let abortedAt;
  const outcome = await toolset
    .call(
      'everything__trigger-long-running-operation',
      { duration: 30, steps: 150 },
      {
        signal: stopper.signal,
        onProgress: ({ progress, total }) => {
          if (abortedAt !== undefined) return;
          line(`progress ${progress} of ${total}: aborting`);
          abortedAt = performance.now();
          stopper.abort(new Error('changed my mind'));
        },
      },
    )
    .then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
  const waited = performance.now() - abortedAt;
  check(
    outcome.error?.name === 'AbortError',
    'an aborted call rejects with an AbortError',
    outcome.error ?? outcome.value,
  );
  check(outcome.error.cause === stopper.signal.reason, 'its cause is the reason of the signal', outcome.error.cause);
  line(
    `${outcome.error.name} after ${milliseconds(waited)}: ${outcome.error.message} (cause: ${outcome.error.cause.message})`,
  );
  await call('everything__echo', { message: 'still here' }, (result) => result === 'Echo: still here');
  check(diagnostics.length === 1, 'no diagnostic came of the calls', diagnostics.slice(1));

  // 5. Close, and prove that nothing is left. This server goes on with work that was cancelled and so outlives the end
  // of its input: `close` waits 2 s for it, then sends SIGTERM.
  heading('Close', 'stdin closed, 2 s, SIGTERM, 2 s, SIGKILL');
  const children = descendants();
  const closing = performance.now();
  await toolset.close();
  line(`closed after ${milliseconds(performance.now() - closing)}`);

  const late = await toolset.call('everything__echo', { message: 'too late' }).catch((error) => error);
  check(late.code === 'closed', 'a call after close() is refused', late);

  if (canListProcesses) {
    check(children.length >= 3, 'each connected server was a child process', children);
    const left = survivors(children);
    table(
      ['pid', 'started as', 'now'],
      children.map((child) => [String(child.pid), child.title, left.includes(child) ? 'STILL THERE' : 'gone']),
      ['pid'],
    );
    check(left.length === 0, 'every child that lived before close() is gone', left);
    check(descendants().length === 0, 'no other child is left either', descendants());
    line(`${children.length} of ${children.length} child processes are gone, no other is left`);
  } else {
    line('child processes are not listed on Windows, so this run does not check that they are gone');
  }
  heading('Done', 'every step succeeded');
} catch (error) {
  process.exitCode = 1;
  await toolset?.close();
  process.stderr.write(`\nquickstart failed: ${error.message}\n`);
  if (error.name !== 'CheckFailed') process.stderr.write(`${error.stack}\n`);
  if (stderr.length > 0)
    process.stderr.write(`what the servers said on stderr:\n  ${stderr.slice(-20).join('\n  ')}\n`);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Calls a tool as an agent would, by its name in the tool map, and checks the result. */
async function call(name, args, fine) {
  const tool = toolset.tools[name];
  check(tool !== undefined, `${name} is in the tool map`, Object.keys(toolset.tools));
  const started = performance.now();
  const result = await tool.execute(args);
  const took = performance.now() - started;
  check(await fine(result), `${name} answers what it has to`, result);
  callLine(name, args, result, milliseconds(took));
}

/** What the tools of one server cost a prompt: per tool its description and its input schema as compact JSON. */
function tokensOf(server) {
  const lines = [];
  for (const tool of Object.values(toolset.tools)) {
    if (!tool.name.startsWith(`${server}__`)) continue;
    lines.push(tool.description || tool.name, JSON.stringify(tool.input['~standard'].jsonSchema.input()));
  }
  return estimateTokens(lines.join('\n'));
}

function same(left, right) {
  return JSON.stringify(left) === JSON.stringify(right);
}
