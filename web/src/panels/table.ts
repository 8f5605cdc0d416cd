// A table of a bounded number of rows, with a button for more.
// In: headings, the things, and how one of them becomes cells. Out: an element. For tables that are read, not scrolled:
// what may have thousands of rows in every record is a virtual list instead.
import { h } from "../dom";
import { counted } from "../words";

type Cell = Node | string | number;

const AT_ONCE = 200;

export interface TableOf<T> {
  /** What the table is, for those who hear it. */
  caption: string;
  headings: string[];
  things: readonly T[];
  cells(thing: T): Cell[];
  /** More about a thing, drawn in a row of its own below it. */
  below?(thing: T): Node | null;
  class?(thing: T): string;
}

export function table<T>(of: TableOf<T>): HTMLElement {
  const body = h("tbody");
  const more = h("button", { class: "more link", type: "button", on: { click: () => add() } });
  let shown = 0;
  const add = (): void => {
    const next = of.things.slice(shown, shown + AT_ONCE);
    for (const thing of next) body.append(...rowsOf(of, thing));
    shown += next.length;
    more.textContent = `Show more: ${counted(of.things.length - shown, "row")} left`;
    more.hidden = shown >= of.things.length;
  };
  add();
  const head = h(
    "thead",
    null,
    h(
      "tr",
      null,
      of.headings.map((word) => h("th", { scope: "col" }, word)),
    ),
  );
  return h(
    "div",
    { class: "table-frame", tabindex: "0", role: "region", "aria-label": of.caption },
    h("table", { class: "facts-table" }, h("caption", { class: "sr-only" }, of.caption), head, body),
    more,
  );
}

function rowsOf<T>(of: TableOf<T>, thing: T): HTMLElement[] {
  const cells = of.cells(thing).map((cell, at) => h("td", { "data-heading": of.headings[at] ?? "" }, cell));
  const row = h("tr", { class: of.class?.(thing) ?? "" }, cells);
  const below = of.below?.(thing);
  if (!below) return [row];
  return [row, h("tr", { class: "below" }, h("td", { colspan: of.headings.length }, below))];
}
