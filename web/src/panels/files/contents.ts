// The content of a file before or after a run.
// In: a state of files.json. Out: its bytes, or why they cannot be shown, in the words of `steno files --diff`. A content that
// holds a secret is encrypted in the record; nothing here could decrypt it.
import { BLOBS } from "../../layout";
import type { FileEntry, FileState } from "../../model";
import type { App } from "../../panel";
import { targetOf, whyNotKept } from "./facts";

export type Content = { bytes: Uint8Array; withheld?: undefined } | { withheld: string; bytes?: undefined };

export const LARGEST = 4 << 20;
const BINARY_LOOK = 8000;

export async function contentOf(app: App, state: FileState): Promise<Content> {
  if (state.unknown || state.exists === undefined) return { withheld: "its state is not known" };
  if (!state.exists || Number(state.size) === 0) return { bytes: new Uint8Array() };
  if (state.type === "symlink") return { bytes: new TextEncoder().encode(targetOf(state) ?? "") };
  if (state.blob === undefined) return { withheld: whyNotKept(state) };
  const table = app.source.tableOf(BLOBS);
  if (!table) return { withheld: app.source.whyNot(BLOBS) };
  const cipher = await app.model.cipher(state.blob);
  if (cipher) return { withheld: "its content holds a secret and is kept encrypted" };
  if (Number(state.size) > LARGEST) return { withheld: `${Number(state.size)} bytes are too many to compare` };
  const blob = cipher === null ? null : await app.model.blob(state.blob);
  if (!blob && table !== BLOBS) return { withheld: app.source.whyNot(BLOBS) };
  return blob ? { bytes: blob.content } : { withheld: whyNotKept(state) };
}

/** Whether what is shown of a file comes from a part of the page that nothing vouches for. */
export function isExtracted(app: App, file: FileEntry): boolean {
  const hasBlob = file.before.blob !== undefined || file.after.blob !== undefined;
  const table = app.source.tableOf(BLOBS);
  return hasBlob && table !== null && table !== BLOBS;
}

/** Only these have something that can be compared. */
export function hasContent(file: FileEntry): boolean {
  return [file.before.type, file.after.type].every(
    (type) => type === undefined || type === "file" || type === "symlink",
  );
}

/** As git decides it. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, BINARY_LOOK).includes(0);
}
