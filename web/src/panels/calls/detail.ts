// Everything about one call, and about what belongs to none.
// In: an entry of calls.json. Out: elements. Names of files lead to the files, windows to the timeline.
import { h } from "../../dom";
import type { Call, Effects } from "../../model";
import type { App } from "../../panel";
import { visible, visibleLine } from "../../words";
import { decidedWords, effects, nameOf, saidWords, seenWords, windowWords } from "./words";
import type { Group, Rule } from "./words";

const NAMES_AT_ONCE = 20;

export function callDetail(app: App, call: Call): HTMLElement {
  const said = call.said ?? {};
  const decided = call.decided ?? {};
  const parts: [string, Node | string][] = [
    ["call", visible(`${call.tool_call_id}  ${nameOf(call)}`)],
    ["said", saidWords(call)],
  ];
  if (said.rule) parts.push(["", visible(`corroborated by ${String(said.rule)}`)]);
  parts.push(...given(said.input, decided.arguments));
  parts.push(["policy", decidedWords(call)]);
  if (call.decided)
    parts.push(["", visible(`${String(decided.reason)}; outcome ${String(decided.outcome ?? "not told")}`)]);
  if (call.window) parts.push(["window", windowLink(app, call)]);
  parts.push(["kernel saw", seenWords(call.seen)]);
  if (call.seen) parts.push(["", effectList(app, call.seen)]);
  for (const rule of call.rules) parts.push(["rule", ruleLine(rule)]);
  return h(
    "dl",
    { class: "detail" },
    parts.flatMap(([label, value]) => [h("dt", null, label), h("dd", null, value)]),
  );
}

export function ruleLine(rule: Rule): HTMLElement {
  const role = rule.result === "contradicted" ? "is-bad" : rule.result === "confirmed" ? "is-good" : "muted";
  return h("span", { class: role }, visible(`${rule.result}: ${rule.says} (${rule.rule})`));
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
  const { start_ns, end_ns } = call.window!;
  const choose = (): void => {
    app.window.set({ from: Number(start_ns), to: Number(end_ns) });
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
function given(said: unknown, decided: unknown): [string, Node][] {
  const [one, other] = [json(said), json(decided)];
  if (one !== null && other !== null && one !== other)
    return [
      ["agent says", code(one)],
      ["policy saw", code(other)],
    ];
  const only = one ?? other;
  return only === null ? [] : [["given", code(only)]];
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value, null, 2);
}

function code(text: string): HTMLElement {
  return h("pre", { class: "given mono", tabindex: "0" }, text.split("\n").map(visibleLine).join("\n"));
}
