// The streams of a run as lines of text, in the order of time.
// In: the bytes of each stream, and which of them came when. Out: lines with their time and their stream. What a terminal would act
// on is taken out (or spelled out, for those who ask); at most some megabytes of each stream, its beginning and its end.
import type { Arrivals } from "../../arrivals";
import { visibleLine } from "../../words";

export type Stream = "stdin" | "stdout" | "stderr" | "output";

export interface TextLine {
  /** Nanoseconds since the run began, of its first byte. */
  at: number;
  stream: Stream | "";
  text: string;
}

export interface Recorded {
  stream: Stream;
  bytes: Uint8Array;
  /** Null: the times are not known. */
  arrivals: Arrivals | null;
}

const KEPT_AT_EACH_END = 2 << 20;
// Sequences that move, colour and name things: CSI, OSC and its relatives, two-character escapes.
const SEQUENCES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]/g;

export function linesOf(streams: Recorded[]): TextLine[] {
  const lines = streams.flatMap(linesOfOne);
  return lines
    .map((line, place) => ({ line, place }))
    .sort((a, b) => a.line.at - b.line.at || a.place - b.place)
    .map(({ line }) => line);
}

/** Without what a terminal would act on. */
export function readable(text: string): string {
  return visibleLine(text.replace(SEQUENCES, ""));
}

function linesOfOne({ stream, bytes, arrivals }: Recorded): TextLine[] {
  const clock = clockOf(arrivals);
  if (bytes.length <= 2 * KEPT_AT_EACH_END) return cut(stream, bytes, 0, clock);
  const end = bytes.length - KEPT_AT_EACH_END;
  const left: TextLine = {
    at: clock(KEPT_AT_EACH_END),
    stream: "",
    text: `… ${end - KEPT_AT_EACH_END} bytes of ${stream} are not shown here …`,
  };
  return [
    ...cut(stream, bytes.subarray(0, KEPT_AT_EACH_END), 0, clock),
    left,
    ...cut(stream, bytes.subarray(end), end, clock),
  ];
}

function cut(stream: Stream, bytes: Uint8Array, offset: number, clock: (offset: number) => number): TextLine[] {
  const lines: TextLine[] = [];
  const decoder = new TextDecoder();
  let start = 0;
  for (let at = 0; at <= bytes.length; at++) {
    const isEnd = at === bytes.length;
    // A return alone begins a line anew: what it overwrites is shown, too.
    const isBreak = bytes[at] === 10 || (bytes[at] === 13 && bytes[at + 1] !== 10 && bytes[at + 1] !== 13);
    if (!isEnd && !isBreak) continue;
    if (!isEnd || at > start)
      lines.push({
        at: clock(offset + start),
        stream,
        text: decoder.decode(bytes.subarray(start, at)).replace(/\r+$/, ""),
      });
    start = at + 1;
  }
  return lines;
}

/** When the byte at an offset came. Offsets are asked for in rising order. */
function clockOf(arrivals: Arrivals | null): (offset: number) => number {
  if (!arrivals?.at.length) return () => 0;
  const { at, lengths } = arrivals;
  let record = 0;
  let end = lengths[0]!;
  return (offset) => {
    while (record < at.length - 1 && offset >= end) {
      record += 1;
      end += lengths[record]!;
    }
    return at[record]!;
  };
}
