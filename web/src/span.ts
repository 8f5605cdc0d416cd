// Times and windows, in nanoseconds since the run began. Pure.
import type { Span } from "./panel";

/** Nothing happens faster than this that anybody could tell apart. */
export const LEAST_SPAN = 1_000;

/** A time of a record; 0 where it is none. A record is hostile, and what is not a number breaks every comparison. */
export function timeOf(value: unknown): number {
  const time = Number(value ?? 0);
  return Number.isFinite(time) ? Math.max(time, 0) : 0;
}

export function lengthOf(span: Span): number {
  return span.to - span.from;
}

/** The span between two points, in whichever order they come. */
export function between(one: number, other: number): Span {
  return { from: Math.min(one, other), to: Math.max(one, other) };
}

export function contains(span: Span | null, at: number): boolean {
  return span === null || (at >= span.from && at <= span.to);
}

export function overlaps(span: Span | null, from: number, to: number): boolean {
  return span === null || (from <= span.to && to >= span.from);
}

/** The span moved into the whole, and not longer than it. */
export function within(span: Span, whole: Span): Span {
  const length = Math.min(Math.max(lengthOf(span), LEAST_SPAN), lengthOf(whole));
  const from = Math.min(Math.max(span.from, whole.from), whole.to - length);
  return { from, to: from + length };
}

/** The part of the span that is in the whole, not longer and not moved. */
export function cut(span: Span, whole: Span): Span {
  const inside = (at: number) => Math.min(Math.max(at, whole.from), whole.to);
  return { from: inside(span.from), to: inside(span.to) };
}

/** Seen nearer (factor below 1) or from farther away; what is at `at` stays where it is. */
export function zoomed(view: Span, at: number, factor: number, whole: Span): Span {
  const length = Math.max(lengthOf(view) * factor, LEAST_SPAN);
  const share = lengthOf(view) > 0 ? (at - view.from) / lengthOf(view) : 0.5;
  const from = at - share * length;
  return within({ from, to: from + length }, whole);
}

export function panned(view: Span, by: number, whole: Span): Span {
  return within({ from: view.from + by, to: view.to + by }, whole);
}

/** The span and some room at both sides. */
export function around(span: Span, whole: Span, share = 0.1): Span {
  const room = Math.max(lengthOf(span), LEAST_SPAN) * share;
  return within(cut({ from: span.from - room, to: span.to + room }, whole), whole);
}

export interface Tick {
  at: number;
  label: string;
}

/** Round times in the view, at most `most` of them. */
export function ticks(view: Span, most: number): Tick[] {
  const step = stepFor(lengthOf(view) / Math.max(most, 1));
  const made: Tick[] = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to && made.length <= most; at += step)
    made.push({ at, label: clock(at, step) });
  return made;
}

const MINUTE = 60e9;

function stepFor(least: number): number {
  if (least > MINUTE / 2) {
    const minutes = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440];
    const fits = minutes.find((one) => one * MINUTE >= least);
    return (fits ?? Math.ceil(least / (1440 * MINUTE)) * 1440) * MINUTE;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return power * ([1, 2, 5, 10].find((one) => one * power >= least) ?? 10);
}

/** A point in time as m:ss or seconds, so exact as steps of `step` need it. */
export function clock(at: number, step = 1e6): string {
  const digits = Math.min(Math.max(Math.ceil(-Math.log10(step / 1e9) - 1e-9), 0), 9);
  const seconds = at / 1e9;
  if (seconds < 60) return `${seconds.toFixed(digits)}s`;
  const whole = Math.floor(seconds);
  const fraction = digits ? (seconds - whole).toFixed(digits).slice(1) : "";
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}${fraction}`;
}

/** How long something took, from nanoseconds to hours, in three digits. */
export function lasting(nanoseconds: number): string {
  if (nanoseconds < 1e3) return `${Math.round(nanoseconds)}ns`;
  if (nanoseconds < 1e6) return `${(nanoseconds / 1e3).toPrecision(3)}µs`;
  if (nanoseconds < 1e9) return `${(nanoseconds / 1e6).toPrecision(3)}ms`;
  if (nanoseconds < 60e9) return `${(nanoseconds / 1e9).toPrecision(3)}s`;
  return clock(nanoseconds, 1e9);
}

/** The first place in sorted times that is not before `at`. */
export function placeOf(times: ArrayLike<number>, at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
