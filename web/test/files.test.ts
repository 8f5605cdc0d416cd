import assert from "node:assert/strict";
import { test } from "node:test";
import type { File, FileState } from "../src/made/tables";
import type { App } from "../src/panel";
import { contentOf, hasContent, isBinary, isExtracted } from "../src/panels/files/contents";
import { afterWords, beforeWords, letterOf, modeWords, sizeText, whyNotKept } from "../src/panels/files/facts";
import type { Letter } from "../src/panels/files/facts";
import { chosen, flatRows, listedFiles, treeRows } from "../src/panels/files/rows";
import type { Row } from "../src/panels/files/rows";

const state = (kind: string | null, more: Partial<FileState> = {}): FileState => ({
  kind,
  mode: null,
  size: null,
  mtime_ns: null,
  uid: null,
  gid: null,
  target: null,
  target_bytes: null,
  blob: null,
  no_content_reason: null,
  ...more,
});
const file = (size: number, more: Partial<FileState> = {}) => state("file", { mode: 0o100644, size, ...more });
const absent = state("absent");
const unknown = state(null);

function entry(letter: string, path: string, change: string, size_change: number | null, before: FileState, after: FileState): File {
  const rest = { path_bytes: null, operations: [], changed_by_others: false, git_root: null, git_class: null };
  return { path, letter, change, size_change, before, after, ...rest };
}

const files = [
  entry("r", "/w/read.txt", "none", 0, file(1), file(1)),
  entry("A", "/w/sub/new.c", "created", 5, absent, file(5)),
  entry("D", "/w/old.c", "deleted", -9, file(9), absent),
  entry("M", "/w/app.c", "modified", -5, file(9), file(4)),
  entry("m", "/w", "metadata", 0, state("directory"), state("directory")),
  entry("t", "/tmp/x", "none", 0, absent, absent),
  entry("-", "/etc/missing", "none", 0, absent, absent),
  entry("?", "/w/odd", "unknown", null, unknown, file(1)),
];
const listed = listedFiles(files);
const all = new Set<Letter>(["A", "M", "D", "m", "?", "t", "r", "-"]);
const everything = { kinds: all, words: "", names: null };

test("the letter of a file is that of the table, and one that nobody knows is told as that", () => {
  assert.deepEqual(files.map(letterOf), ["r", "A", "D", "M", "m", "t", "-", "?"]);
  for (const letter of ["Z", "", "constructor"]) assert.equal(letterOf({ ...files[0]!, letter }), "?");
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

test("states, modes and reasons are words", () => {
  assert.deepEqual(
    [absent, unknown, file(1), state("symlink", { target: "a\u202eb" })].map((before) => beforeWords({ ...files[0]!, before })),
    ["not there", "not known", "file", "symlink → a\\u202eb"],
  );
  assert.deepEqual(files.map(afterWords), ["file", "file", "deleted", "file", "directory", "deleted", "not there", "file"]);
  assert.deepEqual([0o100755, 0o104711, 0o41777].map(modeWords), [
    "rwxr-xr-x (0755)",
    "rws--x--x (4711)",
    "rwxrwxrwt (1777)",
  ]);
  assert.equal(whyNotKept(file(1, { no_content_reason: "raced" })), "it changed before it could be read");
  assert.equal(whyNotKept(file(1, { no_content_reason: "constructor" })), "its content was not kept");
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
  const told = async (of: FileState) => {
    const found = await contentOf(app, of);
    return found.withheld ?? [...found.bytes!];
  };
  assert.deepEqual(await told(absent), []);
  assert.deepEqual(await told(file(1, { blob: "kept" })), [1]);
  assert.deepEqual(await told(state("symlink", { size: 1, target: "a" })), [97]);
  assert.equal(await told(unknown), "its state is not known");
  assert.equal(await told(file(1, { blob: "secret" })), "its content holds a secret and is kept encrypted");
  assert.equal(await told(file(5 << 20, { blob: "kept" })), "5242880 bytes are too many to compare");
  assert.equal(await told(file(1, { no_content_reason: "clean_git" })), "it is in git, as it was committed");
  assert.equal(await told(file(1, { blob: "lost" })), "its content was not kept");
});

test("a content from an extract is told as one, and one that is not in it is not in the page", async () => {
  const source = { tableOf: () => "extract/blobs.parquet", whyNot: () => "it is not in this page: too large" };
  const extracted = { ...app, source } as unknown as App;
  const kept = entry("M", "/a", "modified", 1, absent, file(1, { blob: "kept" }));
  assert.deepEqual([isExtracted(extracted, kept), isExtracted(app, kept)], [true, false]);
  assert.equal(isExtracted(extracted, entry("D", "/a", "deleted", 0, absent, absent)), false);
  assert.equal((await contentOf(extracted, file(1, { blob: "lost" }))).withheld, "it is not in this page: too large");
});

test("only files and links have something to compare, and a zero byte makes a content binary", () => {
  assert.deepEqual(files.map(hasContent), [true, true, true, true, false, true, true, true]);
  assert.deepEqual([isBinary(new Uint8Array([65, 0])), isBinary(new Uint8Array([65, 10]))], [true, false]);
});
