// Which names the run used in a stretch of time.
// In: the kernel layer and a span. Out: the paths and addresses of its rows, also the second name of a rename or a link.
import type { App, Span } from "../panel";
import { breath } from "../kernel";
import { contains } from "../span";

const AT_ONCE = 50_000;
const WITH_SECOND_NAME = new Set(["rename", "link", "moved"]);

export async function namesIn(app: App, span: Span): Promise<Set<string>> {
  const events = await app.model.kernelEvents();
  const names = new Set<string>();
  if (!events) return names;
  for (let row = 0; row < events.length; row++) {
    if (row % AT_ONCE === AT_ONCE - 1) await breath();
    if (!contains(span, events.at[row]!)) continue;
    names.add(events.name(row));
    if (WITH_SECOND_NAME.has(events.op[row]!)) names.add(events.extra(row) ?? "");
  }
  return names;
}
