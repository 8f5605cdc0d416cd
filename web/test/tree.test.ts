import assert from "node:assert/strict";
import { test } from "node:test";
import { lanesOf } from "../src/lanes";
import type { Process } from "../src/made/tables";
import { endingOf, hasFailed, isOpen, rowsOf, treeOf, withAncestors } from "../src/tree";

const kinds: string[] = [];

/** Alike where the words are. */
function process(number: number, parent: number | null, from: number, to: number | null, title = "", ended: Partial<Process> = {}): Process {
  if (!kinds.includes(title)) kinds.push(title);
  return {
    process: number,
    parent,
    pid: 1000 + number,
    program: null,
    command: null,
    started_ns: from,
    ended_ns: to,
    exit_code: 0,
    signal: null,
    core_dumped: false,
    end_known: "kernel",
    still_running: false,
    threads: 1,
    n_events: 1,
    label: title.split(" ")[0]!,
    title,
    alike: kinds.indexOf(title),
    ...ended,
  };
}

const everything = (_: string, isRest: boolean) => !isRest;
const whole = { from: 0, to: 1000 };

test("children stand below their parent, with the words of the table", () => {
  const tree = treeOf([process(1, null, 0, 100, "sh"), process(2, 1, 10, 20, "ls 'a b'"), process(3, 1, 30, 40, "(sh, forked)")]);
  assert.deepEqual(rowsOf(tree, everything).map((row) => [row.depth, tree.known.get(row.numbers[0]!)!.title]), [
    [0, "sh"],
    [1, "ls 'a b'"],
    [1, "(sh, forked)"],
  ]);
  assert.deepEqual([...tree.programs.values()], ["sh", "ls", "(sh,"]);
});

test("how a process ended is told of the worst first", () => {
  const [alive, killed, failed, unseen] = [{ still_running: true }, { signal: "SIGKILL", exit_code: null }, { exit_code: 2 }, { exit_code: null }].map(
    (ended) => process(1, null, 0, 1, "sh", ended),
  ) as [Process, Process, Process, Process];
  assert.deepEqual([alive, killed, failed, unseen].map(endingOf), ["alive", "SIGKILL", "2", "?"]);
  assert.deepEqual([alive, killed, failed, unseen].map(hasFailed), [false, true, true, false]);
  assert.deepEqual([alive, killed, failed, unseen].map(isOpen), [true, false, false, true]);
});

test("processes that did the same share a row", () => {
  const many = Array.from({ length: 300 }, (_, place) => process(place + 2, 1, place, place + 1, "true"));
  const rows = rowsOf(treeOf([process(1, 0, 0, 400, "sh"), ...many]), everything);
  assert.deepEqual(rows.map((row) => row.numbers.length), [1, 300]);
});

test("a crowd of one program is cut short until somebody opens it", () => {
  const many = Array.from({ length: 30 }, (_, place) => process(place + 2, 1, place, place + 1, `gcc f${place}.c`));
  const tree = treeOf([process(1, 0, 0, 400, "make"), ...many]);
  const rows = rowsOf(tree, everything);
  assert.equal(rows.length, 1 + 10 + 1);
  assert.deepEqual([rows[11]!.isRest, rows[11]!.numbers.length], [true, 20]);
  assert.equal(rowsOf(tree, () => true).length, 1 + 10 + 1 + 20);
});

test("a circle of parents and a process that is its own parent are still shown", () => {
  const tree = treeOf([process(1, 2, 0, 1, "a"), process(2, 1, 0, 1, "b"), process(3, 3, 0, 1, "c")]);
  assert.deepEqual([...tree.order].sort(), [1, 2, 3]);
});

test("no depth exhausts the stack", () => {
  const chain = Array.from({ length: 20_000 }, (_, place) => process(place + 1, place, 0, 10, "sh"));
  const tree = treeOf(chain);
  assert.equal(rowsOf(tree, everything).length, chain.length);
  assert.equal(lanesOf(tree, whole).count, chain.length);
});

test("times that are none stop nobody", () => {
  const broken = [process(1, 0, 0, 9, "sh"), process(2, 1, NaN, NaN, "a"), process(3, 1, "x" as never, -5, "b")];
  assert.equal(lanesOf(treeOf(broken), whole).members.flat().length, 3);
});

test("a search keeps what is above its finds", () => {
  const tree = treeOf([process(1, 0, 0, 9, "sh"), process(2, 1, 0, 9, "make"), process(3, 2, 0, 9, "cc"), process(4, 1, 0, 9, "ls")]);
  assert.deepEqual([...withAncestors(tree, [3])].sort(), [1, 2, 3]);
});

test("children that follow each other share a lane, those of one time do not", () => {
  const after = treeOf([process(1, 0, 0, 1000, "sh"), process(2, 1, 0, 10, "a"), process(3, 1, 10, 20, "b")]);
  assert.equal(lanesOf(after, whole).count, 2);
  const beside = treeOf([process(1, 0, 0, 1000, "sh"), process(2, 1, 0, 10, "a"), process(3, 1, 9, 20, "b")]);
  assert.equal(lanesOf(beside, whole).count, 3);
});

test("no two processes of a lane live at the same time, whatever the tree is", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  const many = Array.from({ length: 500 }, (_, place) => {
    const from = random(900);
    return process(place + 1, random(place + 1), from, random(9) ? from + random(100) : null, `p${place}`);
  });
  const lanes = lanesOf(treeOf(many), whole);
  assert.equal(lanes.members.flat().length, many.length);
  for (const lane of lanes.members)
    lane.reduce((before, number) => {
      const { from, to } = lanes.spanOf.get(number)!;
      assert.ok(from >= before);
      return to;
    }, -Infinity);
});
