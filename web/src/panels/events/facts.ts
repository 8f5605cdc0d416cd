// All columns of one event.
import { h } from "../../dom";
import { resultWord } from "../../errno";
import { breath, fromBytes } from "../../kernel";
import { KERNEL_TABLE } from "../../layout";
import type { App } from "../../panel";
import { visible } from "../../words";
import type { Events } from "./rows";

/** In the order of `notes` in native/wire.toml; a test counts them. */
const NOTES = [
  "the path could not be read",
  "it has no end within 4096 bytes",
  "a 32-bit call",
  "the name is joined from words",
  "a path in another root or mount namespace",
  "the arguments are cut",
  "a set-user-id program lost its privilege",
  "refused by the observer",
  "the process may not be inspected",
  "an exchanging rename",
  "the file had no name any more",
  "a terminal was put on a watched descriptor",
  "told by the probe",
  "confirmed by the other witness",
  "looked up after the call",
  "unconfirmed: only one witness saw it, and both should have",
];

export function factsOf(app: App, events: Events, id: number): HTMLElement[] {
  if (id < 0) {
    const event = events.run[-1 - id]!;
    return [h("h3", null, visible(event.type)), h("pre", { class: "json" }, visibleJson(event))];
  }
  const kernel = events.kernel!;
  const open = () => app.open("processes", String(kernel.process[id]));
  const list = h("dl", { class: "facts" });
  void fill(app, list, id);
  return [
    h("h3", null, visible(kernel.op[id]!), h("small", null, ` row ${id}`)),
    h("p", null, h("code", null, visible(kernel.name(id)))),
    h("div", { class: "buttons" }, h("button", { type: "button", on: { click: open } }, "Its process")),
    list,
  ];
}

/** Each column as it is read: a group of rows has to be unpacked for a single one. */
async function fill(app: App, list: HTMLElement, id: number): Promise<void> {
  for (const name of await app.source.columns(KERNEL_TABLE)) {
    await breath();
    if (!list.isConnected) return;
    const value = await app.source.cell(KERNEL_TABLE, name, id);
    if (value !== null && value !== undefined) list.append(h("div", null, h("dt", null, name), h("dd", null, words(name, value))));
  }
}

function words(name: string, value: unknown): string {
  if (value instanceof Uint8Array) return visible(fromBytes(value));
  if (name === "result") return resultWord(Number(value));
  if (name === "mode") return `0${Number(value).toString(8)}`;
  if (name === "notes") return noted(Number(value));
  return visible(String(value));
}

function noted(bits: number): string {
  const found = NOTES.filter((_, place) => bits & (1 << place));
  const others = bits & ~((1 << NOTES.length) - 1);
  return bits === 0 ? "none" : [...found, ...(others ? [`others: ${others}`] : [])].join("; ");
}

function visibleJson(value: unknown): string {
  return JSON.stringify(value, null, 2).split("\n").map(visible).join("\n");
}
