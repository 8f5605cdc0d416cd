// The timeline as a list in order of time: the same things, for a keyboard, for those who hear it, and for a search.
import { h } from "../../dom";
import { VirtualList } from "../../list";
import { noMarks } from "../../overview";
import type { App } from "../../panel";
import type { Kernel, Scene } from "../../scene";
import { whenSeen } from "../../seen";
import { clock, overlaps } from "../../span";
import { counted } from "../../words";
import { go, inOrder, spanOf, tell } from "./items";
import type { Item } from "./items";

const KINDS: Record<Item["kind"], string> = {
  process: "process",
  call: "call",
  write: "change",
  net: "network",
  lost: "lost",
  output: "output",
};

export function happenings(app: App, scene: Scene): HTMLElement {
  let kernel: Kernel | null = null;
  let every: Item[] | null = null;
  let shown: Item[] = [];
  const title = h("summary", null, "As a list");
  const list = new VirtualList({
    label: "What happened, in order of time",
    columns: [
      { name: "time", title: "Time", width: "5rem" },
      { name: "kind", title: "Kind", width: "5rem" },
      { name: "what", title: "What", width: "minmax(8rem, 1fr)" },
      { name: "more", title: "More", width: "minmax(6rem, 22rem)", isWide: true },
    ],
    cells(row) {
      const item = shown[row]!;
      const told = tell(item, scene, kernel);
      return [clock(spanOf(item, scene, kernel).from), KINDS[item.kind], told.title, told.lines[0] ?? ""];
    },
    dress: (row) => ({ class: `is-${tell(shown[row]!, scene, kernel).role || "plain"}` }),
    choose: (row) => go(shown[row]!, app, scene, kernel),
    empty: () => "Nothing happened in this window.",
  });
  const details = h("details", { class: "as-list" }, title, list.element);
  const filter = () => {
    const window = app.window.get();
    every ??= inOrder(scene, kernel, true).items;
    shown = every.filter((item) => {
      const { from, to } = spanOf(item, scene, kernel);
      return overlaps(window, from, to);
    });
    title.textContent = `As a list: ${counted(shown.length, "thing")}${window ? " in the window" : ""}`;
    list.reset(shown.length);
  };
  const inNextFrame = whenSeen(list.element, filter);
  const later = () => details.open && inNextFrame();
  details.addEventListener("toggle", later);
  app.window.subscribe(later);
  void scene.kernel.then((found) => {
    kernel = found;
    every = null;
    later();
  }, noMarks);
  return details;
}
