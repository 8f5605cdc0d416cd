// What the timeline cannot show, and why: said where it would be.
// In: which files are in the page, and whether the kernel table could be read. Out: sentences, none where nothing is missing.
import { INDEX, KERNEL_TABLE, TAPES, tablePath } from "../../layout";
import type { App } from "../../panel";
import type { Kernel, Scene } from "../../scene";
import { visible } from "../../words";
import { isInManifest, reason } from "../without_layer";

export async function missing(app: App, scene: Scene): Promise<string[]> {
  const found: string[] = [];
  const say = async (what: string, path: string) => found.push(`${what} cannot be shown: ${(await reason(app, path)).why}`);
  const processes = tablePath("processes");
  if (!app.source.has(processes)) await say("Processes", processes);
  if (!app.source.has(KERNEL_TABLE)) await say("Changes and connections", KERNEL_TABLE);
  else {
    const read = await scene.kernel.catch((error: Error) => error);
    if (read instanceof Error) found.push(`Changes and connections cannot be shown: ${read.message}.`);
    else found.push(...nothingOf(read));
  }
  if (await lacksTimes(app)) found.push("Output cannot be shown: the record has none of its times.");
  return found.map(visible);
}

/** A record in which no byte came has no index, and misses nothing. */
async function lacksTimes(app: App): Promise<boolean> {
  if ((await app.model.arrivals()).size) return false;
  return TAPES.some((tape) => (app.source.size(tape) ?? 0) > 0) || (await isInManifest(app, INDEX));
}

/** A lane without a mark is not drawn. */
function nothingOf(kernel: Kernel | null): string[] {
  const none = [
    kernel && !kernel.marks.writes.row.length ? "no change of a file" : "",
    kernel && !kernel.marks.net.row.length ? "no connection" : "",
  ].filter(Boolean);
  return none.length ? [`The kernel saw ${none.join(" and ")}.`] : [];
}
