// The list of runs: newest first, searched and filtered, two of them chosen to be compared.
// In: ./runs.json, asked again now and then, since runs come and end. Out: a list of any length; what is chosen and where
// it is scrolled to stays when it is asked again.
import { fill, h } from "../dom";
import { searchKeys } from "../keys";
import { VirtualList } from "../list";
import type { Page } from "../panel";
import { counted, duration, visible } from "../words";
import { ask } from "./ask";

const AGAIN_MS = 4000;

interface Run {
  run_id: string;
  state: string;
  started_at_ms: number | null;
  duration_ns: number | null;
  /** How long the command itself ran; null: its start or its end was not seen. */
  command_ns: number | null;
  exit_code: number | null;
  signal: string | null;
  complete: boolean | null;
  title: string;
}

const COLUMNS = [
  { name: "pick", title: "Compare", width: "4.5rem" },
  { name: "state", title: "State", width: "6.5rem" },
  { name: "when", title: "Began (UTC)", width: "11.5rem" },
  { name: "took", title: "Took", width: "5rem", isWide: true },
  { name: "exit", title: "Exit", width: "4.5rem" },
  { name: "command", title: "Command", width: "minmax(0, 1fr)" },
];
/** There a row has two lines, as site.css lays it out: what was run gets one of its own. */
const NARROW = "(max-width: 640px)";
const NARROW_ROW = 50;
const RESULTS: Record<string, (run: Run) => boolean> = {
  "any result": () => true,
  succeeded: (run) => run.exit_code === 0,
  failed: (run) => run.exit_code !== null && run.exit_code !== 0,
  "has gaps": (run) => run.complete === false,
};
const STATES = ["any state", "running", "orphaned", "sealed", "unsealed", "damaged"];

export function drawList(host: HTMLElement, _page: Page): void {
  new RunList(host);
}

class RunList {
  private runs: Run[] = [];
  /** The runs as they were told when they were drawn. */
  private told = "";
  private shown: Run[] = [];
  private readonly chosen = new Set<string>();
  private readonly search = h("input", { type: "search", "aria-label": "Search", placeholder: "Search commands and ids" });
  private readonly state = choice("State", STATES);
  private readonly result = choice("Result", Object.keys(RESULTS));
  private readonly count = h("span", { class: "site-count", role: "status" });
  private readonly problem = h("p", { class: "alarm", role: "alert", hidden: true });
  private readonly compare = h("a", { class: "site-compare", "aria-disabled": "true" }, "Choose two to compare");
  private readonly list = new VirtualList({
    label: "Runs",
    columns: COLUMNS,
    rowHeight: () => (matchMedia(NARROW).matches ? NARROW_ROW : undefined),
    cells: (row) => this.cells(this.shown[row]!),
    dress: (row) => ({ class: `run-${this.shown[row]!.state}${this.shown[row]!.exit_code ? " is-bad" : ""}` }),
    choose: (row, target) => this.choose(this.shown[row]!, target),
    empty: () => (this.runs.length ? "No run is like that." : "There is no run yet. Record one with: steno run -- COMMAND"),
  });

  constructor(host: HTMLElement) {
    for (const control of [this.search, this.state, this.result]) control.addEventListener("input", () => this.filter(false));
    const bar = h("div", { class: "tools" }, this.search, this.state, this.result, this.compare, this.count);
    fill(host, h("div", { class: "panel runs" }, this.problem, bar, this.list.element));
    searchKeys(() => host);
    void this.again();
    setInterval(() => document.hidden || void this.again(), AGAIN_MS);
    document.addEventListener("visibilitychange", () => document.hidden || void this.again());
  }

  private async again(): Promise<void> {
    let runs: Run[];
    try {
      runs = (await ask<{ runs: Run[] }>("./runs.json")).runs;
      this.problem.hidden = true;
    } catch (error) {
      this.problem.textContent = (error as Error).message;
      this.problem.hidden = false;
      return;
    }
    const told = JSON.stringify(runs);
    if (told === this.told && !runs.some(isGoingOn)) return;
    if (this.list.element.matches(":active")) return; // a click has begun, and would end on a row that is gone
    this.told = told;
    this.runs = runs;
    this.filter(true);
  }

  private filter(stay: boolean): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hasResult = RESULTS[this.result.value] ?? (() => true);
    this.shown = this.runs.filter((run) => {
      const text = `${run.run_id} ${run.title}`.toLowerCase();
      const isInState = this.state.value === STATES[0] || run.state === this.state.value;
      return isInState && hasResult(run) && words.every((word) => text.includes(word));
    });
    const all = this.shown.length === this.runs.length;
    this.count.textContent = all ? counted(this.runs.length, "run") : `${this.shown.length} of ${counted(this.runs.length, "run")}`;
    this.list.reset(this.shown.length, stay);
  }

  private cells(run: Run): (Node | string)[] {
    const label = `Compare ${run.run_id}`;
    const pick = h("input", { type: "checkbox", "aria-label": label, disabled: run.state !== "sealed" });
    pick.checked = this.chosen.has(run.run_id);
    return [
      pick,
      run.state === "sealed" && run.complete === false ? "sealed, gaps" : run.state,
      run.started_at_ms === null ? "" : moment(run.started_at_ms),
      this.took(run),
      run.signal !== null ? visible(run.signal) : run.exit_code === null ? "" : String(run.exit_code),
      h("a", { href: address(run), title: run.run_id }, visible(run.title.slice(0, 2000))),
    ];
  }

  private took(run: Run): string {
    const lasted = run.command_ns ?? run.duration_ns;
    if (lasted !== null) return duration(lasted);
    if (!isGoingOn(run) || run.started_at_ms === null) return "";
    return duration((Date.now() - run.started_at_ms) * 1e6);
  }

  private choose(run: Run, target: Element | undefined): void {
    if (target instanceof HTMLInputElement) this.pick(run.run_id);
    else if (!target?.closest("a")) location.assign(address(run));
  }

  /** At most two: the one that was chosen first makes room. */
  private pick(id: string): void {
    if (!this.chosen.delete(id)) this.chosen.add(id);
    if (this.chosen.size > 2) this.chosen.delete([...this.chosen][0]!);
    const [a, b] = [...this.chosen].sort();
    const ready = a !== undefined && b !== undefined;
    this.compare.textContent = ready ? "Compare the two" : `Choose ${this.chosen.size ? "one more" : "two"} to compare`;
    this.compare.setAttribute("aria-disabled", String(!ready));
    if (ready) this.compare.setAttribute("href", `./compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
    else this.compare.removeAttribute("href");
    this.list.refresh();
  }
}

/** Then the time that it took so far is another one each time. */
function isGoingOn(run: Run): boolean {
  return ["running", "orphaned"].includes(run.state);
}

function address(run: Run): string {
  return `./run/${encodeURIComponent(run.run_id)}/`;
}

function choice(label: string, words: string[]): HTMLSelectElement {
  return h("select", { "aria-label": label }, words.map((word) => h("option", { value: word }, word)));
}

/** UTC, as in a report. */
function moment(ms: number): string {
  const found = new Date(ms);
  return Number.isNaN(found.getTime()) ? "" : found.toISOString().slice(0, 19).replace("T", " ");
}
