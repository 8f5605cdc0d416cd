// The timeline: processes as lanes below those that started them; calls, changes, connections and output as marks over them.
import { h } from "../../dom";
import type { App, Panel, Span } from "../../panel";
import { sceneOf } from "../../scene";
import type { Scene } from "../../scene";
import { around, between, clock, cut, lengthOf, panned, placeOf, zoomed } from "../../span";
import { Surface } from "../../surface";
import { counted } from "../../words";
import { noMarks } from "../../overview";
import { Chart, LANE } from "./chart";
import { listen } from "./gestures";
import type { Gestures } from "./gestures";
import { happenings } from "./happenings";
import { go, inOrder, same, spanOf, tell } from "./items";
import type { Item } from "./items";
import { missing } from "./missing";
import { paint } from "./paint";

export const timeline: Panel = {
  id: "timeline",
  title: "Timeline",
  counted: "",
  count: async () => null,
  async mount(host, app) {
    const scene = await sceneOf(app);
    new Timeline(app, scene).mount(host);
  },
};

const ZOOM_STEP = 0.7;
const LEGEND: [string, string][] = [
  ["bar", "process"],
  ["bad", "failed"],
  ["warn", "end not seen"],
  ["write", "change"],
  ["net", "connection"],
];
const LEGEND_OF_CALLS: [string, string][] = [
  ["bar", "process"],
  ["call", "call"],
  ["good", "confirmed"],
  ["bad", "failed, contradicted"],
  ["warn", "denied, ambiguous, end not seen"],
  ["write", "change"],
  ["net", "connection"],
];

class Timeline implements Gestures {
  private readonly chart: Chart;
  private readonly surface: Surface;
  private readonly tip = h("div", { class: "tip", role: "tooltip", hidden: true });
  private readonly said = h("p", { class: "timeline-said", role: "status" });
  private readonly stage = h("div", { class: "timeline-stage" });
  private readonly room = h("div", { class: "timeline-room" });
  private readonly toWindow = h(
    "button",
    { type: "button", hidden: true, on: { click: () => this.lookAtWindow() } },
    "Zoom to the window",
  );
  private readonly legend = h("ul", { class: "legend", "aria-label": "Colours" });
  private readonly missing = h("ul", { class: "timeline-missing", hidden: true });
  private hovered: Item | null = null;
  private focused: Item | null = null;
  private dragged: Span | null = null;
  private order: ReturnType<typeof inOrder> | null = null;

  constructor(
    private readonly app: App,
    private readonly scene: Scene,
  ) {
    this.chart = new Chart(scene);
    this.surface = new Surface((brush) =>
      paint(brush, this.chart, {
        window: app.window.get(),
        now: app.now.get(),
        hover: this.hovered,
        focus: this.focused,
        dragged: this.dragged,
      }),
    );
  }

  mount(host: HTMLElement): void {
    const { canvas } = this.surface;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", this.label());
    canvas.setAttribute("aria-busy", "true"); // until the marks are there
    canvas.dataset.lanes = String(this.scene.lanes.count);
    canvas.setAttribute("aria-describedby", "timeline-hint");
    this.room.append(canvas);
    this.stage.append(this.room);
    const frame = h("div", { class: "timeline-frame" }, this.stage, this.tip);
    host.append(this.tools(), this.missing, frame, this.said, this.hint());
    host.append(happenings(this.app, this.scene));
    listen(canvas, this);
    this.stage.addEventListener("scroll", () => {
      this.chart.scroll = this.stage.scrollTop;
      this.surface.request();
    });
    this.scene.view.subscribe(() => this.surface.request());
    this.app.window.subscribe((chosen) => {
      this.toWindow.hidden = chosen === null;
      this.surface.request();
    });
    this.app.now.subscribe(() => this.surface.request());
    this.resize();
    void this.scene.kernel
      .then((kernel) => {
        this.chart.kernel = kernel;
        this.order = null;
        this.chart.layOut();
        this.resize();
      }, noMarks)
      .then(() => this.sayMissing())
      .then(() => canvas.removeAttribute("aria-busy"));
  }

