// The recorded terminal, played: asciinema-player with controls of our own, so that keyboard and screen reader can use them, and
// so that the time shown is that of the run, also where pauses are shortened.
// In: a cast. Out: an element. It shares its time with the timeline (app.now), in both directions.
import * as asciinema from "asciinema-player";
import type { Player } from "asciinema-player";
import { fill, h } from "../../dom";
import type { App } from "../../panel";
import { whenSeen } from "../../seen";
import { clock } from "../../span";
import type { Cast } from "./cast";
import { paceOf } from "./pace";
import type { Pace } from "./pace";

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const LONGEST_PAUSE = 2;
const STEP_SECONDS = 5;
const TICK_MILLISECONDS = 200;
const NANO = 1e9;

export class PlayerView {
  readonly element: HTMLElement;
  private readonly stage = h("div", { class: "stage" });
  private readonly button = h("button", { type: "button", class: "play" }, "▶ Play");
  private readonly seeker = h("input", { type: "range", min: 0, step: "any", "aria-label": "Position" });
  private readonly time = h("output", { class: "mono" });
  private readonly speed = h(
    "select",
    { "aria-label": "Speed" },
    SPEEDS.map((one) => h("option", { value: one, selected: one === 1 }, `${one}×`)),
  );
  private readonly short = h("input", { type: "checkbox", checked: true });
  private player: Player | null = null;
  private pace: Pace;
  private isPlaying = false;
  /** Seconds of the run. It begins with the last screen, since that is what most want to see. */
  private at: number;
  private timer = 0;
  private seeks = 0;
  private isTelling = false;

  constructor(
    private readonly app: App,
    private readonly cast: Cast,
    private readonly length: number,
  ) {
    this.at = length;
    this.pace = this.newPace();
    this.seeker.max = String(length);
    this.button.addEventListener("click", () => void this.toggle());
    this.seeker.addEventListener("input", () => void this.seek(Number(this.seeker.value)));
    this.speed.addEventListener("change", () => void this.remake());
    this.short.addEventListener("change", () => void this.remake());
    this.stage.addEventListener("keydown", (event) => this.press(event), true);
    this.element = h(
      "div",
      { class: "player" },
      this.stage,
      h(
        "div",
        { class: "player-bar" },
        this.button,
        this.seeker,
        this.time,
        h("label", null, "Speed ", this.speed),
        h("label", { class: "chip" }, this.short, ` pauses at most ${LONGEST_PAUSE} s`),
      ),
    );
    const follow = whenSeen(this.element, () => void this.seek((app.now.get() ?? 0) / NANO));
    app.now.subscribe((now) => {
      if (now !== null && !this.isTelling) follow();
    });
  }

  /** To be called when the element is in the page: the player measures itself, and reads its colours from the style. */
  start(): void {
    this.make(false);
  }

  async seek(seconds: number): Promise<void> {
    const at = Math.min(Math.max(seconds, 0), this.length);
    const seek = ++this.seeks;
    this.at = at;
    this.tell();
    await this.player?.seek(this.pace.toPlayed(at));
    if (seek !== this.seeks || this.isPlaying) return;
    this.at = at; // the end of an earlier seek may have told its own time meanwhile
    this.tell();
  }

  dispose(): void {
    window.clearInterval(this.timer);
    this.player?.dispose();
    this.player = null;
  }

  private newPace(): Pace {
    const times = [...this.cast.events.map(([at]) => at), this.length];
    return paceOf(times, this.short.checked ? LONGEST_PAUSE : null);
  }

  private make(autoPlay: boolean): void {
    const { cast, pace } = this;
    const events: [number, "o" | "i" | "r", string][] = cast.events.map(([, code, data], place) => [
      pace.played[place]! * 1000,
      code,
      data,
    ]);
    events.push([pace.played[cast.events.length]! * 1000, "o", ""]);
    const recording = { cols: cast.cols, rows: cast.rows, events };
    const host = h("div");
    fill(this.stage, host);
    this.player = asciinema.create({ data: {}, parser: () => recording }, host, {
      controls: false,
      fit: "width",
      preload: true,
      speed: Number(this.speed.value),
      theme: "asciinema",
    });
    this.player.addEventListener("playing", () => this.playing(true));
    this.player.addEventListener("pause", () => this.playing(false));
    this.player.addEventListener("ended", () => this.playing(false));
    // Not by its options "startAt" and "poster": what they have drawn is gone at the first seek, and not drawn again.
    void this.seek(this.at).then(() => (autoPlay ? this.player?.play() : undefined));
  }

  /** The player takes its speed and its events when it is made. */
  private async remake(): Promise<void> {
    const wasPlaying = this.isPlaying;
    this.dispose();
    this.playing(false);
    this.pace = this.newPace();
    this.make(wasPlaying);
  }

  private async toggle(): Promise<void> {
    if (this.isPlaying) return void (await this.player?.pause());
    if (this.at >= this.length) await this.seek(0);
    await this.player?.play();
  }

  private playing(is: boolean): void {
    this.isPlaying = is;
    this.button.textContent = is ? "❚❚ Pause" : "▶ Play";
    window.clearInterval(this.timer);
    if (is) this.timer = window.setInterval(() => void this.follow(), TICK_MILLISECONDS);
    else void this.follow();
  }

  private async follow(): Promise<void> {
    const played = await this.player?.getCurrentTime();
    if (typeof played !== "number") return;
    this.at = Math.min(this.pace.toRun(played), this.length);
    this.tell();
  }

  private tell(): void {
    this.seeker.value = String(this.at);
    this.seeker.setAttribute("aria-valuetext", `${this.at.toFixed(1)} of ${this.length.toFixed(1)} seconds`);
    this.time.textContent = `${clock(this.at * NANO, 1e8)} / ${clock(this.length * NANO, 1e8)}`;
    this.isTelling = true;
    if (this.isPlaying) this.app.now.set(Math.round(this.at * NANO));
    this.isTelling = false;
  }

  /** The keys of the player itself are on its own clock: these are on that of the run. */
  private press(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowLeft: -STEP_SECONDS, ArrowRight: STEP_SECONDS };
    const step = steps[event.key];
    if (event.key !== " " && step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (step === undefined) void this.toggle();
    else void this.seek(this.at + step);
  }
}
