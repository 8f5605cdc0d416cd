// An agent of @openai/agents with one MCP server and a model that follows a script: one tool call, then words.
//
// Usage: openai-agents-agent.mjs CALL SERVER [ARG]... with CALL a JSON object {"id", "tool", "arguments"}, and
// "request_id" if the MCP request is to carry another id than the SDK tells. Prints what the tool answered.

import { Agent, MCPServerStdio, Runner, setTracingDisabled } from '@openai/agents';
import { ScriptedModel, assistantMessage, functionCall } from '@openai/agents/testing';
import { META_KEY, recordRun, runEnvironment, toolMetaResolver } from 'steno-openai-agents';

const call = JSON.parse(process.argv[2]);
const [command, ...args] = process.argv.slice(3);
const anotherId = (context) => toolMetaResolver(context) && { [META_KEY]: call.request_id };

setTracingDisabled(true);
const server = new MCPServerStdio({
  name: 'filesystem',
  command,
  args,
  env: runEnvironment(),
  toolMetaResolver: call.request_id ? anotherId : toolMetaResolver,
  clientSessionTimeoutSeconds: 30,
});
await server.connect();
try {
  const steps = [[functionCall(call.tool, call.arguments, { callId: call.id })], [assistantMessage('done')]];
  const agent = new Agent({ name: 'agent', model: new ScriptedModel(steps), mcpServers: [server] });
  const result = await recordRun(new Runner()).run(agent, 'go');
  const outputs = result.newItems.filter((item) => item.type === 'tool_call_output_item');
  console.log(JSON.stringify(outputs.map((item) => item.output)));
} finally {
  await server.close();
}
