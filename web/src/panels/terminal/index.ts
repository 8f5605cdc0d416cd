// The terminal of a run: played as it was, or read as text.
// In: session.cast and the recorded streams. Out: the player where there was a terminal, the text where there were
// pipes; both where both make sense. A target `@12.5` is a moment, in seconds.
import { fill, h } from "../../dom";
import { CAST } from "../../layout";
import type { App, Panel } from "../../panel";
import { lookup, size, visible } from "../../words";
import { parseCast } from "./cast";
import { whyNotHere } from "../without_layer";
import { PlayerView } from "./player";
import { textView } from "./text";

const OUTPUT = "terminal/output";
const WRITTEN = ["terminal/stdout", "terminal/stderr"];
/** Beyond this the browser would be busy for long: the reader is asked first. */
const LARGEST_AT_ONCE = 16 << 20;
/** Seconds behind the last output at which the recording ends: a player that is told to go to its very time stops short of it. */
const MOMENT = 0.01;

const STREAMS: Record<string, string> = {
  separate: "stdout and stderr recorded apart",
  merged: "stdout and stderr merged",
  split: "stdout and stderr told apart by the observer",
};
const STDIN: Record<string, string> = {
  pty: "typed input recorded",
  relayed: "stdin recorded",
  inherited: "stdin passed on, not recorded",
  closed: "stdin closed",
};

let view: TerminalView | null = null;

export const terminal: Panel = {
  id: "terminal",
  title: "Terminal",
  counted: "lines of output",
  async count(app) {
    const streams = shownStreams(app);
    if (!streams.length) return app.source.has(CAST) ? 0 : null;
    const contents = await Promise.all(streams.map((stream) => app.source.bytes(stream)));
    return contents.reduce((lines, bytes) => lines + newlinesIn(bytes), 0);
  },
  async mount(host, app) {
    const made = new TerminalView(app);
    view = made;
    await made.draw(host);
    return () => made.dispose();
  },
  show(_host, _app, target) {
    if (target.startsWith("@")) void view?.jump(Number(target.slice(1)));
    else if (target === "text" || target === "player") view?.choose(target);
  },
};

/** What the terminal showed; where that was not recorded, what was written to stdout and stderr. A stream without a byte is not here. */
function shownStreams(app: App): string[] {
  return app.source.has(OUTPUT) ? [OUTPUT] : WRITTEN.filter((stream) => app.source.has(stream));
}

function newlinesIn(bytes: Uint8Array): number {
  return bytes.reduce((lines, byte) => lines + (byte === 10 ? 1 : 0), 0);
}

class TerminalView {
  private readonly body = h("div");
  private readonly tabs = {
    player: h("button", { type: "button" }, "Player"),
    text: h("button", { type: "button" }, "Text"),
  };
  private player: PlayerView | null = null;
  private text: HTMLElement | null = null;
  private isPlayable = false;

  constructor(private readonly app: App) {
    this.tabs.player.addEventListener("click", () => this.choose("player"));
    this.tabs.text.addEventListener("click", () => this.choose("text"));
  }

  async draw(host: HTMLElement): Promise<void> {
    const { source } = this.app;
    if (!source.has(CAST) && !shownStreams(this.app).length)
      return fill(host, h("p", { class: "empty" }, `The terminal cannot be shown: ${CAST}: ${await whyNotHere(this.app, CAST)}.`));
    const recorded = ((await this.app.model.run())?.terminal ?? {}) as Record<string, unknown>;
    this.isPlayable = recorded.kind !== "pipes" && source.has(CAST);
    fill(
      host,
      h("p", null, words(recorded)),
      this.isPlayable
        ? h(
            "div",
            { class: "toggle terminal-shape", role: "group", "aria-label": "Shape" },
            this.tabs.player,
            this.tabs.text,
          )
        : null,
      this.body,
    );
    await this.open(this.isPlayable ? "player" : "text");
  }

  choose(shape: "player" | "text"): void {
    void this.open(shape).catch((error: unknown) =>
      fill(this.body, h("p", { class: "alarm", role: "alert" }, String(error))),
    );
  }

  async jump(seconds: number): Promise<void> {
    if (!Number.isFinite(seconds)) return;
    if (this.isPlayable) await this.open("player");
    this.app.now.set(Math.round(seconds * 1e9));
    await this.player?.seek(seconds);
  }

  dispose(): void {
    this.player?.dispose();
  }

  private async open(shape: "player" | "text"): Promise<void> {
    this.tabs.player.setAttribute("aria-pressed", String(shape === "player"));
    this.tabs.text.setAttribute("aria-pressed", String(shape === "text"));
    if (shape === "text") {
      this.text ??= await textView(this.app);
      return fill(this.body, this.text);
    }
    if (this.player) return fill(this.body, this.player.element);
    const { source } = this.app;
    const sizes = shownStreams(this.app).map((stream) => source.size(stream) ?? 0);
    const bytes = source.size(CAST) ?? sizes.reduce((sum, one) => sum + one, 0);
    if (bytes <= LARGEST_AT_ONCE) return this.load();
    fill(
      this.body,
      h("p", null, `The recording is large (${size(bytes)}): loading it may take a while.`),
      h("button", { type: "button", on: { click: () => void this.load() } }, "Load it"),
    );
  }

  private async load(): Promise<void> {
    const cast = parseCast(await this.app.source.text(CAST));
    if (!cast.events.length)
      return fill(this.body, h("p", { class: "empty" }, "Nothing was written to the terminal, and nothing typed."));
    const length = Math.max((await this.app.model.duration()) / 1e9, cast.length + MOMENT);
    this.player = new PlayerView(this.app, cast, length);
    const unread = cast.unread
      ? h("p", { class: "is-warn" }, `${cast.unread} lines of the recording could not be read.`)
      : null;
    fill(this.body, unread, this.player.element);
    this.player.start();
    const now = this.app.now.get();
    if (now !== null) await this.player.seek(now / 1e9);
  }
}

function words(recorded: Record<string, unknown>): string {
  const kind =
    recorded.kind === "pty"
      ? `a pseudo-terminal (${visible(String(recorded.term ?? "TERM unset"))}, ${Number(recorded.cols)}x${Number(recorded.rows)})`
      : visible(String(recorded.kind ?? "not known"));
  const apart = lookup(STREAMS, String(recorded.streams)) ?? visible(String(recorded.streams ?? "streams not known"));
  return `${kind}; ${apart}; ${lookup(STDIN, String(recorded.stdin)) ?? visible(String(recorded.stdin ?? "stdin not known"))}`;
}
