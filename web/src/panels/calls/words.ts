// A call in words: what was said, decided and seen, as `steno calls` puts it.
// In: entries of calls.json. Out: short text, and the effects as lists. Never says that a call caused an effect.
import { isFile } from "../../marks";
import type { Call, Effects } from "../../model";
import { duration, visible } from "../../words";

export const VERDICT_HELP: Record<string, string> = {
  contradicted: "what was seen, or decided, does not fit what was said",
  ambiguous: "what was seen may belong to more than one call",
  denied: "policy refused it",
  unobserved: "nothing that was seen says whether it is so; this is no accusation",
  confirmed: "the kernel layer bears it out",
};

export const VERDICTS = Object.keys(VERDICT_HELP);

export interface Rule {
  rule: string;
  result: string;
  says: string;
}

export function nameOf(call: Call): string {
  return call.server === null ? (call.tool ?? "?") : `${call.server}.${call.tool ?? "?"}`;
}

export function saidWords(call: Call): string {
  if (!call.said) return "–";
  const word = String(call.said.corroboration).replace("self_reported", "self-reported");
  return visible(`${String(call.said.source)}, ${word}`);
}

export function decidedWords(call: Call): string {
  const decided = call.decided;
  if (!decided) return "–";
  const isAllowed = decided.decision === "allow";
  const words = isAllowed ? "allow" : `${String(decided.decision)}: ${String(decided.reason)}`;
  return visible(decided.dry_run && !isAllowed ? `${words}, not enforced` : words);
}

export function seenWords(seen: Effects | null): string {
  if (!seen) return "not observed";
  const endpoints = triedToReach(seen).length;
  const sockets = seen.unix_sockets.connected?.length ?? 0;
  const counts: [number, string][] = [
    [seen.files.read?.length ?? 0, "read"],
    [changed(seen).length, "changed"],
    [endpoints, `endpoint${endpoints === 1 ? "" : "s"} tried`],
    [sockets, `socket${sockets === 1 ? "" : "s"}`],
    [seen.execs.ran?.length ?? 0, "ran"],
  ];
  const words = counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
  return words.join(", ") || "nothing";
}

export function windowWords(call: Call): string {
  const window = call.window;
  if (!window) return "none";
  const where = window.process === null ? "process not seen" : `process ${window.process} and what came of it`;
  const times = `${duration(window.start_ns)} to ${duration(window.end_ns)}`;
  return visible(`${times} (told by ${window.told_by}, ended by ${window.ended_by}), ${where}`);
}

export function contradictions(call: Call): Rule[] {
  return call.rules.filter((rule) => rule.result === "contradicted");
}

export interface Group {
  word: string;
  names: string[];
  /** The panel in which these names can be looked at. */
  panel: "files" | "network" | null;
}

export function effects(seen: Effects & { own_state?: string[] }): Group[] {
  const created = new Set(seen.files.created ?? []);
  const groups: Group[] = [
    { word: "created", names: [...created], panel: "files" },
    { word: "written", names: (seen.files.written ?? []).filter((name) => !created.has(name)), panel: "files" },
    { word: "deleted", names: seen.files.deleted ?? [], panel: "files" },
    { word: "tried to reach", names: triedToReach(seen), panel: "network" },
    { word: "sockets", names: seen.unix_sockets.connected ?? [], panel: "network" },
    { word: "ran", names: seen.execs.ran ?? [], panel: "files" },
    { word: "read", names: seen.files.read ?? [], panel: "files" },
    { word: "tried", names: seen.files.attempted ?? [], panel: null },
    { word: "own state", names: seen.own_state ?? [], panel: "files" },
  ];
  return groups.filter((group) => group.names.length > 0);
}

function changed(seen: Effects): string[] {
  const { written = [], created = [], deleted = [] } = seen.files;
  return [...new Set([...written, ...created, ...deleted])].filter(isFile);
}

/** The effects of a call have no results: an endpoint is here unless it is known to have failed. */
function triedToReach(seen: Effects): string[] {
  return [...new Set([...(seen.endpoints.connected ?? []), ...(seen.endpoints.sent ?? [])])].sort();
}
