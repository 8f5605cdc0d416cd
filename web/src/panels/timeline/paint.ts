// Draws the timeline as its chart has it.
import { hasFailed as rowFailed } from "../../operations";
import { hasFailed, isOpen } from "../../tree";
import type { Span } from "../../panel";
import { lengthOf, placeOf, ticks } from "../../span";
import { bars, heights, verdictColour } from "../../overview";
import type { Brush } from "../../surface";
import type { Marks } from "../../scene";
import { AXIS, LANE, TITLE } from "./chart";
import type { Chart, Track } from "./chart";
import type { Item } from "./items";

const BAR = 15;
const CHARACTER = 6.3;
const FONT = "11px ui-sans-serif, system-ui, sans-serif";
const SMALL = "10px ui-sans-serif, system-ui, sans-serif";
const LEAST_LABEL = 26;
const LEAST_CALL = 7;
const TICK_ROOM = 90;

export interface Marked {
  window: Span | null;
  now: number | null;
  hover: Item | null;
  focus: Item | null;
  /** The window that is being dragged out. */
  dragged: Span | null;
}

export function paint(brush: Brush, chart: Chart, marked: Marked): void {
  const { context, width, height } = brush;
  chart.width = width;
  context.textBaseline = "middle";
  grid(brush, chart);
  context.save();
  context.beginPath();
  context.rect(0, chart.lanesTop, width, height - chart.lanesTop);
  context.clip();
  lanes(brush, chart, marked);
  context.restore();
  tracks(brush, chart, marked);
  axis(brush, chart);
  windows(brush, chart, marked);
}

function grid({ context, width, height, colour }: Brush, chart: Chart): void {
  context.fillStyle = colour.line!;
  for (const { at } of ticks(chart.view, width / TICK_ROOM)) context.fillRect(Math.round(chart.x(at)), AXIS, 1, height);
}

function axis({ context, width, colour }: Brush, chart: Chart): void {
  context.font = FONT;
  context.fillStyle = colour.faint!;
  context.textAlign = "left";
  for (const { at, label } of ticks(chart.view, width / TICK_ROOM)) {
    const x = Math.round(chart.x(at));
    context.fillRect(x, AXIS - 6, 1, 6);
    if (x + label.length * CHARACTER < width) context.fillText(label, x + 4, AXIS / 2);
  }
}

function tracks(brush: Brush, chart: Chart, marked: Marked): void {
  const { context, width, colour } = brush;
  for (const track of chart.tracks) {
    context.fillStyle = colour.paper!;
    context.globalAlpha = 0.6;
    context.fillRect(0, track.top, width, track.height);
    context.globalAlpha = 1;
    if (track.kind === "call") calls(brush, chart, marked);
    else marksTrack(brush, chart, track);
    context.fillStyle = colour.line!;
    context.fillRect(0, track.top + track.height - 1, width, 1);
    title(brush, track);
  }
}

function title({ context, colour }: Brush, track: Track): void {
  context.font = SMALL;
  context.textAlign = "left";
  context.fillStyle = colour.faint!;
  context.fillText(track.title, 4, track.top + TITLE / 2 + 1);
}

function marksTrack({ context, width, colour }: Brush, chart: Chart, track: Track): void {
  if (track.kind === "call") return;
  const times = track.kind === "output" ? chart.scene.output : chart.marksOf(track.kind).at;
  context.fillStyle = colour[track.kind === "lost" ? "fill-bad" : track.kind]!;
  bars(context, heights(times, chart.view, width), track.height - TITLE - 3, track.top + track.height - 2);
}

function calls({ context, width, colour }: Brush, chart: Chart, { hover, focus }: Marked): void {
  for (const place of chart.scene.callsToDraw) {
    const { call, span } = chart.scene.calls[place]!;
    const [from, to] = [chart.x(span.from), chart.x(span.to)];
    if (to < 0 || from > width) continue;
    const box = chart.callBox(place);
    const left = Math.max(from, -4);
    const room = Math.max(Math.min(to, width + 4) - left, LEAST_CALL);
    context.fillStyle = verdictColour(call.verdict, colour);
    context.fillRect(left, box.top, room, box.height);
    const shown = { kind: "call", place } as const;
    if (isSame(hover, shown) || isSame(focus, shown)) outline(context, colour.ink!, left, box.top, room, box.height);
    const middle = box.top + box.height / 2;
    if (call.decision !== null) diamond(context, colour["bar-ink"]!, left + LEAST_CALL / 2, middle, 2.5);
    const next = chart.nextCall(place) ?? width;
    words(context, colour, call.tool, left + (call.decision === null ? 0 : 5), room, next, middle);
  }
}

