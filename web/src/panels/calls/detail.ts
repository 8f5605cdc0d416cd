// Everything about one call, and about what belongs to none.
// In: a row of calls, its checks, and what was seen of it. Out: elements. Names of files lead to the files, windows to the timeline.
import { h } from "../../dom";
import type { Call, Check, Effects } from "../../made/tables";
import type { Calls } from "../../model";
import type { App } from "../../panel";
import { timeOf } from "../../span";
import { visible, visibleLine } from "../../words";
import { decidedWords, effects, nameOf, saidWords, seenWords, windowWords } from "./words";
import type { Group } from "./words";

const NAMES_AT_ONCE = 20;

export function callDetail(app: App, call: Call, told: Calls): HTMLElement {
  const seen = told.seenOf.get(call.call);
  const parts: [string, Node | string][] = [
    ["call", visible(`${call.tool_call_id}  ${nameOf(call)}`)],
    ["said", saidWords(call)],
  ];
  if (call.corroborated_by !== null) parts.push(["", visible(`corroborated by ${call.corroborated_by}`)]);
  parts.push(...given(call));
  parts.push(["policy", decidedWords(call)]);
  if (call.decision !== null)
    parts.push(["", visible(`${call.reason}; outcome ${call.decision_outcome ?? "not told"}`)]);
  if (call.started_ns !== null) parts.push(["window", windowLink(app, call)]);
  parts.push(["kernel saw", seenWords(seen)]);
  if (seen) parts.push(["", effectList(app, seen)]);
  for (const check of told.checksOf.get(call.call) ?? []) parts.push(["rule", checkLine(check)]);
  return h(
    "dl",
    { class: "detail" },
    parts.flatMap(([label, value]) => [h("dt", null, label), h("dd", null, value)]),
  );
}

export function checkLine({ rule, result, detail }: Check): HTMLElement {
  const role = result === "contradicted" ? "is-bad" : result === "confirmed" ? "is-good" : "muted";
  return h("span", { class: role }, visible(`${result}: ${detail} (${rule})`));
}

export function effectList(app: App, seen: Effects): HTMLElement {
  const groups = effects(seen);
  if (!groups.length) return h("span", { class: "muted" }, "no effects");
  return h(
    "ul",
    { class: "effects" },
    groups.map((group) => h("li", null, effectGroup(app, group))),
  );
}

function effectGroup(app: App, group: Group): HTMLElement {
  const list = h("ul", { class: "names mono" });
  const more = h("button", { class: "more link", type: "button", on: { click: () => add(group.names.length) } });
  let shown = 0;
  const add = (count: number): void => {
    list.append(...group.names.slice(shown, shown + count).map((name) => h("li", null, nameLink(app, group, name))));
    shown = Math.min(shown + count, group.names.length);
    more.textContent = `and ${group.names.length - shown} more`;
    more.hidden = shown >= group.names.length;
  };
  add(NAMES_AT_ONCE);
  return h("div", null, h("span", { class: "word" }, `${group.word} (${group.names.length})`), list, more);
}

function nameLink(app: App, group: Group, name: string): Node | string {
  const { panel } = group;
  if (!panel) return visible(name);
  return h("button", { class: "link", type: "button", on: { click: () => app.open(panel, name) } }, visible(name));
}

function windowLink(app: App, call: Call): HTMLElement {
  const choose = (): void => {
    app.window.set({ from: timeOf(call.started_ns), to: timeOf(call.ended_ns) });
    app.open("timeline");
  };
  return h(
    "span",
    null,
    `${windowWords(call)} `,
    h("button", { class: "link", type: "button", on: { click: choose } }, "select on the timeline"),
  );
}

/** What the tool was given: once where the agent and policy agree, else as each of them tells it. */
function given({ input, arguments: decided }: Call): [string, Node][] {
  if (input === null) return [];
  if (decided === null || decided === input) return [["given", code(indented(input))]];
  return [
    ["agent says", code(indented(input))],
    ["policy saw", code(indented(decided))],
  ];
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function code(text: string): HTMLElement {
  return h("pre", { class: "given mono", tabindex: "0" }, text.split("\n").map(visibleLine).join("\n"));
}
