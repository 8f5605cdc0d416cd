import assert from "node:assert/strict";
import { test } from "node:test";
import { jointArrivals, ownArrivals } from "../src/arrivals";
import type { Arrivals } from "../src/arrivals";
import { parseCast } from "../src/panels/terminal/cast";
import { linesOf, readable } from "../src/panels/terminal/lines";
import { paceOf } from "../src/panels/terminal/pace";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Records of a u64 and as many u32 as follow it, and one byte of a record that is torn. */
function index(...records: [at: number, ...numbers: number[]][]): Uint8Array {
  const size = 8 + 4 * (records[0]!.length - 1);
  const made = new DataView(new ArrayBuffer(records.length * size + 1));
  records.forEach(([at, ...numbers], place) => {
    made.setBigUint64(place * size, BigInt(at), true);
    numbers.forEach((number, column) => made.setUint32(place * size + 8 + 4 * column, number, true));
  });
  return new Uint8Array(made.buffer);
}

const columns = ({ at, lengths }: Arrivals) => [[...at], [...lengths]];

test("a stream has an index of its own, or all have one, in which a stream that is not known is passed over", () => {
  assert.deepEqual(columns(ownArrivals(index([5, 4], [20, 9]))), [[5, 20], [4, 9]]);
  const joint = jointArrivals(index([5, 4, 1], [7, 1, 4], [10, 5, 2], [20, 9, 1]));
  assert.deepEqual([...joint.keys()], ["terminal/stdout", "terminal/stderr"]);
  assert.deepEqual([...joint.values()].map(columns), [[[5, 20], [4, 9]], [[10], [5]]]);
  assert.equal(jointArrivals(new Uint8Array(15)).size, 0);
});

test("a cast becomes events in time; sizes of a stranger's choice are bounded, and lines that are none counted", () => {
  const cast = parseCast(
    '{"version":3,"term":{"cols":1e9,"rows":-1}}\n[0.5,"o","x"]\nnope\n[1,"r","9999x9999"]\n[0.25,"x","0"]\n',
  );
  assert.deepEqual(cast, {
    cols: 500,
    rows: 24,
    events: [
      [0.5, "o", "x"],
      [1.5, "r", "500x200"],
    ],
    length: 1.75,
    unread: 1,
  });
});

test("long pauses are shortened, and each clock can be read from the other", () => {
  const pace = paceOf([1, 10, 11], 2);
  assert.deepEqual(pace.played, [1, 3, 4]);
  assert.deepEqual([0.5, 5.5, 10, 12].map(pace.toPlayed), [0.5, 2, 3, 5]);
  assert.deepEqual([0.5, 2, 3, 5].map(pace.toRun), [0.5, 5.5, 10, 12]);
});

test("lines of two streams stand in the order of time, each with the time of its first byte", () => {
  const found = linesOf([
    { stream: "stdout", bytes: bytes("one\ntwo\nthree"), arrivals: ownArrivals(index([5, 4], [20, 9])) },
    { stream: "stderr", bytes: bytes("oops\n"), arrivals: ownArrivals(index([10, 5])) },
  ]);
  assert.deepEqual(
    found.map((line) => [line.at, line.stream, line.text]),
    [
      [5, "stdout", "one"],
      [10, "stderr", "oops"],
      [20, "stdout", "two"],
      [20, "stdout", "three"],
    ],
  );
});

test("a return alone begins a line, so that what it overwrites is shown too", () => {
  const found = linesOf([{ stream: "output", bytes: bytes("10%\r20%\r\ndone\r\n"), arrivals: null }]);
  assert.deepEqual(
    found.map((line) => line.text),
    ["10%", "20%", "done"],
  );
});

test("of a flood the beginning and the end are shown, and how much is not", () => {
  const found = linesOf([{ stream: "stdout", bytes: bytes(`${"x".repeat(99)}\n`.repeat(60_000)), arrivals: null }]);
  const left = found.find((line) => line.stream === "")!;
  assert.match(left.text, /^… 1805696 bytes of stdout are not shown/);
  assert.ok(found.length < 45_000);
});

test("nothing that a terminal would act on is left, and nothing that hides", () => {
  assert.equal(
    readable("\x1b[1;31mred\x1b[0m \x1b]8;;http://x/\x07link\x1b]8;;\x1b\\ \x1b(B\x07\u202eend"),
    "red link \\x07\\u202eend",
  );
});
