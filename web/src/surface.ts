// A canvas that is as sharp as the screen, and is drawn at most once a frame.
import { h } from "./dom";
import { colours } from "./theme";

export const COLOURS = [
  "ink",
  "faint",
  "line",
  "paper",
  "sunken",
  "accent",
  "bar",
  "bar-ink",
  "fill-bad",
  "fill-warn",
  "fill-good",
  "fill-call",
  "write",
  "net",
  "output",
] as const;

export interface Brush {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  colour: Record<string, string>;
}

export class Surface {
  readonly canvas = h("canvas");
  width = 0;
  height = 0;
  private waiting = false;
  private colour: Record<string, string> = {};

  constructor(private readonly draw: (brush: Brush) => void) {
    new ResizeObserver(() => this.measure()).observe(this.canvas);
    document.addEventListener("steno:theme", () => this.repaint());
    this.colour = colours(COLOURS);
  }

  request(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.paint());
  }

  private repaint(): void {
    this.colour = colours(COLOURS);
    this.request();
  }

  private measure(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.paint();
  }

  private paint(): void {
    this.waiting = false;
    const context = this.canvas.getContext("2d");
    if (!context || !this.width) return;
    context.setTransform(this.canvas.width / this.width, 0, 0, this.canvas.height / this.height, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.draw({ context, width: this.width, height: this.height, colour: this.colour });
  }
}
