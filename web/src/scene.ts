// What the strip and the timeline draw: made once, in two steps. The processes and calls are there at once; the marks of the
// kernel table come when it is read.
import { lanesOf } from "./lanes";
import type { Lanes } from "./lanes";
import type { KernelEvents } from "./kernel";
import type { Call, Exec, Process } from "./made/tables";
import type { RunEvent } from "./model";
import { changes, isConnection, isFile } from "./operations";
import { signal } from "./panel";
import type { App, Signal, Span } from "./panel";
import { timeOf } from "./span";
import { treeOf } from "./tree";
import type { Tree } from "./tree";

export interface Kernel {
  events: KernelEvents;
  marks: KernelMarks;
}

export interface Scene {
  whole: Span;
  /** What the timeline shows of it. */
  view: Signal<Span>;
  tree: Tree;
  execs: Map<number, Exec[]>;
  lanes: Lanes;
  calls: TimedCall[];
  /** Places of `calls`, the worst last: drawn in this order none hides behind a harmless one. */
  callsToDraw: number[];
  /** When bytes came to the terminal. */
  output: Float64Array;
  /** What the kernel table adds; null without one. */
  kernel: Promise<Kernel | null>;
}

export interface TimedCall {
  call: Call;
  span: Span;
}

/** Rows in order of time, with their times. */
export interface Marks {
  at: Float64Array;
  row: Int32Array;
}

export interface KernelMarks {
  every: Float64Array;
  writes: Marks;
  net: Marks;
  lost: Marks;
}

const scenes = new WeakMap<App, Promise<Scene>>();

export function sceneOf(app: App): Promise<Scene> {
  let making = scenes.get(app);
  if (!making) {
    making = make(app);
    scenes.set(app, making);
  }
  return making;
}

async function make(app: App): Promise<Scene> {
  const { model } = app;
  const [events, processes, execs, calls, output] = await Promise.all([
    model.runEvents(),
    model.processes(),
    model.execs(),
    model.calls(),
    outputTimes(app),
  ]);
  const tree = treeOf(processes);
  const timedCalls = timed(calls?.calls ?? []);
  const whole = wholeOf(events, processes, timedCalls.map((one) => one.span), output);
  return {
    whole,
    view: signal(whole),
    tree,
    execs,
    lanes: lanesOf(tree, whole),
    calls: timedCalls,
    callsToDraw: worstLast(timedCalls),
    output,
    kernel: model.kernelEvents().then((events) => events && { events, marks: marksOf(events) }),
  };
}

/** From the command's start to its end, and what else lies before or after: Steno's own work around it is empty time. */
export function wholeOf(events: RunEvent[], processes: Process[], calls: Span[], output: ArrayLike<number>): Span {
  const times = (type: string) => events.filter((one) => one.type === type).map((one) => timeOf(one.mono_ns));
  const last = timeOf(events[events.length - 1]?.mono_ns);
  const isOpen = processes.some((one) => one.ended_ns === null || one.still_running);
  const outputs = output.length ? [output[0]!, output[output.length - 1]!] : [];
  const finished = times("command_finished");
  const starts = [...times("command_started").slice(0, 1), ...outputs, ...calls.map((one) => one.from)];
  const ends = [...(finished.length && !isOpen ? finished : [last]), ...outputs, ...calls.map((one) => one.to)];
  for (const one of processes) {
    starts.push(timeOf(one.started_ns));
    ends.push(timeOf(one.ended_ns ?? one.started_ns));
  }
  const [from, to] = [least(starts), -least(ends.map((at) => -at))];
  return { from, to: Math.max(to, from + 1) };
}

function least(times: number[]): number {
  return times.length ? times.reduce((one, other) => Math.min(one, other)) : 0;
}

/** Which rows are worth a mark: files that were changed, connections, and calls that were lost. */
export function marksOf(events: KernelEvents): KernelMarks {
  const [writes, net, lost]: [number[], number[], number[]] = [[], [], []];
  for (let row = 0; row < events.length; row++) {
    if (changes(events, row)) {
      if (isFile(events.name(row))) writes.push(row);
    } else if (isConnection(events, row)) net.push(row);
    else if (events.op[row] === "lost") lost.push(row);
  }
  return {
    every: Float64Array.from(events.at).sort(),
    writes: inOrder(writes, events),
    net: inOrder(net, events),
    lost: inOrder(lost, events),
  };
}

function inOrder(rows: number[], events: KernelEvents): Marks {
  rows.sort((one, other) => events.at[one]! - events.at[other]! || one - other);
  return { at: Float64Array.from(rows, (row) => events.at[row]!), row: Int32Array.from(rows) };
}

function timed(calls: Call[]): TimedCall[] {
  const found: TimedCall[] = [];
  for (const call of calls) {
    if (call.started_ns === null) continue;
    const from = timeOf(call.started_ns);
    found.push({ call, span: { from, to: Math.max(from, timeOf(call.ended_ns)) } });
  }
  return found.sort((one, other) => one.span.from - other.span.from);
}

function worstLast(calls: TimedCall[]): number[] {
  const weight = (place: number) => ["ambiguous", "denied", "contradicted"].indexOf(calls[place]!.call.verdict);
  return calls.map((_, place) => place).sort((one, other) => weight(one) - weight(other));
}

/** What the terminal showed; where that was not recorded, what was written to stdout and stderr. */
async function outputTimes(app: App): Promise<Float64Array> {
  const arrivals = await app.model.arrivals();
  const shown = arrivals.has("terminal/output") ? ["terminal/output"] : ["terminal/stdout", "terminal/stderr"];
  return Float64Array.from(shown.flatMap((stream) => [...(arrivals.get(stream)?.at ?? [])])).sort();
}
