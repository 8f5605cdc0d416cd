// The files of the bundle, as bytes, text, JSON or columns. They are in the page (base64 of gzip) or behind an address of
// `steno serve`. Nothing is read before somebody asks; what was read once is kept, unless it is large.
import { decompress } from "fzstd";
import { parquetMetadataAsync, parquetRead } from "hyparquet";
import type { FileMetaData } from "hyparquet";
import type { Page, Part } from "./panel";

const KEPT_BYTES = 16 * 1024 * 1024;
/** Decoded pieces of tables that are kept, so that whoever looks at one file after the other does not wait each time. */
const KEPT_PIECES = 64 * 1024 * 1024;
const UNREADABLE = {
  embedded: "what the page holds of it cannot be unpacked: it was changed or cut",
  served: "the server does not give it",
};
const compressors = {
  ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)),
};

/** A file of the record that cannot be read. Its message names the file. */
export class SourceError extends Error {
  constructor(
    readonly path: string,
    what: string,
  ) {
    super(`${path}: ${what}`);
  }
}

export class Source {
  private readonly parts: Map<string, Part>;
  private readonly leftOut: Map<string, string>;
  private readonly kept = new Map<string, Promise<Uint8Array>>();
  private readonly tables = new Map<string, Promise<Table>>();
  private readonly pieces = new Pieces();

  constructor(page: Page) {
    this.parts = new Map(page.parts.map((part) => [part.path, part]));
    this.leftOut = new Map(page.left_out.map((file) => [file.path, file.why]));
  }

  /** What is here, but for what was taken from a table that is too large. */
  present(): Part[] {
    return [...this.parts.values()].filter((part) => part.extract_of === undefined);
  }

  part(path: string): Part | null {
    return this.parts.get(path) ?? null;
  }

  /** Where the rows of a table are: itself, or what was taken from it because it is too large; null: nowhere. */
  tableOf(path: string): string | null {
    if (this.parts.has(path)) return path;
    return [...this.parts.values()].find((part) => part.extract_of === path)?.path ?? null;
  }

  /** Whether it comes from the server, and not with the page. */
  isServed(path: string): boolean {
    return this.parts.get(path)?.url !== undefined;
  }

  has(path: string): boolean {
    return this.parts.has(path);
  }

  /** Null: it is not here, or the server makes it when it is asked for. */
  size(path: string): number | null {
    const part = this.parts.get(path);
    return part && part.bytes !== null ? part.bytes - (part.skip ?? 0) : null;
  }

  /** Why a file that the record may have is not in this page. */
  whyNot(path: string): string {
    const why = this.leftOut.get(path);
    return why === undefined ? "the record has no such file" : `it is not in this page: ${why}`;
  }

  async bytes(path: string): Promise<Uint8Array> {
    const found = await this.whole(path);
    return found.subarray(this.parts.get(path)?.skip ?? 0);
  }

  /** With what stands before a stream in the file of the record, and is none of it. */
  whole(path: string): Promise<Uint8Array> {
    const known = this.kept.get(path);
    if (known) return known;
    const part = this.parts.get(path);
    if (!part) return Promise.reject(new SourceError(path, this.whyNot(path)));
    const loading = load(part).catch((error: unknown) => {
      throw error instanceof SourceError ? error : new SourceError(path, UNREADABLE[part.url === undefined ? "embedded" : "served"]);
    });
    this.kept.set(path, loading);
    void loading.then((bytes) => bytes.length > KEPT_BYTES && this.kept.delete(path)).catch(() => {});
    return loading;
  }

  async text(path: string): Promise<string> {
    return new TextDecoder().decode(await this.bytes(path));
  }

