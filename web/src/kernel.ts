// The kernel table as columns: 100,000 rows are a dozen arrays, not 100,000 objects.
import type { Source } from "./source";

/** The columns that are searched and drawn; the others are read for one row when somebody looks at it. */
export interface KernelEvents {
  length: number;
  at: Float64Array;
  process: Int32Array;
  op: string[];
  call: (string | null)[];
  /** 0: done; below 0: an error number; 32766: failed, and why is not known; NaN: nothing settles it. */
  result: Float64Array;
  arg: Float64Array;
  /** What was asked for, what that was found to be, and the second name. */
  path(row: number): string | null;
  resolved(row: number): string | null;
  extra(row: number): string | null;
  /** The name by which a row is known: what it was found to be, else what was asked for. */
  name(row: number): string;
  /** Every row whose name or second name fits, in one pass over the different names. */
  named(fits: (name: string) => boolean): Uint8Array;
}

export async function readKernelEvents(source: Source, path: string): Promise<KernelEvents> {
  const column = async (name: string) => {
    await breath();
    return source.column(path, name);
  };
  const at = numbers(await column("mono_ns"));
  const process = integers(await column("process"));
  const op = words(await column("op")) as string[];
  const call = words(await column("call"));
  const result = numbers(await column("result"));
  const arg = numbers(await column("arg"));
  const requested = new Names(await column("path"));
  const resolved = new Names(await column("resolved"));
  const extra = new Names(await column("extra"));
  return {
    length: at.length,
    at,
    process,
    op,
    call,
    result,
    arg,
    path: (row) => requested.text(row),
    resolved: (row) => resolved.text(row),
    extra: (row) => extra.text(row),
    name: (row) => resolved.text(row) ?? requested.text(row) ?? "",
    named(fits) {
      const found = new Uint8Array(at.length);
      for (const names of [requested, resolved, extra]) names.mark(fits, found);
      return found;
    },
  };
}

/** Lets the browser answer the user between two columns. */
export function breath(): Promise<void> {
  return new Promise((done) => setTimeout(done));
}

function numbers(values: ArrayLike<unknown>): Float64Array {
  const made = new Float64Array(values.length);
  for (let row = 0; row < made.length; row++) {
    const value = values[row];
    made[row] = value === null || value === undefined ? NaN : Number(value);
  }
  return made;
}

function integers(values: ArrayLike<unknown>): Int32Array {
  return values instanceof Int32Array ? values : Int32Array.from(numbers(values));
}

/** hyparquet gives text as text; with many repetitions as the same text. */
function words(values: ArrayLike<unknown>): (string | null)[] {
  return Array.isArray(values) ? values : Array.from(values as ArrayLike<string | null>);
}

/** A column of binary names, each different one once. They become text when they are first looked at. */
class Names {
  private readonly different: unknown[] = [];
  private readonly texts: (string | undefined)[] = [];
  private readonly which: Int32Array;

  constructor(values: ArrayLike<unknown>) {
    const known = new Map<unknown, number>();
    this.which = new Int32Array(values.length);
    for (let row = 0; row < values.length; row++) {
      const value = values[row];
      let place = value === null || value === undefined ? -1 : known.get(value);
      if (place === undefined) {
        place = this.different.push(value) - 1;
        known.set(value, place);
      }
      this.which[row] = place;
    }
  }

  text(row: number): string | null {
    const place = this.which[row]!;
    return place < 0 ? null : this.at(place);
  }

  /** Puts a 1 at every row whose name fits. */
  mark(fits: (name: string) => boolean, found: Uint8Array): void {
    const fit = Uint8Array.from(this.different, (_, place) => (fits(this.at(place)) ? 1 : 0));
    for (let row = 0; row < found.length; row++) if (fit[this.which[row]!]) found[row] = 1;
  }

  private at(place: number): string {
    const value = this.different[place];
    return (this.texts[place] ??= value instanceof Uint8Array ? fromBytes(value) : String(value));
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** As spec §3 has it: a byte that is not UTF-8 is \\xNN. */
export function fromBytes(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return byteByByte(bytes);
  }
}

function byteByByte(bytes: Uint8Array): string {
  let text = "";
  let place = 0;
  while (place < bytes.length) {
    const first = bytes[place]!;
    const length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    try {
      text += strict.decode(bytes.subarray(place, place + length));
      place += length;
    } catch {
      text += `\\x${first.toString(16).padStart(2, "0")}`;
      place += 1;
    }
  }
  return text;
}
