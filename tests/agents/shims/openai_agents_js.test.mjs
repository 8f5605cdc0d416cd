// The promises of shims/openai-agents-js, held against the framework itself with a scripted model.
// Run by test_openai_agents_js.py, in a directory with the packages.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, existsSync, writeFileSync, appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';

import { Agent, Runner, setTracingDisabled, tool } from '@openai/agents';
import { ScriptedModel, assistantMessage, functionCall } from '@openai/agents/testing';
import { recordRun, runEnvironment, toolMetaResolver } from 'steno-openai-agents';

setTracingDisabled(true);
const parameters = { type: 'object', properties: {}, required: [], additionalProperties: true };
let log;

beforeEach(() => {
  for (const name of Object.keys(process.env).filter((one) => /^(STENO|ASSAY_RUNNER)_/.test(one))) {
    delete process.env[name];
  }
  log = join(mkdtempSync(join(tmpdir(), 'shim-')), 'sdk.ndjson');
  process.env.STENO_RUN_ID = 'run-1';
  process.env.STENO_SDK_EVENT_LOG = log;
  process.env.STENO_CLOCK_ORIGIN_NS = '0';
});

const lines = () => readFileSync(log, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
const told = () => lines().map((line) => [line.seq, line.event_type, line.tool_call_id, line.tool]);

function agent(steps, tools = [], more = {}) {
  return new Agent({ name: 'a', model: new ScriptedModel(steps), tools, ...more });
}

function answering(output, name = 'answer') {
  return tool({ name, description: name, parameters, strict: false, execute: async () => output });
}

function calling(name, callId, given = {}) {
  return [[functionCall(name, given, { callId })], [assistantMessage('done')]];
}

async function said(work) {
  const write = process.stderr.write;
  const heard = [];
  process.stderr.write = (text) => heard.push(String(text));
  try {
    await work();
  } finally {
    process.stderr.write = write;
  }
  return heard.filter((text) => text.startsWith('steno:'));
}

test('a tool call and the end of a run become lines of the contract', async () => {
  await recordRun(new Runner()).run(agent(calling('answer', 'call-1', { a: 1 }), [answering('42')]), 'go');
  assert.deepEqual(told(), [
    [0, 'tool_call_started', 'call-1', 'answer'],
    [1, 'tool_call_completed', 'call-1', 'answer'],
    [2, 'run_finished', null, null],
  ]);
  const [started, completed, finished] = lines();
  assert.deepEqual(Object.keys(started), [
    'schema', 'run_id', 'seq', 'event_type', 'source', 'sdk_name', 'sdk_version', 'tool_call_id', 'tool', 'steno',
  ]);
  assert.equal(started.schema, 'assay.runner.sdk_event.v0');
  assert.equal(started.sdk_name, '@openai/agents');
  assert.match(started.sdk_version, /^\d+\.\d+\.\d+/);
  assert.deepEqual(started.steno.input, { a: 1 });
  assert.ok(started.steno.at_ns <= completed.steno.at_ns);
  assert.equal(completed.steno.output, '42');
  assert.equal(finished.steno.message, 'done');
});

test('a run that fails is told, and the agent gets its error', async () => {
  await assert.rejects(recordRun(new Runner()).run(agent([]), 'go'), /unexpected non-streaming call/);
  assert.deepEqual(told(), [[0, 'run_failed', null, null]]);
  assert.match(lines()[0].steno.message, /^UnexpectedModelCallError: /);
});

test('a stream that fails is told', async () => {
  const result = await recordRun(new Runner()).run(agent([]), 'go', { stream: true });
  await assert.rejects(result.completed);
  assert.deepEqual(told(), [[0, 'run_failed', null, null]]);
});

test('a stream that ends is told', async () => {
  const runner = recordRun(new Runner());
  const result = await runner.run(agent(calling('answer', 'call-1'), [answering('42')]), 'go', { stream: true });
  await result.completed;
  assert.deepEqual(told().map(([, type]) => type), ['tool_call_started', 'tool_call_completed', 'run_finished']);
});

test('a runner that is recorded twice tells a thing once', async () => {
  await recordRun(recordRun(new Runner())).run(agent([[assistantMessage('done')]]), 'go');
  assert.deepEqual(told(), [[0, 'run_finished', null, null]]);
});

test("numbers go on after another writer's line", async () => {
  writeFileSync(log, '{"seq": 6}\n');
  await recordRun(new Runner()).run(agent([[assistantMessage('done')]]), 'go');
  assert.deepEqual(lines().map((line) => line.seq), [6, 7]);
});

test("the names of assay-runner are enough", async () => {
  for (const name of ['RUN_ID', 'SDK_EVENT_LOG']) {
    process.env[`ASSAY_RUNNER_${name}`] = process.env[`STENO_${name}`];
    delete process.env[`STENO_${name}`];
  }
  await recordRun(new Runner()).run(agent([[assistantMessage('done')]]), 'go');
  assert.equal(lines()[0].run_id, 'run-1');
});

test('outside of a run nothing is written and nothing is changed', async () => {
  delete process.env.STENO_SDK_EVENT_LOG;
  const runner = new Runner();
  const { run } = runner;
  assert.equal(recordRun(runner), runner);
  assert.equal(runner.run, run);
  await runner.run(agent(calling('answer', 'call-1'), [answering('42')]), 'go');
  assert.equal(existsSync(log), false);
});

test('what cannot be written is said once, leaves a gap, and the agent goes on', async () => {
  const torn = tool({
    name: 'tear', description: 'tear', parameters, strict: false, execute: async () => appendFileSync(log, '{"torn'),
  });
  const mend = tool({
    name: 'mend', description: 'mend', parameters, strict: false, execute: async () => appendFileSync(log, '":1,"seq":1}\n'),
  });
  const steps = [...calling('tear', 'call-1').slice(0, 1), ...calling('mend', 'call-2')];
  let result;
  const heard = await said(async () => {
    result = await recordRun(new Runner()).run(agent(steps, [torn, mend]), 'go');
  });
  assert.equal(result.finalOutput, 'done');
  assert.equal(heard.length, 1);
  assert.match(heard[0], /its last line is torn/);
  // The end of the first call and the start of the second are missing, and the numbers show it.
  assert.deepEqual(lines().map((line) => line.seq), [0, 1, 4, 5]);
});

test('a log that is a link is not followed', async () => {
  const { symlinkSync } = await import('node:fs');
  const target = `${log}.target`;
  writeFileSync(target, '');
  symlinkSync(target, log);
  const heard = await said(() => recordRun(new Runner()).run(agent([[assistantMessage('done')]]), 'go'));
  assert.equal(heard.length, 1);
  assert.equal(readFileSync(target, 'utf8'), '');
});

test('long answers are cut, and said to be', async () => {
  const tools = [answering('é'.repeat(100_000))];
  await recordRun(new Runner()).run(agent(calling('answer', 'call-1'), tools), 'go');
  const [, completed] = lines();
  assert.equal(completed.steno.cut, true);
  assert.match(completed.steno.output, /^é{20000,}$/);
  assert.ok(Buffer.byteLength(JSON.stringify(completed.steno.output)) <= 64 * 1024);
});

test('values that are read differently become text', async () => {
  const given = '{"big": 123456789012345678901234567890, "half": "\\ud800", "escaped": "\\\\ud800", "ok": 1.5}';
  await recordRun(new Runner()).run(agent(calling('answer', 'call-1', given), [answering('42')]), 'go');
  assert.deepEqual(lines()[0].steno.input, {
    big: '1.2345678901234568e+29', half: '\ufffd', escaped: '\\ud800', ok: 1.5,
  });
});

test('an answer that holds itself is walked no further than is kept', async () => {
  let shared = ['leaf'];
  for (let level = 0; level < 31; level += 1) {
    shared = [shared, shared];
  }
  const cyclic = { name: 'x' };
  cyclic.again = [cyclic, cyclic];
  for (const answer of [shared, cyclic]) {
    const runner = recordRun(new Runner());
    runner.emit('agent_tool_end', null, null, { name: 'answer' }, answer, { toolCall: { callId: 'call-1' } });
  }
  assert.deepEqual(lines().map((line) => [line.seq, line.steno.cut]), [[0, true], [1, true]]);
  assert.ok(lines().every((line) => JSON.stringify(line.steno.output).length <= 64 * 1024));
});

test('a call without an id gets one that says so, the same at its end', async () => {
  const runner = recordRun(new Runner());
  const shell = { name: 'shell' };
  runner.emit('agent_tool_start', null, null, shell, { toolCall: {} });
  runner.emit('agent_tool_start', null, null, shell, undefined);
  runner.emit('agent_tool_end', null, null, shell, 'first', {});
  runner.emit('agent_tool_end', null, null, shell, 'second', {});
  runner.emit('agent_tool_end', null, null, shell, 'never started', {});
  assert.deepEqual(
    lines().map((line) => [line.tool_call_id, line.steno.id_from]),
    ['inferred:0', 'inferred:1', 'inferred:0', 'inferred:1', 'inferred:4'].map((id) => [id, 'inferred']),
  );
});

test('dates, maps and what cannot be read are told as far as they can be', async () => {
  const unreadable = { get value() { throw new TypeError('no'); } };
  const runner = recordRun(new Runner());
  for (const answer of [{ when: new Date(0), map: new Map([['a', 1]]), set: new Set([2]) }, unreadable]) {
    runner.emit('agent_tool_end', null, null, { name: 'answer' }, answer, { toolCall: { callId: 'call-1' } });
  }
  const [known, unknown] = lines();
  assert.deepEqual(known.steno.output, { when: '1970-01-01T00:00:00.000Z', map: { a: 1 }, set: [2] });
  assert.deepEqual([unknown.steno.output, unknown.steno.cut], ['<object that cannot be written: TypeError>', true]);
});

function server(seen) {
  return {
    name: 'files', cacheToolsList: false, toolMetaResolver,
    async connect() {}, async close() {}, async invalidateToolsCache() {},
    async listTools() {
      return [{ name: 'read', description: 'read', inputSchema: parameters }];
    },
    async callTool(name, given, meta) {
      await new Promise((resolve) => { setImmediate(resolve); });
      seen.push([given.who, meta]);
      return [{ type: 'text', text: 'read' }];
    },
  };
}

test('an MCP request carries the id of its own tool call, also when calls are at the same time', async () => {
  const seen = [];
  const ids = ['call-1', 'call-2', 'call-3'];
  const calls = ids.map((callId) => functionCall('read', { who: callId }, { callId }));
  const steps = [calls, [functionCall('read', { who: 'call-4' }, { callId: 'call-4' })], [assistantMessage('done')]];
  await recordRun(new Runner()).run(agent(steps, [], { mcpServers: [server(seen)] }), 'go');
  assert.deepEqual(seen.sort(), [...ids, 'call-4'].map((id) => [id, { 'steno/toolCallId': id }]));
});

test('the id of a call is not carried by requests of an agent that is the tool', async () => {
  const seen = [];
  const inner = agent(calling('read', 'inner', { who: 'a' }), [], { mcpServers: [server(seen)] });
  const tools = [inner.asTool({ toolName: 'helper', toolDescription: 'helper' })];
  await recordRun(new Runner()).run(agent(calling('helper', 'outer', { input: 'go' }), tools), 'go');
  assert.deepEqual(seen, [['a', undefined]]);
});

test('a runner that is not recorded sends no id', async () => {
  const seen = [];
  await new Runner().run(agent(calling('read', 'call-1', { who: 'a' }), [], { mcpServers: [server(seen)] }), 'go');
  assert.deepEqual(seen, [['a', undefined]]);
});

test('the environment of the run is passed on, and nothing else', () => {
  process.env.ASSAY_RUNNER_RUN_ID = 'run-1';
  assert.deepEqual(Object.keys(runEnvironment()).sort(), [
    'ASSAY_RUNNER_RUN_ID', 'STENO_CLOCK_ORIGIN_NS', 'STENO_RUN_ID', 'STENO_SDK_EVENT_LOG',
  ]);
});
