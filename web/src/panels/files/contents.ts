// The content of a file before or after a run.
// In: a state of a file. Out: its bytes, or why they cannot be shown, in the words of `steno files --diff`. A content that
// holds a secret is encrypted in the record; nothing here could decrypt it.
import { BLOBS } from "../../layout";
import type { File, FileState } from "../../made/tables";
import type { App } from "../../panel";
import { numberOf } from "../../tables";
import { exists, whyNotKept } from "./facts";

export type Content = { bytes: Uint8Array; withheld?: undefined } | { withheld: string; bytes?: undefined };

export const LARGEST = 4 << 20;
const BINARY_LOOK = 8000;

export async function contentOf(app: App, state: FileState): Promise<Content> {
  if (state.kind === null) return { withheld: "its state is not known" };
  if (!exists(state) || state.size === 0) return { bytes: new Uint8Array() };
  if (state.kind === "symlink") return { bytes: new TextEncoder().encode(state.target ?? "") };
  if (state.blob === null) return { withheld: whyNotKept(state) };
  const table = app.source.tableOf(BLOBS);
  if (!table) return { withheld: app.source.whyNot(BLOBS) };
  const cipher = await app.model.cipher(state.blob);
  if (cipher) return { withheld: "its content holds a secret and is kept encrypted" };
  if (numberOf(state.size) > LARGEST) return { withheld: `${state.size} bytes are too many to compare` };
  const blob = cipher === null ? null : await app.model.blob(state.blob);
  if (!blob && table !== BLOBS) return { withheld: app.source.whyNot(BLOBS) };
  return blob ? { bytes: blob.content } : { withheld: whyNotKept(state) };
}

/** Whether what is shown of a file comes from a part of the page that nothing vouches for. */
export function isExtracted(app: App, file: File): boolean {
  const hasBlob = file.before.blob !== null || file.after.blob !== null;
  const table = app.source.tableOf(BLOBS);
  return hasBlob && table !== null && table !== BLOBS;
}

/** Only these have something that can be compared. */
export function hasContent(file: File): boolean {
  return [file.before, file.after].every((state) => !exists(state) || state.kind === "file" || state.kind === "symlink");
}

/** As git decides it. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, BINARY_LOOK).includes(0);
}
