import assert from "node:assert/strict";
import { test } from "node:test";
import { different, quoted, runOf, withoutDirectory } from "../src/head";
import type { Recorded, Said } from "../src/head";

const run = {
  command: ["sh", "-c", "echo it's"],
  name: null,
  started_at_ms: 1_794_788_863_050,
  cwd: "/w",
  host: { name: "here", os: "Linux", release: "6", machine: "x86_64" },
  exit_code: 3,
  signal: null,
  gaps: [],
  isComplete: true,
};

function recorded(changed: object = {}, more: object = {}): Recorded {
  return {
    manifest: { run_id: "r1", root: "abc", files: {} },
    judgement: { rules: 2, steno: "0.1", root: "abc", files: {} },
    leftOut: new Set(),
    run: { ...run, ...changed },
    redactions: { total: 0, counts: {} },
    calls: null,
    files: null,
    processes: [],
    ...more,
  } as unknown as Recorded;
}

const COMMAND = `sh -c 'echo it'"'"'s'`;

function said(facts: Record<string, string[]> = {}, changed: Partial<Said> = {}): Said {
  const all = {
    Verification: ["valid, when this was made", "root abc"],
    Judgement: ["by rules 2 of Steno 0.1, which made this: files, calls, verdicts, health"],
    Result: ["exit code 3"],
    Gaps: ["none declared"],
    Redactions: ["no secret was found"],
    ...facts,
  };
  return {
    name: "Steno r1",
    about: COMMAND,
    command: COMMAND,
    when: "2026-11-16 00:27:43 UTC, for 7.09s, in /w on here (Linux 6 x86_64)",
    troubles: " · exit code 3",
    facts: Object.entries(all),
    ...changed,
  };
}

test("a head that says what the record says is left alone", () => {
  assert.deepEqual(different(said(), recorded()), []);
});

test("another result in the head is named with both", () => {
  assert.deepEqual(different(said({ Result: ["exit code 0"] }), recorded()), [
    "Result: the head says “exit code 0”, the files of this page “exit code 3”",
  ]);
});

test("what was changed, taken away or added in the head is found", () => {
  const heads: Partial<Said>[] = [
    { command: "true" },
    { about: "true" },
    { name: "Steno r2" },
    { troubles: "" },
    { when: "2025-11-16 00:27:43 UTC, for 7.09s, in /w on here (Linux 6 x86_64)" },
    { when: "2026-11-16 00:27:43 UTC, for 7.09s, in / on here (Linux 6 x86_64)" },
    { facts: said().facts.filter(([label]) => label !== "Gaps") },
    { facts: said().facts.filter(([label]) => label !== "Judgement") },
    { facts: [...said().facts, ["Result", ["exit code 0"]]] },
    { facts: [...said().facts, ["Denied", ["1 call refused by policy"]]] },
  ];
  for (const head of heads) assert.equal(different(said({}, head), recorded()).length, 1, JSON.stringify(head));
});

const calls = {
  calls: [
    { call: 1, server: "list", tool: "count", verdict: "contradicted" },
    { call: 2, server: null, tool: "rm", verdict: "denied" },
  ],
  claims: [{ claim: 1 }],
  checksOf: new Map([[1, [{ result: "contradicted", detail: "it changed /w/a" }, { result: "confirmed", detail: "it ended" }]]]),
  checksOfClaim: new Map([[1, [{ result: "contradicted", detail: "no tests were run" }]]]),
};
const ofCalls = {
  "Tool calls": ["2 calls: 1 contradicted, 1 denied"],
  Contradicted: ["list.count: it changed a", "no tests were run"],
  Denied: ["1 call refused by policy"],
};
const troubles = " · 1 call contradicted · 1 claim contradicted · 1 call denied · exit code 3";

test("calls that the record contradicts or that were denied cannot be left out", () => {
  assert.deepEqual(different(said(ofCalls, { troubles }), recorded({}, { calls })), []);
  const softened = { ...ofCalls, Contradicted: ["no call, and nothing that was said"] };
  assert.equal(different(said(softened, { troubles }), recorded({}, { calls })).length, 1);
  assert.equal(different(said(), recorded({}, { calls })).length, 4);
});

test("another number of changed or deleted files in the head is found", () => {
  const files = ["created", "deleted", "created", "none"].map((change) => ({ change }));
  const facts = { Files: ["3 files changed (2 created, 1 deleted), 9 read"], Deleted: ["1 file"] };
  assert.deepEqual(different(said(facts), recorded({}, { files })), []);
  assert.equal(different(said({ ...facts, Files: ["no file changed, 9 read"] }), recorded({}, { files })).length, 1);
  assert.equal(different(said({ Files: facts.Files }), recorded({}, { files })).length, 1);
});

test("what is too large for the page is not held against its head", () => {
  for (const name of ["calls", "checks", "claims"]) {
    const leftOut = new Set([`tables/${name}.json`]);
    assert.deepEqual(different(said(ofCalls, { troubles }), recorded({}, { leftOut })), []);
  }
});

test("gaps are held in full, but for how much was lost", () => {
  const gaps = [{ reason: "stream_lost", detail: "a\u202eb".repeat(200), lost_bytes: 7 }, { reason: "x", detail: "y" }];
  const shown = `stream_lost: ${"a\\u202eb".repeat(95)}a\\u202e…`;
  const facts = { Verification: ["incomplete, when this was made", "root abc"], Gaps: [shown, "x: y"] };
  assert.deepEqual(different(said(facts), recorded({ gaps, isComplete: false })), []);
  assert.equal(different(said({ ...facts, Gaps: ["x: y"] }), recorded({ gaps, isComplete: false })).length, 1);
});

test("the run itself is read from its events, and is complete where it ended without a gap", () => {
  const event = (type: string, data: object) => ({ seq: 0, ts_ms: run.started_at_ms, mono_ns: 0, type, data: data as Record<string, unknown> });
  const start = event("run_start", { cmd_redacted: run.command, cwd: run.cwd, host: run.host });
  const ended = [event("command_finished", { exit_code: 3 }), event("run_finish", { exit_code: 3, completed: true })];
  assert.deepEqual(runOf([start, ...ended]), run);
  const gap = { reason: "x", detail: "y" };
  assert.deepEqual(runOf([start, event("gap", gap), ...ended]), { ...run, gaps: [gap], isComplete: false });
  assert.equal(runOf([start]).isComplete, false);
});

test("an end that only the kernel saw is told from the processes", () => {
  const ended = recorded({ exit_code: null }, { processes: [{ process: 1, signal: "SIGTERM", exit_code: null }] });
  const result = ["not seen by the recorder; the kernel saw the command end by SIGTERM"];
  assert.deepEqual(different(said({ Result: result }, { troubles: " · end not seen" }), ended), []);
});

test("words are quoted as a shell would have them", () => {
  assert.equal(quoted(["a/b-c", "", "x y", "é"]), "a/b-c '' 'x y' 'é'");
});

test("only the directory that a path begins with is left out", () => {
  assert.equal(withoutDirectory("not written: /var/tmp/x.txt, /tmp/y", "/tmp"), "not written: /var/tmp/x.txt, y");
  assert.equal(withoutDirectory("it changed /a.c/b, /abc/d", "/a.c"), "it changed b, /abc/d");
});
