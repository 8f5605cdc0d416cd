import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, check, rootOf } from "../src/check";
import { fromBytes } from "../src/kernel";
import { JUDGED, sealedFiles } from "../src/layout";
import type { Judgement, Page, Part } from "../src/panel";
import { Pieces, Source, SourceError } from "../src/source";

// SHA-256 of "hello\n", and of nothing.
const HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const NAME = "evidence/a.txt";
const rest = { files: { [NAME]: { bytes: 6, sha256: HELLO } }, format: 2, run_id: "r" };

const CUT = "cannot be unpacked";

interface Holding {
  leftOut?: string[];
  isServed?: boolean;
  parts?: Record<string, Partial<Part>>;
  judgement?: Partial<Judgement>;
}

/** `files`: what the page has; one that is not judged is sealed under its own name below evidence/. */
async function checked(files: Record<string, string>, holding: Holding = {}) {
  const bytes = async (path: string) => {
    if (files[path] === CUT) throw new SourceError(path, CUT);
    return new TextEncoder().encode(files[path]!);
  };
  const part = (path: string): Part => ({
    path,
    bytes: files[path]!.length,
    sha256: null,
    ...(JUDGED.has(path) ? {} : { sealed_as: `evidence/${path}` }),
    ...(holding.isServed ? { url: `./file/${path}` } : {}),
    ...holding.parts?.[path],
  });
  const source = {
    has: (path: string) => path in files,
    part: (path: string) => (path in files ? part(path) : null),
    present: () => Object.keys(files).map(part),
    isServed: () => holding.isServed === true,
    whole: bytes,
    text: async (path: string) => new TextDecoder().decode(await bytes(path)),
  } as unknown as Source;
  const root = files["manifest.json"]?.match(/"root":"(\w+)"/)?.[1] ?? null;
  const judgement = { rules: 2, steno: "1", root, files: {}, ...holding.judgement };
  const left_out = (holding.leftOut ?? []).map((path) => ({ path, bytes: 1, why: "large" }));
  return check({ left_out, judgement } as unknown as Page, source);
}

const sealed = async (manifest: object = rest) => canonical({ ...manifest, root: await rootOf(manifest) });

test("canonical JSON sorts keys by their UTF-16 units and has no blanks", () => {
  assert.equal(canonical({ b: [1, "\u20ac", null], a: { "\ufb33": 1, "\ud83d\ude00": 2 } }), '{"a":{"😀":2,"\ufb33":1},"b":[1,"€",null]}');
});

test("a page that holds what was sealed matches", async () => {
  const found = await checked({ "manifest.json": await sealed(), "a.txt": "hello\n" });
  assert.deepEqual([found.state, found.checked, found.total], ["match", 1, 1]);
});

test("one changed byte is found, and named", async () => {
  const found = await checked({ "manifest.json": await sealed(), "a.txt": "hallo\n" });
  assert.deepEqual([found.state, found.problems], ["mismatch", ["a.txt is not what was sealed"]]);
});

test("a digest that was changed with its file breaks the root", async () => {
  const forged = (await sealed()).replace(HELLO, "0".repeat(64));
  const found = await checked({ "manifest.json": forged, "a.txt": "hello\n" });
  assert.equal(found.state, "mismatch");
  assert.ok(found.problems.some((one) => one.includes("root")));
});

test("a key that stands twice in the manifest does not pass", async () => {
  const doubled = (await sealed()).replace('"run_id":"r"', '"run_id":"x","run_id":"r"');
  assert.equal((await checked({ "manifest.json": doubled, "a.txt": "hello\n" })).state, "mismatch");
});

test("files that were added or taken away are told", async () => {
  const added = await checked({ "manifest.json": await sealed(), "a.txt": "hello\n", "b.txt": "" });
  assert.deepEqual(added.problems, ["b.txt is in this page and not in the manifest"]);
  const taken = await checked({ "manifest.json": await sealed() });
  assert.deepEqual(taken.problems, ["a.txt is in the manifest and not in this page"]);
});

test("a page that leaves a file out never says that everything matches", async () => {
  assert.equal((await checked({ "manifest.json": await sealed() }, { leftOut: ["a.txt"] })).state, "partial");
});

test("a part that takes the name of another file of the record is found", async () => {
  const files = { ...rest.files, "evidence/b.txt": { bytes: 0, sha256: EMPTY } };
  const page = { "manifest.json": await sealed({ ...rest, files }), "a.txt": "hello\n", "b.txt": "" };
  assert.equal((await checked(page)).state, "match");
  for (const parts of [{ "b.txt": { sealed_as: NAME } }, { "a.txt": { skip: 5 } }, { "a.txt": { sealed_as: undefined } }]) {
    const found = await checked(page, { parts });
    assert.deepEqual(found.problems, [`${Object.keys(parts)[0]} is not taken from the file of the record that it is named after`]);
  }
});

test("evidence that is named like something concluded is never taken for it", async () => {
  const files = { "evidence/run.json": { bytes: 6, sha256: HELLO } };
  const manifest = await sealed({ ...rest, files });
  const found = await checked({ "manifest.json": manifest, "run.json": "hello\n" }, { parts: { "run.json": { sealed_as: "evidence/run.json" } } });
  assert.equal(found.state, "mismatch");
  const own = { "evidence/run.json": { sealed_as: "evidence/run.json" } };
  assert.equal((await checked({ "manifest.json": manifest, "evidence/run.json": "hello\n" }, { parts: own })).state, "match");
});

