// The digests of the manifest, computed again by the browser (Web Crypto) over the bytes that the panels show. It proves that
// this page holds what was sealed; that the derived files follow from the layers is what `steno verify` proves.
import type { Page } from "./panel";
import { SourceError } from "./source";
import type { Source } from "./source";

export interface Check {
  /** match: every digest and the root. mismatch: at least one is not. unable: nothing can be said, and why. */
  state: "match" | "mismatch" | "partial" | "unable";
  checked: number;
  /** How many files the manifest names. */
  total: number;
  root: string | null;
  /** Whether the manifest declares that nothing is missing. */
  isComplete: boolean;
  problems: string[];
}

export async function check(page: Page, source: Source): Promise<Check> {
  const unable = (why: string): Check => ({ state: "unable", checked: 0, total: 0, root: null, isComplete: false, problems: [why] });
  if (!source.has("manifest.json")) return unable("there is no manifest: this record is not sealed");
  if (!globalThis.crypto?.subtle) return unable("this browser gives no Web Crypto to this page");
  const manifest = await readManifest(source);
  if (typeof manifest === "string") {
    if (source.isServed("manifest.json")) return unable(manifest);
    return { ...unable(manifest), state: "mismatch" };
  }
  return compare(page, source, manifest);
}

interface ReadManifest {
  text: string;
  manifest: Manifest;
}

interface Manifest {
  files: Record<string, { sha256: string; bytes: number }>;
  root: string;
  completeness?: { complete?: boolean };
}

/** The manifest, or what is wrong with it: without one, nothing of this page is what was sealed. */
async function readManifest(source: Source): Promise<ReadManifest | string> {
  try {
    const text = await source.text("manifest.json");
    const manifest = JSON.parse(text) as Manifest;
    const entries = Object.values(manifest.files);
    if (typeof manifest.root === "string" && entries.every((one) => typeof one.sha256 === "string")) return { text, manifest };
  } catch (error) {
    if (error instanceof SourceError) return error.message;
  }
  return "manifest.json is no manifest";
}

async function compare(page: Page, source: Source, { text, manifest }: ReadManifest): Promise<Check> {
  const problems: string[] = [];
  if (canonical(manifest) !== text) problems.push("manifest.json is not written canonically");
  if ((await rootOf(manifest)) !== manifest.root) problems.push("the root of manifest.json is not that of its entries");
  const leftOut = new Set(page.left_out.map((file) => file.path));
  let checked = 0;
  let missing = 0;
  for (const [path, entry] of Object.entries(manifest.files)) {
    if (!source.has(path)) {
      if (leftOut.has(path)) missing += 1;
      else problems.push(`${path} is in the manifest and not in this page`);
      continue;
    }
    const found = await digestOf(source, path);
    if (found.problem) problems.push(found.problem);
    else if (found.bytes !== entry.bytes || found.sha256 !== entry.sha256) problems.push(`${path} is not what was sealed`);
    checked += 1;
  }
  for (const path of source.paths())
    if (path !== "manifest.json" && !Object.hasOwn(manifest.files, path))
      problems.push(`${path} is in this page and not in the manifest`);
  const state = problems.length > 0 ? "mismatch" : missing > 0 ? "partial" : "match";
  const isComplete = manifest.completeness?.complete === true;
  return { state, checked, total: Object.keys(manifest.files).length, root: manifest.root, isComplete, problems };
}

async function digestOf(source: Source, path: string): Promise<{ sha256: string; bytes: number; problem?: string }> {
  try {
    const bytes = await source.bytes(path);
    return { sha256: await sha256(bytes), bytes: bytes.length };
  } catch (error) {
    return { sha256: "", bytes: 0, problem: error instanceof SourceError ? error.message : `${path} cannot be read` };
  }
}

/** Spec §7: SHA-256 of the canonical JSON of the manifest without its root. */
export async function rootOf(manifest: object): Promise<string> {
  const { root: _, ...rest } = manifest as Record<string, unknown>;
  return sha256(new TextEncoder().encode(canonical(rest)));
}

/** RFC 8785: keys by their UTF-16 units, no blanks; numbers and strings are as JSON.stringify writes them. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
