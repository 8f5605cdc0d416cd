// One recorded path in words: its letter, its sizes, its states.
// In: an entry of files.json. Out: the words that `steno files` and `steno files --diff` use. Never reads a content.
import { fromBytes } from "../../kernel";
import type { FileEntry, FileState } from "../../model";
import { lookup, size, visible } from "../../words";

export type Letter = "A" | "M" | "D" | "m" | "?" | "o" | "t" | "r" | "-";

export const LETTER_WORDS: Record<Letter, string> = {
  A: "created",
  M: "modified",
  D: "deleted",
  m: "metadata",
  "?": "unknown",
  o: "by others",
  t: "temporary",
  r: "read",
  "-": "looked at",
};

export const LETTER_HELP: Record<Letter, string> = {
  A: "not there before, there after",
  M: "its content changed",
  D: "there before, gone after",
  m: "only its mode, owner or times changed, or what a directory lists",
  "?": "a state is not known",
  o: "changed by somebody else during the run, which only looked at it",
  t: "made and gone again within the run",
  r: "read or executed, not changed",
  "-": "asked about, listed, or tried in vain",
};

const LETTERS: Record<string, Letter> = { created: "A", modified: "M", deleted: "D", metadata: "m" };
const WITH_SIZE = ["file", "symlink"];

// Why a content was not kept, as views/file_diff.py puts it.
const WHY: Record<string, string> = {
  too_large: "it was too large to be kept",
  unreadable: "it could not be read",
  changing: "it changed while it was read",
  ignored: "the ignore configuration leaves it out",
  raced: "it changed before it could be read",
  clean_git: "it is in git, as it was committed",
};

export function letterOf(file: FileEntry): Letter {
  if (file.by_others) return "o";
  if (file.change === "modified" && file.before.type === "directory" && file.after.type === "directory") return "m";
  if (file.change !== "none") return lookup(LETTERS, file.change) ?? "?";
  if (!file.before.exists && file.operations.includes("write")) return "t";
  return file.operations.includes("read") || file.operations.includes("execute") ? "r" : "-";
}

/** The name as text; bytes that are not UTF-8 stand as \xNN, as they do in the names of the kernel layer. */
export function nameOf(file: FileEntry): string {
  return file.path_b64 === undefined ? file.path : fromBase64(file.path_b64);
}

export function targetOf(state: FileState & { target_b64?: string }): string | null {
  if (state.target === undefined) return null;
  return state.target_b64 === undefined ? state.target : fromBase64(state.target_b64);
}

export function sizeText(file: FileEntry): string {
  const before = bytesOf(file.before);
  const after = bytesOf(file.after);
  if (before === null || after === null) return "?";
  if (file.change === "none" || file.change === "metadata") return hasSize(file.after) ? size(after) : "";
  if (!hasSize(file.before) && !hasSize(file.after)) return "";
  const grown = after - before;
  return `${grown < 0 ? "−" : "+"}${size(Math.abs(grown))}`;
}

export function gitClass(file: FileEntry): string {
  const git = file.git as { ignored?: boolean; tracked?: boolean; dirty?: boolean } | undefined;
  if (!git) return "";
  if (git.ignored) return "ignored";
  if (!git.tracked) return "untracked";
  return git.dirty ? "dirty" : "clean";
}

/** What a state is, in a few words. */
export function stateWords(state: FileState): string {
  if (state.unknown || state.exists === undefined) return "not known";
  if (!state.exists) return state.tombstone ? "deleted" : "not there";
  const target = targetOf(state);
  return target === null ? (state.type ?? "?") : `${state.type} → ${visible(target)}`;
}

export function modeWords(mode: number | undefined): string {
  if (mode === undefined) return "";
  const bits = [...Array(9).keys()].map((at) => (mode & (1 << (8 - at)) ? "rwx"[at % 3]! : "-"));
  if (mode & 0o4000) bits[2] = bits[2] === "x" ? "s" : "S";
  if (mode & 0o2000) bits[5] = bits[5] === "x" ? "s" : "S";
  if (mode & 0o1000) bits[8] = bits[8] === "x" ? "t" : "T";
  return `${bits.join("")} (${(mode & 0o7777).toString(8).padStart(4, "0")})`;
}

export function whyNotKept(state: FileState): string {
  return lookup(WHY, state.content ?? "") ?? "its content was not kept";
}

function bytesOf(state: FileState): number | null {
  if (state.unknown || state.exists === undefined) return null;
  if (!state.exists || !hasSize(state)) return 0;
  return state.size === undefined ? null : Math.max(Number(state.size), 0);
}

function hasSize(state: FileState): boolean {
  return WITH_SIZE.includes(state.type ?? "");
}

function fromBase64(text: string): string {
  try {
    return fromBytes(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
  } catch {
    return text;
  }
}
