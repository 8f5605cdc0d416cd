// A listener for runners of @openai/agents: what the framework says goes into the SDK log of the recorded run.
//
// In: the events of a Runner, and the log that the environment names. Out: one line of the contract
// assay.runner.sdk_event.v0 for each tool call that starts or ends and for the end of a run; and the id of a tool
// call for the `_meta` of its MCP request. Outside of a recorded run it does nothing. It never throws into the
// agent: what cannot be written is said once on stderr, and leaves a gap in `seq` that the recorder sees.

import { AsyncLocalStorage } from 'node:async_hooks';
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

export const META_KEY = 'steno/toolCallId';

const SCHEMA = 'assay.runner.sdk_event.v0';
const DETAIL_SCHEMA = 'steno.sdk_event.v1';
const SOURCE = 'openai-agents-js';
const SDK_NAME = '@openai/agents';
const MAX_TOLD = 64 * 1024; // bytes of an input, an output or a message, as JSON
const MAX_LINE = 1024 * 1024;
const MAX_DEPTH = 32;
const TOO_DEEP = '<nested too deeply>';

// The tool call that the code which runs now belongs to. The framework gives a resolver the run, not the call.
const current = new AsyncLocalStorage();
const recorded = new WeakSet();

export function recordRun(runner) {
  const log = Log.of(process.env);
  if (log === null || recorded.has(runner)) {
    return runner;
  }
  recorded.add(runner);
  runner.on('agent_tool_start', (runContext, agent, tool, details) => {
    const call = details?.toolCall;
    const input = parsed(call?.arguments ?? call?.action ?? call?.operation);
    current.enterWith({ callId: call?.callId, input, sent: false });
    log.start(tool, call, { input });
  });
  runner.on('agent_tool_end', (runContext, agent, tool, result, details) => {
    log.complete(tool, details?.toolCall, { output: result });
  });
  runner.on('agent_end', (runContext, agent, output) => log.end('run_finished', output));
  tellFailures(runner, log);
  return runner;
}

// Inside of a tool call there may be others: an agent that is a tool asks for tools of its own. Only the request
// with the call's own arguments carries its id, and only once.
export function toolMetaResolver({ arguments: asked }) {
  const call = current.getStore();
  if (!call?.callId || call.sent || !isDeepStrictEqual(call.input || {}, asked ?? {})) {
    return null;
  }
  call.sent = true;
  return { [META_KEY]: call.callId };
}

export function runEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(STENO|ASSAY_RUNNER)_/.test(name)));
}

// No event tells of a run that fails.
function tellFailures(runner, log) {
  const run = runner.run;
  const failed = (error) => log.end('run_failed', `${error?.name ?? 'Error'}: ${error?.message ?? error}`);
  runner.run = async function (...given) {
    let result;
    try {
      result = await run.apply(this, given);
    } catch (error) {
      failed(error);
      throw error;
    }
    result?.completed?.catch(failed); // of a stream
    return result;
  };
}

class Log {
  #path;
  #runId;
  #origin;
  #version = sdkVersion();
  #lost = 0;
  #said = false;
  #withoutId = []; // open calls that the framework gave no id: their tool, and the id that was written

  constructor(path, runId, origin) {
    this.#path = path;
    this.#runId = runId;
    this.#origin = origin;
  }

  static of(environment) {
    const path = environment.STENO_SDK_EVENT_LOG || environment.ASSAY_RUNNER_SDK_EVENT_LOG;
    const runId = environment.STENO_RUN_ID || environment.ASSAY_RUNNER_RUN_ID;
    if (!path || !runId) {
      return null;
    }
    const origin = environment.STENO_CLOCK_ORIGIN_NS ?? '';
    return new Log(path, runId, /^[0-9]+$/.test(origin) ? BigInt(origin) : null);
  }

  start(tool, toolCall, told) {
    const given = toolCall?.callId || null;
    const written = this.#write('tool_call_started', given, tool?.name ?? null, told);
    if (given === null && written !== null) {
      this.#withoutId.push({ tool, id: written });
    }
  }

  // Of a call without an id, the oldest open one of its tool has ended.
  complete(tool, toolCall, told) {
    const given = toolCall?.callId || null;
    const at = given === null ? this.#withoutId.findIndex((open) => open.tool === tool) : -1;
    const started = at < 0 ? null : this.#withoutId.splice(at, 1)[0].id;
    this.#write('tool_call_completed', given, tool?.name ?? null, told, started);
  }

  end(eventType, message) {
    this.#write(eventType, null, null, { message });
  }