  async json<T>(path: string): Promise<T> {
    const text = await this.text(path);
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new SourceError(path, `not JSON (${reasonOf(error)})`);
    }
  }

  /** The values of an .ndjson file. */
  async lines<T>(path: string): Promise<T[]> {
    const text = await this.text(path);
    const found: T[] = [];
    let number = 0;
    for (const line of text.split("\n")) {
      number += 1;
      if (line === "") continue;
      try {
        found.push(JSON.parse(line) as T);
      } catch (error) {
        throw new SourceError(path, `line ${number} is not JSON (${reasonOf(error)})`);
      }
    }
    return found;
  }

  /** How many rows a table has. */
  async rowCount(path: string): Promise<number> {
    return Number((await this.table(path)).metadata.num_rows);
  }

  /** One column of a table: strings where the column is text, Uint8Array where it is binary, bigint for 64 bits. */
  async column(path: string, name: string): Promise<ArrayLike<unknown>> {
    const { metadata } = await this.table(path);
    return this.read(path, name, 0, Number(metadata.num_rows));
  }

  /** One value of a table. A group of rows has to be unpacked for it; that one is kept for the next. */
  async cell(path: string, name: string, row: number): Promise<unknown> {
    const { metadata } = await this.table(path);
    const group = groupOf(metadata, name, row);
    if (!group) return undefined;
    const reading = this.pieces.get(`${path} ${name} ${group.from}`, group.bytes, () =>
      this.read(path, name, group.from, group.to),
    );
    return (await reading)[row - group.from];
  }

  private async read(path: string, name: string, start: number, end: number): Promise<ArrayLike<unknown>> {
    const table = await this.table(path);
    const chunks: { from: number; data: ArrayLike<unknown> }[] = [];
    try {
      await parquetRead({
        file: table.file,
        metadata: table.metadata,
        columns: [name],
        rowStart: start,
        rowEnd: end,
        utf8: false,
        compressors,
        onChunk: (chunk) => chunks.push({ from: chunk.rowStart, data: chunk.columnData }),
      });
    } catch (error) {
      throw new SourceError(path, `column ${name} cannot be read (${reasonOf(error)})`);
    }
    return joined(chunks, start, end);
  }

  async columns(path: string): Promise<string[]> {
    return (await this.table(path)).metadata.schema.slice(1).map((field) => field.name);
  }

  private table(path: string): Promise<Table> {
    let opening = this.tables.get(path);
    if (!opening) {
      opening = this.bytes(path).then((bytes) => opened(path, bytes));
      this.tables.set(path, opening);
    }
    return opening;
  }
}

interface Group {
  from: number;
  to: number;
  bytes: number;
}

/** The group of rows that has a row, and how large the column is in it. */
function groupOf(metadata: FileMetaData, name: string, row: number): Group | null {
  let from = 0;
  for (const group of metadata.row_groups) {
    const to = from + Number(group.num_rows);
    if (row >= from && row < to) {
      const column = group.columns.find((one) => one.meta_data?.path_in_schema.join(".") === name);
      return { from, to, bytes: Number(column?.meta_data?.total_uncompressed_size ?? 0) };
    }
    from = to;
  }
  return null;
}

/** What was decoded last; the oldest goes when there is too much. */
export class Pieces {
  private readonly kept = new Map<string, { bytes: number; data: Promise<ArrayLike<unknown>> }>();

  constructor(private readonly most = KEPT_PIECES) {}

  get(key: string, bytes: number, read: () => Promise<ArrayLike<unknown>>): Promise<ArrayLike<unknown>> {
    const found = this.kept.get(key) ?? { bytes, data: read() };
    this.kept.delete(key);
    this.kept.set(key, found);
    let total = [...this.kept.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [oldest, one] of this.kept) {
      if (total <= this.most || oldest === key) break;
      this.kept.delete(oldest);
      total -= one.bytes;
    }
    return found.data;
  }
}

interface Table {
  file: ArrayBuffer;
  metadata: FileMetaData;
}

async function opened(path: string, bytes: Uint8Array): Promise<Table> {
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  try {
    return { file, metadata: await parquetMetadataAsync(file) };
  } catch (error) {
    throw new SourceError(path, `not a table (${reasonOf(error)})`);
  }
}

/** What a library says is wrong, without the name of its exception. */
function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function joined(chunks: { from: number; data: ArrayLike<unknown> }[], start: number, end: number): ArrayLike<unknown> {
  const [only] = chunks;
  if (only && chunks.length === 1 && only.from === start && only.data.length === end - start) return only.data;
  const whole: unknown[] = new Array(end - start);
  for (const { from, data } of chunks)
    for (let place = 0; place < data.length; place++) {
      const row = from + place;
      if (row >= start && row < end) whole[row - start] = data[place];
    }
  return whole;
}

async function load(part: Part): Promise<Uint8Array> {
  if (part.url !== undefined) {
    const answer = await fetch(part.url, { credentials: "same-origin" });
    if (!answer.ok) throw new SourceError(part.path, `the server says ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  }
  const element = part.id === undefined ? null : document.getElementById(part.id);
  if (!element) throw new SourceError(part.path, "the page does not hold it");
  if (typeof DecompressionStream === "undefined")
    throw new SourceError(part.path, "this browser cannot decompress it; one from 2023 or later can");
  const stream = new Blob([fromBase64(element.textContent ?? "")]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < characters.length; place++) bytes[place] = characters.charCodeAt(place);
  return bytes;
}
