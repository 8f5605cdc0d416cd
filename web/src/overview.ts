// The strip under the tabs: the whole run at a glance, in every panel. Dragging selects the time window that filters all
// panels; its two handles are sliders for the keyboard and for thumbs.
import { h } from "./dom";
import type { App, Span } from "./panel";
import { sceneOf } from "./scene";
import type { Kernel, Scene } from "./scene";
import { between, clock, cut, lasting, lengthOf, placeOf, within } from "./span";
import { Surface } from "./surface";
import type { Brush } from "./surface";

const LEAST_DRAG = 4;
const CALLS_HEIGHT = 5;

export function overview(app: App): HTMLElement {
  const host = h("div", { class: "overview is-waiting" });
  void sceneOf(app).then(
    (scene) => {
      host.classList.remove("is-waiting");
      new Strip(app, scene, host).start();
    },
    () => host.remove(), // without times there is nothing to select; the panels say what is wrong
  );
  return host;
}

class Strip {
  private kernel: Kernel | null = null;
  private readonly surface = new Surface((brush) => this.draw(brush));
  private readonly chosen = h("div", { class: "overview-window", hidden: true });
  private readonly handles: [HTMLElement, HTMLElement];
  private readonly words = h("span", { class: "overview-words" });
  private readonly clear = h(
    "button",
    { type: "button", class: "quiet", hidden: true, on: { click: () => this.app.window.set(null) } },
    "Whole run",
  );
  private readonly track = h("div", { class: "overview-track" });

  constructor(
    private readonly app: App,
    private readonly scene: Scene,
    private readonly host: HTMLElement,
  ) {
    this.handles = [this.handle("from", "Start of the window"), this.handle("to", "End of the window")];
  }

  start(): void {
    this.surface.canvas.setAttribute("aria-hidden", "true");
    this.track.append(this.surface.canvas, this.chosen, ...this.handles);
    this.track.addEventListener("pointerdown", (event) => this.grab(event));
    this.host.append(this.track, h("div", { class: "overview-line" }, this.words, this.clear));
    this.app.window.subscribe(() => this.show());
    this.app.now.subscribe(() => this.surface.request());
    this.scene.view.subscribe(() => this.surface.request());
    void this.scene.kernel.then((kernel) => {
      this.kernel = kernel;
      this.surface.request();
    }, noMarks);
    this.show();
  }

  private handle(side: keyof Span, label: string): HTMLElement {
    return h("div", {
      class: `overview-handle is-${side}`,
      role: "slider",
      tabindex: 0,
      "aria-label": label,
      "aria-valuemin": Math.round(this.scene.whole.from / 1e6),
      "aria-valuemax": Math.round(this.scene.whole.to / 1e6),
      on: {
        keydown: (event: KeyboardEvent) => this.press(event, side),
        pointerdown: (event: PointerEvent) => {
          event.stopPropagation();
          const { from, to } = this.span();
          this.follow(event, (at) => between(side === "from" ? to : from, at));
        },
      },
    });
  }

  private span(): Span {
    return this.app.window.get() ?? this.scene.whole;
  }

  private press(event: KeyboardEvent, side: keyof Span): void {
    const step = lengthOf(this.scene.whole) / (event.shiftKey ? 20 : 200);
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const span = this.span();
    const moved = { ...span, [side]: span[side] + by };
    if (moved.from < moved.to) this.app.window.set(cut(moved, this.scene.whole));
  }

  /** A drag on the window moves it; elsewhere it selects a new one. */
  private grab(event: PointerEvent): void {
    const start = this.timeAt(event);
    const chosen = this.app.window.get();
    if (chosen && start > chosen.from && start < chosen.to)
      this.follow(event, (at) =>
        within({ from: chosen.from + at - start, to: chosen.to + at - start }, this.scene.whole),
      );
    else this.follow(event, (at) => between(start, at));
  }

  private follow(down: PointerEvent, spanAt: (at: number) => Span): void {
    down.preventDefault();
    const { track } = this;
    track.setPointerCapture(down.pointerId);
    let moved = false;
    const move = (event: PointerEvent) => {
      moved ||= Math.abs(event.clientX - down.clientX) >= LEAST_DRAG;
      if (moved) this.app.window.set(cut(spanAt(this.timeAt(event)), this.scene.whole));
    };
    const end = () => {
      track.removeEventListener("pointermove", move);
      track.removeEventListener("pointerup", end);
      track.removeEventListener("pointercancel", end);
    };
    track.addEventListener("pointermove", move);
    track.addEventListener("pointerup", end);
    track.addEventListener("pointercancel", end);
  }