  /** The legend names what is drawn; why something is not, is said. */
  private async sayMissing(): Promise<void> {
    const found = await missing(this.app, this.scene);
    this.missing.replaceChildren(...found.map((words) => h("li", null, words)));
    this.missing.hidden = found.length === 0;
    this.legend.replaceChildren(...this.legendItems());
  }

  private legendItems(): HTMLElement[] {
    const { scene, chart } = this;
    const isDrawn: Record<string, boolean> = {
      process: scene.tree.order.length > 0,
      change: Boolean(chart.kernel?.marks.writes.row.length),
      connection: Boolean(chart.kernel?.marks.net.row.length),
    };
    return (scene.calls.length ? LEGEND_OF_CALLS : LEGEND)
      .filter(([, text]) => isDrawn[text] ?? (isDrawn.process || scene.calls.length > 0))
      .map(([name, text]) => h("li", null, h("i", { class: `dot is-${name}` }), text));
  }

  private label(): string {
    const { tree, calls, whole } = this.scene;
    return `Timeline of ${clock(lengthOf(whole))}: ${counted(tree.order.length, "process", "processes")}, ${counted(calls.length, "call")}. The same as a list is below.`;
  }

  private hint(): HTMLElement {
    return h(
      "p",
      { class: "hint", id: "timeline-hint" },
      "Drag to move; pinch, wheel or + and − to zoom; shift and drag to select a window; up and down to step from one thing to the next.",
    );
  }

  private tools(): HTMLElement {
    const button = (text: string, title: string, click: () => void) =>
      h("button", { type: "button", title, "aria-label": title, on: { click } }, text);
    const middle = () => (this.chart.view.from + this.chart.view.to) / 2;
    this.legend.replaceChildren(...this.legendItems());
    return h(
      "div",
      { class: "tools" },
      h(
        "div",
        { class: "buttons", role: "group", "aria-label": "Zoom" },
        button("−", "Zoom out", () => this.look(zoomed(this.chart.view, middle(), 1 / ZOOM_STEP, this.scene.whole))),
        button("+", "Zoom in", () => this.look(zoomed(this.chart.view, middle(), ZOOM_STEP, this.scene.whole))),
        button("Whole run", "Show the whole run", () => this.look({ ...this.scene.whole })),
        this.toWindow,
        button("Select what is in sight", "Select what is in sight as the time window", () => this.chooseView()),
      ),
      this.legend,
    );
  }

  private resize(): void {
    this.room.style.setProperty("height", `${this.chart.height}px`);
    this.stage.style.setProperty("--needed", `${this.chart.height}px`);
    this.surface.request();
  }

  private look(view: Span): void {
    this.scene.view.set(view);
    this.leave();
  }

  private lookAtWindow(): void {
    const chosen = this.app.window.get();
    if (chosen) this.look(around(chosen, this.scene.whole));
  }

  private chooseView(): void {
    const { view } = this.chart;
    this.app.window.set(lengthOf(view) >= lengthOf(this.scene.whole) ? null : { ...view });
  }

  zoom(x: number, factor: number): boolean {
    const before = this.chart.view;
    const view = zoomed(before, this.chart.time(x), factor, this.scene.whole);
    if (view.from === before.from && view.to === before.to) return false;
    this.look(view);
    return true;
  }

  pan(dx: number, dy: number): void {
    const by = (-dx / this.chart.width) * lengthOf(this.chart.view);
    this.look(panned(this.chart.view, by, this.scene.whole));
    if (dy) this.stage.scrollTop -= dy;
  }

  hover(x: number, y: number): void {
    const item = this.chart.hit(x, y);
    if (!same(item, this.hovered)) {
      this.hovered = item;
      this.surface.canvas.style.setProperty("cursor", item ? "pointer" : "");
      this.surface.request();
    }
    if (item) this.showTip(item, x, y);
    else this.tip.hidden = true;
  }

  leave(): void {
    this.tip.hidden = true;
    if (this.hovered === null) return;
    this.hovered = null;
    this.surface.request();
  }

