// Every event: the calls that the kernel was asked for, and what the recorder wrote, in order of time, with a filter.
import { h } from "../../dom";
import type { KernelEvents } from "../../kernel";
import { KERNEL_TABLE } from "../../layout";
import { VirtualList } from "../../list";
import type { RunEvent } from "../../model";
import { categoryOf, resultWord } from "../../operations";
import type { App, Panel } from "../../panel";
import { sceneOf } from "../../scene";
import { whenSeen, whenTyped } from "../../seen";
import { clock } from "../../span";
import { counted, visible } from "../../words";
import { factsOf } from "./facts";
import { Events } from "./rows";

const MOST_CHARACTERS = 300;
const KINDS: [string, string][] = [
  ["", "Everything"],
  ["kind:write", "Changes"],
  ["kind:net", "Network"],
  ["kind:process", "Processes"],
  ["kind:file", "Other files"],
  ["kind:run", "Recorder"],
  ["result:failed", "Failed"],
];
const tables = new WeakMap<HTMLElement, EventsTable>();

export const events: Panel = {
  id: "events",
  title: "Events",
  counted: "events of the kernel and of the recorder",
  async count(app) {
    const kernel = app.source.has(KERNEL_TABLE) ? await app.source.rowCount(KERNEL_TABLE) : 0;
    return kernel + (await app.model.runEvents()).length;
  },
  async mount(host, app) {
    const [kernel, run] = await Promise.all([app.model.kernelEvents(), app.model.runEvents()]);
    const programs = await sceneOf(app).then(
      (scene) => scene.tree.programs,
      () => new Map<number, string>(), // the processes panel says what is wrong with them
    );
    const table = new EventsTable(app, new Events(kernel, run, programs));
    host.append(...table.elements());
    tables.set(host, table);
  },
  show(host, _, target) {
    if (target) tables.get(host)?.filterBy(target);
  },
};

class EventsTable {
  private shown: Int32Array = new Int32Array();
  private readonly status = h("span", { class: "status", role: "status" });
  private readonly details = h("aside", { class: "details", "aria-label": "The event", hidden: true });
  private readonly search: HTMLInputElement;
  private readonly kind: HTMLSelectElement;
  private readonly list: VirtualList;
  private readonly later: () => void;

  constructor(
    private readonly app: App,
    private readonly events: Events,
  ) {
    this.search = h("input", {
      type: "search",
      placeholder: "Filter: /etc op:open process:12 result:failed -stat",
      "aria-label": "Filter events",
    });
    this.kind = h(
      "select",
      { "aria-label": "Kind of event", on: { change: () => this.later() } },
      KINDS.map(([value, title]) => h("option", { value }, title)),
    );
    this.list = new VirtualList({
      label: "Events",
      columns: [
        { name: "time", title: "Time", width: "6.5rem" },
        { name: "who", title: "Process", width: "9rem", isWide: true },
        { name: "op", title: "Operation", width: "6.5rem" },
        { name: "result", title: "Result", width: "6rem", isWide: true },
        { name: "what", title: "On what", width: "minmax(8rem, 1fr)" },
      ],
      cells: (row) => this.cells(this.idAt(row), this.shown[row]!),
      dress: (row) => ({ class: this.role(this.idAt(row)) }),
      choose: (row) => this.tell(this.idAt(row)),
      empty: () => "No event fits.",
    });
    this.later = whenSeen(this.list.element, () => this.filter());
    whenTyped(this.search, () => this.filter());
    app.window.subscribe(() => this.later());
    this.later();
  }

  elements(): HTMLElement[] {
    return [
      h("div", { class: "tools" }, this.search, this.kind, this.status),
      h("div", { class: "with-details" }, this.list.element, this.details),
    ];
  }

  filterBy(text: string): void {
    this.search.value = text;
    this.kind.value = "";
    this.filter();
    if (/^row:\d+$/.test(text) && this.shown.length === 1) {
      this.list.select(0);
      this.tell(this.idAt(0));
    }
  }

  private filter(): void {
    const window = this.app.window.get();
    const text = `${this.search.value} ${this.kind.value}`;
    this.shown = this.events.matching(text, window);
    const total = this.events.order.length;
    this.status.textContent =
      this.shown.length === total
        ? counted(total, "event")
        : `${this.shown.length.toLocaleString("en")} of ${counted(total, "event")}${window ? ", in the window" : ""}`;
    this.list.reset(this.shown.length);
  }

  private idAt(row: number): number {
    return this.events.order[this.shown[row]!]!;
  }

  private cells(id: number, place: number): (Node | string)[] {
    const time = clock(this.events.at[place]!, 1e3);
    if (id < 0) {
      const event = this.events.run[-1 - id]!;
      return [time, "recorder", visible(event.type), "", short(JSON.stringify(event.data ?? {}))];
    }
    const kernel = this.events.kernel!;
    const number = kernel.process[id]!;
    const result = kernel.call[id] === null && Number.isNaN(kernel.result[id]!) ? "" : resultWord(kernel.result[id]!);
    return [
      time,
      visible(`${this.events.programs.get(number) ?? "?"} (${number})`),
      visible(kernel.op[id]!),
      result,
      h("span", null, isFailed(kernel, id) && h("b", { class: "if-narrow" }, `${result} `), short(nameOf(kernel, id))),
    ];
  }

  private role(id: number): string {
    if (id < 0) return (this.events.run[-1 - id] as RunEvent).type === "gap" ? "is-run is-bad" : "is-run";
    const kernel = this.events.kernel!;
    return `is-${categoryOf(kernel, id)}${isFailed(kernel, id) ? " is-failed" : ""}`;
  }

  private tell(id: number): void {
    this.details.hidden = false;
    this.details.replaceChildren(...factsOf(this.app, this.events, id));
  }
}

function isFailed(kernel: KernelEvents, row: number): boolean {
  return kernel.result[row]! < 0 || kernel.result[row]! > 0;
}

/** What a row is about, in one line: a program with its arguments, a file with its second name. */
function nameOf(kernel: KernelEvents, row: number): string {
  const name = kernel.name(row);
  const extra = kernel.extra(row);
  if (!extra) return name;
  if (kernel.op[row] === "exec") return `${name} ${extra.split("\0").slice(1).join(" ")}`;
  return `${name} → ${extra}`;
}

function short(text: string): string {
  const seen = visible(text.slice(0, MOST_CHARACTERS));
  return text.length > MOST_CHARACTERS ? `${seen}…` : seen;
}
