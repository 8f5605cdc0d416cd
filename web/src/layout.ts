// The names of the parts of a page, as evidence/layout.py has them without its `evidence/`, and where the manifest has each.
// In: a manifest of format 1 or 2. Out: for each of its files the part that carries it. A test holds the names against Python.
import { TABLES } from "./made/tables";
import type { Tables } from "./made/tables";

export const MANIFEST = "manifest.json";
export const EVENTS = "events.ndjson";
export const KERNEL_TABLE = "syscalls.parquet";
export const BLOBS = "blobs.parquet";
export const CHANGES = "git/changes.json";
export const DIFF = "git/diff.patch";
/** In this order the joint index numbers them. */
export const TAPES = ["terminal/stdin", "terminal/stdout", "terminal/stderr", "terminal/output"];
export const INDEX = "terminal/index";
export const INDEX_SUFFIX = ".idx";
const EXTRACT = "extract/blobs.parquet";
const EVIDENCE = "evidence/";

export const RUN = "run.json";
export const REDACTION_REPORT = "redaction-report.json";
export const HEALTH = "observation-health.json";
export const SURFACE = "capability-surface.json";
export const CORRELATION = "correlation-report.json";
export const REPO_BEFORE = "git-before.json";
export const REPO_AFTER = "git-after.json";
export const CAST = "session.cast";
const DOCUMENTS = [
  RUN,
  REDACTION_REPORT,
  HEALTH,
  SURFACE,
  CORRELATION,
  REPO_BEFORE,
  REPO_AFTER,
  CAST,
];
export const tablePath = (name: keyof Tables) => `tables/${name}.json`;
const TABLE_NAMES = Object.keys(TABLES) as (keyof Tables)[];
/** What whoever made the page concluded from the evidence. */
export const JUDGED = new Set([...DOCUMENTS, ...TABLE_NAMES.map(tablePath)]);
const OF_CALLS = new Set(["calls", "checks", "claims", "effects"]);
/** Of these there is nothing where the kernel was not watched. */
export const JUDGED_OF_KERNEL = new Set(TABLE_NAMES.filter((name) => !OF_CALLS.has(name)).map(tablePath));

/** Evidence that format 1 has under another name; a stream and its index have the same. */
const FIRST_NAMES: Record<string, string> = {
  "events.ndjson": EVENTS,
  "layers/kernel.parquet": KERNEL_TABLE,
  "layers/files.ndjson": "files.ndjson",
  "blobs.parquet": BLOBS,
  "repo/status_before.txt": "git/status_before.txt",
  "repo/status_after.txt": "git/status_after.txt",
  "repo/diff.patch": DIFF,
  "repo/worktree.patch": "git/worktree_after.patch",
  "repo/changes.json": CHANGES,
};
/** What the Steno that sealed a record of format 1 concluded: no page carries it. */
const FIRST_CONCLUDED = new Set([
  "run.json",
  "hashes.json",
  "redaction-report.json",
  "observation-health.json",
  "capability-surface.json",
  "correlation-report.json",
  "calls.json",
  "layers/kernel.ndjson",
  "processes.json",
  "files.json",
  "repo/before.json",
  "repo/after.json",
  "terminal/timing",
  "terminal/session.cast",
]);
/** Format 1 begins these with a line for scriptreplay(1), which is no part of the stream. */
const FIRST_WITH_HEADER = new Set(["terminal/stdin", "terminal/output"]);

export interface Manifest {
  format?: number;
  run_id: string;
  files: Record<string, { sha256: string; bytes: number }>;
  root: string;
}

/** A file of the manifest, and the part that carries it. */
export interface Sealed {
  name: string;
  path: string;
  skip: number;
}

export function sealedFiles(manifest: Manifest): Sealed[] {
  const names = Object.keys(manifest.files);
  if (manifest.format !== undefined) return names.map((name) => ({ name, path: pathOf(name), skip: 0 }));
  const header = new TextEncoder().encode(`Script started, recorded by steno as ${manifest.run_id}\n`).length;
  const isMade = !Object.hasOwn(manifest.files, "terminal/output.idx"); // of stdout and stderr
  return names
    .filter((name) => !FIRST_CONCLUDED.has(name) && !(isMade && name === "terminal/output"))
    .map((name) => ({
      name,
      path: Object.hasOwn(FIRST_NAMES, name) ? FIRST_NAMES[name]! : name,
      skip: FIRST_WITH_HEADER.has(name) ? header : 0,
    }));
}

/** No file of the record takes the name of something else. */
function pathOf(name: string): string {
  const path = name.startsWith(EVIDENCE) ? name.slice(EVIDENCE.length) : name;
  return path === MANIFEST || path === EXTRACT || JUDGED.has(path) ? name : path;
}
