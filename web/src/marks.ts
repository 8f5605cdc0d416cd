// Which rows of the kernel table are worth a mark: files that were changed and connections. Pure.
import { isUnderWay, resultWord } from "./errno";
import type { KernelEvents } from "./kernel";
import { CHANGING, O_ACCMODE, O_CREAT, O_PATH, O_TRUNC } from "./made/linux";

const CONNECTING = new Set(["connect", "bind", "listen", "accept", "send"]);
const OPENING = new Set(["open", "open_handle"]);
// What is written there is kept nowhere.
const NO_FILE = /^\/(dev\/(?!shm\/)|proc\/|memfd:)|^(pipe|socket|anon_inode):/;
// In these programs of the run tell the recorder something: that is no change of the command's.
const OWN_LOG = /\/(\.?steno-intake-[^/]+|spool\/intake)\/(hooks|sdk|policy\.([0-9]+-[0-9]+|PID))\.ndjson$/;

/** Whether a path can be a file that a run changes; `is_file` of judge/surface_names.py says the same. */
export function isFile(path: string): boolean {
  return !NO_FILE.test(path) && !OWN_LOG.test(path);
}

export type Category = "process" | "file" | "write" | "net" | "other";

export function categoryOf(events: KernelEvents, row: number): Category {
  const op = events.op[row]!;
  if (changes(events, row)) return "write";
  if (CONNECTING.has(op) || op === "socket" || op === "answer") return "net";
  if (PROCESSES.has(op)) return "process";
  return op === "lost" || op === "io_uring" ? "other" : "file";
}

const PROCESSES = new Set(
  "process fork exec interpreter exit signal ptrace seccomp personality namespace outlived reach".split(" "),
);

export function hasFailed(events: KernelEvents, row: number): boolean {
  const result = events.result[row]!;
  return !Number.isNaN(result) && result !== 0 && !isUnderWay(events.op[row]!, resultWord(result));
}

/** Whether nothing says what became of a connect. */
export function isUnseen(events: KernelEvents, row: number): boolean {
  return events.op[row] === "connect" && isUnderWay("connect", resultWord(events.result[row]!));
}

/** Whether the row changed a file, or opened it to do so. */
export function changes(events: KernelEvents, row: number): boolean {
  const op = events.op[row]!;
  if (CHANGING.has(op)) return !hasFailed(events, row);
  if (!OPENING.has(op) || hasFailed(events, row)) return false;
  const flags = events.arg[row]!;
  if (flags & O_PATH) return false;
  const access = flags & O_ACCMODE;
  return access === 1 || access === 2 || (flags & (O_CREAT | O_TRUNC)) !== 0;
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

export function marksOf(events: KernelEvents): KernelMarks {
  const [writes, net, lost]: [number[], number[], number[]] = [[], [], []];
  for (let row = 0; row < events.length; row++) {
    const op = events.op[row]!;
    if (changes(events, row)) {
      if (isFile(events.name(row))) writes.push(row);
    } else if (CONNECTING.has(op)) net.push(row);
    else if (op === "lost") lost.push(row);
  }
  return {
    every: Float64Array.from(events.at).sort(),
    writes: timed(writes, events),
    net: timed(net, events),
    lost: timed(lost, events),
  };
}

function timed(rows: number[], events: KernelEvents): Marks {
  rows.sort((one, other) => events.at[one]! - events.at[other]! || one - other);
  return { at: Float64Array.from(rows, (row) => events.at[row]!), row: Int32Array.from(rows) };
}
