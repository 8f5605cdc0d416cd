// A comparison, or one content alone, as a list that holds only what is seen.
// In: contents, the name of the file and the shape. Out: an element. Lines are text, never markup; a line too long for a
// screen is cut and says so. Colours come with what is drawn, and never hold the page up for long.
import { h } from "../../../dom";
import { VirtualList } from "../../../list";
import type { Column } from "../../../list";
import { counted, visibleLine } from "../../../words";
import { Colours, languageOf } from "./colour";
import type { Piece } from "./colour";
import { compare, Lines } from "./compare";
import type { Comparison } from "./compare";
import { emphasis, rowsOf, rowsOfOne } from "./rows";
import type { LineRow, Row, Shape } from "./rows";

const LONGEST = 2000;
const BEFORE_CHANGE = 200;
const ROW_HEIGHT = 26;
const NUMBER = "7ch";
const CODE = "minmax(var(--code-width), 1fr)";
const WIDEST_COLUMNS = LONGEST + 60;

interface Side {
  lines: Lines;
  colours: Colours | null;
}

export function comparisonView(before: Uint8Array, after: Uint8Array, path: string, shape: Shape): HTMLElement {
  const comparison = compare(before, after);
  const view = new DiffList(comparison.before, comparison.after, path, shape);
  const open = new Set<number>();
  const draw = (stay: boolean): void => view.show(rowsOf(comparison, shape, open), stay);
  view.unfold = (fold) => {
    open.add(fold);
    draw(true);
  };
  draw(false);
  return h("div", { class: "diff-frame" }, summary(comparison), view.element);
}

export function contentView(bytes: Uint8Array, path: string, side: "old" | "new"): HTMLElement {
  const lines = new Lines(bytes);
  const none = new Lines(new Uint8Array());
  const isOld = side === "old";
  const view = new DiffList(isOld ? lines : none, isOld ? none : lines, path, "unified");
  view.show(rowsOfOne(lines.count, side), false);
  return h("div", { class: "diff-frame" }, h("p", { class: "muted" }, counted(lines.count, "line")), view.element);
}

function summary(comparison: Comparison): HTMLElement {
  return h(
    "p",
    null,
    h("span", { class: "is-good" }, `+${comparison.added}`),
    " ",
    h("span", { class: "is-bad" }, `−${comparison.removed}`),
    " lines",
    comparison.coarse
      ? h(
          "span",
          { class: "is-warn" },
          " (too different to be compared line by line: the whole of what differs is shown as one change)",
        )
      : null,
  );
}

class DiffList {
  readonly element: HTMLElement;
  unfold: (fold: number) => void = () => undefined;
  private readonly list: VirtualList;
  private readonly old: Side;
  private readonly fresh: Side;
  private rows: Row[] = [];

  constructor(
    before: Lines,
    after: Lines,
    path: string,
    private readonly shape: Shape,
  ) {
    this.old = { lines: before, colours: coloursOf(before, path) };
    this.fresh = { lines: after, colours: coloursOf(after, path) };
    this.list = new VirtualList({
      label: shape === "split" ? "Before and after, side by side" : "Changes, line by line",
      columns: columnsOf(shape),
      cells: (row) => this.cells(this.rows[row]!),
      dress: (row) => ({ class: dress(this.rows[row]!) }),
      choose: (row) => {
        const found = this.rows[row]!;
        if (found.kind === "fold") this.unfold(found.id);
      },
      empty: () => "Empty: no line at all.",
    });
    this.element = this.list.element;
    this.element.classList.add("diff", `diff-${shape}`);
    this.element.style.setProperty("--code-width", `${widest(before, after) + 3}ch`);
  }

  show(rows: Row[], stay: boolean): void {
    this.rows = rows;
    // As high as its rows, up to what the style allows.
    this.element.style.setProperty("--rows-height", `${(rows.length + 2) * ROW_HEIGHT}px`);
    this.list.reset(rows.length, stay);
  }

  private cells(row: Row): (Node | string)[] {
    if (row.kind === "fold") return this.alone(`⋯ ${counted(row.count, "unchanged line")}: click or Enter to show`);
    if (row.kind === "end") return this.alone(`${counted(row.count, "more line")} not shown here`);
    return this.shape === "split" ? this.beside(row) : this.unified(row);
  }

