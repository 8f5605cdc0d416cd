import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../src/model";
import type { Source } from "../src/source";

const model = (text: string) =>
  new Model({ has: () => true, json: async () => JSON.parse(text) } as unknown as Source);

test("a file of the record that holds something else is named, and read no further", async () => {
  for (const text of ["1", "{}", '{"steno":1}']) await assert.rejects(model(text).health(), /^Error: observation-health.json: /);
});

test("a file of the record that holds what it should is read", async () => {
  assert.deepEqual((await model('{"steno":{"witness_disagreements":{}}}').health())?.steno, { witness_disagreements: {} });
});
