// All columns of one event.
import { h } from "../../dom";
import { breath, fromBytes } from "../../kernel";
import { KERNEL_TABLE } from "../../layout";
import { NOTES } from "../../made/words";
import { resultWord } from "../../operations";
import type { App } from "../../panel";
import { visible } from "../../words";
import type { Events } from "./rows";

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
  const found = NOTES.filter(([bit]) => bits & bit).map(([, said]) => said);
  const others = NOTES.reduce((left, [bit]) => left & ~bit, bits);
  return bits === 0 ? "none" : [...found, ...(others ? [`others: ${others}`] : [])].join("; ");
}

function visibleJson(value: unknown): string {
  return JSON.stringify(value, null, 2).split("\n").map(visible).join("\n");
}
