// What came of a call, as `result` of the kernel table has it.
import { ERRORS } from "./made/linux";

const UNKNOWN_FAILURE = 32766;

/** "ok", "unknown", "failed", or the name of the error. */
export function resultWord(result: number): string {
  if (Number.isNaN(result)) return "unknown";
  if (result === 0) return "ok";
  if (result === UNKNOWN_FAILURE) return "failed";
  return ERRORS[-result] ?? String(result);
}
