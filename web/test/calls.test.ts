import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call, Effects } from "../src/made/tables";
import { TABLES } from "../src/made/tables";
import type { Shape } from "../src/made/tables";
import { Model } from "../src/model";
import type { Source } from "../src/source";
import { decidedWords, effects, saidWords, seenWords, windowWords } from "../src/panels/calls/words";

function columns(shape: Shape, rows: Record<string, unknown>[]): Record<string, unknown> {
  const empty = (kind: unknown) => (String(kind).endsWith("?") ? null : String(kind).endsWith("[]") ? [] : { string: "", number: 0, boolean: false }[String(kind)] ?? 0);
  return Object.fromEntries(Object.keys(shape).map((name) => [name, rows.map((row) => row[name] ?? empty(shape[name]))]));
}

const call = (more: Partial<Call>) => ({ tool: "rm", server: null, told_by: null, decision: null, dry_run: false, started_ns: null, ...more }) as Call;
const seen = (more: Partial<Effects>) => {
  const none = Object.keys(TABLES.effects).map((name) => [name, []]);
  return { ...Object.fromEntries(none), ...more } as Effects;
};

test("each call stands with its checks and what was seen of it, and apart what belongs to none", async () => {
  const tables: Record<string, unknown> = {
    "tables/calls.json": columns(TABLES.calls, [{ call: 1 }, { call: 2 }]),
    "tables/claims.json": columns(TABLES.claims, [{ claim: 1 }]),
    "tables/checks.json": columns(TABLES.checks, [{ call: 2, rule: "a" }, { claim: 1, rule: "b" }, { call: 2, rule: "c" }]),
    "tables/effects.json": columns(TABLES.effects, [{ call: 1 }, { candidates: ["x", "y"] }, {}, { server: "list" }]),
  };
  const model = new Model({ has: () => true, json: async (path: string) => tables[path] } as unknown as Source);
  const found = (await model.calls())!;
  assert.deepEqual(found.checksOf.get(2)?.map((one) => one.rule), ["a", "c"]);
  assert.deepEqual(found.checksOfClaim.get(1)?.map((one) => one.rule), ["b"]);
  assert.deepEqual([found.seenOf.has(1), found.seenOf.has(2)], [true, false]);
  assert.deepEqual([found.shared[0]?.candidates, found.byServers[0]?.server], [["x", "y"], "list"]);
  assert.deepEqual([found.outside?.server, found.outside?.candidates], [null, []]);
});

test("what was said, decided and seen of a call is in the words of `steno calls`", () => {
  assert.equal(saidWords(call({})), "–");
  assert.equal(saidWords(call({ told_by: "hook", corroboration: "self_reported" })), "hook, self-reported");
  assert.equal(decidedWords(call({ decision: "deny", reason: "no", dry_run: true })), "deny: no, not enforced");
  assert.equal(decidedWords(call({ decision: "allow", reason: "yes", dry_run: true })), "allow");
  assert.equal(seenWords(undefined), "not observed");
  assert.equal(seenWords(seen({})), "nothing");
  assert.equal(seenWords(seen({ files_read: ["/a"], endpoints: ["x", "y"], programs: ["sh"] })), "1 read, 2 endpoints tried, 1 ran");
  assert.equal(windowWords(call({})), "none");
  const timed = { started_ns: 1e9, ended_ns: 2e9, window_told_by: "proxy", window_ended_by: "end", process: null };
  assert.equal(windowWords(call(timed)), "1.00s to 2.00s (told by proxy, ended by end), process not seen");
  assert.deepEqual(effects(seen({ files_tried: ["/x"], files_created: ["/y"] })).map((one) => one.word), ["created", "tried"]);
});
