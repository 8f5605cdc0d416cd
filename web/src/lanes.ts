// Where each process is drawn: below its parent, and in as few lanes as time allows. Children that follow each other share
// a lane, so that thousands of them take the room of those that lived at the same time. Pure.
import type { Span } from "./panel";
import { timeOf } from "./span";
import type { Tree } from "./tree";

export interface Lanes {
  count: number;
  /** By the number of the process. */
  laneOf: Map<number, number>;
  /** The processes of each lane in order of time. */
  members: number[][];
  spanOf: Map<number, Span>;
}

interface Block {
  from: number;
  to: number;
  height: number;
  /** The lane of each child's block, counted from the one below this process. */
  offsets: Map<number, number>;
}

export function lanesOf(tree: Tree, whole: Span): Lanes {
  const spanOf = new Map<number, Span>();
  for (const [number, process] of tree.known) {
    const from = timeOf(process.started_ns);
    const ended = process.ended_ns === null ? whole.to : timeOf(process.ended_ns);
    spanOf.set(number, { from, to: Math.max(from, ended) });
  }
  const blocks = new Map<number, Block>();
  for (let at = tree.order.length - 1; at >= 0; at--) {
    const number = tree.order[at]!;
    blocks.set(number, packed(tree.below.get(number) ?? [], blocks, spanOf.get(number)!));
  }
  const top = packed(tree.below.get(0) ?? [], blocks, { ...whole });
  return placed(tree, blocks, top, spanOf);
}

/** First fit: `free[lane]` is when the lane is free again. */
function packed(children: number[], blocks: Map<number, Block>, own: Span): Block {
  if (children.length === 1) return above(own, children[0]!, blocks.get(children[0]!)!);
  const sorted = [...children].sort((one, other) => blocks.get(one)!.from - blocks.get(other)!.from);
  const free: number[] = [];
  const offsets = new Map<number, number>();
  let { from, to } = own;
  for (const child of sorted) {
    const block = blocks.get(child)!;
    let lane = 0;
    for (let depth = 0; depth < block.height; ) {
      if ((free[lane + depth] ?? -Infinity) <= block.from) depth += 1;
      else {
        lane += depth + 1;
        depth = 0;
      }
    }
    for (let depth = 0; depth < block.height; depth++) free[lane + depth] = block.to;
    offsets.set(child, lane);
    from = Math.min(from, block.from); // a child that was seen first
    to = Math.max(to, block.to);
  }
  return { from, to, height: free.length + 1, offsets };
}

/** With a single child nothing has to be looked for: a long chain of processes is no long search. */
function above(own: Span, child: number, { from, to, height }: Block): Block {
  return {
    from: Math.min(own.from, from),
    to: Math.max(own.to, to),
    height: height + 1,
    offsets: new Map([[child, 0]]),
  };
}

function placed(tree: Tree, blocks: Map<number, Block>, top: Block, spanOf: Map<number, Span>): Lanes {
  const laneOf = new Map<number, number>([...top.offsets]);
  for (const number of tree.order) {
    const lane = laneOf.get(number)!;
    for (const [child, offset] of blocks.get(number)!.offsets) laneOf.set(child, lane + 1 + offset);
  }
  const members: number[][] = Array.from({ length: top.height - 1 }, () => []);
  for (const number of tree.order) members[laneOf.get(number)!]!.push(number);
  for (const lane of members) lane.sort((one, other) => spanOf.get(one)!.from - spanOf.get(other)!.from);
  return { count: members.length, laneOf, members, spanOf };
}
