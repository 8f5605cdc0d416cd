// A comparison as rows to be drawn, unified or side by side.
// In: a comparison and which folds are open. Out: rows; lines without a change are folded away but for a few beside
// each change. Never more rows than a page can hold: the last row says how many lines are left off.
import type { Block, Comparison } from "./compare";

export type Shape = "unified" | "split";

/** A line of either side, or of both; -1 where a side has none. `pair` is the line of the other side it stands for. */
export interface LineRow {
  kind: "line";
  same: boolean;
  old: number;
  new: number;
  pair: number;
}

export interface FoldRow {
  kind: "fold";
  id: number;
  count: number;
}

export interface EndRow {
  kind: "end";
  count: number;
}

export type Row = LineRow | FoldRow | EndRow;

const CONTEXT = 3;
const LEAST_FOLDED = 4;
export const MOST_ROWS = 100_000;

export function rowsOf(comparison: Comparison, shape: Shape, open: ReadonlySet<number>): Row[] {
  const rows: Row[] = [];
  const { blocks } = comparison;
  for (const [id, block] of blocks.entries()) {
    if (block.same) addSame(rows, block, id, { open: open.has(id), first: id === 0, last: id === blocks.length - 1 });
    else if (shape === "split") addBeside(rows, block);
    else addChanged(rows, block);
    if (rows.length > MOST_ROWS) break;
  }
  if (rows.length <= MOST_ROWS) return rows;
  const whole = blocks.reduce((sum, block) => sum + length(block, shape), 0);
  return [...rows.slice(0, MOST_ROWS), { kind: "end", count: whole - MOST_ROWS }];
}

/** The rows of one content alone, nothing folded. */
export function rowsOfOne(count: number, side: "old" | "new"): Row[] {
  const shown = Math.min(count, MOST_ROWS);
  const rows: Row[] = Array.from({ length: shown }, (_, at) =>
    line(true, side === "old" ? at : -1, side === "new" ? at : -1),
  );
  return shown < count ? [...rows, { kind: "end", count: count - shown }] : rows;
}

/** From where to where two lines differ, in each of them; null: they have too little in common to be worth it. */
export function emphasis(one: string, other: string): { one: [number, number]; other: [number, number] } | null {
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head++;
  let tail = 0;
  while (tail < most - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  if ((head + tail) * 3 < Math.max(one.length, other.length)) return null;
  return { one: [head, one.length - tail], other: [head, other.length - tail] };
}

function addSame(rows: Row[], block: Block, id: number, where: { open: boolean; first: boolean; last: boolean }): void {
  const count = block.oldTo - block.oldFrom;
  const head = where.first ? 0 : CONTEXT;
  const tail = where.last ? 0 : CONTEXT;
  const hidden = count - head - tail;
  const isFolded = !where.open && hidden >= LEAST_FOLDED;
  const from = isFolded ? head : count;
  for (let at = 0; at < from && rows.length <= MOST_ROWS; at++)
    rows.push(line(true, block.oldFrom + at, block.newFrom + at));
  if (!isFolded) return;
  rows.push({ kind: "fold", id, count: hidden });
  for (let at = count - tail; at < count; at++) rows.push(line(true, block.oldFrom + at, block.newFrom + at));
}

function addChanged(rows: Row[], block: Block): void {
  const gone = block.oldTo - block.oldFrom;
  const come = block.newTo - block.newFrom;
  const areTwins = gone === come;
  for (let at = 0; at < gone && rows.length <= MOST_ROWS; at++)
    rows.push(line(false, block.oldFrom + at, -1, areTwins ? block.newFrom + at : -1));
  for (let at = 0; at < come && rows.length <= MOST_ROWS; at++)
    rows.push(line(false, -1, block.newFrom + at, areTwins ? block.oldFrom + at : -1));
}

function addBeside(rows: Row[], block: Block): void {
  const most = length(block, "split");
  for (let at = 0; at < most && rows.length <= MOST_ROWS; at++) {
    const old = block.oldFrom + at;
    const fresh = block.newFrom + at;
    rows.push(line(false, old < block.oldTo ? old : -1, fresh < block.newTo ? fresh : -1));
  }
}

function length(block: Block, shape: Shape): number {
  const gone = block.oldTo - block.oldFrom;
  const come = block.newTo - block.newFrom;
  return block.same ? gone : shape === "split" ? Math.max(gone, come) : gone + come;
}

function line(same: boolean, old: number, fresh: number, pair = -1): LineRow {
  return { kind: "line", same, old, new: fresh, pair };
}
