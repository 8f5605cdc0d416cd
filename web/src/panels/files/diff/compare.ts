// Two contents, line by line.
// In: the bytes before and after. Out: blocks of lines that are the same or differ, compared byte for byte; and
// the lines of each side, decoded one at a time. Never works longer than its bounds: what is too different
// becomes one change, and the result says so.
import { diffArrays } from "diff";
import { anchors } from "./anchors";
import { fromBytes } from "../../../kernel";

export interface Block {
  same: boolean;
  oldFrom: number;
  oldTo: number;
  newFrom: number;
  newTo: number;
}

export interface Comparison {
  blocks: Block[];
  before: Lines;
  after: Lines;
  added: number;
  removed: number;
  /** Too different to be compared line by line: the whole of what differs is one change. */
  coarse: boolean;
}

const MOST_EDITS = 5_000;
const MOST_MILLISECONDS = 500;
const NEWLINE = 10;

/** The lines of one content. Equal keys are equal bytes, also where these are not UTF-8. */
export class Lines {
  readonly keys: string[];
  readonly endsWithNewline: boolean;
  private readonly starts: Uint32Array;

  constructor(private readonly content: Uint8Array) {
    this.endsWithNewline = content.length === 0 || content[content.length - 1] === NEWLINE;
    // Every byte is one character of this encoding, and each its own.
    const keys = new TextDecoder("windows-1252").decode(content).split("\n");
    if (this.endsWithNewline) keys.pop();
    else keys[keys.length - 1] += "\n"; // a last line without its end is another line
    this.keys = keys;
    this.starts = new Uint32Array(keys.length + 1);
    keys.forEach((key, at) => {
      this.starts[at + 1] = this.starts[at]! + key.length + 1;
    });
  }

  get bytes(): number {
    return this.content.length;
  }

  get count(): number {
    return this.keys.length;
  }

  text(at: number): string {
    const end = Math.min(this.starts[at + 1]! - 1, this.content.length);
    return fromBytes(this.content.subarray(this.starts[at]!, end));
  }

  isTorn(at: number): boolean {
    return !this.endsWithNewline && at === this.count - 1;
  }
}

export function compare(before: Uint8Array, after: Uint8Array): Comparison {
  const [one, other] = [new Lines(before), new Lines(after)];
  const blocks: Block[] = [];
  const deadline = performance.now() + MOST_MILLISECONDS;
  let isWhole = true;
  let [left, right] = [0, 0];
  for (const [there, here] of anchors(one.keys, other.keys)) {
    isWhole = addGap(blocks, one.keys, other.keys, block(false, left, there, right, here), deadline) && isWhole;
    push(blocks, block(true, there, there + 1, here, here + 1));
    [left, right] = [there + 1, here + 1];
  }
  isWhole =
    addGap(blocks, one.keys, other.keys, block(false, left, one.count, right, other.count), deadline) && isWhole;
  const changed = blocks.filter(({ same }) => !same);
  return {
    blocks,
    before: one,
    after: other,
    added: changed.reduce((sum, { newFrom, newTo }) => sum + newTo - newFrom, 0),
    removed: changed.reduce((sum, { oldFrom, oldTo }) => sum + oldTo - oldFrom, 0),
    coarse: !isWhole,
  };
}

/** What stands between two places in which the texts meet. False: it would take too long, and the whole of it is one change. */
function addGap(blocks: Block[], one: string[], other: string[], gap: Block, deadline: number): boolean {
  let { oldFrom, oldTo, newFrom, newTo } = gap;
  while (oldFrom < oldTo && newFrom < newTo && one[oldFrom] === other[newFrom]) {
    oldFrom += 1;
    newFrom += 1;
  }
  while (oldFrom < oldTo && newFrom < newTo && one[oldTo - 1] === other[newTo - 1]) {
    oldTo -= 1;
    newTo -= 1;
  }
  push(blocks, block(true, gap.oldFrom, oldFrom, gap.newFrom, newFrom));
  const isWhole = addDifferent(
    blocks,
    one.slice(oldFrom, oldTo),
    other.slice(newFrom, newTo),
    oldFrom,
    newFrom,
    deadline,
  );
  push(blocks, block(true, oldTo, gap.oldTo, newTo, gap.newTo));
  return isWhole;
}

function addDifferent(
  blocks: Block[],
  one: string[],
  other: string[],
  oldFrom: number,
  newFrom: number,
  deadline: number,
): boolean {
  const known = new Set(other);
  const parts = one.some((line) => known.has(line))
    ? diffArrays(one, other, { timeout: Math.max(deadline - performance.now(), 1), maxEditLength: MOST_EDITS })
    : null; // nothing in common: all of it has changed
  if (!parts) {
    push(blocks, block(false, oldFrom, oldFrom + one.length, newFrom, newFrom + other.length));
    return parts === null;
  }
  for (const part of parts) {
    const gone = part.added ? 0 : part.value.length;
    const come = part.removed ? 0 : part.value.length;
    push(blocks, block(!part.added && !part.removed, oldFrom, oldFrom + gone, newFrom, newFrom + come));
    oldFrom += gone;
    newFrom += come;
  }
  return true;
}

function block(same: boolean, oldFrom: number, oldTo: number, newFrom: number, newTo: number): Block {
  return { same, oldFrom, oldTo, newFrom, newTo };
}

/** Lines that go and lines that come at one place are one block. */
function push(blocks: Block[], next: Block): void {
  if (next.oldFrom === next.oldTo && next.newFrom === next.newTo) return;
  const last = blocks[blocks.length - 1];
  if (last?.same !== next.same) {
    blocks.push(next);
    return;
  }
  last.oldTo = next.oldTo;
  last.newTo = next.newTo;
}
