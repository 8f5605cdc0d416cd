// Who started whom, as `steno tree` has it: equal processes share a row, a crowd of one program is cut short. Pure.
// Never trusts the numbers: a circle of parents is opened, and no depth exhausts the stack.
import type { Exec, Process } from "./model";

const TOP = 0;
const CROWD = 20;
const SHOWN_OF_CROWD = 10;

export interface Tree {
  known: Map<number, Process>;
  /** The numbers of those that each process started; below 0 are those whose parent is not known. */
  below: Map<number, number[]>;
  /** Parents before their children. */
  order: number[];
  /** What each one is: the program that it ran last; a copy is what its parent is. */
  programs: Map<number, string>;
  commands: Map<number, string>;
  /** Two processes have the same one when they, and all below them, did the same. */
  kinds: Map<number, number>;
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
    programs: new Map(),
    commands: new Map(),
    kinds: new Map(),
  };
  place(tree);
  for (const number of tree.order) name(tree, known.get(number)!);
  sort(tree);
  return tree;
}

function place(tree: Tree): void {
  const numbers = [...tree.known.keys()].sort((one, other) => one - other);
  const started = new Map<number, number[]>();
  for (const number of numbers) {
    const parent = tree.known.get(number)!.parent;
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

export function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function name(tree: Tree, process: Process): void {
  const started = (process.execs ?? []).filter((one) => one.result === "ok" || one.result === "unknown");
  const last = started[started.length - 1];
  if (last) {
    tree.programs.set(process.process, programOf(last));
    const chain = [...started.slice(0, -1).map(programOf), commandOf(last)];
    tree.commands.set(process.process, chain.join(" → "));
    return;
  }
  const above = tree.programs.get(process.parent) ?? "a process";
  tree.programs.set(process.process, above);
  const failed = process.execs?.[process.execs.length - 1];
  const tried = failed ? ` could not run ${failed.requested ?? failed.path ?? "?"}: ${failed.result}` : "";
  tree.commands.set(process.process, `(${above}, forked)${tried}`);
}

export function programOf(exec: Exec): string {
  const path = exec.requested ?? exec.path ?? exec.argv[0] ?? "?";
  return path.slice(path.lastIndexOf("/") + 1) || "?";
}

/** The command in the words of a shell. What a program calls itself is a claim; the executed file is the fact. */
export function commandOf(exec: Exec): string {
  const file = exec.requested ?? exec.path ?? "?";
  if (!exec.argv.length) return quoted(file);
  let words = exec.argv.map(quoted).join(" ");
  const base = (path: string | null | undefined) => (path ?? "").split("/").pop() ?? "";
  const own = base(exec.argv[0]).replace(/^-/, "");
  if (own !== base(exec.requested) && own !== base(exec.path)) words = `${quoted(file)} (as ${words})`;
  if (exec.argv_cut) words += " …";
  return words;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`;
}

function sort(tree: Tree): void {
  const numbered = new Map<string, number>();
  for (let at = tree.order.length - 1; at >= 0; at--) {
    const number = tree.order[at]!;
    const { exit, outlived } = tree.known.get(number)!;
    const below = (tree.below.get(number) ?? []).map((child) => tree.kinds.get(child)!).sort((a, b) => a - b);
    const kind = JSON.stringify([tree.commands.get(number), exit, outlived, below]);
    if (!numbered.has(kind)) numbered.set(kind, numbered.size);
    tree.kinds.set(number, numbered.get(kind)!);
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
  for (const number of numbers) push(kinds, tree.kinds.get(number)!, number);
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
  return process.exit !== null && (process.exit.signal !== undefined || process.exit.code !== 0);
}

export function endingOf(process: Process): string {
  if (process.outlived) return "alive";
  if (process.exit === null) return "?";
  return process.exit.signal !== undefined ? String(process.exit.signal) : String(process.exit.code);
}
