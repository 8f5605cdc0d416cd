// What came of a call, as `result` of the kernel table has it.
import { ERRORS } from "./made/linux";

const UNKNOWN_FAILURE = 32766;
/** Of a connect: it goes on without the caller, as evidence/linux_numbers.py has it. */
const UNDER_WAY = new Set(["EINPROGRESS", "EALREADY", "EINTR"]);

/** "ok", "unknown", "failed", or the name of the error. */
export function resultWord(result: number): string {
  if (Number.isNaN(result)) return "unknown";
  if (result === 0) return "ok";
  if (result === UNKNOWN_FAILURE) return "failed";
  return ERRORS[-result] ?? String(result);
}

/** Whether a result leaves open what became of the call. */
export function isUnderWay(op: string, result: string): boolean {
  return result === "unknown" || (op === "connect" && UNDER_WAY.has(result));
}
