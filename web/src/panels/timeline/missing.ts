// What the timeline cannot show, and why: said where it would be.
// In: which files are in the page, and whether the kernel table could be read. Out: sentences, none where nothing is missing.
import type { App } from "../../panel";
import type { Kernel, Scene } from "../../scene";
import { visible } from "../../words";
import { reason } from "../without_layer";

const TABLE = "layers/kernel.parquet";
const STREAMS = ["terminal/output.idx", "terminal/stdout.idx", "terminal/stderr.idx"];

export async function missing(app: App, scene: Scene): Promise<string[]> {
  const found: string[] = [];
  const say = async (what: string, path: string) => found.push(`${what} cannot be shown: ${(await reason(app, path)).why}`);
  if (!app.source.has("processes.json")) await say("Processes", "processes.json");
  if (!app.source.has(TABLE)) await say("Changes and connections", TABLE);
  else {
    const read = await scene.kernel.catch((error: Error) => error);
    if (read instanceof Error) found.push(`Changes and connections cannot be shown: ${read.message}.`);
    else found.push(...nothingOf(read));
  }
  if (!STREAMS.some((path) => app.source.has(path))) found.push("Output cannot be shown: the record has none of its times.");
  return found.map(visible);
}

/** A lane without a mark is not drawn. */
function nothingOf(kernel: Kernel | null): string[] {
  const none = [
    kernel && !kernel.marks.writes.row.length ? "no change of a file" : "",
    kernel && !kernel.marks.net.row.length ? "no connection" : "",
  ].filter(Boolean);
  return none.length ? [`The kernel saw ${none.join(" and ")}.`] : [];
}
