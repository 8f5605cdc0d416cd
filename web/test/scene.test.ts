import assert from "node:assert/strict";
import { test } from "node:test";
import type { Process } from "../src/made/tables";
import type { RunEvent } from "../src/model";
import { wholeOf } from "../src/scene";

const events = [
  { type: "run_started", mono_ns: 0 },
  { type: "command_started", mono_ns: 500 },
  { type: "command_finished", mono_ns: 600 },
  { type: "run_finish", mono_ns: 1000 },
] as unknown as RunEvent[];
const process = (started_ns: number, ended_ns: number | null) => ({ started_ns, ended_ns, still_running: false }) as Process;

test("the timeline is from the command's start to its end", () => {
  assert.deepEqual(wholeOf(events, [process(510, 590)], [], []), { from: 500, to: 600 });
});

test("what lies before or after belongs to it", () => {
  assert.deepEqual(wholeOf(events, [process(490, 590)], [{ from: 520, to: 620 }], [480, 700]), { from: 480, to: 700 });
});

test("what goes on when the command has ended is shown to the end of the record", () => {
  assert.deepEqual(wholeOf(events, [process(510, null)], [], []), { from: 500, to: 1000 });
});

test("a record without any time has a timeline all the same", () => {
  assert.deepEqual(wholeOf([], [], [], []), { from: 0, to: 1 });
});
