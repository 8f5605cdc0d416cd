// What the files of a page say, typed, read when it is first asked for and kept: the evidence, and what was concluded from
// it. The names are those of docs/spec.md, docs/judgement.md and, of tables, docs/model.md. All of it is hostile: these types are what should be there.
import { readArrivals } from "./arrivals";
import type { Arrivals } from "./arrivals";
import { readKernelEvents } from "./kernel";
import type { KernelEvents } from "./kernel";
import * as layout from "./layout";
import { TABLES } from "./made/tables";
import type { Call, Check, Claim, Connection, DirectoryRename, Effects, Exec, File, Process, Tables, Unaddressed } from "./made/tables";
import { shapes } from "./shapes";
import { SourceError } from "./source";
import type { Source } from "./source";
import { timeOf } from "./span";
import { push, rowsOf } from "./tables";

export interface RunEvent {
  seq: number;
  ts_ms: number;
  mono_ns: number;
  type: string;
  data: Record<string, unknown>;
}

/** The tool calls of a run, each with what is told of it in other tables. */
export interface Calls {
  calls: Call[];
  claims: Claim[];
  /** By the number of the call. */
  checksOf: Map<number, Check[]>;
  /** By the number of the claim. */
  checksOfClaim: Map<number, Check[]>;
  seenOf: Map<number, Effects>;
  /** In the window of no call; null without a kernel layer. */
  outside: Effects | null;
  byServers: Effects[];
  shared: Effects[];
}

export interface Blob {
  content: Uint8Array;
  /** "" or the name of the cipher: then the content is readable only where it was recorded. */
  cipher: string;
}

export class Model {
  private readonly kept = new Map<string, Promise<unknown>>();

  constructor(private readonly source: Source) {}

  /** run.json, as spec §6.1 has it; null where the page has none. */
  run(): Promise<Record<string, any> | null> {
    return this.json(layout.RUN, shapes.record);
  }

  health(): Promise<Record<string, any> | null> {
    return this.json(layout.HEALTH, shapes.health);
  }

  redactions(): Promise<Record<string, any> | null> {
    return this.json(layout.REDACTION_REPORT, shapes.record);
  }

  surface(): Promise<Record<string, any> | null> {
    return this.json(layout.SURFACE, shapes.record);
  }

  correlation(): Promise<Record<string, any> | null> {
    return this.json(layout.CORRELATION, shapes.record);
  }

  manifest(): Promise<Record<string, any> | null> {
    return this.json(layout.MANIFEST, shapes.record);
  }

  calls(): Promise<Calls | null> {
    return this.once("calls", async () => {
      const calls = await this.table("calls");
      if (!calls) return null;
      const [claims, checks, effects] = await Promise.all([this.table("claims"), this.table("checks"), this.table("effects")]);
      return callsOf(calls, claims ?? [], checks ?? [], effects ?? []);
    });
  }

  files(): Promise<File[] | null> {
    return this.table("files");
  }

  async directoryRenames(): Promise<DirectoryRename[]> {
    return (await this.table("directory_renames")) ?? [];
  }

  connections(): Promise<Connection[] | null> {
    return this.table("connections");
  }

  async unaddressed(): Promise<Unaddressed[]> {
    return (await this.table("unaddressed")) ?? [];
  }

  async processes(): Promise<Process[]> {
    return (await this.table("processes")) ?? [];
  }

  /** The programs that each process became, or tried to become, by its number. */
  execs(): Promise<Map<number, Exec[]>> {
    return this.once("execs by process", async () => {
      const found = new Map<number, Exec[]>();
      for (const one of (await this.table("execs")) ?? []) push(found, one.process, one);
      return found;
    });
  }

  runEvents(): Promise<RunEvent[]> {
    return this.lines(layout.EVENTS);
  }

  /** Every observed call, in columns; null without a kernel layer. */
  kernelEvents(): Promise<KernelEvents | null> {
    return this.once("kernel", async () =>
      this.source.has(layout.KERNEL_TABLE) ? readKernelEvents(this.source, layout.KERNEL_TABLE) : null,
    );
  }

  /** Which bytes of the streams came when, by the paths of the streams; one that has no index is not in it. */
  arrivals(): Promise<Map<string, Arrivals>> {
    return this.once("arrivals", () => readArrivals(this.source));
  }

  /** How long the run was, in nanoseconds: the time of its last event. */
  async duration(): Promise<number> {
    const events = await this.runEvents();
    return Math.max(1, timeOf(events[events.length - 1]?.mono_ns));
  }

  /** The content of a file before or after, by the key that `files` gives; null where none is here. */
  async blob(key: string): Promise<Blob | null> {
    const path = this.source.tableOf(layout.BLOBS);
    const found = (await this.blobIndex()).get(key);
    if (!path || !found) return null;
    return { content: (await this.source.cell(path, "content", found.row)) as Uint8Array, cipher: found.cipher };
  }

  /** How a content is encrypted: "" where it is not; null where none is here. Does not read the content. */
  async cipher(key: string): Promise<string | null> {
    return (await this.blobIndex()).get(key)?.cipher ?? null;
  }

  private blobIndex(): Promise<Map<string, { row: number; cipher: string }>> {
    return this.once("blob index", async () => {
      const index = new Map<string, { row: number; cipher: string }>();
      const path = this.source.tableOf(layout.BLOBS);
      if (!path) return index;
      const keys = await this.source.column(path, "key");
      const ciphers = await this.source.column(path, "cipher");
      for (let row = 0; row < keys.length; row++)
        index.set(String(keys[row]), { row, cipher: String(ciphers[row] ?? "") });
      return index;
    });
  }

  private json<T>(path: string, fits: (value: any) => boolean): Promise<T | null> {
    return this.once(path, async () => {
      if (!this.source.has(path)) return null;
      const value = await this.source.json<T>(path);
      if (!fits(value)) throw new SourceError(path, "it does not hold what a record has there");
      return value;
    });
  }

  private table<N extends keyof Tables>(name: N): Promise<Tables[N][] | null> {
    const path = layout.tablePath(name);
    return this.once(path, async () => {
      if (!this.source.has(path)) return null;
      const rows = rowsOf<Tables[N]>(await this.source.json(path), TABLES[name]);
      if (!rows) throw new SourceError(path, "it does not hold what a record has there");
      return rows;
    });
  }

  private lines<T>(path: string): Promise<T[]> {
    return this.once(path, async () => (this.source.has(path) ? this.source.lines<T>(path) : []));
  }

  private once<T>(key: string, make: () => Promise<T>): Promise<T> {
    let making = this.kept.get(key) as Promise<T> | undefined;
    if (!making) {
      making = make();
      this.kept.set(key, making);
    }
    return making;
  }
}

function callsOf(calls: Call[], claims: Claim[], checks: Check[], effects: Effects[]): Calls {
  const found: Calls = {
    calls,
    claims,
    checksOf: new Map(),
    checksOfClaim: new Map(),
    seenOf: new Map(),
    outside: null,
    byServers: [],
    shared: [],
  };
  for (const one of checks) {
    if (one.call !== null) push(found.checksOf, one.call, one);
    else if (one.claim !== null) push(found.checksOfClaim, one.claim, one);
  }
  for (const one of effects) {
    if (one.call !== null) found.seenOf.set(one.call, one);
    else if (one.candidates.length) found.shared.push(one);
    else if (one.server !== null) found.byServers.push(one);
    else found.outside = one;
  }
  return found;
}
