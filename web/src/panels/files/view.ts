// The list of files beside the one that is looked at.
// In: the tables of files and of renamed directories. Out: search, kinds, tree or flat, window, all of which only filter; the list holds only what is seen.
import { fill, h } from "../../dom";
import { VirtualList } from "../../list";
import type { DirectoryRename, File } from "../../made/tables";
import type { App } from "../../panel";
import { counted, visible } from "../../words";
import { namesIn } from "../names_in_window";
import { fileDetail, letterClass } from "./detail";
import type { Shape } from "./diff/rows";
import { LETTER_HELP, LETTER_WORDS, exists } from "./facts";
import type { Letter } from "./facts";
import { CHANGED, chosen, flatRows, letterCounts, listedFiles, treeRows } from "./rows";
import type { Listed, Row } from "./rows";

const SPLIT = "split:";
/** A file that was read and changed as well is among the changed ones. */
const ONLY: readonly Letter[] = ["m", "r", "-"];
const RENAMES_SHOWN = 50;

export class FilesView {
  private readonly all: Listed[];
  private readonly list: VirtualList;
  private readonly status = h("p", { class: "muted", role: "status" });
  private readonly detail = h("div", { class: "files-detail" });
  private readonly search = h("input", {
    type: "search",
    placeholder: "Search names",
    "aria-label": "Search in the names of files",
    autocomplete: "off",
    spellcheck: "false",
  });
  private readonly kinds: Set<Letter>;
  private readonly folded = new Map<string, boolean>();
  private rows: Row[] = [];
  private isTree = false;
  private names: Set<string> | null = null;
  private current = "";

  constructor(
    private readonly app: App,
    files: File[],
    private readonly directoryRenames: DirectoryRename[],
    private readonly base: string,
  ) {
    this.all = listedFiles(files);
    const letters = letterCounts(this.all).map(([letter]) => letter);
    const changes = letters.filter((letter) => CHANGED.includes(letter));
    this.kinds = new Set(changes.length ? changes : letters);
    this.list = new VirtualList({
      label: "Files",
      role: "treegrid",
      columns: [
        { name: "letter", title: "Δ", width: "14px" },
        { name: "name", title: "Name", width: "minmax(8rem, 1fr)" },
        { name: "size", title: "Size", width: "5.5rem" },
        { name: "git", title: "Git", width: "5.5rem", isWide: true },
      ],
      cells: (row) => this.cells(this.rows[row]!),
      dress: (row) => this.dress(this.rows[row]!),
      choose: (row) => this.choose(this.rows[row]!),
      unfold: (row, open) => this.unfold(this.rows[row]!, open),
      empty: () =>
        this.names ? "No such file in the selected window." : "No such file. Choose more kinds above, or another word.",
    });
    this.list.element.classList.add("files-list");
    this.search.addEventListener("input", () => this.draw());
  }

  elements(): (Node | null)[] {
    this.draw();
    return [
      h("div", { class: "tools" }, this.search, this.kindButtons(), this.shapeButtons()),
      this.renames(),
      this.status,
      h("div", { class: "files-frame" }, this.list.element, this.detail),
    ];
  }

  /** `/path`, or `split:/path` to see the comparison side by side. */
  show(target: string): void {
    const shape: Shape = target.startsWith(SPLIT) ? "split" : "unified";
    const name = shape === "split" ? target.slice(SPLIT.length) : target;
    if (!name) {
      if (!this.current) fill(this.detail, h("p", { class: "empty" }, "Choose a file to see what changed in it."));
      return;
    }
    this.current = name;
    const found = this.all.find((one) => one.name === name);
    if (!found) {
      fill(
        this.detail,
        h(
          "p",
          { class: "empty" },
          visible(`The record has no file ${name}: it was not met, or is of those that are not recorded.`),
        ),
      );
      return;
    }
    const reshape = (next: Shape): void => this.app.open("files", `${next === "split" ? SPLIT : ""}${found.name}`);
    fill(this.detail, fileDetail({ app: this.app, file: found.file, shape, reshape }));
    this.mark();
    if (getComputedStyle(this.detail).getPropertyValue("--stacked")) this.detail.scrollIntoView({ block: "start" });
  }

  /** Leaves what was not used in the selected window. */
  async filter(): Promise<void> {
    const span = this.app.window.get();
    const names = span ? await namesIn(this.app, span) : null;
    if (span !== this.app.window.get()) return; // somebody has selected another one meanwhile
    this.names = names;
    this.draw();
  }

