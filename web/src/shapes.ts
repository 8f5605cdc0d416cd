// Whether a file of a record has the shape that the panels rely on. Pure.
// In: a value of JSON, which may be anything. Out: yes or no. It looks at what would otherwise fail in the middle of a
// panel; whether the file is right in all is what `steno verify` says.

type Fits = (value: any) => boolean;

const isRecord: Fits = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const listOf =
  (fits: Fits): Fits =>
  (value) =>
    Array.isArray(value) && value.every((one) => isRecord(one) && fits(one));

export const shapes = {
  record: isRecord,
  health: (value) => isRecord(value) && isRecord(value.steno) && isRecord(value.steno.witness_disagreements),
  calls: (value) => isRecord(value) && listOf((one) => Array.isArray(one.rules))(value.calls) && listOf(() => true)(value.claims),
} satisfies Record<string, Fits>;
