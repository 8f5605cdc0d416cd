// The index of the recorded streams: which bytes came when (spec §5).
// In: an index of one stream, as a spool and format 1 have it, or the joint one of a sealed record. Out: columns. A torn last
// record is left out, and one of a stream that is not known here is passed over.
import { INDEX, INDEX_SUFFIX, TAPES } from "./layout";
import type { Source } from "./source";

export interface Arrivals {
  /** Nanoseconds since the run began. */
  at: Float64Array;
  lengths: Uint32Array;
}

const OWN_BYTES = 12; // u64 nanoseconds, u32 length, little-endian
const JOINT_BYTES = 16; // and u32: the place of the stream in TAPES

/** By the paths of the streams; one that has no index is not in it. */
export async function readArrivals(source: Source): Promise<Map<string, Arrivals>> {
  if (source.has(INDEX)) return jointArrivals(await source.bytes(INDEX));
  const indexed = TAPES.filter((tape) => source.has(tape + INDEX_SUFFIX));
  const found = indexed.map(async (tape) => [tape, ownArrivals(await source.bytes(tape + INDEX_SUFFIX))] as const);
  return new Map(await Promise.all(found));
}

export function ownArrivals(index: Uint8Array): Arrivals {
  const view = viewOf(index);
  const count = Math.floor(index.byteLength / OWN_BYTES);
  const found: Arrivals = { at: new Float64Array(count), lengths: new Uint32Array(count) };
  for (let place = 0; place < count; place++) take(found, place, view, place * OWN_BYTES);
  return found;
}

export function jointArrivals(index: Uint8Array): Map<string, Arrivals> {
  const view = viewOf(index);
  const end = index.byteLength - (index.byteLength % JOINT_BYTES);
  const counts = TAPES.map(() => 0);
  for (let at = 0; at < end; at += JOINT_BYTES) {
    const stream = view.getUint32(at + OWN_BYTES, true);
    if (stream < counts.length) counts[stream]! += 1;
  }
  const columns = counts.map((count) => ({ at: new Float64Array(count), lengths: new Uint32Array(count) }));
  const places = TAPES.map(() => 0);
  for (let at = 0; at < end; at += JOINT_BYTES) {
    const stream = view.getUint32(at + OWN_BYTES, true);
    if (stream < columns.length) take(columns[stream]!, places[stream]!++, view, at);
  }
  return new Map(TAPES.map((tape, stream) => [tape, columns[stream]!] as const).filter((_, stream) => counts[stream]));
}

function take(found: Arrivals, place: number, view: DataView, at: number): void {
  found.at[place] = Number(view.getBigUint64(at, true));
  found.lengths[place] = view.getUint32(at + 8, true);
}

function viewOf(index: Uint8Array): DataView {
  return new DataView(index.buffer, index.byteOffset, index.byteLength);
}
