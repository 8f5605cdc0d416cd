import assert from "node:assert/strict";
import { test } from "node:test";
import { GAPS } from "../src/made/words";
import { absence, noteInWords } from "../src/panels/health/words";
import { counted, duration, listed, lookup, size, visible, visibleLine } from "../src/words";

test("what cannot be seen is spelled out, as in a terminal", () => {
  assert.equal(visible("a\x1b\u202e\ud800\u{e0001}b\t\u00f1\u65e5"), "a\\x1b\\u202e\\ud800\\U000e0001b\\tñ日");
  assert.equal(visibleLine("a\tb\r"), "a\tb\\r");
});

test("sizes and times are those of the command line", () => {
  assert.deepEqual([0, 1023, 1024, 4718592].map(size), ["0 B", "1023 B", "1.0 KiB", "4.5 MiB"]);
  assert.deepEqual([size(undefined), size("9007199254740993")], ["?", "8.0 PiB"]);
  assert.deepEqual([1.5e9, 61e9, 3700e9].map(duration), ["1.50s", "1m01s", "1h01m"]);
  assert.deepEqual([counted(1, "file"), counted(2000, "file")], ["1 file", "2,000 files"]);
  assert.equal(listed(["a", "b\n", "c"], 2), "a, b\\n and 1 more");
});

test("a table has nothing under a name that it does not hold", () => {
  assert.equal(lookup({ a: 1 }, "constructor"), undefined);
});

test("notes are sentences; one that is not known is shown as it is", () => {
  assert.equal(
    noteInWords("kernel_layer_absent:observer_none"),
    "no kernel layer: it was recorded with observer 'none'",
  );
  assert.equal(noteInWords("kernel_layer_partial:lost_events"), "the kernel layer is partial: events lost");
  assert.equal(
    noteInWords("terminal_held_by_others:stdout"),
    "stdout: another process still held it when the command ended",
  );
  assert.equal(noteInWords("something_new:7"), "something_new:7");
  assert.equal(absence("observer_failed"), GAPS.observer_failed);
});
