import assert from "node:assert/strict";
import { test } from "node:test";
import type { KernelEvents } from "../src/kernel";
import { hasFailed, isFile, isUnseen, resultWord } from "../src/operations";
import type { RunEvent } from "../src/model";
import { Events } from "../src/panels/events/rows";
import { marksOf } from "../src/scene";

type Row = { at: number; op: string; name?: string; result?: number; arg?: number; process?: number };

function kernel(rows: Row[]): KernelEvents {
  const name = (row: number) => rows[row]!.name ?? "";
  return {
    length: rows.length,
    at: Float64Array.from(rows, (row) => row.at),
    process: Int32Array.from(rows, (row) => row.process ?? 1),
    op: rows.map((row) => row.op),
    call: rows.map((row) => `sys_${row.op}`),
    result: Float64Array.from(rows, (row) => row.result ?? 0),
    arg: Float64Array.from(rows, (row) => row.arg ?? 0),
    path: name,
    resolved: () => null,
    extra: () => null,
    name,
    named: (fits) => Uint8Array.from(rows, (_, row) => (fits(name(row)) ? 1 : 0)),
  };
}

const [WRITE, CREATE, PATH] = [1, 0o100, 0o10000000];
const rows: Row[] = [
  { at: 20, op: "open", name: "/etc/hosts" },
  { at: 10, op: "stat", name: "/bin/sh", result: -2 },
  { at: 30, op: "open", name: "/tmp/new", arg: WRITE | CREATE, process: 2 },
  { at: 40, op: "open", name: "/dev/null", arg: WRITE },
  { at: 50, op: "connect", name: "inet:127.0.0.1:80", result: -111 },
  { at: 60, op: "unlink", name: "/tmp/new", result: NaN },
  { at: 70, op: "open", name: "/tmp/new", arg: WRITE | PATH },
  { at: 80, op: "unlink", name: "/tmp/gone", result: -2 },
];
const run = [{ seq: 0, mono_ns: 15, type: "command_started", data: { pid: 7 } }] as unknown as RunEvent[];
const events = new Events(kernel(rows), run, new Map([[1, "sh"], [2, "cc"]]));
const found = (text: string, window: { from: number; to: number } | null = null) =>
  [...events.matching(text, window)].map((place) => events.at[place]);

test("the events of both sources are in order of time", () => {
  assert.deepEqual([...events.at], [10, 15, 20, 30, 40, 50, 60, 70, 80]);
});

test("words, fields and exclusions are combined", () => {
  assert.deepEqual(found("tmp op:open"), [30, 70]);
  assert.deepEqual(found("program:cc"), [30]);
  assert.deepEqual(found("result:failed"), [10, 50, 80]);
  assert.deepEqual(found("result:ENOENT"), [10, 80]);
  assert.deepEqual(found("result:unknown"), [60]);
  assert.deepEqual(found("kind:run"), [15]);
  assert.deepEqual(found("/ -op:open -op:unlink"), [10]);
  assert.deepEqual(found("pid"), [15]);
});

test("a window leaves what is outside of it", () => {
  assert.deepEqual(found("", { from: 15, to: 30 }), [15, 20, 30]);
});

test("only what may have changed a file is a change", () => {
  const marks = marksOf(kernel(rows));
  assert.deepEqual([...marks.writes.at], [30, 60]);
  assert.deepEqual([...marks.net.at], [50]);
});

test("results have their names", () => {
  assert.deepEqual([0, NaN, -2, -111, 32766, -4000].map(resultWord), ["ok", "unknown", "ENOENT", "ECONNREFUSED", "failed", "-4000"]);
});

test("a connect that is under way has not failed, and nobody saw how it ended", () => {
  const connects = kernel([0, -115, -111, NaN].map((result, at) => ({ at, op: "connect", result })));
  assert.deepEqual([0, 1, 2, 3].map((row) => hasFailed(connects, row)), [false, false, true, false]);
  assert.deepEqual([0, 1, 2, 3].map((row) => isUnseen(connects, row)), [false, true, false, true]);
});

test("a connect to where there is a connection already has not failed", () => {
  const connects = kernel([{ at: 0, op: "connect", result: -106 }]);
  assert.equal(hasFailed(connects, 0), false);
});

test("terminals, sinks and Steno's own logs are no files that a run changes", () => {
  const logs = ["/dev/shm/steno-intake-2026/hooks.ndjson", "/r/spool/intake/policy.1-2.ndjson"];
  for (const path of ["/dev/tty", "/dev/pts/3", "/proc/12/fd/1", "/memfd:x", "pipe:[7]", ...logs]) assert.equal(isFile(path), false, path);
  for (const path of ["/dev/shm/a", "/dev/sda", "/processes", "/w/tty"]) assert.equal(isFile(path), true, path);
});
