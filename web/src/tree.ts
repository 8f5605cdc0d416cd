// Who started whom, as `steno tree` has it: equal processes share a row, a crowd of one program is cut short. Pure.
// Never trusts the numbers: a circle of parents is opened, and no depth exhausts the stack.
import type { Process } from "./made/tables";
import { push } from "./tables";

const TOP = 0;
const CROWD = 20;
const SHOWN_OF_CROWD = 10;

export interface Tree {
  known: Map<number, Process>;
  /** The numbers of those that each process started; below 0 are those whose parent is not known. */
  below: Map<number, number[]>;
  /** Parents before their children. */
  order: number[];
  /** What each one is, as the table says. */
  programs: Map<number, string>;
}

export interface Row {
  key: string;
  depth: number;
  /** Several when they are alike. */
  numbers: number[];
  /** The rest of a crowd, which is not told one by one until somebody opens it. */
  isRest: boolean;
  hasMore: boolean;
  isOpen: boolean;
}

export function treeOf(processes: Process[]): Tree {
  const known = new Map(processes.map((one) => [one.process, one]));
  const tree: Tree = {
    known,
    below: new Map(),
    order: [],
    programs: programsOf(processes),
  };
  place(tree);
  return tree;
}

export function programsOf(processes: Process[]): Map<number, string> {
  return new Map(processes.map((one) => [one.process, one.label]));
}

function place(tree: Tree): void {
  const numbers = [...tree.known.keys()].sort((one, other) => one - other);
  const started = new Map<number, number[]>();
  for (const number of numbers) {
    const parent = tree.known.get(number)!.parent ?? TOP;
    push(started, tree.known.has(parent) && parent !== number ? parent : TOP, number);
  }
  const placed = new Set([TOP]);
  for (const root of [...(started.get(TOP) ?? []), ...numbers]) {
    const waiting: [number, number][] = [[root, TOP]];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [number, parent] = next;
      if (placed.has(number)) continue;
      placed.add(number);
      tree.order.push(number);
      push(tree.below, parent, number);
      const children = started.get(number) ?? [];
      for (let at = children.length - 1; at >= 0; at--) waiting.push([children[at]!, number]);
    }
  }
}

/** The rows that are seen; with `wanted`, of those processes only. `isOpen` says which rows show what is below them. */
export function rowsOf(tree: Tree, isOpen: (key: string, isRest: boolean) => boolean, wanted?: Set<number>): Row[] {
  const rows: Row[] = [];
  const waiting: { numbers: number[]; depth: number; isRest: boolean }[] = [];
  const add = (numbers: number[], depth: number) => {
    const groups = alike(tree, wanted ? numbers.filter((one) => wanted.has(one)) : numbers);
    for (let at = groups.length - 1; at >= 0; at--) waiting.push({ ...groups[at]!, depth });
  };
  add(tree.below.get(TOP) ?? [], 0);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { numbers, depth, isRest } = next;
    const below = numbers.flatMap((one) => tree.below.get(one) ?? []).filter((one) => !wanted || wanted.has(one));
    const key = `${isRest ? "rest" : numbers.length > 1 ? "alike" : "one"}-${numbers[0]}`;
    const hasMore = isRest || below.length > 0;
    const open = hasMore && isOpen(key, isRest);
    rows.push({ key, depth, numbers, isRest, hasMore, isOpen: open });
    if (!open) continue;
    if (isRest)
      for (let at = numbers.length - 1; at >= 0; at--)
        waiting.push({ numbers: [numbers[at]!], depth: depth + 1, isRest: false });
    else add(below, depth + 1);
  }
  return rows;
}

function alike(tree: Tree, numbers: number[]): { numbers: number[]; isRest: boolean }[] {
  const kinds = new Map<number, number[]>();
  for (const number of numbers) push(kinds, tree.known.get(number)!.alike, number);
  const program = (group: number[]) => tree.programs.get(group[0]!)!;
  const crowds = new Map<string, number>();
  for (const group of kinds.values()) crowds.set(program(group), (crowds.get(program(group)) ?? 0) + 1);
  const shown = new Map<string, number>();
  const rests = new Map<string, number[]>();
  const found: { numbers: number[]; isRest: boolean }[] = [];
  for (const group of kinds.values()) {
    const which = program(group);
    shown.set(which, (shown.get(which) ?? 0) + 1);
    const rest = rests.get(which);
    if (crowds.get(which)! <= CROWD || shown.get(which)! <= SHOWN_OF_CROWD)
      found.push({ numbers: group, isRest: false });
    else if (rest) for (const number of group) rest.push(number);
    else {
      const numbers = [...group];
      rests.set(which, numbers);
      found.push({ numbers, isRest: true });
    }
  }
  return found;
}

/** The processes and everything above them, so that a search shows where its finds are. */
export function withAncestors(tree: Tree, numbers: Iterable<number>): Set<number> {
  const above = new Map<number, number>();
  for (const [parent, children] of tree.below) for (const child of children) above.set(child, parent);
  const wanted = new Set<number>();
  for (const number of numbers)
    for (let at = number; at !== TOP && !wanted.has(at); at = above.get(at) ?? TOP) wanted.add(at);
  return wanted;
}

export function hasFailed(process: Process): boolean {
  return process.signal !== null || (process.exit_code ?? 0) !== 0;
}

/** Whether its end was not seen, or it had none. */
export function isOpen(process: Process): boolean {
  return process.still_running || !hasEnded(process);
}

export function hasEnded(process: Process): boolean {
  return process.signal !== null || process.exit_code !== null;
}

export function endingOf(process: Process): string {
  if (process.still_running) return "alive";
  return process.signal ?? (process.exit_code === null ? "?" : String(process.exit_code));
}
