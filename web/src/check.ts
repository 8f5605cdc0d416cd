// The digests of the manifest, computed again by the browser (Web Crypto) over the bytes that the panels show. It proves that
// this page holds the evidence that was sealed. What follows from it was concluded by whoever made the page: of that only the
// digests in the page can be compared, and `steno verify` makes it again.
import { JUDGED, MANIFEST, sealedFiles } from "./layout";
import type { Manifest } from "./layout";
import type { Page, Part } from "./panel";
import { SourceError } from "./source";
import type { Source } from "./source";

export interface Check {
  /** match: every digest and the root. mismatch: at least one is not. unable: nothing can be said, and why. */
  state: "match" | "mismatch" | "partial" | "unable";
  checked: number;
  /** How many files of evidence the manifest names. */
  total: number;
  root: string | null;
  problems: string[];
  judgement: JudgementCheck;
}

export interface JudgementCheck {
  /** served: the server concludes it when it is asked for, so there is nothing to compare it with. */
  state: "match" | "mismatch" | "served" | "unable";
  checked: number;
  problems: string[];
}

export async function check(page: Page, source: Source): Promise<Check> {
  const unable = (why: string): Check => ({
    state: "unable",
    checked: 0,
    total: 0,
    root: null,
    problems: [why],
    judgement: { state: "unable", checked: 0, problems: [] },
  });
  if (!source.has(MANIFEST)) return unable("there is no manifest: this record is not sealed");
  if (!globalThis.crypto?.subtle) return unable("this browser gives no Web Crypto to this page");
  const manifest = await readManifest(source);
  if (typeof manifest === "string") {
    if (source.isServed(MANIFEST)) return unable(manifest);
    return { ...unable(manifest), state: "mismatch" };
  }
  const judgement = await checkJudgement(page, source, manifest.manifest.root);
  return { ...(await compare(page, source, manifest)), judgement };
}

interface ReadManifest {
  text: string;
  manifest: Manifest;
}

/** The manifest, or what is wrong with it: without one, nothing of this page is what was sealed. */
async function readManifest(source: Source): Promise<ReadManifest | string> {
  try {
    const text = await source.text(MANIFEST);
    const manifest = JSON.parse(text) as Manifest;
    const entries = Object.values(manifest.files);
    if (typeof manifest.root === "string" && entries.every((one) => typeof one.sha256 === "string")) return { text, manifest };
  } catch (error) {
    if (error instanceof SourceError) return error.message;
  }
  return "manifest.json is no manifest";
}

async function compare(page: Page, source: Source, { text, manifest }: ReadManifest): Promise<Omit<Check, "judgement">> {
  const problems: string[] = [];
  if (canonical(manifest) !== text) problems.push("manifest.json is not written canonically");
  if ((await rootOf(manifest)) !== manifest.root) problems.push("the root of manifest.json is not that of its entries");
  const leftOut = new Set(page.left_out.map((file) => file.path));
  const sealed = sealedFiles(manifest);
  let checked = 0;
  let missing = 0;
  for (const { name, path, skip } of sealed) {
    const part = source.part(path);
    if (!part) {
      if (leftOut.has(path)) missing += 1;
      else problems.push(`${path} is in the manifest and not in this page`);
      continue;
    }
    checked += 1;
    if (part.sealed_as !== name || (part.skip ?? 0) !== skip) {
      problems.push(`${path} is not taken from the file of the record that it is named after`);
      continue;
    }
    const found = await digestOf(source, path);
    const entry = manifest.files[name]!;
    if (found.problem) problems.push(found.problem);
    else if (found.bytes !== entry.bytes || found.sha256 !== entry.sha256) problems.push(`${path} is not what was sealed`);
  }
  const known = new Set([MANIFEST, ...sealed.map((one) => one.path)]);
  for (const part of source.present())
    if (!known.has(part.path) && !isJudged(part)) problems.push(`${part.path} is in this page and not in the manifest`);
  const state = problems.length > 0 ? "mismatch" : missing > 0 ? "partial" : "match";
  return { state, checked, total: sealed.length, root: manifest.root, problems };
}

function isJudged(part: Part): boolean {
  return JUDGED.has(part.path) && part.sealed_as === undefined;
}

/** No digest of the record is over it: this finds damage, and a judgement of another record. */
async function checkJudgement(page: Page, source: Source, root: string): Promise<JudgementCheck> {
  const told = page.judgement;
  const judged = source.present().filter(isJudged);
  if (judged.some((part) => part.url !== undefined)) return { state: "served", checked: 0, problems: [] };
  const problems: string[] = [];
  if (told.root !== root) problems.push("what was concluded is not from this record: it names another root");
  for (const { path } of judged) {
    if (!Object.hasOwn(told.files, path)) {
      problems.push(`${path} is in this page, and nobody says that it was concluded`);
      continue;
    }
    const found = await digestOf(source, path);
    if (found.problem) problems.push(found.problem);
    else if (found.sha256 !== told.files[path]) problems.push(`${path} is not what was concluded`);
  }
  for (const path of Object.keys(told.files))
    if (!source.has(path)) problems.push(`${path} was concluded, and is not in this page`);
  return { state: problems.length > 0 ? "mismatch" : "match", checked: judged.length, problems };
}

async function digestOf(source: Source, path: string): Promise<{ sha256: string; bytes: number; problem?: string }> {
  try {
    const bytes = await source.whole(path);
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