test("a record of format 1 is held against its own names, and its conclusions are not asked for", async () => {
  const entry = { bytes: 6, sha256: HELLO };
  const concluded = { "run.json": entry, "layers/kernel.ndjson": entry, "terminal/output": entry };
  const first = { completeness: {}, files: { "repo/diff.patch": entry, ...concluded }, run_id: "r", schema: "steno.bundle.v1" };
  const parts = { "git/diff.patch": { sealed_as: "repo/diff.patch" } };
  const found = await checked({ "manifest.json": await sealed(first), "git/diff.patch": "hello\n" }, { parts });
  assert.deepEqual([found.state, found.checked, found.total], ["match", 1, 1]);
});

test("the line before a stream of format 1 is part of the file, and of its digest", () => {
  const entry = { bytes: 6, sha256: HELLO };
  const files = { "terminal/stdin": entry, "terminal/output": entry, "terminal/output.idx": entry };
  const sealed = sealedFiles({ run_id: "r", files, root: "" });
  const header = "Script started, recorded by steno as r\n".length;
  assert.deepEqual(sealed.map((one) => one.skip), [header, header, 0]);
  const data = { parts: [{ path: "terminal/stdin", bytes: header + 6, sha256: null, skip: header }], left_out: [] };
  assert.equal(new Source(data as unknown as Page).size("terminal/stdin"), 6);
});

test("what was concluded is compared with what the page says of it, and apart from the evidence", async () => {
  const page = { "manifest.json": await sealed(), "a.txt": "hello\n", "run.json": "hello\n" };
  const told = { files: { "run.json": HELLO } };
  const found = await checked(page, { judgement: told });
  assert.deepEqual([found.state, found.total, found.judgement], ["match", 1, { state: "match", checked: 1, problems: [] }]);
  const wrong: [Partial<Judgement>, string][] = [
    [{ files: { "run.json": EMPTY } }, "run.json is not what was concluded"],
    [{ files: {} }, "run.json is in this page, and nobody says that it was concluded"],
    [{ files: { ...told.files, "calls.json": HELLO } }, "calls.json was concluded, and is not in this page"],
    [{ ...told, root: EMPTY }, "what was concluded is not from this record: it names another root"],
  ];
  for (const [judgement, problem] of wrong) {
    const harmed = await checked(page, { judgement });
    assert.deepEqual([harmed.state, harmed.judgement.state, harmed.judgement.problems], ["match", "mismatch", [problem]]);
  }
});

test("what a server concludes when it is asked is compared with nothing", async () => {
  const page = { "manifest.json": await sealed(), "a.txt": "hello\n", "run.json": "hello\n" };
  const found = await checked(page, { isServed: true, judgement: { files: { "run.json": null } } });
  assert.deepEqual([found.state, found.judgement.state], ["match", "served"]);
});

test("without a manifest nothing is claimed", async () => {
  assert.equal((await checked({ "events.ndjson": "" })).state, "unable");
});

test("names that are not UTF-8 show their bytes", () => {
  assert.equal(fromBytes(Uint8Array.of(0x61, 0xff, 0xc3, 0xa9, 0xc3)), "a\\xffé\\xc3");
});

test("a page whose manifest was cut or is none does not hold what was sealed", async () => {
  const cut = await checked({ "manifest.json": CUT, "a.txt": "hello\n" });
  assert.deepEqual([cut.state, cut.problems], ["mismatch", ["manifest.json: cannot be unpacked"]]);
  for (const text of ["{}", "[1", "7", '{"files":{"a":null},"root":""}'])
    assert.deepEqual((await checked({ "manifest.json": text })).problems, ["manifest.json is no manifest"]);
});

test("a server that does not give the manifest says nothing about the record", async () => {
  assert.equal((await checked({ "manifest.json": CUT }, { isServed: true })).state, "unable");
});

test("a file that cannot be unpacked is named without the words of an exception", async () => {
  const found = await checked({ "manifest.json": await sealed(), "a.txt": CUT });
  assert.deepEqual(found.problems, ["a.txt: cannot be unpacked"]);
});

test("an extract is no file of the record, and stands in for the table it is from", () => {
  const part = { path: "extract/blobs.parquet", bytes: 1, sha256: null, id: "part-0", extract_of: "blobs.parquet" };
  const source = new Source({ parts: [part], left_out: [] } as unknown as Page);
  assert.deepEqual([source.present(), source.tableOf("blobs.parquet"), source.tableOf("syscalls.parquet")], [[], part.path, null]);
});

test("a decoded piece is read once, and the oldest goes when there is too much", async () => {
  const pieces = new Pieces(10);
  const read: string[] = [];
  const get = (key: string, bytes: number) =>
    pieces.get(key, bytes, async () => {
      read.push(key);
      return [key];
    });
  await get("a", 4);
  await get("b", 4);
  assert.deepEqual(await get("a", 4), ["a"]);
  await get("c", 4);
  await get("a", 4);
  await get("b", 4);
  await get("large", 40);
  await get("large", 40);
  assert.deepEqual(read, ["a", "b", "c", "b", "large"]);
});
