// The head of the page, held against its files: it was written when the page was made, and no digest is over it. What of it
// can be told from the checked files is told again here, the run itself from its events, and whatever differs is named.
// In: what stands in the head, and files whose digests match. Out: sentences, none where all is as the files have it. Pure,
// but for reading the document. How facts are worded is said in report/overview.py; a browser test holds both together.
import { tablePath } from "./layout";
import type { Check, File, Process, Tables } from "./made/tables";
import type { Calls, Model, RunEvent } from "./model";
import type { Judgement, Page } from "./panel";
import { hasEnded } from "./tree";

const MOST_CHARACTERS = 300;
const MOST_LINES = 12;
const IN_TITLE = 80;
const APART = " · ";
const LATEST_MS = 253_402_300_799_000;
const SHORT: Record<string, string> = { "\\n": "\n", "\\r": "\r", "\\t": "\t" };
const SPELLED = /\\(?:[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})/g;

/** What stands in the head. */
export interface Said {
  name: string;
  about: string;
  command: string;
  when: string;
  troubles: string;
  facts: [label: string, lines: string[]][];
}

/** What the checked files say; null for one that the page does not carry. */
export interface Recorded {
  manifest: Record<string, any>;
  run: Run;
  judgement: Judgement;
  /** Files that are too large for the page. */
  leftOut: Set<string>;
  redactions: Record<string, any> | null;
  calls: Calls | null;
  files: File[] | null;
  processes: Process[];
}

/** What the events say of the run, which a digest of the manifest is over. */
export interface Run {
  command: string[];
  name: string | null;
  cwd: string;
  host: { name: string; os: string; release: string; machine: string };
  started_at_ms: number;
  exit_code: number | null;
  signal: string | null;
  gaps: { reason: string; detail: string; lost_bytes?: number | null }[];
  /** Nothing that should be in the record is missing. */
  isComplete: boolean;
}

export interface HeldHead {
  /** Where the head says something else than the files of the page. */
  differences: string[];
  isComplete: boolean;
}

/** Null where the page does not carry the events, without which nothing can be said. */
export async function heldHead(header: Element, model: Model, page: Page): Promise<HeldHead | null> {
  try {
    const [manifest, events, redactions, calls, files, processes] = await Promise.all([
      model.manifest(),
      model.runEvents(),
      model.redactions(),
      model.calls(),
      model.files(),
      model.processes(),
    ]);
    if (!events.length) return null;
    const run = runOf(events);
    const leftOut = new Set(page.left_out.map((file) => file.path));
    const { judgement } = page;
    const recorded = { manifest: manifest ?? {}, run, judgement, leftOut, redactions, calls, files, processes };
    return { differences: different(saidIn(header), recorded), isComplete: run.isComplete };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { differences: [`the head cannot be held against the files of this page: ${why}`], isComplete: false };
  }
}

export function runOf(events: RunEvent[]): Run {
  const all = (type: string) => events.filter((event) => event.type === type).map((event) => event.data as Record<string, any>);
  const last = (type: string) => all(type).at(-1);
  const start = events[0]!.data as Record<string, any>;
  const gaps = all("gap") as Run["gaps"];
  return {
    command: start.cmd_redacted,
    name: start.name ?? null,
    cwd: start.cwd,
    host: start.host,
    started_at_ms: events[0]!.ts_ms,
    exit_code: last("run_finish")?.exit_code ?? null,
    signal: last("command_finished")?.signal ?? null,
    gaps,
    isComplete: last("run_finish")?.completed === true && !gaps.length,
  };
}

function saidIn(header: Element): Said {
  const text = (selector: string) => header.querySelector(selector)?.textContent ?? "";
  return {
    name: text(".verdict-run"),
    about: (header as HTMLElement).dataset.about ?? "",
    command: text(".verdict-command"),
    when: text(".verdict-when"),
    troubles: text("#verdict-troubles"),
    facts: [...header.querySelectorAll(".fact")].map((fact) => [
      fact.querySelector("dt")?.textContent ?? "",
      [...fact.querySelectorAll("dd")].map((line) => line.textContent ?? ""),
    ]),
  };
}

