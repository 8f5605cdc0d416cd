// The geometry of the timeline: which time is at which pixel, which track is where, and what is under a point. It draws nothing.
import type { Span } from "../../panel";
import type { Kernel, Scene } from "../../scene";
import { lengthOf, placeOf } from "../../span";
import type { Marks } from "../../scene";
import type { Item } from "./items";

export const AXIS = 24;
export const LANE = 20;
const CALL_ROW = 18;
const MOST_CALL_ROWS = 6;
/** The name of a track has a line of its own, so that it covers nothing. */
export const TITLE = 12;
const MARK_TRACK = 18 + TITLE;
const REACH = 4;

export interface Track {
  kind: "call" | "write" | "net" | "lost" | "output";
  title: string;
  top: number;
  height: number;
}

export class Chart {
  width = 1;
  /** How far the lanes are scrolled. */
  scroll = 0;
  kernel: Kernel | null = null;
  tracks: Track[] = [];
  lanesTop = AXIS;
  /** The row of each call in its track. */
  readonly callRows: number[];
  /** When the members of each lane begin, to find those in sight. */
  readonly starts: Float64Array[];

  constructor(readonly scene: Scene) {
    this.callRows = rowsOf(scene.calls.map((one) => one.span));
    this.starts = scene.lanes.members.map((lane) =>
      Float64Array.from(lane, (number) => scene.lanes.spanOf.get(number)!.from),
    );
    this.layOut();
  }

  layOut(): void {
    this.tracks = [];
    let top = AXIS;
    const add = (kind: Track["kind"], title: string, height: number) => {
      this.tracks.push({ kind, title, top, height });
      top += height;
    };
    const rows = Math.max(-1, ...this.callRows) + 1;
    if (rows) add("call", "Calls", rows * CALL_ROW + 6 + TITLE);
    if (this.kernel?.marks.writes.row.length) add("write", "Changes", MARK_TRACK);
    if (this.kernel?.marks.net.row.length) add("net", "Network", MARK_TRACK);
    if (this.kernel?.marks.lost.row.length) add("lost", "Lost", MARK_TRACK);
    if (this.scene.output.length) add("output", "Output", MARK_TRACK);
    this.lanesTop = top + 6;
  }

  get view(): Span {
    return this.scene.view.get();
  }

  get height(): number {
    return this.lanesTop + this.scene.lanes.count * LANE + 8;
  }

  x(at: number): number {
    return ((at - this.view.from) / lengthOf(this.view)) * this.width;
  }

  time(x: number): number {
    return this.view.from + (x / this.width) * lengthOf(this.view);
  }

  callBox(place: number): { top: number; height: number } {
    const track = this.tracks.find((one) => one.kind === "call")!;
    return { top: track.top + TITLE + 3 + this.callRows[place]! * CALL_ROW, height: CALL_ROW - 3 };
  }

  /** Where the next call in the same row begins. */
  nextCall(place: number): number | null {
    const next = this.callRows.indexOf(this.callRows[place]!, place + 1);
    return next < 0 ? null : this.x(this.scene.calls[next]!.span.from);
  }

  laneTop(lane: number): number {
    return this.lanesTop + lane * LANE - this.scroll;
  }

  /** What is under a point: a mark before the bar that it is on. */
  hit(x: number, y: number): Item | null {
    const track = this.tracks.find((one) => y >= one.top && y < one.top + one.height);
    if (track) return this.onTrack(track, x, y);
    if (y < this.lanesTop) return null;
    const lane = Math.floor((y - this.lanesTop + this.scroll) / LANE);
    return this.onLane(lane, x, y);
  }

  private onTrack(track: Track, x: number, y: number): Item | null {
    if (track.kind === "call") return this.onCalls(x, y);
    if (track.kind === "output") {
      const place = nearest(this.scene.output, this.time(x));
      const at = this.scene.output[place];
      return at !== undefined && Math.abs(this.x(at) - x) <= REACH ? { kind: "output", at } : null;
    }
    const marks = this.marksOf(track.kind);
    const place = nearest(marks.at, this.time(x));
    if (place < 0 || Math.abs(this.x(marks.at[place]!) - x) > REACH) return null;
    return { kind: track.kind, row: marks.row[place]! };
  }

  marksOf(kind: "write" | "net" | "lost"): Marks {
    const { writes, net, lost } = this.kernel!.marks;
    return { write: writes, net, lost }[kind];
  }

  private onCalls(x: number, y: number): Item | null {
    for (let place = this.scene.calls.length - 1; place >= 0; place--) {
      const { span } = this.scene.calls[place]!;
      const box = this.callBox(place);
      if (y < box.top || y > box.top + box.height) continue;
      if (x >= this.x(span.from) - REACH && x <= Math.max(this.x(span.to), this.x(span.from)) + REACH)
        return { kind: "call", place };
    }
    return null;
  }

  private onLane(lane: number, x: number, y: number): Item | null {
    const members = this.scene.lanes.members[lane];
    if (!members) return null;
    const inLower = y - this.laneTop(lane) > LANE / 2;
    if (inLower && this.kernel) {
      const { writes, net } = this.kernel.marks;
      const mark = this.markIn(net, lane, x);
      if (mark >= 0) return { kind: "net", row: mark };
      const write = this.markIn(writes, lane, x);
      if (write >= 0) return { kind: "write", row: write };
    }
    const last = placeOf(this.starts[lane]!, this.time(x + REACH / 2)) - 1;
    for (const place of [last, last - 1]) {
      const number = members[place];
      if (number === undefined) continue;
      const span = this.scene.lanes.spanOf.get(number)!;
      if (Math.max(this.x(span.to), this.x(span.from) + 2) >= x - REACH / 2) return { kind: "process", number };
    }
    return null;
  }

  /** The row of a mark in this lane that is at most two pixels away. */
  private markIn(marks: Marks, lane: number, x: number): number {
    const [from, to] = [placeOf(marks.at, this.time(x - 2)), placeOf(marks.at, this.time(x + 2))];
    for (let place = from; place < to; place++) {
      const row = marks.row[place]!;
      if (this.scene.lanes.laneOf.get(this.kernel!.events.process[row]!) === lane) return row;
    }
    return -1;
  }
}

function nearest(times: Float64Array, at: number): number {
  const after = placeOf(times, at);
  if (after === 0) return times.length ? 0 : -1;
  if (after === times.length) return after - 1;
  return times[after]! - at < at - times[after - 1]! ? after : after - 1;
}

/** As few rows as time allows; what is more than can be shown shares the last. */
function rowsOf(spans: Span[]): number[] {
  const free: number[] = [];
  return spans.map(({ from, to }) => {
    let row = free.findIndex((at) => at <= from);
    if (row < 0) row = Math.min(free.length, MOST_CALL_ROWS - 1);
    free[row] = to;
    return row;
  });
}
