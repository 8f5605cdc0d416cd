import assert from "node:assert/strict";
import { test } from "node:test";
import type { Shape } from "../src/made/tables";
import { TABLES } from "../src/made/tables";
import { Model } from "../src/model";
import type { Source } from "../src/source";
import { numberOf, rowsOf } from "../src/tables";

const SHAPE: Shape = { path: "string", times: "number", size: "Whole?", notes: "string[]", before: { kind: "string?" } };
const COLUMNS = { path: ["/a", "/b"], times: [1, 2], size: ["9007199254740993", null], notes: [[], ["x"]], before: { kind: [null, "file"] } };

test("a table is rows of its columns, and those of a state stand below its name", () => {
  assert.deepEqual(rowsOf(COLUMNS, SHAPE), [
    { path: "/a", times: 1, size: "9007199254740993", notes: [], before: { kind: null } },
    { path: "/b", times: 2, size: null, notes: ["x"], before: { kind: "file" } },
  ]);
  assert.deepEqual(rowsOf({ path: [], times: [], size: [], notes: [], before: { kind: [] } }, SHAPE), []);
});

test("a column that this page does not know is passed over", () => {
  assert.deepEqual(Object.keys((rowsOf({ ...COLUMNS, newer: 1 }, SHAPE) as object[])[0]!), Object.keys(SHAPE));
});

test("a table with a column that is missing, too short or of other values is none", () => {
  const bad: unknown[] = [null, [], 1, "x", {}];
  const without = { ...COLUMNS } as Partial<typeof COLUMNS>;
  delete without.times;
  bad.push(without, Object.create(COLUMNS));
  const columns: [string, unknown][] = [
    ["path", ["/a"]],
    ["path", ["/a", null]],
    ["path", "ab"],
    ["path", { length: 2, 0: "/a", 1: "/b" }],
    ["times", [1, "2"]],
    ["times", [1, 1.5]],
    ["times", [1, 2 ** 53]],
    ["size", [1, "1e9"]],
    ["size", [1, "9".repeat(99)]],
    ["notes", [[], [1]]],
    ["notes", [[], null]],
    ["before", []],
    ["before", { kind: ["file"] }],
    ["before", null],
  ];
  for (const [name, values] of columns) bad.push({ ...COLUMNS, [name]: values });
  for (const value of bad) assert.equal(rowsOf(value, SHAPE), null, JSON.stringify(value));
});

test("a number beyond 2^53 is near enough, and none is not a number", () => {
  assert.deepEqual([numberOf("9007199254740993"), numberOf(5), numberOf(null)], [9007199254740992, 5, NaN]);
});

test("a table of the page that holds something else is named, and read no further", async () => {
  const model = (text: string) => new Model({ has: () => true, json: async () => JSON.parse(text) } as unknown as Source);
  for (const text of ["[[]]", "1", '{"path":["/a"]}', '{"__proto__":{}}'])
    await assert.rejects(model(text).files(), { message: "tables/files.json: it does not hold what a record has there" });
  const empty = (shape: Shape): object =>
    Object.fromEntries(Object.entries(shape).map(([name, kind]) => [name, typeof kind === "object" ? empty(kind) : []]));
  assert.deepEqual(await model(JSON.stringify(empty(TABLES.files))).files(), []);
});
