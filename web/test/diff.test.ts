import assert from "node:assert/strict";
import { test } from "node:test";
import { Colours, coloured, languageOf } from "../src/panels/files/diff/colour";
import { compare } from "../src/panels/files/diff/compare";
import { MOST_ROWS, emphasis, rowsOf, rowsOfOne } from "../src/panels/files/diff/rows";
import type { Row } from "../src/panels/files/diff/rows";

const bytes = (text: string) => new TextEncoder().encode(text);
const numbered = (count: number, line: (at: number) => string) =>
  bytes(Array.from({ length: count }, (_, at) => `${line(at)}\n`).join(""));
const closed: ReadonlySet<number> = new Set();
const brief = (rows: Row[]) =>
  rows.map((row) => (row.kind === "line" ? `${row.old},${row.new}${row.same ? "" : "*"}` : `${row.kind} ${row.count}`));

test("lines that go and come are one change, and stand beside each other where that is asked for", () => {
  const found = compare(bytes("a\nb\nc\n"), bytes("a\nB\nC\nc\n"));
  assert.deepEqual([found.added, found.removed, found.coarse], [2, 1, false]);
  assert.deepEqual(brief(rowsOf(found, "unified", closed)), ["0,0", "1,-1*", "-1,1*", "-1,2*", "2,3"]);
  assert.deepEqual(brief(rowsOf(found, "split", closed)), ["0,0", "1,1*", "-1,2*", "2,3"]);
});

test("a newline that the last line lost is a change", () => {
  const found = compare(bytes("a\n"), bytes("a"));
  assert.deepEqual([found.added, found.removed, found.after.isTorn(0), found.after.text(0)], [1, 1, true, "a"]);
});

test("a line that moved is taken away and put in", () => {
  const found = compare(bytes("a\nb\nc\nd\n"), bytes("b\nc\nd\na\n"));
  assert.deepEqual(brief(rowsOf(found, "unified", closed)), ["0,-1*", "1,0", "2,1", "3,2", "-1,3*"]);
});

test("contents are compared by their bytes, not by the text that these are shown as", () => {
  const found = compare(new Uint8Array([0xff, 10]), bytes("\\xff\n"));
  assert.deepEqual([found.before.text(0), found.after.text(0), found.added], ["\\xff", "\\xff", 1]);
});

test("far from a change lines are folded, and shown when somebody opens the fold", () => {
  const found = compare(
    numbered(100, String),
    numbered(100, (at) => (at === 50 ? "new" : String(at))),
  );
  const rows = rowsOf(found, "unified", closed);
  assert.deepEqual(
    [rows.length, rows[0], rows[9]],
    [10, { kind: "fold", id: 0, count: 47 }, { kind: "fold", id: 2, count: 46 }],
  );
  assert.equal(rowsOf(found, "unified", new Set([0])).length, 56);
});

test("a large file with many changes is compared line by line", () => {
  const before = numbered(50_000, (at) => `line ${at}`);
  const found = compare(
    before,
    numbered(50_000, (at) => (at % 10 ? `line ${at}` : `changed ${at}`)),
  );
  assert.deepEqual([found.added, found.removed, found.coarse], [5000, 5000, false]);
});

test("texts without a line in common are one change", () => {
  const found = compare(
    numbered(60_000, (at) => `x${at}`),
    numbered(60_000, (at) => `y${at}`),
  );
  assert.deepEqual([found.coarse, found.blocks.length, found.added, found.removed], [false, 1, 60_000, 60_000]);
});

test("what is too different to be compared soon becomes one change, and says so", () => {
  const noise = (seed: number) => numbered(20_000, () => String((seed = (seed * 48_271) % 2_147_483_647) % 997));
  const found = compare(noise(1), noise(7));
  assert.deepEqual([found.coarse, found.blocks.filter(({ same }) => !same).length], [true, 1]);
});

test("more rows than a page can hold are counted, not drawn", () => {
  const rows = rowsOf(compare(bytes(""), numbered(MOST_ROWS + 5, String)), "unified", closed);
  assert.deepEqual([rows.length, rows[MOST_ROWS]], [MOST_ROWS + 1, { kind: "end", count: 5 }]);
  assert.deepEqual(rowsOfOne(MOST_ROWS + 7, "new")[MOST_ROWS], { kind: "end", count: 7 });
});

test("the part in which two lines differ is found, unless they have little in common", () => {
  assert.deepEqual(emphasis("say hello you", "say good day you"), { one: [4, 9], other: [4, 12] });
  assert.equal(emphasis("aaaaaaaaaa", "ab"), null);
});

test("colours keep every character in its line", () => {
  const text = "def f():\n    '''two\n    lines'''\n";
  const found = coloured(text, "python");
  assert.deepEqual(found.map((line) => line.map((piece) => piece.text).join("")).join("\n"), text);
  assert.equal(found[0]![0]!.kind, "hljs-keyword");
  assert.equal(found[2]!.find((piece) => piece.text.includes("lines"))!.kind, "hljs-string");
});

test("a language is known by the name of the file; a name of a stranger's choice is no language", () => {
  assert.deepEqual(["/a/b.PY", "Makefile", "x/constructor", "a.constructor", "noending"].map(languageOf), [
    "python",
    "makefile",
    null,
    null,
    null,
  ]);
});

test("a large text is coloured in pieces, when they are looked at; a line too long has no colour", () => {
  const looked: number[] = [];
  const text = (at: number) => (looked.push(at), at === 900 ? "x".repeat(3000) : "return 1");
  const colours = new Colours({ count: 1000, bytes: 100_000, text }, "python");
  assert.equal(colours.line(450)![0]!.kind, "hljs-keyword");
  assert.deepEqual([looked[0], looked.length], [400, 200]);
  assert.equal(colours.line(901), null);
});
