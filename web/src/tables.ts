// The tables that a page carries, as typed rows: docs/model.md has their columns.
// In: JSON, which may be anything: for each column the values of all rows. Out: the rows, or null where a column is missing,
// has other values than it should, or is not as long as the others. Pure. What the values say is not judged here.
import type { Kind, Shape, Whole } from "./made/tables";

type Fits = (value: unknown) => boolean;
type Columns = Record<string, unknown>;

const MOST_DIGITS = 20;
const isText: Fits = (value) => typeof value === "string";
const isNumber: Fits = (value) => typeof value === "number" && Number.isSafeInteger(value);
const isListOf =
  (fits: Fits): Fits =>
  (value) =>
    Array.isArray(value) && value.every(fits);
const FITS: Record<Kind, Fits> = {
  boolean: (value) => typeof value === "boolean",
  number: isNumber,
  string: isText,
  "string[]": isListOf(isText),
  "number[]": isListOf(isNumber),
  Whole: (value) => isNumber(value) || (isText(value) && (value as string).length <= MOST_DIGITS && /^-?[0-9]+$/.test(value as string)),
};

export function rowsOf<T>(value: unknown, shape: Shape): T[] | null {
  const length = isRecord(value) ? lengthOf(value, shape) : 0;
  return built(value, shape, length) as T[] | null;
}

/** Near enough for a time or a size: text is a number beyond 2^53. */
export function numberOf(value: Whole | null): number {
  return value === null ? NaN : Number(value);
}

export function push<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function lengthOf(columns: Columns, shape: Shape): number {
  for (const name of Object.keys(shape)) {
    const column = own(columns, name);
    if (Array.isArray(column)) return column.length;
  }
  return 0;
}

function built(value: unknown, shape: Shape, length: number): Columns[] | null {
  if (!isRecord(value)) return null;
  const rows: Columns[] = Array.from({ length }, () => ({}));
  for (const [name, kind] of Object.entries(shape)) {
    const column = own(value, name);
    const values = typeof kind === "object" ? built(column, kind, length) : checked(column, kind, length);
    if (!values) return null;
    for (let place = 0; place < length; place++) rows[place]![name] = values[place];
  }
  return rows;
}

function checked(column: unknown, kind: Exclude<Shape[string], Shape>, length: number): unknown[] | null {
  if (!Array.isArray(column) || column.length !== length) return null;
  const mayBeNull = kind.endsWith("?");
  const fits = FITS[(mayBeNull ? kind.slice(0, -1) : kind) as Kind];
  return column.every((one) => (mayBeNull && one === null) || fits(one)) ? column : null;
}

function isRecord(value: unknown): value is Columns {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function own(columns: Columns, name: string): unknown {
  return Object.hasOwn(columns, name) ? columns[name] : undefined;
}