  private alone(words: string): (Node | string)[] {
    return this.shape === "split" ? ["", words, "", ""] : ["", "", "", words];
  }

  private unified(row: LineRow): (Node | string)[] {
    const isOld = row.new < 0;
    const side = isOld ? this.old : this.fresh;
    const at = isOld ? row.old : row.new;
    const range = this.range(row, isOld);
    return [number(row.old), number(row.new), row.same ? "" : isOld ? "−" : "+", code(side, at, range)];
  }

  private beside(row: LineRow): (Node | string)[] {
    const hasBoth = !row.same && row.old >= 0 && row.new >= 0;
    const ranges = hasBoth ? emphasis(this.old.lines.text(row.old), this.fresh.lines.text(row.new)) : null;
    return [
      number(row.old),
      row.old < 0 ? "" : code(this.old, row.old, ranges?.one ?? null),
      number(row.new),
      row.new < 0 ? "" : code(this.fresh, row.new, ranges?.other ?? null),
    ];
  }

  private range(row: LineRow, isOld: boolean): [number, number] | null {
    if (row.pair < 0) return null;
    const [old, fresh] = isOld ? [row.old, row.pair] : [row.pair, row.new];
    const found = emphasis(this.old.lines.text(old), this.fresh.lines.text(fresh));
    return found && (isOld ? found.one : found.other);
  }
}

function columnsOf(shape: Shape): Column[] {
  if (shape === "split")
    return [
      { name: "number", title: "old", width: NUMBER },
      { name: "code-old", title: "Before", width: CODE },
      { name: "number", title: "new", width: NUMBER },
      { name: "code-new", title: "After", width: CODE },
    ];
  return [
    { name: "number", title: "old", width: NUMBER },
    { name: "number", title: "new", width: NUMBER },
    { name: "mark", title: "±", width: "3ch" },
    { name: "code", title: "Line", width: CODE },
  ];
}

function dress(row: Row): string {
  if (row.kind !== "line") return `row-${row.kind}`;
  if (row.same) return "row-same";
  const gone = row.old >= 0 ? " has-old" : "";
  return `row-changed${gone}${row.new >= 0 ? " has-new" : ""}`;
}

function number(line: number): string {
  return line < 0 ? "" : String(line + 1);
}

function code(side: Side, at: number, range: [number, number] | null): HTMLElement {
  const text = side.lines.text(at);
  // Of a long line a part is shown: the one in which it differs.
  const from = range && range[1] > LONGEST ? Math.max(range[0] - BEFORE_CHANGE, 0) : 0;
  const to = Math.min(from + LONGEST, text.length);
  const made = h("code", null);
  if (from > 0) made.append(remark(`${from} characters … `));
  let place = 0;
  for (const piece of side.colours?.line(at) ?? [{ text, kind: "" }]) {
    for (const part of cutAt(piece, place, range)) {
      const words = visibleLine(part.text.slice(Math.max(from - part.from, 0), Math.max(to - part.from, 0)));
      if (words)
        made.append(part.kind || part.marked ? h(part.marked ? "mark" : "span", { class: part.kind }, words) : words);
    }
    place += piece.text.length;
  }
  if (text.length > to) made.append(remark(` … ${text.length - to} more characters in this line`));
  if (side.lines.isTorn(at)) made.append(remark(" no newline at end of file"));
  return made;
}

function remark(words: string): HTMLElement {
  return h("span", { class: "remark" }, words);
}

/** A piece of a line, cut where the part begins or ends in which two lines differ. */
function cutAt(
  piece: Piece,
  from: number,
  range: [number, number] | null,
): { text: string; kind: string; marked: boolean; from: number }[] {
  const to = from + piece.text.length;
  const edges = [from, ...(range ?? []).filter((edge) => edge > from && edge < to), to];
  return edges.slice(0, -1).map((start, at) => ({
    text: piece.text.slice(start - from, edges[at + 1]! - from),
    kind: piece.kind,
    marked: range !== null && start >= range[0] && start < range[1],
    from: start,
  }));
}

function coloursOf(lines: Lines, path: string): Colours | null {
  const language = languageOf(path);
  return language === null ? null : new Colours(lines, language);
}

function widest(...sides: Lines[]): number {
  let most = 40;
  for (const { keys } of sides) for (const key of keys) if (key.length > most) most = key.length;
  return Math.min(most, WIDEST_COLUMNS);
}
