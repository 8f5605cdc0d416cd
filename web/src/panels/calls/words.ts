// A call in words: what was said, decided and seen, as `steno calls` puts it.
// In: rows of calls and of what was seen of them. Out: short text, and the effects as lists. Never says that a call caused an effect.
import type { Call, Check, Effects } from "../../made/tables";
import { numberOf } from "../../tables";
import { duration, visible } from "../../words";

export const VERDICT_HELP: Record<string, string> = {
  contradicted: "what was seen, or decided, does not fit what was said",
  ambiguous: "what was seen may belong to more than one call",
  denied: "policy refused it",
  unobserved: "nothing that was seen says whether it is so; this is no accusation",
  confirmed: "the kernel layer bears it out",
};

export const VERDICTS = Object.keys(VERDICT_HELP);

export function nameOf(call: Call): string {
  return call.server === null ? call.tool : `${call.server}.${call.tool}`;
}

export function saidWords(call: Call): string {
  if (call.told_by === null) return "–";
  return visible(`${call.told_by}, ${selfReported(call.corroboration ?? "")}`);
}

export function decidedWords(call: Call): string {
  if (call.decision === null) return "–";
  const isAllowed = call.decision === "allow";
  const words = isAllowed ? "allow" : `${call.decision}: ${call.reason}`;
  return visible(call.dry_run && !isAllowed ? `${words}, not enforced` : words);
}

export function seenWords(seen: Effects | undefined): string {
  if (!seen) return "not observed";
  const endpoints = seen.endpoints.length;
  const sockets = seen.sockets.length;
  const counts: [number, string][] = [
    [seen.files_read.length, "read"],
    [seen.files_changed.length, "changed"],
    [endpoints, `endpoint${endpoints === 1 ? "" : "s"} tried`],
    [sockets, `socket${sockets === 1 ? "" : "s"}`],
    [seen.programs.length, "ran"],
  ];
  const words = counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
  return words.join(", ") || "nothing";
}

export function windowWords(call: Call): string {
  if (call.started_ns === null) return "none";
  const where = call.process === null ? "process not seen" : `process ${call.process} and what came of it`;
  const times = `${duration(call.started_ns)} to ${duration(numberOf(call.ended_ns))}`;
  return visible(`${times} (told by ${call.window_told_by}, ended by ${call.window_ended_by}), ${where}`);
}

export function contradictions(checks: Check[]): Check[] {
  return checks.filter((check) => check.result === "contradicted");
}

export function selfReported(corroboration: string): string {
  return corroboration.replace("self_reported", "self-reported");
}

export interface Group {
  word: string;
  names: string[];
  /** The panel in which these names can be looked at. */
  panel: "files" | "network" | null;
}

export function effects(seen: Effects): Group[] {
  const groups: Group[] = [
    { word: "created", names: seen.files_created, panel: "files" },
    { word: "written", names: seen.files_written, panel: "files" },
    { word: "deleted", names: seen.files_deleted, panel: "files" },
    { word: "tried to reach", names: seen.endpoints, panel: "network" },
    { word: "sockets", names: seen.sockets, panel: "network" },
    { word: "ran", names: seen.programs, panel: "files" },
    { word: "read", names: seen.files_read, panel: "files" },
    { word: "tried", names: seen.files_tried, panel: null },
    { word: "own state", names: seen.own_state, panel: "files" },
  ];
  return groups.filter((group) => group.names.length > 0);
}