  private timeAt(event: PointerEvent): number {
    const box = this.track.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    return this.scene.whole.from + share * lengthOf(this.scene.whole);
  }

  private show(): void {
    const chosen = this.app.window.get();
    const { from, to } = this.span();
    const share = (at: number) => `${((at - this.scene.whole.from) / lengthOf(this.scene.whole)) * 100}%`;
    this.chosen.hidden = this.clear.hidden = chosen === null;
    this.chosen.style.setProperty("left", share(from));
    this.chosen.style.setProperty("right", `calc(100% - ${share(to)})`);
    for (const [place, at] of [from, to].entries()) {
      const handle = this.handles[place as 0 | 1];
      handle.style.setProperty("left", share(at));
      handle.setAttribute("aria-valuenow", String(Math.round(at / 1e6)));
      handle.setAttribute("aria-valuetext", clock(at));
    }
    this.words.textContent = chosen
      ? `${clock(from)} – ${clock(to)} · ${lasting(to - from)} selected`
      : `${lasting(lengthOf(this.scene.whole))} · drag to select a window`;
    this.surface.request();
  }

  private draw({ context, width, height, colour }: Brush): void {
    const { whole, calls, callsToDraw, output } = this.scene;
    const scale = width / lengthOf(whole);
    const x = (at: number) => (at - whole.from) * scale;
    const marks = this.kernel?.marks;
    const floor = height - 1;
    const room = floor - CALLS_HEIGHT - 3;
    context.fillStyle = colour.bar!;
    bars(context, heights(marks?.every ?? output, whole, width), room, floor);
    if (marks) {
      context.fillStyle = colour.write!;
      bars(context, heights(marks.writes.at, whole, width), room * 0.45, floor);
      context.fillStyle = colour.net!;
      for (const at of marks.net.at) context.fillRect(x(at) - 1, CALLS_HEIGHT + 3, 2, 4);
    }
    for (const place of callsToDraw) {
      const { call, span } = calls[place]!;
      context.fillStyle = verdictColour(call.verdict, colour);
      context.fillRect(x(span.from), 1, Math.max(lengthOf(span) * scale, 2), CALLS_HEIGHT);
    }
    const view = this.scene.view.get();
    if (lengthOf(view) < lengthOf(whole)) {
      context.fillStyle = colour.accent!;
      context.fillRect(x(view.from), height - 2, Math.max(lengthOf(view) * scale, 2), 2);
    }
    const now = this.app.now.get();
    if (now !== null) {
      context.fillStyle = colour.accent!;
      context.fillRect(x(now) - 1, 0, 2, height);
    }
  }
}

export function verdictColour(verdict: string, colour: Record<string, string>): string {
  if (verdict === "contradicted") return colour["fill-bad"]!;
  if (verdict === "ambiguous" || verdict === "denied") return colour["fill-warn"]!;
  return verdict === "confirmed" ? colour["fill-good"]! : colour["fill-call"]!;
}

/** What cannot be read has no marks here; the events panel says why. */
export function noMarks(): void {}

/** How much happened in each pixel, 0 to 1, so that one event still shows beside a thousand. */
export function heights(times: Float64Array, span: Span, width: number): Float32Array {
  const pixels = Math.max(Math.ceil(width), 1);
  const found = new Float32Array(pixels);
  const step = lengthOf(span) / pixels;
  let place = placeOf(times, span.from);
  let most = 1;
  for (let pixel = 0; pixel < pixels; pixel++) {
    const next = placeOf(times, span.from + (pixel + 1) * step);
    found[pixel] = next - place;
    most = Math.max(most, next - place);
    place = next;
  }
  const top = Math.log1p(most);
  return found.map((count) => (count ? Math.max(Math.log1p(count) / top, 0.12) : 0));
}

export function bars(context: CanvasRenderingContext2D, shares: Float32Array, room: number, floor: number): void {
  for (let pixel = 0; pixel < shares.length; pixel++)
    if (shares[pixel]) context.fillRect(pixel, floor - shares[pixel]! * room, 1, shares[pixel]! * room);
}
