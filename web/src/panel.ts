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

/** A file that the page has, embedded as base64 of gzip in the element `id`, or that is served at `url`. */
export interface Part {
  path: string;
  /** Null: known when the server has made it. */
  bytes: number | null;
  sha256: string | null;
  /** Its name in the manifest. Without one it is no file of the record: it was concluded from the record. */
  sealed_as?: string;
  /** Bytes before a stream, which are none of it. */
  skip?: number;
  id?: string;
  url?: string;
  /** No file of the record, but some rows of that one, which is too large for the page. Nothing vouches for it. */
  extract_of?: string;
}

export interface LeftOut {
  path: string;
  bytes: number | null;
  why: string;
}

export interface Verdict {
  status: "valid" | "incomplete" | "invalid" | "unverified";
  gaps: string[];
  problems: string[];
}

/** Who concluded from the evidence what the page shows: the Steno that made it. */
export interface Judgement {
  rules: number;
  steno: string;
  /** Of the evidence; null where it is not sealed. */
  root: string | null;
  /** The digests of what was concluded; null where the server makes it when it is asked for. */
  files: Record<string, string | null>;
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
  judgement: Judgement;
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