export function different(said: Said, recorded: Recorded): string[] {
  const { run, manifest, judgement } = recorded;
  const found: string[] = [];
  const hold = (what: string, says: string, should: string, fits = same(says, should)) => {
    if (!fits) found.push(`${what}: the head says “${says}”, the files of this page “${should}”`);
  };
  const facts = (label: string, should: string[], fits = (lines: string[]) => lines.join("\n") === should.join("\n")) => {
    const all = said.facts.filter(([one]) => one === label).map(([, lines]) => lines);
    const isRight = should.length ? all.length === 1 && fits(all[0]!.map(unspelled)) : all.length === 0;
    if (!isRight)
      found.push(`${label}: the head says “${all.flat().join("; ") || "nothing"}”, the files of this page “${should.join("; ") || "nothing"}”`);
  };
  facts("Verification", [`${run.isComplete ? "valid" : "incomplete"}, when this was made`, `root ${manifest.root}`].map(unspelled));
  facts("Judgement", [`by rules ${judgement.rules} of Steno ${judgement.steno}, which made this: files, calls, verdicts, health`]);
  const command = quoted(run.command);
  hold("Run", said.name, `Steno ${manifest.run_id}${run.name ? `: ${cut(run.name, IN_TITLE)}` : ""}`);
  hold("Title", said.about, cut(command, IN_TITLE));
  hold("Command", said.command, cut(command));
  hold("When and where", said.when.replace(/, for [^,]*/, ""), whenAndWhere(run));
  const isEndKnown = run.exit_code !== null || run.signal !== null || !recorded.leftOut.has(tablePath("processes"));
  if (isEndKnown) facts("Result", [resultOf(run, recorded.processes)].map(unspelled));
  const gaps = gapsOf(run);
  facts("Gaps", some(gaps.lines), (lines) =>
    some(gaps.lines).every((line, place) => (gaps.lost[place] ? lines[place]?.startsWith(line) : lines[place] === line)) &&
    lines.length === some(gaps.lines).length,
  );
  if (!["calls", "claims", "checks"].some((name) => recorded.leftOut.has(tablePath(name as keyof Tables)))) {
    holdCalls(recorded, facts);
    hold("Headline", said.troubles, troublesOf(recorded));
  }
  holdRedactions(recorded.redactions, facts);
  holdFiles(recorded.files, facts);
  return found;
}

type Hold = (label: string, should: string[], fits?: (lines: string[]) => boolean) => void;

function holdCalls({ calls, run }: Recorded, facts: Hold): void {
  const told = calls && (calls.calls.length || calls.claims.length) ? calls : null;
  const against = told ? contradictionsOf(told) : { calls: [], claims: [] };
  const counts = countsOf((told?.calls ?? []).map((call) => call.verdict));
  const total = told ? counted(told.calls.length, "call") : "";
  facts("Tool calls", told ? some([counts.size ? `${total}: ${inWords(counts)}` : total]) : []);
  const below = String(run.cwd).replace(/\/+$/, "");
  const near = (text: string) => (below ? withoutDirectory(text, below) : text);
  const lines = [...against.calls, ...against.claims].map(near);
  facts("Contradicted", told ? some(lines.length ? lines : ["no call, and nothing that was said"]) : []);
  const denied = counts.get("denied");
  facts("Denied", denied ? [`${counted(denied, "call")} refused by policy`] : []);
}

/** The text, with the names of files below this directory told without it; `near` of text/safe.py says the same. */
export function withoutDirectory(text: string, directory: string): string {
  const plain = directory.replace(/[\\^$.*+?()[\]{}|\-/]/g, "\\$&");
  return text.replace(new RegExp(`(?<![^\\s"'\`(=,:])${plain}/(?=[^\\s/])`, "g"), "");
}

function holdRedactions(redactions: Record<string, any> | null, facts: Hold): void {
  if (!redactions) return;
  const total = Number(redactions.total ?? 0);
  const first = total ? `${counted(total, "secret")} masked: ` : "no secret was found";
  facts("Redactions", [first], (lines) => (total ? !!lines[0]?.startsWith(first) : lines.join("\n") === first));
}