  click(x: number, y: number): void {
    const item = this.chart.hit(x, y);
    if (item) go(item, this.app, this.scene, this.chart.kernel);
    else this.app.now.set(this.chart.time(x));
  }

  doubleClick(x: number): void {
    this.zoom(x, ZOOM_STEP * ZOOM_STEP);
  }

  select(from: number, to: number, done: boolean): void {
    this.dragged = cut(between(this.chart.time(from), this.chart.time(to)), this.scene.whole);
    if (done) {
      const chosen = this.dragged;
      this.dragged = null;
      this.app.window.set(chosen);
    }
    this.surface.request();
  }

  key(event: KeyboardEvent): boolean {
    const { view } = this.chart;
    const { whole } = this.scene;
    const middle = (view.from + view.to) / 2;
    const step = lengthOf(view) / 10;
    if (event.key === "+" || event.key === "=") this.look(zoomed(view, middle, ZOOM_STEP, whole));
    else if (event.key === "-") this.look(zoomed(view, middle, 1 / ZOOM_STEP, whole));
    else if (event.key === "0" || event.key === "Home") this.look({ ...whole });
    else if (event.key === "w") this.chooseView();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const by = event.key === "ArrowLeft" ? -step : step;
      if (event.shiftKey) this.lengthen(by);
      else this.look(panned(view, by, whole));
    } else if (event.key === "ArrowDown") this.next(1);
    else if (event.key === "ArrowUp") this.next(-1);
    else if (event.key === "Enter" && this.focused) go(this.focused, this.app, this.scene, this.chart.kernel);
    else return false;
    return true;
  }

  /** Makes the window longer or shorter at its end; the first time it begins at the middle of what is in sight. */
  private lengthen(by: number): void {
    const { view } = this.chart;
    const start = (view.from + view.to) / 2;
    const chosen = this.app.window.get() ?? { from: start, to: start };
    this.app.window.set(cut(between(chosen.from, chosen.to + by), this.scene.whole));
  }

  /** Steps along calls, processes and connections, and says what is there. */
  private next(by: 1 | -1): void {
    const { items, at } = (this.order ??= inOrder(this.scene, this.chart.kernel, false));
    if (!items.length) return;
    const now = items.findIndex((one) => same(one, this.focused));
    const first = now < 0 ? placeOf(at, this.chart.view.from) : now + by;
    const place = Math.min(Math.max(first, 0), items.length - 1);
    this.focus(items[place]!);
  }

  private focus(item: Item): void {
    this.focused = item;
    const span = spanOf(item, this.scene, this.chart.kernel);
    const { view } = this.chart;
    if (span.to < view.from || span.from > view.to)
      this.scene.view.set(panned(view, span.from - (view.from + view.to) / 2, this.scene.whole));
    const lane = item.kind === "process" ? this.scene.lanes.laneOf.get(item.number) : undefined;
    if (lane !== undefined) this.reveal(lane);
    const told = tell(item, this.scene, this.chart.kernel);
    this.said.textContent = `${told.title}: ${told.lines.join("; ")}`;
    this.surface.request();
  }

  private reveal(lane: number): void {
    const top = this.chart.laneTop(lane);
    const below = top + LANE - this.stage.clientHeight;
    if (top < this.chart.lanesTop) this.stage.scrollTop += top - this.chart.lanesTop;
    else if (below > 0) this.stage.scrollTop += below;
  }

  private showTip(item: Item, x: number, y: number): void {
    const told = tell(item, this.scene, this.chart.kernel);
    this.tip.replaceChildren(
      h("strong", { class: told.role && `is-${told.role}` }, told.title),
      ...told.lines.map((line) => h("div", null, line)),
    );
    this.tip.hidden = false;
    const left = Math.min(x + 12, Math.max(this.chart.width - this.tip.offsetWidth - 4, 0));
    const below = y + 18 + this.tip.offsetHeight < this.surface.height;
    this.tip.style.setProperty("left", `${left}px`);
    this.tip.style.setProperty("top", `${below ? y + 18 : Math.max(y - this.tip.offsetHeight - 10, 0)}px`);
  }
}