  // The id that the line has, null when it was not written. The recorder refuses a call without one.
  #write(eventType, given, tool, told, inferred = null) {
    const isCall = eventType.startsWith('tool_call_');
    try {
      const detail = { ...this.#detail(isCall && given === null ? 'inferred' : 'sdk'), ...bounded(told) };
      let callId = given ?? inferred;
      append(this.#path, (last) => {
        const seq = last + 1 + this.#lost;
        callId ??= isCall ? `inferred:${seq}` : null;
        return {
          schema: SCHEMA,
          run_id: this.#runId,
          seq,
          event_type: eventType,
          source: SOURCE,
          sdk_name: SDK_NAME,
          sdk_version: this.#version,
          tool_call_id: callId,
          tool,
          steno: detail,
        };
      });
      this.#lost = 0;
      return callId;
    } catch (error) {
      this.#lost += 1;
      this.#sayOnce(error);
      return null;
    }
  }

  #detail(idFrom) {
    const at = this.#origin === null ? null : Number(process.hrtime.bigint() - this.#origin);
    return { schema: DETAIL_SCHEMA, id_from: idFrom, at_ns: at };
  }

  #sayOnce(error) {
    if (this.#said) {
      return;
    }
    this.#said = true;
    try {
      process.stderr.write(`steno: what the agent says cannot be written to ${this.#path}: ${error?.message}\n`);
    } catch {
      // There may be no stderr.
    }
  }
}

// One write at the end of the file, numbered after the last line, whoever wrote that. Node has no flock: nothing
// of this process comes in between, but another process could, and the recorder sees a number twice.
function append(path, lineAfter) {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const data = Buffer.from(`${wellFormed(JSON.stringify(lineAfter(lastSeq(fd))))}\n`);
    if (writeSync(fd, data) !== data.length) {
      throw new Error('no space left');
    }
  } finally {
    closeSync(fd);
  }
}

function lastSeq(fd) {
  const { size } = fstatSync(fd);
  if (size === 0) {
    return -1;
  }
  const tail = Buffer.alloc(Math.min(size, MAX_LINE));
  readSync(fd, tail, 0, tail.length, size - tail.length);
  if (tail.at(-1) !== 0x0a) {
    throw new Error('its last line is torn');
  }
  const { seq } = JSON.parse(tail.subarray(tail.lastIndexOf(0x0a, -2) + 1).toString());
  if (!Number.isSafeInteger(seq)) {
    throw new Error('its last line has no number');
  }
  return seq;
}

// What was told as JSON, each part cut to its bound; a message is always text.
function bounded(told) {
  const kept = {};
  for (const [name, value] of Object.entries(told)) {
    let known;
    try {
      known = new Plain().of(value);
    } catch (error) {
      known = `<${typeof value} that cannot be written: ${error?.name}>`; // it costs itself, not the line
      kept.cut = true;
    }
    const text = typeof known === 'string' ? known : JSON.stringify(known);
    kept[name] = name === 'message' ? text : known;
    if (!fits(kept[name])) {
      kept[name] = beginning(text);
      kept.cut = true;
    }
  }
  return kept;
}

// As much as fits into the bound also when it is written with escapes.
function beginning(text) {
  let kept = text.slice(0, MAX_TOLD);
  while (!fits(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * 3) / 4));
  }
  return kept;
}

function fits(value) {
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_TOLD;
}

// JSON that every reader reads alike; what is no JSON becomes text. A value that holds another one twice would be
// written twice, and so on at each level. So the walk ends when it has made more than is kept: its JSON is then longer
// than the bound, and is cut there.
class Plain {
  #room = MAX_TOLD + 1;

  of(value, depth = 0) {
    this.#room -= typeof value === 'string' ? value.length : 1;
    if (value === null || value === undefined) {
      return null;
    }
    if (typeof value === 'string' || typeof value === 'boolean') {
      return value;
    }
    if (typeof value === 'number' && Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) {
      return value;
    }
    if (typeof value === 'object') {
      return depth < MAX_DEPTH ? this.#inside(value, depth + 1) : TOO_DEEP;
    }
    const text = String(value);
    this.#room -= text.length;
    return text;
  }

  #inside(value, depth) {
    if (typeof value.toJSON === 'function') {
      return this.of(value.toJSON(), depth);
    }
    if (Array.isArray(value) || value instanceof Set) {
      const made = [];
      for (const one of value) {
        if (this.#room <= 0) {
          break;
        }
        made.push(this.of(one, depth));
      }
      return made;
    }
    const made = {};
    for (const [key, one] of value instanceof Map ? value : Object.entries(value)) {
      if (this.#room <= 0) {
        break;
      }
      const name = String(key);
      this.#room -= name.length;
      Object.defineProperty(made, name, { value: this.of(one, depth), enumerable: true, configurable: true });
    }
    return made;
  }
}

// JSON.stringify writes half a pair of surrogates as an escape; not every reader takes that.
function wellFormed(json) {
  return json.replace(/(?<=(?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, '\\ufffd');
}

function parsed(given) {
  if (typeof given !== 'string') {
    return given;
  }
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

function sdkVersion() {
  try {
    const entry = createRequire(import.meta.url).resolve(SDK_NAME);
    return JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8')).version ?? null;
  } catch {
    return null;
  }
}
