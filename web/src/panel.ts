// The contract between the page and its panels. A panel is one file that exports a Panel; panels/index.ts lists them.
import type { Check } from "./check";
import type { Model } from "./model";
import type { Source } from "./source";

/** Nanoseconds since the run began, on its monotonic clock. */
export interface Span {
  from: number;
  to: number;
}

export interface Signal<T> {
  get(): T;
  set(value: T): void;
  /** Calls `listener` on every change, not at once. Returns what ends it. */
  subscribe(listener: (value: T) => void): () => void;
}

/** A file of the bundle: embedded as base64 of gzip in the element `id`, or served at `url`. */
export interface Part {
  path: string;
  bytes: number;
  sha256: string | null;
  id?: string;
  url?: string;
  /** No file of the record, but some rows of that one, which is too large for the page. Nothing vouches for it. */
  extract_of?: string;
}

export interface LeftOut {
  path: string;
  bytes: number;
  why: string;
}

export interface Verdict {
  status: "valid" | "incomplete" | "invalid" | "unverified";
  gaps: string[];
  problems: string[];
}

/** What Python wrote into the page. */
export interface Page {
  schema: "steno.page.v1";
  kind: "report" | "run" | "live" | "list" | "compare";
  steno: string;
  run_id: string | null;
  state: string;
  verdict: Verdict | null;
  // What `steno show --json` says; hostile, so each use looks before it trusts.
  summary: Record<string, unknown> | null;
  parts: Part[];
  left_out: LeftOut[];
}

export interface App {
  page: Page;
  source: Source;
  model: Model;
  /** The selected time window; null: the whole run. */
  window: Signal<Span | null>;
  /** The point in time that is looked at, which the player and the timeline share. */
  now: Signal<number | null>;
  /** What the browser found when it computed the digests again. */
  checked: Promise<Check>;
  /** Goes to a panel, for instance open("files", "/path") or open("terminal", "@12.5") (seconds). */
  open(panel: string, target?: string): void;
}

export interface Panel {
  id: string;
  title: string;
  /** How many things there are to look at, for the tab; null: the record has none of this kind. */
  count(app: App): Promise<number | null>;
  /** What is counted, after the number: the title of the tab. */
  counted: string;
  /** Draws itself once, when it is first looked at. What it returns is called when the page goes. A panel without anything to show says why. */
  mount(host: HTMLElement, app: App): Promise<void | (() => void)>;
  /** Called at every open() of this panel, after mount, on the same host, with its target ("" without one). */
  show?(host: HTMLElement, app: App, target: string): void;
}

export function signal<T>(first: T): Signal<T> {
  let value = first;
  const listeners = new Set<(value: T) => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(next);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
