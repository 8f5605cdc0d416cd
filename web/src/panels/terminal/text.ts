// What was shown and typed, as text: for those who cannot use the player, and for a command without a terminal.
// In: the streams of the record. Out: a list of lines with time and stream, which can be searched; the streams can be
// looked at apart. Control characters are taken out or spelled out: nothing acts.
import { fill, h } from "../../dom";
import { VirtualList } from "../../list";
import type { App } from "../../panel";
import { whenSeen } from "../../seen";
import { contains, placeOf } from "../../span";
import { counted, duration, visibleLine } from "../../words";
import { linesOf, readable } from "./lines";
import type { Recorded, Stream, TextLine } from "./lines";

const LONGEST = 2000;

export async function textView(app: App): Promise<HTMLElement> {
  const streams = await recorded(app);
  const all = linesOf(streams);
  const view = new TextView(
    app,
    all,
    streams.map((one) => one.stream),
  );
  return view.element;
}

class TextView {
  readonly element = h("div", { class: "terminal-text" });
  private readonly list: VirtualList;
  private readonly search = h("input", {
    type: "search",
    placeholder: "Search lines",
    "aria-label": "Search in the lines",
    autocomplete: "off",
  });
  private readonly spelled = h("input", { type: "checkbox" });
  private readonly status = h("p", { class: "muted", role: "status" });
  private readonly shown: Set<string>;
  private lines: TextLine[] = [];

  constructor(
    private readonly app: App,
    private readonly all: TextLine[],
    streams: Stream[],
  ) {
    this.shown = new Set([...streams.filter((stream) => stream !== "stdin" || streams.length === 1), ""]);
    this.list = new VirtualList({
      label: "Lines of the streams",
      columns: [
        { name: "time", title: "Time", width: "4.5rem" },
        { name: "stream", title: "Stream", width: "3.5rem" },
        { name: "code", title: "Line", width: "minmax(max-content, 1fr)" },
      ],
      cells: (row) => this.cells(this.lines[row]!),
      dress: (row) => ({ class: `stream-${this.lines[row]!.stream || "none"}` }),
      choose: (row) => this.app.now.set(this.lines[row]!.at),
      empty: () => (this.all.length ? "No such line." : "Nothing was written."),
    });
    this.list.element.classList.add("text-list");
    for (const field of [this.search, this.spelled]) field.addEventListener("input", () => this.draw());
    app.now.subscribe(whenSeen(this.element, () => this.reveal()));
    app.window.subscribe(whenSeen(this.element, () => this.draw()));
    fill(
      this.element,
      h(
        "div",
        { class: "tools" },
        this.search,
        this.streamChips(streams),
        h("label", { class: "chip" }, this.spelled, " spell out control characters"),
      ),
      this.status,
      this.list.element,
    );
    this.draw();
  }

  private cells(line: TextLine): (Node | string)[] {
    const text = this.spelled.checked
      ? visibleLine(line.text.slice(0, LONGEST))
      : readable(line.text.slice(0, LONGEST));
    const more =
      line.text.length > LONGEST
        ? h("span", { class: "remark" }, ` … ${line.text.length - LONGEST} more characters`)
        : null;
    return [duration(line.at), line.stream, h("code", null, text, more)];
  }

  private draw(): void {
    const word = this.search.value.toLowerCase();
    const window = this.app.window.get();
    this.lines = this.all.filter(
      (line) =>
        this.shown.has(line.stream) &&
        contains(window, line.at) &&
        (word === "" || line.text.toLowerCase().includes(word)),
    );
    this.status.textContent = `${this.lines.length.toLocaleString("en")} of ${counted(this.all.length, "line")}${window ? ", in the selected window" : ""}`;
    this.list.reset(this.lines.length);
  }

  /** Marks the last line that was there at the moment that is looked at. */
  private reveal(): void {
    const now = this.app.now.get();
    const at =
      now === null
        ? -1
        : placeOf(
            this.lines.map((line) => line.at),
            now + 1,
          ) - 1;
    if (at >= 0 && this.lines[this.list.selected]?.at !== now) this.list.select(at);
  }

  private streamChips(streams: Stream[]): HTMLElement {
    const chips = streams.map((stream) => {
      const box = h("input", { type: "checkbox", checked: this.shown.has(stream) });
      box.addEventListener("change", () => {
        if (box.checked) this.shown.add(stream);
        else this.shown.delete(stream);
        this.draw();
      });
      return h("label", { class: "chip" }, box, ` ${stream === "output" ? "stdout and stderr, merged" : stream}`);
    });
    return h("div", { class: "chips", role: "group", "aria-label": "Streams" }, chips);
  }
}

/** Stdout and stderr apart where they are; else what both made together. */
async function recorded(app: App): Promise<Recorded[]> {
  const { source } = app;
  const apart = (["stdout", "stderr"] as Stream[]).filter((stream) => source.has(`terminal/${stream}`));
  const names: Stream[] = [...(apart.length ? apart : (["output"] as Stream[])), "stdin"];
  const found = names.filter((stream) => source.has(`terminal/${stream}`));
  const arrivals = await app.model.arrivals();
  return Promise.all(
    found.map(async (stream) => ({
      stream,
      bytes: await source.bytes(`terminal/${stream}`),
      arrivals: arrivals.get(`terminal/${stream}`) ?? null,
    })),
  );
}
