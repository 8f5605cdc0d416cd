// The things on the timeline: what each is in words, when it was, and where a click on it leads.
import { hasFailed as rowFailed, isUnseen, resultWord } from "../../operations";
import type { App, Span } from "../../panel";
import type { Kernel, Scene } from "../../scene";
import { clock, lasting, lengthOf } from "../../span";
import { endingOf, hasEnded, hasFailed, isOpen } from "../../tree";
import { counted, visible } from "../../words";

export type Item =
  | { kind: "process"; number: number }
  | { kind: "call"; place: number }
  | { kind: "write" | "net" | "lost"; row: number }
  | { kind: "output"; at: number };

export interface Told {
  title: string;
  lines: string[];
  /** What is wrong with it, if anything: the colour of its words. */
  role: "" | "bad" | "warn";
}

const MOST_CHARACTERS = 240;

export function same(one: Item | null, other: Item | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function spanOf(item: Item, scene: Scene, kernel: Kernel | null): Span {
  if (item.kind === "process") return scene.lanes.spanOf.get(item.number)!;
  if (item.kind === "call") return scene.calls[item.place]!.span;
  const at = item.kind === "output" ? item.at : (kernel?.events.at[item.row] ?? 0);
  return { from: at, to: at };
}

export function tell(item: Item, scene: Scene, kernel: Kernel | null): Told {
  if (item.kind === "process") return process(item.number, scene);
  if (item.kind === "call") return call(item.place, scene);
  if (item.kind === "output") return { title: "Output to the terminal", lines: [`at ${clock(item.at)}`], role: "" };
  return event(item.kind, item.row, scene, kernel!);
}

function process(number: number, scene: Scene): Told {
  const one = scene.tree.known.get(number)!;
  const span = scene.lanes.spanOf.get(number)!;
  const ended = one.still_running
    ? "still alive when the recording ended"
    : !hasEnded(one)
      ? "its end was not seen"
      : `${one.signal === null ? "exit" : "ended by"} ${visible(endingOf(one))}`;
  return {
    title: short(one.title),
    lines: [
      `${ended} · ${one.ended_ns === null ? "from" : lasting(lengthOf(span)) + " from"} ${clock(span.from)}`,
      `pid ${one.pid} · ${counted(one.n_events, "event")}`,
    ],
    role: hasFailed(one) ? "bad" : isOpen(one) ? "warn" : "",
  };
}

function call(place: number, scene: Scene): Told {
  const { call, span } = scene.calls[place]!;
  const decision = call.decision === null ? "" : `${call.decision} by policy · `;
  return {
    title: short(`${call.server ? `${call.server}.` : ""}${call.tool}`),
    lines: [
      `${visible(decision)}${visible(call.verdict)} · ${lasting(lengthOf(span))} from ${clock(span.from)}`,
      call.n_events === null ? "nothing was seen of it" : `${counted(call.n_events, "event")} seen`,
    ],
    role: call.verdict === "contradicted" ? "bad" : /denied|ambiguous/.test(call.verdict) ? "warn" : "",
  };
}

function event(kind: "write" | "net" | "lost", row: number, scene: Scene, { events }: Kernel): Told {
  const number = events.process[row]!;
  if (kind === "lost")
    return { title: counted(events.arg[row]!, "lost event"), lines: [`at ${clock(events.at[row]!)}`], role: "bad" };
  const failed = rowFailed(events, row);
  const became = failed ? `failed: ${resultWord(events.result[row]!)} · ` : isUnseen(events, row) ? "outcome not seen · " : "";
  return {
    title: `${visible(events.op[row]!)} ${short(events.name(row))}`,
    lines: [
      `${became}at ${clock(events.at[row]!)}`,
      `by ${short(scene.tree.programs.get(number) ?? "?")} (${number})`,
    ],
    role: failed ? "warn" : "",
  };
}

export function go(item: Item, app: App, scene: Scene, kernel: Kernel | null): void {
  if (item.kind === "process") app.open("processes", String(item.number));
  else if (item.kind === "call") app.open("calls", scene.calls[item.place]!.call.tool_call_id);
  else if (item.kind === "output") app.open("terminal", `@${(item.at / 1e9).toFixed(3)}`);
  else if (item.kind === "write" && kernel) app.open("files", kernel.events.name(item.row));
  else if (item.kind === "net" && kernel) app.open("network", kernel.events.name(item.row));
  else app.open("events", `row:${(item as { row: number }).row}`);
}

/** Calls, processes and connections in order of time; with `writes`, every change of a file as well. */
export function inOrder(scene: Scene, kernel: Kernel | null, writes: boolean): { items: Item[]; at: Float64Array } {
  const timed: { at: number; item: Item }[] = scene.calls.map(({ span }, place) => ({
    at: span.from,
    item: { kind: "call", place },
  }));
  for (const number of scene.tree.order)
    timed.push({ at: scene.lanes.spanOf.get(number)!.from, item: { kind: "process", number } });
  const add = (kind: "write" | "net" | "lost", marks: { at: Float64Array; row: Int32Array }) => {
    for (let place = 0; place < marks.row.length; place++)
      timed.push({ at: marks.at[place]!, item: { kind, row: marks.row[place]! } });
  };
  if (kernel) {
    add("net", kernel.marks.net);
    add("lost", kernel.marks.lost);
    if (writes) add("write", kernel.marks.writes);
  }
  timed.sort((one, other) => one.at - other.at);
  return { items: timed.map((one) => one.item), at: Float64Array.from(timed, (one) => one.at) };
}

function short(text: string): string {
  const seen = visible(text.slice(0, MOST_CHARACTERS));
  return text.length > MOST_CHARACTERS ? `${seen}…` : seen;
}
