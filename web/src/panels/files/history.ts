// What the run did with one path: which process, how often, from when to when.
// In: the rows of the kernel table with this name. Out: lines, and what the path was renamed from or to.
import { breath } from "../../kernel";
import type { KernelEvents } from "../../kernel";
import { hasFailed } from "../../operations";

export interface Deed {
  op: string;
  process: number;
  count: number;
  failed: number;
  first: number;
  last: number;
}

export interface History {
  deeds: Deed[];
  renamedFrom: string[];
  renamedTo: string[];
}

const AT_ONCE = 50_000;

export async function historyOf(events: KernelEvents, name: string): Promise<History> {
  const deeds = new Map<string, Deed>();
  const renamedFrom = new Set<string>();
  const renamedTo = new Set<string>();
  for (let row = 0; row < events.length; row++) {
    if (row % AT_ONCE === AT_ONCE - 1) await breath();
    if (events.name(row) !== name) continue;
    const op = events.op[row]!;
    const failed = hasFailed(events, row);
    take(deeds, {
      op,
      process: events.process[row]!,
      count: 1,
      failed: failed ? 1 : 0,
      first: events.at[row]!,
      last: events.at[row]!,
    });
    if (failed) continue;
    if (op === "rename" || op === "moved") renamedTo.add(events.extra(row) ?? "");
    if (op === "rename_to" || op === "moved_to") renamedFrom.add(events.extra(row) ?? "");
  }
  return { deeds: [...deeds.values()], renamedFrom: [...renamedFrom], renamedTo: [...renamedTo] };
}

function take(deeds: Map<string, Deed>, deed: Deed): void {
  const key = `${deed.process} ${deed.op}`;
  const known = deeds.get(key);
  if (!known) {
    deeds.set(key, deed);
    return;
  }
  known.count += 1;
  known.failed += deed.failed;
  known.last = Math.max(known.last, deed.last);
}