/** How many were changed, and how; those whose states are not kept are not in the file. */
function holdFiles(files: File[] | null, facts: Hold): void {
  if (!files) return;
  const counts = countsOf(files.filter((file) => !file.changed_by_others && file.change !== "none").map((file) => file.change));
  const total = [...counts.values()].reduce((one, other) => one + other, 0);
  const first = total ? `${counted(total, "file")} changed (${inWords(counts)})` : "no file changed";
  facts("Files", [first], (lines) => !!lines[0]?.startsWith(cut(first)));
  const deleted = counts.get("deleted");
  facts("Deleted", deleted ? [counted(deleted, "file")] : []);
}

function countsOf(words: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function inWords(counts: Map<string, number>): string {
  const sorted = [...counts].sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([word, count]) => `${count} ${word}`).join(", ");
}

function troublesOf({ calls, run }: Recorded): string {
  const found: string[] = [];
  const against = contradictionsOf(calls);
  if (against.calls.length) found.push(`${counted(against.calls.length, "call")} contradicted`);
  if (against.claims.length) found.push(`${counted(against.claims.length, "claim")} contradicted`);
  const denied = calls?.calls.filter((call) => call.verdict === "denied").length ?? 0;
  if (denied) found.push(`${counted(denied, "call")} denied`);
  const { exit_code: code, signal } = run;
  if (signal !== null) found.push("ended by a signal");
  else if (code === null) found.push("end not seen");
  else if (code !== 0) found.push(`exit code ${code}`);
  return found.map((one) => `${APART}${one}`).join("");
}

function contradictionsOf(told: Calls | null): { calls: string[]; claims: string[] } {
  const against = (checks: Check[] | undefined) =>
    (checks ?? []).filter((check) => check.result === "contradicted").map((check) => check.detail);
  const calls = (told?.calls ?? []).map((call) => [call, against(told!.checksOf.get(call.call))] as const);
  return {
    calls: calls
      .filter(([, says]) => says.length)
      .map(([call, says]) => `${call.server === null ? "" : `${call.server}.`}${call.tool}: ${says.join("; ")}`),
    claims: (told?.claims ?? []).flatMap((claim) => against(told!.checksOfClaim.get(claim.claim))),
  };
}

function resultOf(run: Run, processes: Process[]): string {
  const { exit_code: code, signal } = run;
  if (signal !== null) return `ended by ${signal} (exit code ${code})`;
  if (code !== null) return `exit code ${code}`;
  const first = processes.reduce<Process | null>((one, other) => (one && one.process < other.process ? one : other), null);
  if (!first || !hasEnded(first)) return "not known: the end was not seen";
  const how = first.signal ? `by ${first.signal}` : `with exit code ${first.exit_code}`;
  return `not seen by the recorder; the kernel saw the command end ${how}`;
}

/** The lines, and of which something was lost: how much is not told again. */
function gapsOf(run: Run): { lines: string[]; lost: boolean[] } {
  const { gaps } = run;
  if (!gaps.length) return { lines: ["none declared"], lost: [false] };
  return { lines: gaps.map((gap) => `${gap.reason}: ${gap.detail}`), lost: gaps.map((gap) => !!gap.lost_bytes) };
}

function whenAndWhere(run: Run): string {
  const began = new Date(Math.min(Math.max(Number(run.started_at_ms), 0), LATEST_MS)).toISOString();
  const { name, os, release, machine } = run.host;
  return `${began.slice(0, 19).replace("T", " ")} UTC, in ${cut(`${run.cwd} on ${name} (${os} ${release} ${machine})`)}`;
}

/** As a shell would read it: Python's shlex.join. */
export function quoted(words: string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`)).join(" ");
}

function some(lines: string[]): string[] {
  const shown = lines.slice(0, MOST_LINES).map((line) => unspelled(cut(line)));
  return lines.length > MOST_LINES ? [...shown, `and ${lines.length - MOST_LINES} more`] : shown;
}

/** Counted in characters, as Python does. */
function cut(line: string, most = MOST_CHARACTERS): string {
  const characters = line.length > most ? [...line] : [];
  return characters.length > most ? `${characters.slice(0, most).join("")}…` : line;
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

function same(one: string, other: string): boolean {
  return unspelled(one) === unspelled(other);
}

/** Which characters are spelled out depends on the year of the tables that say what can be seen. */
function unspelled(text: string): string {
  return text.replace(SPELLED, (one) => SHORT[one] ?? String.fromCodePoint(Math.min(parseInt(one.slice(2), 16), 0x10ffff)));
}
