// session.cast as events in time.
// In: asciicast v3. Out: sizes and events with their time since the run began, in seconds. Sizes are bounded, since whoever
// made the bundle chose them; a line that is no event is left out and counted.
export interface Cast {
  cols: number;
  rows: number;
  events: CastEvent[];
  /** When the last event was. */
  length: number;
  unread: number;
}

export type CastEvent = [at: number, code: "o" | "i" | "r", data: string];

const MOST_COLUMNS = 500;
const MOST_ROWS = 200;

export function parseCast(text: string): Cast {
  const lines = text.split("\n");
  const header = (json(lines[0] ?? "") ?? {}) as { term?: { cols?: unknown; rows?: unknown } };
  const cast: Cast = {
    cols: within(header.term?.cols, MOST_COLUMNS, 80),
    rows: within(header.term?.rows, MOST_ROWS, 24),
    events: [],
    length: 0,
    unread: 0,
  };
  for (const line of lines.slice(1)) {
    if (line === "" || line.startsWith("#")) continue;
    const event = json(line);
    if (Array.isArray(event) && Number(event[0]) >= 0 && typeof event[1] === "string") take(cast, event);
    else cast.unread += 1;
  }
  return cast;
}

function take(cast: Cast, [interval, code, data]: unknown[]): void {
  cast.length += Number(interval);
  if (code === "o" || code === "i") cast.events.push([cast.length, code, String(data)]);
  if (code !== "r") return;
  const [cols, rows] = String(data).split("x");
  cast.events.push([cast.length, "r", `${within(cols, MOST_COLUMNS, 80)}x${within(rows, MOST_ROWS, 24)}`]);
}

function within(value: unknown, most: number, otherwise: number): number {
  const found = Math.floor(Number(value));
  return found >= 1 ? Math.min(found, most) : otherwise;
}

function json(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return null;
  }
}
