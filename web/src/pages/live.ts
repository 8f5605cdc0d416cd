// A run as it happens: what it does, and what its terminal shows.
// In: ./live and ./terminal, two streams of the server's. Out: a list that follows its end unless the reader has scrolled
// up, the terminal, and at the end what became of the record, with a way to its page. The list keeps the newest; what it
// dropped it counts.
import { fill, h } from "../dom";
import { VirtualList } from "../list";
import type { Page } from "../panel";
import { liveTerminal } from "./live_terminal";
import { counted, duration, visible } from "../words";

const MOST_KEPT = 20_000;
const NEAR_END = 60;
const GONE = "recorder is gone:"; // the word of a run that goes on without its recorder

interface Happening {
  at_ns: number;
  what: string;
  word: string;
  subject?: string;
  detail?: string;
  process?: number;
  program?: string;
  bad: boolean;
  times: number;
}

interface Step {
  happenings: Happening[];
  passed_over: number;
}

interface End {
  state: string;
  exit_code: number | null;
  signal: string | null;
  duration_ns: number | null;
  complete: boolean;
  gaps: string[];
}

const KINDS: Record<string, string> = { process: "Processes", file: "Files", net: "Network", call: "Tool calls", run: "Run" };
const COLUMNS = [
  { name: "time", title: "Seconds", width: "5rem" },
  { name: "who", title: "Process", width: "8rem", isWide: true },
  { name: "did", title: "Did", width: "10rem" },
  { name: "what", title: "What", width: "minmax(0, 1fr)" },
];

export function drawLive(host: HTMLElement, _page: Page): void {
  new Live(host);
}

class Live {
  private all: Happening[] = [];
  private shown: Happening[] = [];
  private dropped = 0;
  private readonly wanted = new Set(Object.keys(KINDS));
  private readonly status = h("p", { class: "live-status is-running", role: "status" }, "Waiting for the first event …");
  private readonly passed = h("p", { class: "live-passed", hidden: true });
  private readonly list = new VirtualList({
    label: "What happens",
    columns: COLUMNS,
    cells: (row) => cells(this.shown[row]!),
    dress: (row) => ({ class: `happening-${this.shown[row]!.what}${this.shown[row]!.bad ? " is-bad" : ""}` }),
    empty: () => "Nothing yet.",
  });

  constructor(host: HTMLElement) {
    const kinds = h("div", { class: "tools", role: "group", "aria-label": "Show" }, Object.keys(KINDS).map((kind) => this.toggle(kind)));
    const terminal = h("section", { class: "live-terminal", "aria-label": "Terminal" });
    const happenings = h("section", { "aria-label": "What happens" }, kinds, this.passed, this.list.element);
    fill(host, h("div", { class: "panel" }, this.status, h("div", { class: "live" }, happenings, terminal)));
    liveTerminal(terminal);
    this.listen();
  }

  private listen(): void {
    const stream = new EventSource("./live");
    stream.addEventListener("open", () => this.begin());
    stream.addEventListener("step", (event) => this.take(JSON.parse((event as MessageEvent<string>).data) as Step));
    stream.addEventListener("end", (event) => {
      stream.close();
      this.end(JSON.parse((event as MessageEvent<string>).data) as End);
    });
    stream.addEventListener("error", () => {
      if (stream.readyState === EventSource.CLOSED) this.say("The server does not answer any more.", "is-bad");
      else this.say("The connection broke off; trying again …", "is-bad");
    });
  }

  /** A stream that was opened again tells everything from the beginning. */
  private begin(): void {
    this.all = [];
    this.dropped = 0;
    this.sayHowFar();
    this.show(false);
  }

  private take(step: Step): void {
    this.dropped += step.passed_over;
    this.all.push(...step.happenings);
    if (this.all.length > MOST_KEPT) this.dropped += this.all.splice(0, this.all.length - MOST_KEPT).length;
    this.sayHowFar();
    this.show(true);
  }

  private sayHowFar(): void {
    const last = this.all[this.all.length - 1];
    const far = last ? `: ${duration(last.at_ns)} so far.` : ".";
    if (this.all.some((one) => one.what === "run" && one.word === GONE)) this.say(`Without its recorder${far}`, "is-warning");
    else this.say(`Running${far}`, "is-running");
  }

  private show(stay: boolean): void {
    const { element } = this.list;
    const follows = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    this.shown = this.wanted.size === Object.keys(KINDS).length ? this.all : this.all.filter((one) => this.wanted.has(one.what));
    this.list.reset(this.shown.length, stay);
    if (follows) element.scrollTop = element.scrollHeight;
    this.passed.hidden = this.dropped === 0;
    this.passed.textContent = `${counted(this.dropped, "thing")} that happened before or too fast not shown: the record has all.`;
  }

  private end(end: End): void {
    const [words, role] = ending(end);
    this.say(words, role);
    if (end.state !== "damaged") this.status.append(" ", h("a", { href: "./" }, "Open the record"));
  }

  private say(words: string, role: string): void {
    this.status.className = `live-status ${role}`;
    this.status.textContent = words;
  }

  private toggle(kind: string): HTMLLabelElement {
    const box = h("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      if (box.checked) this.wanted.add(kind);
      else this.wanted.delete(kind);
      this.show(true);
    });
    return h("label", { class: "chip" }, box, KINDS[kind]);
  }
}

function ending(end: End): [string, string] {
  if (end.state === "unsealed") return ["Its recorder is gone: `steno recover` seals what was recorded.", "is-bad"];
  if (end.state !== "sealed") return ["The record was removed, or cannot be read.", "is-bad"];
  const how = end.signal !== null ? `ended by ${visible(end.signal)}` : end.exit_code === null ? "ended" : `exit ${end.exit_code}`;
  const lasted = end.duration_ns === null ? "" : ` after ${duration(end.duration_ns)}`;
  const record = end.complete ? "sealed, complete" : `sealed, INCOMPLETE: ${end.gaps.map(visible).join(", ")}`;
  return [`${how}${lasted}; ${record}.`, end.complete && end.exit_code === 0 ? "is-good" : "is-bad"];
}

function cells(one: Happening): string[] {
  const who = one.process === undefined ? "" : `${one.program ?? "?"}[${one.process}]`;
  const times = one.times > 1 ? `(${one.times} times)` : "";
  const what = [one.subject, one.detail, times].filter(Boolean).join(" ");
  return [(one.at_ns / 1e9).toFixed(3), visible(who), visible(one.word), visible(what)];
}