  private draw(stay = false): void {
    const found = chosen(this.all, { kinds: this.kinds, words: this.search.value, names: this.names });
    this.rows = this.isTree
      ? treeRows(found, (path, changed) => this.folded.get(path) ?? (changed > 0 || this.search.value !== ""))
      : flatRows(found, this.base);
    this.status.textContent =
      `${found.length.toLocaleString("en")} of ${counted(this.all.length, "file")} shown` +
      this.changedWords() +
      (this.names ? ", in the selected window" : "") +
      (this.base && !this.isTree ? `; names are below ${visible(this.base)}` : "");
    this.list.reset(this.rows.length, stay);
    if (!stay) this.mark();
  }

  /** The number of the head, where the list leaves out a part of what it counts. */
  private changedWords(): string {
    const changed = this.all.filter((one) => one.file.change !== "none" && one.letter !== "o");
    const only = changed.filter((one) => one.letter === "m").length;
    if (!only || this.kinds.has("m")) return "";
    return `; of the ${changed.length.toLocaleString("en")} changed, ${only.toLocaleString("en")} only in metadata, not ticked`;
  }

  /** Marks the file that is looked at, where the list has it. */
  private mark(): void {
    const at = this.rows.findIndex((row) => row.kind === "file" && row.listed.name === this.current);
    if (at >= 0 && at !== this.list.selected) this.list.select(at);
  }

  private cells(row: Row): (Node | string)[] {
    const indent = { style: { "padding-inline-start": `${row.depth * 1.1}em` } };
    if (row.kind === "folder") {
      const label = h("span", { class: "folder", ...indent }, `${row.isOpen ? "▾" : "▸"} ${visible(row.label)}`);
      return [
        "",
        label,
        h("span", { title: `${row.changed} of ${row.files} changed` }, counted(row.files, "file")),
        "",
      ];
    }
    const { letter, file, size } = row.listed;
    const { kind, target } = exists(file.after) ? file.after : file.before;
    const ending = kind === "directory" ? "/" : target === null ? "" : ` → ${target}`;
    return [
      h(
        "span",
        { class: `letter letter-${letterClass(letter)}`, title: `${LETTER_WORDS[letter]}: ${LETTER_HELP[letter]}` },
        letter,
      ),
      h("span", { class: "name", title: visible(row.listed.name), ...indent }, visible(row.label + ending)),
      size,
      visible(file.git_class ?? ""),
    ];
  }

  private dress(row: Row): Record<string, string | null> {
    const level = { "aria-level": String(row.depth + 1) };
    return row.kind === "folder" ? { ...level, class: "is-folder", "aria-expanded": String(row.isOpen) } : level;
  }

  private choose(row: Row): void {
    if (row.kind === "folder") this.unfold(row, !row.isOpen);
    else this.app.open("files", `${location.hash.includes(encodeURIComponent(SPLIT)) ? SPLIT : ""}${row.listed.name}`);
  }

  private unfold(row: Row, open: boolean): void {
    if (row.kind !== "folder" || row.isOpen === open) return;
    this.folded.set(row.path, open);
    this.draw(true);
  }

  private kindButtons(): HTMLElement {
    const buttons = letterCounts(this.all).map(([letter, count]) => {
      const box = h("input", { type: "checkbox", checked: this.kinds.has(letter) });
      box.addEventListener("change", () => {
        if (box.checked) this.kinds.add(letter);
        else this.kinds.delete(letter);
        this.draw();
      });
      return h(
        "label",
        { class: "chip", title: LETTER_HELP[letter] },
        box,
        h("span", { class: `letter-${letterClass(letter)}` }, `${ONLY.includes(letter) ? "only " : ""}${LETTER_WORDS[letter]}`),
        ` ${count.toLocaleString("en")}`,
      );
    });
    return h("div", { class: "chips", role: "group", "aria-label": "Kinds of files" }, buttons);
  }

  private shapeButtons(): HTMLElement {
    const flat = h("button", { type: "button" }, "Flat");
    const tree = h("button", { type: "button" }, "Tree");
    const choose = (isTree: boolean): void => {
      this.isTree = isTree;
      flat.setAttribute("aria-pressed", String(!isTree));
      tree.setAttribute("aria-pressed", String(isTree));
      this.draw();
    };
    flat.addEventListener("click", () => choose(false));
    tree.addEventListener("click", () => choose(true));
    choose(this.isTree);
    return h("div", { class: "toggle", role: "group", "aria-label": "Shape of the list" }, flat, tree);
  }

  private renames(): HTMLElement | null {
    const renames = this.directoryRenames;
    if (!renames.length) return null;
    const items = renames
      .slice(0, RENAMES_SHOWN)
      .map((one) => h("li", { class: "mono" }, visible(one.old_path), one.exchanged ? " ⇄ " : " → ", visible(one.new_path)));
    const more = renames.length - items.length;
    return h(
      "details",
      null,
      h("summary", null, `${counted(renames.length, "directory", "directories")} renamed`),
      h("ul", null, items, more > 0 ? h("li", null, `and ${more} more`) : null),
    );
  }
}
