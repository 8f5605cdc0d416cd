// A list of any length of which only what is seen is in the document. It is a grid for those who hear it, and it is used with
// the keyboard: arrows, Page Up and Down, Home, End, Enter; left and right fold and unfold where the rows are a tree.
import { h } from "./dom";

const ROW_HEIGHT = 26;
const MORE_ROWS = 8;
/** Browsers do not scroll farther than some ten millions of pixels: longer lists are scrolled in proportion. */
const MOST_PIXELS = 8_000_000;

export interface Column {
  /** Names its cells in the style: .cell-NAME. */
  name: string;
  title: string;
  /** A track of CSS grid: "6rem"; all the same without it, or as a style of the panel's own says. */
  width?: string;
  /** Left out where there is little room. */
  isWide?: boolean;
}

export interface ListOptions {
  label: string;
  columns: Column[];
  /** One node or text for each column. Called for rows that are seen. */
  cells(row: number): (Node | string)[];
  /** More about a row: its class, and its attributes (aria-level …). */
  dress?(row: number): Record<string, string | null>;
  /** Enter, or a click, and then on what. */
  choose?(row: number, target?: Element): void;
  /** The arrows to the right (true) and to the left. */
  unfold?(row: number, open: boolean): void;
  /** What stands there when the list is empty. */
  empty?(): string;
  /** In pixels, where it is another one than that of all lists: as the style has it. */
  rowHeight?(): number | undefined;
  /** "grid", or "treegrid" where the rows have levels. */
  role?: "grid" | "treegrid";
}

let lists = 0;

export class VirtualList {
  readonly element: HTMLElement;
  private readonly id = `list-${++lists}`;
  private readonly body = h("div", { class: "list-body", role: "rowgroup" });
  private readonly room = h("div", { class: "list-room", role: "presentation" });
  private readonly nothing = h("p", { class: "list-nothing", hidden: true });
  private rowHeight = ROW_HEIGHT;
  private count = 0;
  private active = -1;
  private drawn = { first: -1, last: -1 };

