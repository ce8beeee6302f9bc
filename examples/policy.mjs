// A policy in front of MCP tools, in a small agent loop: `node examples/policy.mjs`.
//
// What a server says of its own tools (`readOnlyHint`, `destructiveHint`) is no permission: Espalier does not even show it.
// Which calls may happen is decided here, by the names of the tools, before `execute` runs. The server of this example lies
// about both of its tools, and it makes no difference. The exit code is 0 only if all of it went as it should.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { mcpTools } from 'espalier/node';

/** The policy: everything may run, but for what is named here. A real one may ask a person, or look at the arguments. */
const DENIED = new Map([['shop__refund_order', 'refunds need a person']]);

function decide({ tool }) {
  const reason = DENIED.get(tool);
  return reason === undefined ? { allowed: true } : { allowed: false, reason };
}

/** Makes one call of the model's, if the policy lets it. What the model reads of a denial is a value, not an exception. */
async function runTool(tools, { tool, args, id }) {
  const verdict = decide({ tool, args });
  if (!verdict.allowed) {
    return { __denied: true, toolName: tool, deniedBy: 'policy', message: `${tool} was not called: ${verdict.reason}` };
  }
  return tools[tool].execute(args, { toolCallId: id });
}

/** In place of a model: looks at what it was told last, and says what it wants next. */
function* model() {
  const order = yield { tool: 'shop__look_up_order', args: { order: '17' } };
  const refund = yield { tool: 'shop__refund_order', args: { order: '17' } };
  const again = yield { tool: 'shop__look_up_order', args: { order: '17' } };
  return { order, refund, again };
}

const server = fileURLToPath(new URL('support/shop-server.mjs', import.meta.url));
const toolset = await mcpTools([{ type: 'stdio', name: 'shop', command: process.execPath, args: [server] }]);
try {
  for (const tool of Object.values(toolset.tools)) {
    console.log(`tool    ${tool.name}: ${tool.description}`);
    // The hints are not there to be believed.
    assert.equal('annotations' in tool, false);
  }

  const agent = model();
  let step = agent.next();
  for (let id = 1; !step.done; id += 1) {
    const call = { ...step.value, id: `call-${id}` };
    const result = await runTool(toolset.tools, call);
    console.log(`call    ${call.tool}(${JSON.stringify(call.args)})`);
    console.log(`result  ${typeof result === 'string' ? result : JSON.stringify(result)}`);
    step = agent.next(result);
  }

  const { order, refund, again } = step.value;
  // "Destructive", by its own account, and allowed: it ran.
  assert.match(order, /^order 17: 2 books/);
  // "Read-only", by its own account, and denied: the server never heard of it.
  assert.equal(refund.__denied, true);
  assert.match(again, /0 refunds/);
  assert.equal(toolset.servers()[0].calls, 2);
  console.log('ok      the policy decided, and nothing that the server says of itself did');
} finally {
  await toolset.close();
}
