// Whether a file of a record has the shape that the panels rely on. Pure.
// In: a value of JSON, which may be anything. Out: yes or no. It looks at what would otherwise fail in the middle of a
// panel; whether the file is right in all is what `steno verify` says.

type Fits = (value: any) => boolean;

const isRecord: Fits = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export const shapes = {
  record: isRecord,
  health: (value) => isRecord(value) && isRecord(value.steno) && isRecord(value.steno.witness_disagreements),
} satisfies Record<string, Fits>;
