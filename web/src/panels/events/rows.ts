// The rows of the events table: the kernel's and the run's own, in order of time, and which of them fit a filter. Pure.
import type { KernelEvents } from "../../kernel";
import type { RunEvent } from "../../model";
import { categoryOf, hasFailed, resultWord } from "../../operations";
import type { Span } from "../../panel";
import { placeOf, timeOf } from "../../span";

export class Events {
  /** Places of the kernel table; a run event is -1 minus its place. */
  readonly order: Int32Array;
  readonly at: Float64Array;
  private readonly ops: Set<string>;
  private readonly calls: Set<string | null>;

  constructor(
    readonly kernel: KernelEvents | null,
    readonly run: RunEvent[],
    readonly programs: Map<number, string>,
  ) {
    this.ops = new Set(kernel?.op);
    this.calls = new Set(kernel?.call);
    const kernelOrder = sorted(kernel?.at ?? new Float64Array());
    this.order = new Int32Array(kernelOrder.length + run.length);
    this.at = new Float64Array(this.order.length);
    let next = 0;
    for (let place = 0, row = 0; place < this.order.length; place++) {
      const own = run[next];
      const seen = row < kernelOrder.length ? kernel!.at[kernelOrder[row]!]! : Infinity;
      if (own && timeOf(own.mono_ns) <= seen) {
        this.at[place] = timeOf(own.mono_ns);
        this.order[place] = -1 - next++;
      } else {
        this.at[place] = seen;
        this.order[place] = kernelOrder[row++]!;
      }
    }
  }

  /** The rows that fit, as places of `order`. */
  matching(text: string, window: Span | null): Int32Array {
    const terms = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => this.term(word));
    const first = window ? placeOf(this.at, window.from) : 0;
    const last = window ? placeOf(this.at, window.to + 1) : this.at.length;
    const found = new Int32Array(last - first);
    let count = 0;
    for (let place = first; place < last; place++) {
      const id = this.order[place]!;
      if (terms.every((fits) => fits(id))) found[count++] = place;
    }
    return found.slice(0, count);
  }

  private term(word: string): (id: number) => boolean {
    if (word.startsWith("-") && word.length > 1) {
      const fits = this.term(word.slice(1));
      return (id) => !fits(id);
    }
    const [, key, value] = /^(op|process|program|result|kind|row):(.*)$/.exec(word) ?? [];
    return key && value !== undefined ? this.field(key, value) : this.anywhere(word);
  }

  private field(key: string, value: string): (id: number) => boolean {
    const { kernel, run } = this;
    const ofKernel = (fits: (row: number) => boolean) => (id: number) => id >= 0 && fits(id);
    switch (key) {
      case "op":
        return (id) => (id >= 0 ? kernel!.op[id]! : run[-1 - id]!.type).toLowerCase() === value;
      case "process":
        return ofKernel((row) => kernel!.process[row] === Number(value));
      case "program":
        return ofKernel((row) => (this.programs.get(kernel!.process[row]!) ?? "").toLowerCase() === value);
      case "kind":
        return (id) => (id < 0 ? "run" : categoryOf(kernel!, id)) === value;
      case "row":
        return ofKernel((row) => row === Number(value));
      default:
        return ofKernel((row) => {
          const result = kernel!.result[row]!;
          return value === "failed" ? hasFailed(kernel!, row) : resultWord(result).toLowerCase() === value;
        });
    }
  }

  private anywhere(word: string): (id: number) => boolean {
    const named = this.kernel?.named((name) => name.toLowerCase().includes(word));
    const ops = new Set([...this.ops].filter((op) => op.includes(word)));
    const calls = new Set([...this.calls].filter((call) => call?.includes(word)));
    const texts = this.run.map((event) => JSON.stringify(event).toLowerCase());
    return (id) =>
      id < 0
        ? texts[-1 - id]!.includes(word)
        : named![id] === 1 || ops.has(this.kernel!.op[id]!) || calls.has(this.kernel!.call[id]!);
  }
}

function sorted(at: Float64Array): Int32Array {
  const order = Int32Array.from(at, (_, row) => row);
  for (let row = 1; row < at.length; row++)
    if (at[row]! < at[row - 1]!) return order.sort((one, other) => at[one]! - at[other]! || one - other);
  return order;
}
