// One recorded path in words: its letter, its sizes, its states.
// In: a row of `files`. Out: the words that `steno files` and `steno files --diff` use. Never reads a content.
import type { File, FileState } from "../../made/tables";
import { WHY_NO_CONTENT } from "../../made/words";
import { numberOf } from "../../tables";
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

const ABSENT = "absent";
const WITH_CONTENT = ["file", "symlink"];

/** As the table has it; a letter of a newer Steno is one that is not known here. */
export function letterOf(file: File): Letter {
  return lookup(LETTER_WORDS, file.letter) === undefined ? "?" : (file.letter as Letter);
}

/** False also where it is not known. */
export function exists(state: FileState): boolean {
  return state.kind !== null && state.kind !== ABSENT;
}

export function sizeText(file: File): string {
  if (file.size_change === null) return "?";
  const { before, after } = file;
  if (file.change === "none" || file.change === "metadata") return hasContent(after) ? size(Math.max(numberOf(after.size), 0)) : "";
  if (!hasContent(before) && !hasContent(after)) return "";
  const grown = numberOf(file.size_change);
  return `${grown < 0 ? "−" : "+"}${size(Math.abs(grown))}`;
}

/** What a file was, in a few words. */
export function beforeWords({ before }: File): string {
  return stateWords(before, "not there");
}

/** What it is now. */
export function afterWords(file: File): string {
  return stateWords(file.after, file.change === "deleted" || file.letter === "t" ? "deleted" : "not there");
}

function stateWords(state: FileState, absent: string): string {
  if (state.kind === null) return "not known";
  if (state.kind === ABSENT) return absent;
  return state.target === null ? visible(state.kind) : `${visible(state.kind)} → ${visible(state.target)}`;
}

export function modeWords(mode: number | null): string {
  if (mode === null) return "";
  const bits = [...Array(9).keys()].map((at) => (mode & (1 << (8 - at)) ? "rwx"[at % 3]! : "-"));
  if (mode & 0o4000) bits[2] = bits[2] === "x" ? "s" : "S";
  if (mode & 0o2000) bits[5] = bits[5] === "x" ? "s" : "S";
  if (mode & 0o1000) bits[8] = bits[8] === "x" ? "t" : "T";
  return `${bits.join("")} (${(mode & 0o7777).toString(8).padStart(4, "0")})`;
}

export function whyNotKept(state: FileState): string {
  return lookup(WHY_NO_CONTENT, state.no_content_reason ?? "") ?? "its content was not kept";
}

function hasContent(state: FileState): boolean {
  return WITH_CONTENT.includes(state.kind ?? "");
}