function lanes({ context, width, height, colour }: Brush, chart: Chart, marked: Marked): void {
  const { scene, view } = chart;
  const first = Math.max(Math.floor(chart.scroll / LANE), 0);
  const last = Math.min(Math.ceil((chart.scroll + height) / LANE), scene.lanes.count - 1);
  context.font = FONT;
  context.textAlign = "left";
  for (let lane = first; lane <= last; lane++) {
    const members = scene.lanes.members[lane]!;
    const top = chart.laneTop(lane) + 2;
    let drawn = -1;
    for (let place = Math.max(placeOf(chart.starts[lane]!, view.from) - 1, 0); place < members.length; place++) {
      const number = members[place]!;
      const span = scene.lanes.spanOf.get(number)!;
      if (span.from > view.to) break;
      const [from, to] = [chart.x(span.from), chart.x(span.to)];
      if (to < 0 || (to <= drawn && to - from < 1)) continue;
      const left = Math.max(from, drawn, -2);
      const room = Math.max(Math.min(to, width + 2) - left, 1);
      drawn = left + room;
      const process = scene.tree.known.get(number)!;
      context.fillStyle = hasFailed(process) ? colour["fill-bad"]! : isOpen(process) ? colour["fill-warn"]! : colour.bar!;
      context.fillRect(left, top, room > 3 ? room - 1 : room, BAR);
      const shown = { kind: "process", number } as const;
      if (isSame(marked.hover, shown) || isSame(marked.focus, shown))
        outline(context, colour.ink!, left, top, room, BAR);
      const next = place + 1 < members.length ? chart.x(chart.starts[lane]![place + 1]!) : width;
      words(context, colour, scene.tree.programs.get(number) ?? "", left, room, next, top + BAR / 2);
    }
  }
  if (chart.kernel) {
    laneMarks(context, colour, chart, chart.kernel.marks.writes, "write");
    laneMarks(context, colour, chart, chart.kernel.marks.net, "net");
  }
}

/** The name in the bar, or behind it where nothing else is. */
function words(
  context: CanvasRenderingContext2D,
  colour: Record<string, string>,
  text: string,
  left: number,
  room: number,
  next: number,
  middle: number,
): void {
  if (room >= Math.max(LEAST_LABEL, text.length * CHARACTER)) label(context, colour["bar-ink"]!, text, left, room, middle);
  else if (next - left - room > text.length * CHARACTER + 8) {
    context.fillStyle = colour.faint!;
    context.font = FONT;
    context.fillText(text, left + room + 3, middle);
  } else label(context, colour["bar-ink"]!, text, left, room, middle);
}

function label(context: CanvasRenderingContext2D, fill: string, text: string, left: number, room: number, middle: number): void {
  if (room < LEAST_LABEL) return;
  const fits = Math.floor((room - 8) / CHARACTER);
  context.fillStyle = fill;
  context.font = FONT;
  context.fillText(text.length > fits ? `${text.slice(0, Math.max(fits - 1, 1))}…` : text, Math.max(left, 0) + 4, middle);
}

function laneMarks(
  context: CanvasRenderingContext2D,
  colour: Record<string, string>,
  chart: Chart,
  marks: Marks,
  kind: "write" | "net",
): void {
  const { lanes: placed } = chart.scene;
  const { events } = chart.kernel!;
  const drawn = new Int32Array(placed.count).fill(-1);
  const end = placeOf(marks.at, chart.view.to);
  for (let place = placeOf(marks.at, chart.view.from); place < end; place++) {
    const row = marks.row[place]!;
    const lane = placed.laneOf.get(events.process[row]!);
    const x = Math.round(chart.x(marks.at[place]!));
    if (lane === undefined || drawn[lane] === x) continue;
    drawn[lane] = x;
    const top = chart.laneTop(lane) + 2;
    context.fillStyle = kind === "net" && rowFailed(events, row) ? colour["fill-bad"]! : colour[kind]!;
    if (kind === "write") context.fillRect(x, top + BAR - 4, 1.5, 4);
    else diamond(context, context.fillStyle, x, top + BAR - 4);
  }
}

function windows({ context, width, height, colour }: Brush, chart: Chart, { window, now, dragged }: Marked): void {
  const shown = dragged ?? window;
  if (shown && lengthOf(shown) >= 0) {
    const [from, to] = [chart.x(shown.from), chart.x(shown.to)];
    context.globalAlpha = 0.62;
    context.fillStyle = colour.sunken!;
    if (from > 0) context.fillRect(0, 0, Math.min(from, width), height);
    if (to < width) context.fillRect(Math.max(to, 0), 0, width - to, height);
    context.globalAlpha = 1;
    context.fillStyle = colour.accent!;
    context.fillRect(from - 1, 0, 1, height);
    context.fillRect(to, 0, 1, height);
  }
  if (now !== null) {
    context.fillStyle = colour.accent!;
    context.fillRect(chart.x(now) - 1, 0, 2, height);
  }
}

function outline(context: CanvasRenderingContext2D, stroke: string, left: number, top: number, width: number, height: number): void {
  context.strokeStyle = stroke;
  context.lineWidth = 1.5;
  context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
}

function diamond(context: CanvasRenderingContext2D, fill: string, x: number, y: number, reach = 4): void {
  context.fillStyle = fill;
  context.beginPath();
  context.moveTo(x, y - reach);
  context.lineTo(x + reach, y);
  context.lineTo(x, y + reach);
  context.lineTo(x - reach, y);
  context.fill();
}

function isSame(item: Item | null, shown: { kind: "process"; number: number } | { kind: "call"; place: number }): boolean {
  if (item === null || item.kind !== shown.kind) return false;
  return item.kind === "process"
    ? item.number === (shown as { number: number }).number
    : (item as { place: number }).place === (shown as { place: number }).place;
}