  constructor(private readonly options: ListOptions) {
    const { label, columns, role } = options;
    const head = h(
      "div",
      { class: "list-head", role: "rowgroup" },
      h(
        "div",
        { class: "list-row", role: "row", "aria-rowindex": 1 },
        columns.map((one) => h("div", { class: classOf(one), role: "columnheader" }, one.title)),
      ),
    );
    this.element = h(
      "div",
      {
        class: "list",
        role: role ?? "grid",
        tabindex: 0,
        "aria-label": label,
        "aria-colcount": columns.length,
        style: {
          "--columns": columns.map(trackOf).join(" "),
          "--columns-narrow": columns.filter((one) => !one.isWide).map(trackOf).join(" "),
        },
        on: {
          scroll: () => this.draw(),
          keydown: (event: KeyboardEvent) => this.press(event),
          click: (event: MouseEvent) => this.click(event),
        },
      },
      head,
      this.room,
      this.nothing,
    );
    this.room.append(this.body);
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  /** The rows may have another height where there is less room. */
  private fit(): void {
    const { rowHeight } = this;
    this.rowHeight = this.options.rowHeight?.() ?? ROW_HEIGHT;
    if (rowHeight === this.rowHeight) this.draw();
    else this.reset(this.count, true);
  }

  /** Shows so many rows, from the top unless told to stay. */
  reset(count: number, stay = false): void {
    this.count = count;
    if (this.active >= count) this.active = -1;
    this.element.setAttribute("aria-rowcount", String(count + 1));
    this.room.style.setProperty("height", `${Math.min(count * this.rowHeight, MOST_PIXELS)}px`);
    this.nothing.hidden = count > 0;
    this.nothing.textContent = count > 0 ? "" : (this.options.empty?.() ?? "Nothing.");
    if (!stay) {
      this.element.scrollTop = 0;
      this.active = -1;
    }
    this.drawn = { first: -1, last: -1 };
    this.draw();
  }

  /** The rows are the same, what they show is not. */
  refresh(): void {
    this.drawn = { first: -1, last: -1 };
    this.draw();
  }

  get selected(): number {
    return this.active;
  }

  /** Marks a row and brings it into sight. */
  select(row: number): void {
    if (row < 0 || row >= this.count) return;
    this.active = row;
    this.reveal(row);
    this.refresh();
  }

  private get seen(): number {
    return Math.max(this.element.clientHeight - this.rowHeight, this.rowHeight);
  }

  /** How many pixels of rows one pixel of scrolling moves. */
  private get ratio(): number {
    const [rows, pixels] = [this.count * this.rowHeight - this.seen, this.room.offsetHeight - this.seen];
    return pixels > 0 && rows > pixels ? rows / pixels : 1;
  }

  /** A row just out of sight comes to the edge, one from farther away to the middle. */
  private reveal(row: number): void {
    const { seen, ratio } = this;
    const top = this.element.scrollTop * ratio;
    const at = row * this.rowHeight;
    const isFar = at < top - seen || at > top + 2 * seen;
    if (isFar) this.element.scrollTop = (at - seen / 2) / ratio;
    else if (at < top) this.element.scrollTop = at / ratio;
    else if (at + this.rowHeight > top + seen) this.element.scrollTop = (at + this.rowHeight - seen) / ratio;
  }

  private draw(): void {
    const top = this.element.scrollTop * this.ratio;
    const first = Math.max(Math.floor(top / this.rowHeight) - MORE_ROWS, 0);
    const last = Math.min(Math.ceil((top + this.seen) / this.rowHeight) + MORE_ROWS, this.count) - 1;
    const shift = this.element.scrollTop - top + first * this.rowHeight;
    this.body.style.setProperty("transform", `translateY(${shift}px)`);
    if (first === this.drawn.first && last === this.drawn.last) return;
    this.drawn = { first, last };
    const rows: HTMLElement[] = [];
    for (let row = first; row <= last; row++) rows.push(this.row(row));
    const held = focusedIn(this.body);
    this.body.replaceChildren(...rows);
    if (held) (this.alike(held) ?? this.element).focus({ preventScroll: true });
    if (this.active >= first && this.active <= last)
      this.element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** What stands for the same thing as an element of rows that are gone: its address or its label says so. */
  private alike(held: HTMLElement): HTMLElement | undefined {
    const nameOf = (one: Element) => one.getAttribute("aria-label") ?? one.getAttribute("href");
    return [...this.body.querySelectorAll<HTMLElement>(held.tagName)].find((one) => nameOf(one) === nameOf(held));
  }

  private row(row: number): HTMLElement {
    const { columns, cells, dress } = this.options;
    const { class: more, ...attributes } = dress?.(row) ?? {};
    const content = cells(row);
    return h(
      "div",
      {
        class: `list-row${more ? ` ${more}` : ""}${row === this.active ? " is-active" : ""}`,
        role: "row",
        id: `${this.id}-${row}`,
        "data-row": row,
        "aria-rowindex": row + 2,
        "aria-selected": row === this.active ? "true" : "false",
        ...attributes,
      },
      columns.map((one, place) => h("div", { class: classOf(one), role: "gridcell" }, content[place])),
    );
  }

  private click(event: MouseEvent): void {
    const target = event.target as Element;
    const found = target.closest("[data-row]");
    if (!found) return;
    const row = Number(found.getAttribute("data-row"));
    this.select(row);
    this.options.choose?.(row, target);
  }

  private press(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(Math.floor(this.seen / this.rowHeight) - 1, 1);
    const moves: Record<string, number> = {
      ArrowDown: this.active + 1,
      ArrowUp: Math.max(this.active - 1, 0),
      PageDown: Math.min(this.active + page, this.count - 1),
      PageUp: Math.max(this.active - page, 0),
      Home: 0,
      End: this.count - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) this.select(Math.min(to, this.count - 1));
    else if (event.key === "Enter" && this.active >= 0) this.options.choose?.(this.active);
    else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && this.options.unfold && this.active >= 0)
      this.options.unfold(this.active, event.key === "ArrowRight");
    else return;
    event.preventDefault();
  }
}

function focusedIn(body: HTMLElement): HTMLElement | null {
  const { activeElement } = document;
  return activeElement instanceof HTMLElement && body.contains(activeElement) ? activeElement : null;
}

function classOf(column: Column): string {
  return `cell cell-${column.name}${column.isWide ? " is-wide" : ""}`;
}

function trackOf(column: Column): string {
  return column.width ?? "minmax(0, 1fr)";
}
