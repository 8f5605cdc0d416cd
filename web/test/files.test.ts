import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileEntry, FileState } from "../src/model";
import type { App } from "../src/panel";
import { contentOf, hasContent, isBinary, isExtracted } from "../src/panels/files/contents";
import { letterOf, modeWords, nameOf, sizeText, stateWords, whyNotKept } from "../src/panels/files/facts";
import type { Letter } from "../src/panels/files/facts";
import { chosen, flatRows, listedFiles, treeRows } from "../src/panels/files/rows";
import type { Row } from "../src/panels/files/rows";

const file = (size: number, more: Partial<FileState> = {}): FileState => ({
  exists: true,
  type: "file",
  mode: 0o100644,
  size,
  ...more,
});
const absent: FileState = { exists: false };
const gone: FileState = { exists: false, tombstone: true };

function entry(
  path: string,
  change: FileEntry["change"],
  before: FileState,
  after: FileState,
  ...operations: string[]
): FileEntry {
  return { path, change, before, after, operations };
}

const files = [
  entry("/w/read.txt", "none", file(1), file(1), "read"),
  entry("/w/sub/new.c", "created", absent, file(5), "write"),
  entry("/w/old.c", "deleted", file(9), gone, "delete"),
  entry("/w/app.c", "modified", file(9), file(4), "write"),
  entry("/w", "metadata", { exists: true, type: "directory" }, { exists: true, type: "directory" }, "directory"),
  entry("/tmp/x", "none", absent, gone, "delete", "write"),
  entry("/etc/missing", "none", absent, absent, "existence"),
  entry("/w/odd", "unknown", { unknown: true }, file(1), "write"),
];
const listed = listedFiles(files);
const all = new Set<Letter>(["A", "M", "D", "m", "?", "t", "r", "-"]);
const everything = { kinds: all, words: "", names: null };

test("the letter of a file is the one that `steno files` gives", () => {
  assert.deepEqual(files.map(letterOf), ["r", "A", "D", "M", "m", "t", "-", "?"]);
});

test("sizes tell how much a file grew or shrank, and say when it is not known", () => {
  assert.deepEqual(files.map(sizeText), ["1 B", "+5 B", "−9 B", "−5 B", "", "", "", "?"]);
});

test("what changed stands first, by name, and what was only looked at last", () => {
  assert.deepEqual(
    listed.map((one) => one.name),
    ["/w/app.c", "/w/odd", "/w/old.c", "/w/sub/new.c", "/tmp/x", "/w", "/w/read.txt", "/etc/missing"],
  );
});

test("kinds, words and the window all narrow the list", () => {
  const names = (wanted: Partial<typeof everything>) =>
    chosen(listed, { ...everything, ...wanted } as typeof everything).map((one) => one.name);
  assert.deepEqual(names({ kinds: new Set<Letter>(["D"]) }), ["/w/old.c"]);
  assert.deepEqual(names({ words: " .C  W/ " }), ["/w/app.c", "/w/old.c", "/w/sub/new.c"]);
  assert.deepEqual(names({ names: new Set(["/w/odd"]) as never }), ["/w/odd"]);
});

test("names below the directory of the run are shown without it", () => {
  assert.deepEqual(
    flatRows(listed, "/w")
      .map((row) => row.label)
      .slice(0, 4),
    ["app.c", "odd", "old.c", "sub/new.c"],
  );
  assert.equal(flatRows(listed, "/")[0]!.label, "/w/app.c");
});

test("the tree joins folders that hold one folder, and opens what its reader opened", () => {
  const brief = (rows: Row[]) => rows.map((row) => `${" ".repeat(row.depth)}${row.label}`);
  const some = listed.filter((one) => one.name.startsWith("/w/"));
  assert.deepEqual(brief(treeRows(some, () => true)), [
    "/w/",
    " sub/",
    "  new.c",
    " app.c",
    " odd",
    " old.c",
    " read.txt",
  ]);
  assert.deepEqual(brief(treeRows(some, (path) => path !== "/w/sub/")), [
    "/w/",
    " sub/",
    " app.c",
    " odd",
    " old.c",
    " read.txt",
  ]);
});

test("a name that is not UTF-8 shows its bytes", () => {
  assert.equal(nameOf({ ...files[0]!, path: "/bad\u00ff", path_b64: "L2JhZP8=" }), "/bad\\xff");
});

test("states, modes and reasons are words", () => {
  assert.deepEqual(
    [absent, gone, { unknown: true }, file(1), { exists: true, type: "symlink", target: "a\u202eb" }].map(stateWords),
    ["not there", "deleted", "not known", "file", "symlink → a\\u202eb"],
  );
  assert.deepEqual([0o100755, 0o104711, 0o41777].map(modeWords), [
    "rwxr-xr-x (0755)",
    "rws--x--x (4711)",
    "rwxrwxrwt (1777)",
  ]);
  assert.equal(whyNotKept(file(1, { content: "raced" })), "it changed before it could be read");
  assert.equal(whyNotKept(file(1, { content: "constructor" })), "its content was not kept");
});

const blobs: Record<string, { content: Uint8Array; cipher: string }> = {
  kept: { content: new Uint8Array([1]), cipher: "" },
  secret: { content: new Uint8Array([1]), cipher: "chacha20poly1305" },
};
const app = {
  source: { tableOf: (path: string) => path },
  model: { cipher: async (key: string) => blobs[key]?.cipher ?? null, blob: async (key: string) => blobs[key] ?? null },
} as unknown as App;

test("a content is its bytes, or the reason why there are none", async () => {
  const told = async (state: FileState) => {
    const found = await contentOf(app, state);
    return found.withheld ?? [...found.bytes!];
  };
  assert.deepEqual(await told(absent), []);
  assert.deepEqual(await told(file(1, { blob: "kept" })), [1]);
  assert.deepEqual(await told({ exists: true, type: "symlink", size: 1, target: "a" }), [97]);
  assert.equal(await told({ unknown: true }), "its state is not known");
  assert.equal(await told(file(1, { blob: "secret" })), "its content holds a secret and is kept encrypted");
  assert.equal(await told(file(5 << 20, { blob: "kept" })), "5242880 bytes are too many to compare");
  assert.equal(await told(file(1, { content: "clean_git" })), "it is in git, as it was committed");
  assert.equal(await told(file(1, { blob: "lost" })), "its content was not kept");
});

test("a content from an extract is told as one, and one that is not in it is not in the page", async () => {
  const source = { tableOf: () => "extract/blobs.parquet", whyNot: () => "it is not in this page: too large" };
  const extracted = { ...app, source } as unknown as App;
  const kept = entry("/a", "modified", absent, file(1, { blob: "kept" }));
  assert.deepEqual([isExtracted(extracted, kept), isExtracted(app, kept)], [true, false]);
  assert.equal(isExtracted(extracted, entry("/a", "deleted", absent, gone)), false);
  assert.equal((await contentOf(extracted, file(1, { blob: "lost" }))).withheld, "it is not in this page: too large");
});

test("only files and links have something to compare, and a zero byte makes a content binary", () => {
  assert.deepEqual(files.map(hasContent), [true, true, true, true, false, true, true, true]);
  assert.deepEqual([isBinary(new Uint8Array([65, 0])), isBinary(new Uint8Array([65, 10]))], [true, false]);
});
