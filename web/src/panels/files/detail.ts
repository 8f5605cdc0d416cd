// One file: its states before and after, what changed in it, and what the run did with it.
// In: a row of `files`. Out: elements, each part drawn when it is known. What cannot be shown is said, with its reason.
import { fill, h } from "../../dom";
import type { File, FileState } from "../../made/tables";
import type { App } from "../../panel";
import { numberOf } from "../../tables";
import { programsOf } from "../../tree";
import { counted, duration, size, visible } from "../../words";
import { table } from "../table";
import { contentOf, hasContent, isBinary, isExtracted } from "./contents";
import type { Content } from "./contents";
import { comparisonView, contentView } from "./diff/view";
import type { Shape } from "./diff/rows";
import { LETTER_HELP, LETTER_WORDS, afterWords, beforeWords, exists, letterOf, modeWords } from "./facts";
import { HEX_SHOWN, hex } from "./hex";
import { historyOf } from "./history";

const SECOND = 1_000_000_000n;
const EXTRACTED =
  "The contents below are from an extract, since blobs.parquet is too large for this page: no digest covers it, and this browser could not check them.";

export interface DetailOptions {
  app: App;
  file: File;
  shape: Shape;
  reshape(shape: Shape): void;
}

export function fileDetail(options: DetailOptions): HTMLElement {
  const { app, file } = options;
  const letter = letterOf(file);
  const content = h("div", { class: "file-content" }, h("p", { class: "loading" }, "Reading …"));
  const history = h("div", null, h("p", { class: "muted" }, "Reading …"));
  const remarks = h(
    "ul",
    { class: "told" },
    remarksOf(file).map((words) => h("li", null, words)),
    isExtracted(app, file) ? h("li", { class: "is-warn" }, EXTRACTED) : null,
  );
  void drawContent(content, options).catch((error: Error) =>
    fill(content, h("p", { class: "alarm", role: "alert" }, visible(error.message))),
  );
  const drawn = drawHistory(history, remarks, app, file.path);
  void drawn.catch((error: Error) => fill(history, h("p", { class: "alarm", role: "alert" }, visible(error.message))));
  return h(
    "article",
    { class: "file-detail", "aria-label": visible(file.path) },
    h("h3", { class: "mono", tabindex: "-1" }, visible(file.path)),
    h(
      "p",
      { class: "counts" },
      h("span", { class: `badge letter-${letterClass(letter)}`, title: LETTER_HELP[letter] }, LETTER_WORDS[letter]),
      file.git_class ? h("span", { class: "badge muted" }, visible(`git: ${file.git_class}`)) : null,
      h("span", { class: "muted" }, visible(file.operations.join(", "))),
    ),
    remarks,
    stateTable(file),
    content,
    h("details", { class: "file-history" }, h("summary", null, "What the run did with it"), history),
  );
}

export function letterClass(letter: string): string {
  return ({ "?": "unknown", "-": "looked" } as Record<string, string>)[letter] ?? letter;
}

function remarksOf(file: File): string[] {
  const remarks: string[] = [];
  if (file.path_bytes !== null) remarks.push("The name is not UTF-8: each byte that is not stands as \\xNN.");
  if (
    file.before.mode !== null &&
    file.after.mode !== null &&
    (file.before.mode & 0o7777) !== (file.after.mode & 0o7777)
  )
    remarks.push(`The mode changed from ${modeWords(file.before.mode)} to ${modeWords(file.after.mode)}.`);
  if (letterOf(file) === "t") remarks.push("It was made and is gone again: what was in it is not in the record.");
  for (const [state, when] of [
    [file.before, "before"],
    [file.after, "after"],
  ] as const)
    if (state.kind === null) remarks.push(`Its state ${when} the run is not known.`);
  return remarks;
}

function stateTable(file: File): HTMLElement {
  const both = (words: (state: FileState) => string) => [words(file.before), words(file.after)] as const;
  const rows: [string, readonly [before: string, after: string]][] = [
    ["What", [beforeWords(file), afterWords(file)]],
    ["Size", both(sizeWords)],
    ["Mode", both((state) => modeWords(state.mode))],
    ["Owner", both((state) => (state.uid === null ? "" : `${state.uid}:${state.gid}`))],
    ["Modified", both(time)],
  ];
  const shown = rows.filter(([, [before, after]]) => before || after);
  return table({
    caption: "Before and after",
    headings: ["State", "Before", "After"],
    things: shown,
    class: ([, [before, after]]) => (before === after ? "state" : "state differs"),
    cells: ([label, [before, after]]) => [label, before, after],
  });
}

function sizeWords(state: FileState): string {
  if (state.size === null) return "";
  const bytes = counted(numberOf(state.size), "byte");
  return numberOf(state.size) < 1024 ? bytes : `${size(state.size)} (${bytes})`;
}

function time(state: FileState): string {
  if (state.mtime_ns === null) return "";
  const nanoseconds = BigInt(state.mtime_ns);
  const fraction = ((nanoseconds % SECOND) + SECOND) % SECOND;
  const date = new Date(Number((nanoseconds - fraction) / SECOND) * 1000);
  if (Number.isNaN(date.getTime())) return "";
  return `${date.toISOString().replace("T", " ").slice(0, -5)}.${String(fraction / 1000n).padStart(6, "0")} UTC`;
}

