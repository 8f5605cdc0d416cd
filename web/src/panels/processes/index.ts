// The process tree: who started whom, what each one ran, how it ended. Equal ones share a row, as in `steno tree`.
import { h } from "../../dom";
import { tablePath } from "../../layout";
import { VirtualList } from "../../list";
import type { App, Panel } from "../../panel";
import { sceneOf } from "../../scene";
import type { Scene } from "../../scene";
import { whenSeen } from "../../seen";
import { clock, lasting, lengthOf, overlaps } from "../../span";
import { endingOf, hasFailed, isOpen, rowsOf, withAncestors } from "../../tree";
import type { Row } from "../../tree";
import { counted, visible } from "../../words";
import { withoutKernel } from "../without_layer";
import { detailsOf } from "./details";

const PATH = tablePath("processes");
const MOST_COMMAND = 400;
const panes = new WeakMap<HTMLElement, Processes>();

export const processes: Panel = {
  id: "processes",
  title: "Processes",
  counted: "processes",
  async count(app) {
    return app.source.has(PATH) ? (await app.model.processes()).length : null;
  },
  async mount(host, app) {
    if (!app.source.has(PATH)) {
      host.append(await withoutKernel(app, "What processes there were", PATH));
      return;
    }
    const pane = new Processes(app, await sceneOf(app));
    host.append(...pane.elements());
    panes.set(host, pane);
  },
  show(host, _, target) {
    if (target) panes.get(host)?.reveal(Number(target));
  },
};

class Processes {
  private rows: Row[] = [];
  private words = "";
  private readonly toggled = new Map<string, boolean>();
  private readonly details = h("aside", { class: "details", "aria-label": "The process", hidden: true });
  private readonly status = h("span", { class: "status", role: "status" });
  private readonly list: VirtualList;
  private readonly search: HTMLInputElement;
  private readonly later: () => void;

  constructor(
    private readonly app: App,
    private readonly scene: Scene,
  ) {
    this.list = new VirtualList({
      label: "Processes",
      role: "treegrid",
      columns: [
        { name: "command", title: "Process", width: "minmax(10rem, 1fr)" },
        { name: "exit", title: "Exit", width: "4.5rem" },
        { name: "time", title: "Start", width: "5rem", isWide: true },
        { name: "took", title: "Time", width: "5rem" },
        { name: "number", title: "Events", width: "4.5rem", isWide: true },
      ],
      cells: (row) => this.cells(this.rows[row]!),
      dress: (row) => this.dress(this.rows[row]!),
      choose: (row, target) => this.choose(row, target),
      unfold: (row, open) => this.unfold(row, open),
      empty: () => "No process fits.",
    });
    this.search = h("input", {
      type: "search",
      placeholder: "Search commands, programs, pids",
      "aria-label": "Search processes",
      on: { input: () => this.filter() },
    });
    this.later = whenSeen(this.list.element, () => this.filter());
    app.window.subscribe(() => this.later());
    this.later();
  }

  elements(): HTMLElement[] {
    return [
      h("div", { class: "tools" }, this.search, this.status),
      h("div", { class: "with-details" }, this.list.element, this.details),
    ];
  }

  reveal(number: number): void {
    if (!this.scene.tree.known.has(number)) return;
    if (!this.inWindow(number)) this.app.window.set(null);
    this.search.value = "";
    this.filter();
    for (let row = 0; row < this.rows.length; row++) {
      const found = this.rows[row]!;
      const isIt = found.numbers.includes(number);
      if (isIt && !found.isRest) {
        this.list.select(row);
        this.tell(number);
        return;
      }
      if ((isIt || this.isAbove(found, number)) && found.hasMore && !found.isOpen) {
        this.toggled.set(found.key, true);
        this.rows = this.visibleRows();
        this.list.reset(this.rows.length, true);
      }
    }
  }

  private isAbove(row: Row, number: number): boolean {
    const above = withAncestors(this.scene.tree, [number]);
    return row.numbers.some((one) => above.has(one));
  }

