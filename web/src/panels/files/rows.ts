// Which files are listed, in which order, flat or as a tree.
// In: the rows of `files` and what the reader asked for. Out: rows. 5,000 files are sorted once; a keystroke in
// the search only filters.
import type { File } from "../../made/tables";
import { letterOf, sizeText } from "./facts";
import type { Letter } from "./facts";

export interface Listed {
  file: File;
  name: string;
  letter: Letter;
  size: string;
}

export interface Wanted {
  kinds: ReadonlySet<Letter>;
  words: string;
  /** The names that were used in the selected window; null: no window. */
  names: ReadonlySet<string> | null;
}

export interface FileRow {
  kind: "file";
  depth: number;
  label: string;
  listed: Listed;
}

export interface FolderRow {
  kind: "folder";
  depth: number;
  label: string;
  path: string;
  files: number;
  changed: number;
  isOpen: boolean;
}

export type Row = FileRow | FolderRow;

const ORDER: Letter[] = ["A", "M", "D", "?", "o", "t", "m", "r", "-"];
/** Changes stand first, in one group, by name; then what is only metadata, then what was read, then the rest. */
const RANK: Record<Letter, number> = { A: 0, M: 0, D: 0, "?": 0, o: 1, t: 1, m: 2, r: 3, "-": 4 };
export const CHANGED: readonly Letter[] = ["A", "M", "D", "?"];

export function listedFiles(files: File[]): Listed[] {
  return files
    .map((file) => ({ file, name: file.path, letter: letterOf(file), size: sizeText(file) }))
    .sort((one, other) => RANK[one.letter] - RANK[other.letter] || compareNames(one.name, other.name));
}

export function letterCounts(files: Listed[]): [Letter, number][] {
  const counts = new Map<Letter, number>();
  for (const { letter } of files) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return ORDER.filter((letter) => counts.has(letter)).map((letter) => [letter, counts.get(letter)!]);
}

export function chosen(files: Listed[], wanted: Wanted): Listed[] {
  const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
  return files.filter(
    (one) =>
      wanted.kinds.has(one.letter) &&
      (wanted.names === null || wanted.names.has(one.name)) &&
      words.every((word) => one.name.toLowerCase().includes(word)),
  );
}

/** Without `base/` in front, where that is not empty. */
export function flatRows(files: Listed[], base: string): FileRow[] {
  return files.map((listed) => ({ kind: "file", depth: 0, label: below(listed.name, base), listed }));
}

interface Folder {
  label: string;
  path: string;
  folders: Map<string, Folder>;
  files: Listed[];
  count: number;
  changed: number;
}

export function treeRows(files: Listed[], isOpen: (path: string, changed: number) => boolean): Row[] {
  const rows: Row[] = [];
  const top = folderOf(files);
  for (const folder of sorted(top)) addFolder(rows, joined(folder), 0, isOpen);
  for (const listed of top.files) rows.push({ kind: "file", depth: 0, label: listed.name, listed });
  return rows;
}

function folderOf(files: Listed[]): Folder {
  const top = folder("", "");
  for (const listed of files) {
    const parts = listed.name.split("/");
    let at = top;
    let path = "";
    for (const part of parts.slice(0, -1)) {
      path += `${part}/`;
      let next = at.folders.get(part);
      if (!next) at.folders.set(part, (next = folder(part, path)));
      next.count += 1;
      if (CHANGED.includes(listed.letter)) next.changed += 1;
      at = next;
    }
    at.files.push(listed);
  }
  return top;
}

function addFolder(rows: Row[], at: Folder, depth: number, isOpen: (path: string, changed: number) => boolean): void {
  const open = isOpen(at.path, at.changed);
  rows.push({
    kind: "folder",
    depth,
    label: `${at.label}/`,
    path: at.path,
    files: at.count,
    changed: at.changed,
    isOpen: open,
  });
  if (!open) return;
  for (const inner of sorted(at)) addFolder(rows, joined(inner), depth + 1, isOpen);
  const own = [...at.files].sort((one, other) => compareNames(one.name, other.name));
  for (const listed of own)
    rows.push({ kind: "file", depth: depth + 1, label: listed.name.slice(listed.name.lastIndexOf("/") + 1), listed });
}

/** A folder that holds one folder and nothing else is shown in one row with it. */
function joined(at: Folder): Folder {
  let found = at;
  let label = at.label;
  while (found.files.length === 0 && found.folders.size === 1) {
    found = [...found.folders.values()][0]!;
    label += `/${found.label}`;
  }
  return { ...found, label };
}

function sorted(at: Folder): Folder[] {
  return [...at.folders.values()].sort((one, other) => compareNames(one.label, other.label));
}

function folder(label: string, path: string): Folder {
  return { label, path, folders: new Map(), files: [], count: 0, changed: 0 };
}

export function below(name: string, base: string): string {
  const start = base.endsWith("/") ? base : `${base}/`;
  return base !== "" && base !== "/" && name.startsWith(start) ? name.slice(start.length) : name;
}

function compareNames(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
