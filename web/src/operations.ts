// What a recorded call means, by the tables that the rules of Python have written down (made/words.ts). Pure.
import type { KernelEvents } from "./kernel";
import * as rules from "./made/words";
import { lookup } from "./words";

export type Category = "process" | "file" | "write" | "net" | "other";

/** What came of a call, as `result` of the kernel table has it: "ok", "unknown", "failed", or the name of the error. */
export function resultWord(result: number): string {
  if (Number.isNaN(result)) return "unknown";
  if (result === 0) return "ok";
  if (result === rules.RESULT_FAILED) return "failed";
  return rules.ERRORS[-result] ?? String(result);
}

/** Whether a path can be a file that a run changes. */
export function isFile(path: string): boolean {
  return !rules.NO_FILE.test(path) && !rules.OWN_LOG.test(path);
}

export function categoryOf(events: KernelEvents, row: number): Category {
  if (changes(events, row)) return "write";
  return (lookup(rules.CATEGORIES, events.op[row]!) as Category | undefined) ?? "other";
}

export function hasFailed(events: KernelEvents, row: number): boolean {
  const result = events.result[row]!;
  return !Number.isNaN(result) && result !== 0 && !mayHaveConnected(events, row);
}

/** Whether nothing says what became of a connect. */
export function isUnseen(events: KernelEvents, row: number): boolean {
  return events.op[row] === "connect" && (Number.isNaN(events.result[row]!) || mayHaveConnected(events, row));
}

/** Whether the row changed a file, or opened it to do so. */
export function changes(events: KernelEvents, row: number): boolean {
  const op = events.op[row]!;
  if (hasFailed(events, row)) return false;
  return rules.CHANGING.has(op) || (rules.OPENING.has(op) && opensToChange(events.arg[row]!));
}

/** Whether the row names an address that somebody connects to, waits at or sends to. */
export function isConnection(events: KernelEvents, row: number): boolean {
  return lookup(rules.CATEGORIES, events.op[row]!) === "net" && events.name(row) !== "";
}

function opensToChange(flags: number): boolean {
  if (flags & rules.ONLY_NAMES) return false;
  return rules.TO_WRITE.includes(flags & rules.ACCESS) || (flags & rules.MAKES) !== 0;
}

function mayHaveConnected(events: KernelEvents, row: number): boolean {
  return events.op[row] === "connect" && rules.MAY_HAVE_CONNECTED.has(resultWord(events.result[row]!));
}