  private filter(): void {
    const marked = this.rows[this.list.selected]?.key;
    this.words = this.search.value.trim().toLowerCase();
    this.rows = this.visibleRows();
    this.list.reset(this.rows.length);
    if (marked !== undefined) this.list.select(this.rows.findIndex((row) => row.key === marked));
  }

  private visibleRows(): Row[] {
    const { tree } = this.scene;
    const isFiltered = this.words !== "" || this.app.window.get() !== null;
    const found = isFiltered ? tree.order.filter((one) => this.fits(one)) : tree.order;
    this.status.textContent = isFiltered
      ? `${counted(found.length, "process", "processes")} of ${tree.order.length.toLocaleString("en")}`
      : "";
    const isOpen = (key: string, isRest: boolean) => this.toggled.get(key) ?? !isRest;
    return rowsOf(tree, isOpen, isFiltered ? withAncestors(tree, found) : undefined);
  }

  private inWindow(number: number): boolean {
    const { from, to } = this.scene.lanes.spanOf.get(number)!;
    return overlaps(this.app.window.get(), from, to);
  }

  private fits(number: number): boolean {
    if (!this.inWindow(number)) return false;
    if (this.words === "") return true;
    const { tree, execs } = this.scene;
    const { title, pid } = tree.known.get(number)!;
    return (
      title.toLowerCase().includes(this.words) ||
      String(pid) === this.words ||
      (execs.get(number) ?? []).some((one) => (one.executable ?? "").toLowerCase().includes(this.words))
    );
  }

  private cells(row: Row): (Node | string)[] {
    const { tree, lanes } = this.scene;
    const members = row.numbers.map((one) => tree.known.get(one)!);
    const spans = row.numbers.map((one) => lanes.spanOf.get(one)!);
    const total = spans.reduce((sum, span) => sum + lengthOf(span), 0);
    const events = members.reduce((sum, one) => sum + one.n_events, 0);
    return [
      this.command(row),
      row.isRest ? failures(members.filter(hasFailed).length) : visible(endingOf(members[0]!)),
      clock(spans[0]!.from),
      members.some((one) => one.ended_ns !== null) ? lasting(total) : "–",
      events.toLocaleString("en"),
    ];
  }

  private command(row: Row): HTMLElement {
    const { tree } = this.scene;
    const mark = row.hasMore ? (row.isOpen ? "▾" : "▸") : "";
    const { label, title } = tree.known.get(row.numbers[0]!)!;
    const words = row.isRest
      ? `${row.numbers.length.toLocaleString("en")} more of ${label}`
      : title;
    return h(
      "span",
      { class: "tree-cell", style: { "padding-left": `${Math.min(row.depth, 40) * 14}px` } },
      h("span", { class: "fold", "aria-hidden": "true" }, mark),
      row.numbers.length > 1 && !row.isRest ? h("span", { class: "times" }, `${row.numbers.length} × `) : null,
      visible(words.slice(0, MOST_COMMAND)),
    );
  }

  private dress(row: Row): Record<string, string | null> {
    const members = row.numbers.map((one) => this.scene.tree.known.get(one)!);
    const isBad = members.some(hasFailed);
    return {
      class: isBad ? "is-bad" : members.some(isOpen) ? "is-warn" : "is-plain",
      "aria-level": String(row.depth + 1),
      "aria-expanded": row.hasMore ? String(row.isOpen) : null,
    };
  }

  private choose(row: number, target?: Element): void {
    const found = this.rows[row]!;
    if (found.isRest || target?.closest(".fold")) this.unfold(row, !found.isOpen);
    if (!found.isRest) this.tell(found.numbers[0]!, found.numbers);
  }

  private unfold(row: number, open: boolean): void {
    const found = this.rows[row]!;
    if (!found.hasMore || found.isOpen === open) return;
    this.toggled.set(found.key, open);
    this.rows = this.visibleRows();
    this.list.reset(this.rows.length, true);
  }

  private tell(number: number, alike: number[] = [number]): void {
    this.details.hidden = false;
    this.details.replaceChildren(...detailsOf(this.app, this.scene, number, alike, (to) => this.reveal(to)));
  }
}

function failures(count: number): string {
  return count ? `${count} failed` : "0";
}
