import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, check, rootOf } from "../src/check";
import { fromBytes } from "../src/kernel";
import type { Page } from "../src/panel";
import { Pieces, Source, SourceError } from "../src/source";

// SHA-256 of "hello\n", and the root that docs/spec.md §7 gives for a manifest of that one file.
const HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
const rest = { completeness: { complete: true }, files: { "a.txt": { bytes: 6, sha256: HELLO } }, run_id: "r", schema: "steno.bundle.v1" };

const CUT = "cannot be unpacked";

async function checked(files: Record<string, string>, leftOut: string[] = [], isServed = false) {
  const text = async (path: string) => {
    if (files[path] === CUT) throw new SourceError(path, CUT);
    return files[path]!;
  };
  const source = {
    has: (path: string) => path in files,
    paths: () => Object.keys(files),
    isServed: () => isServed,
    bytes: async (path: string) => new TextEncoder().encode(await text(path)),
    text,
  } as unknown as Source;
  return check({ left_out: leftOut.map((path) => ({ path, bytes: 1, why: "large" })) } as unknown as Page, source);
}

const sealed = async () => canonical({ ...rest, root: await rootOf(rest) });

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
  assert.equal((await checked({ "manifest.json": await sealed() }, ["a.txt"])).state, "partial");
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
  assert.equal((await checked({ "manifest.json": CUT }, [], true)).state, "unable");
});

test("a file that cannot be unpacked is named without the words of an exception", async () => {
  const found = await checked({ "manifest.json": await sealed(), "a.txt": CUT });
  assert.deepEqual(found.problems, ["a.txt: cannot be unpacked"]);
});

test("an extract is no file of the record, and stands in for the table it is from", () => {
  const part = { path: "extract/blobs.parquet", bytes: 1, sha256: null, id: "part-0", extract_of: "blobs.parquet" };
  const source = new Source({ parts: [part], left_out: [] } as unknown as Page);
  assert.deepEqual([source.paths(), source.tableOf("blobs.parquet"), source.tableOf("layers/kernel.parquet")], [[], part.path, null]);
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