async function drawContent(host: HTMLElement, options: DetailOptions): Promise<void> {
  const { app, file } = options;
  if (!hasContent(file)) {
    const [before, after] = [exists(file.before) ? file.before.kind : "nothing", exists(file.after) ? file.after.kind : "nothing"];
    return fill(host, before === after ? null : h("p", null, visible(`${before} before, ${after} after`)));
  }
  if (letterOf(file) === "t") return fill(host);
  const isSame = file.change === "none" || file.change === "metadata";
  const [before, after] = [isSame ? null : await contentOf(app, file.before), await contentOf(app, file.after)];
  if (isSame) return fill(host, h("h4", null, "Content, not changed"), oneSide(after, file, "new"));
  if (before!.withheld !== undefined || after.withheld !== undefined)
    return fill(host, ...partly(before!, after, file));
  fill(host, ...whole(before!.bytes!, after.bytes!, options));
}

/** What is withheld is said; the side that can be shown is. */
function partly(before: Content, after: Content, file: File): (Node | null)[] {
  const hadBoth = file.before.kind !== "absent" && file.after.kind !== "absent";
  const remark = (when: string, content: Content): Node | null => {
    if (content.withheld === undefined) return null;
    return h(
      "p",
      { class: "is-warn" },
      visible(`${file.change}, not shown${hadBoth ? ` as it was ${when}` : ""}: ${content.withheld}`),
    );
  };
  return [
    remark("before", before),
    remark("after", after),
    before.bytes?.length ? h("h4", null, "Content before") : null,
    before.bytes?.length ? oneSide(before, file, "old") : null,
    after.bytes?.length ? h("h4", null, "Content after") : null,
    after.bytes?.length ? oneSide(after, file, "new") : null,
  ];
}

function oneSide(content: Content, file: File, side: "old" | "new"): Node {
  if (content.withheld !== undefined) return h("p", { class: "muted" }, visible(`Not shown: ${content.withheld}.`));
  const bytes = content.bytes!;
  return isBinary(bytes) ? binary("Binary", bytes) : contentView(bytes, file.path, side);
}

function whole(before: Uint8Array, after: Uint8Array, options: DetailOptions): (Node | null)[] {
  const { file, shape, reshape } = options;
  if (isBinary(before) || isBinary(after)) {
    return [
      h("p", null, "Binary files differ."),
      exists(file.before) ? binary("Before", before) : null,
      exists(file.after) ? binary("After", after) : null,
    ];
  }
  if (equal(before, after))
    return [h("p", { class: "muted" }, before.length ? "The content is as it was." : "No content, before and after.")];
  const button = (one: Shape, words: string): HTMLElement =>
    h("button", { type: "button", "aria-pressed": String(shape === one), on: { click: () => reshape(one) } }, words);
  return [
    h(
      "div",
      { class: "toggle", role: "group", "aria-label": "Shape of the comparison" },
      button("unified", "Unified"),
      button("split", "Side by side"),
    ),
    comparisonView(before, after, file.path, shape),
  ];
}

function binary(label: string, bytes: Uint8Array): HTMLElement {
  const shown = bytes.length > HEX_SHOWN ? `, the first ${HEX_SHOWN} shown` : "";
  return h(
    "figure",
    null,
    h("figcaption", { class: "muted" }, `${label}: ${counted(bytes.length, "byte")}${shown}`),
    h("pre", { class: "hex mono", tabindex: "0" }, hex(bytes)),
  );
}

async function drawHistory(host: HTMLElement, remarks: HTMLElement, app: App, name: string): Promise<void> {
  const events = await app.model.kernelEvents();
  if (!events) return fill(host, h("p", { class: "muted" }, "The table of calls is not in this page."));
  const programs = programsOf(await app.model.processes());
  const found = await historyOf(events, name);
  const renamed = (names: string[], words: string): Node[] =>
    names.map((other) =>
      h(
        "li",
        null,
        `${words} `,
        h(
          "button",
          { class: "link mono", type: "button", on: { click: () => app.open("files", other) } },
          visible(other),
        ),
      ),
    );
  remarks.append(...renamed(found.renamedFrom, "Renamed from"), ...renamed(found.renamedTo, "Renamed to"));
  if (!found.deeds.length)
    return fill(
      host,
      h(
        "p",
        { class: "muted" },
        "No call on this very name: it was met below a renamed directory, or under another name.",
      ),
    );
  const go = (at: number): void => {
    app.now.set(at);
    app.open("timeline");
  };
  fill(
    host,
    table({
      caption: "Calls on this file",
      headings: ["First", "Last", "Operation", "Count", "Process"],
      things: found.deeds,
      cells: (deed) => [
        h(
          "button",
          {
            class: "link",
            type: "button",
            title: "look at this moment on the timeline",
            on: { click: () => go(deed.first) },
          },
          duration(deed.first),
        ),
        duration(deed.last),
        visible(deed.op) + (deed.failed ? ` (${deed.failed} failed)` : ""),
        deed.count,
        h(
          "button",
          { class: "link", type: "button", on: { click: () => app.open("processes", String(deed.process)) } },
          `${visible(programs.get(deed.process) ?? "?")}[${deed.process}]`,
        ),
      ],
    }),
  );
}

function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
