// The keys that work everywhere, and the page that tells of them.
import { h } from "./dom";
import type { App } from "./panel";
import type { Tabs } from "./tabs";

const KEYS: [string, string][] = [
  ["1 – 9", "go to a panel"],
  ["/", "search in the panel; ↓ goes on into its list, Enter opens the first that fits"],
  ["Escape", "leave the search, or give up the selected window"],
  ["← → ↑ ↓", "move: in a list, among the tabs, along the timeline"],
  ["Enter", "open what is marked"],
  ["+ −", "timeline: zoom"],
  ["0", "timeline: the whole run"],
  ["Shift + ← →", "timeline: select a window, and make it longer or shorter"],
  ["w", "timeline: select what is in sight"],
  ["?", "this page"],
];

export function keys(app: App, tabs: Tabs): void {
  const help = helpPage();
  document.body.append(help);
  searchKeys(() => (help.open ? null : tabs.currentHost()));
  document.addEventListener("keydown", (event) => {
    if (isNotOurs(event)) return;
    if (event.key === "Escape") leave(app);
    else if (isTyping(event.target) || help.open) return;
    else if (/^[1-9]$/.test(event.key) && tabs.openNumber(Number(event.key))) event.preventDefault();
    else if (event.key === "?") help.showModal();
  });
  document.addEventListener("steno:help", () => help.showModal());
}

function leave(app: App): void {
  const focused = document.activeElement;
  if (focused instanceof HTMLElement && isTyping(focused)) focused.blur();
  else if (!document.querySelector("dialog[open]")) app.window.set(null);
}

/** `/` goes to the search of what is looked at; from there, the arrow down and Enter go on into its list. */
export function searchKeys(lookedAt: () => HTMLElement | null): void {
  document.addEventListener("keydown", (event) => {
    if (isNotOurs(event)) return;
    const host = lookedAt();
    const field = host?.querySelector<HTMLInputElement>("input[type=search]");
    if (!host || !field) return;
    if (event.key === "/" && !isTyping(event.target)) {
      field.focus();
      field.select();
    } else if (event.target === field && (event.key === "ArrowDown" || event.key === "Enter")) {
      enterList(host, event.key === "Enter");
    } else return;
    event.preventDefault();
  });
}

function enterList(host: HTMLElement, isOpening: boolean): void {
  const list = host.querySelector<HTMLElement>(".list");
  if (!list) return;
  list.focus({ preventScroll: true }); // the field is left, and what was typed into it counts
  for (const key of isOpening ? ["Home", "Enter"] : ["Home"]) list.dispatchEvent(new KeyboardEvent("keydown", { key }));
}

function isNotOurs(event: KeyboardEvent): boolean {
  return event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select, [contenteditable]");
}

function helpPage(): HTMLDialogElement {
  const close = h("button", { type: "button", class: "quiet", on: { click: () => dialog.close() } }, "Close");
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    h("header", null, h("h2", { id: "help-title" }, "Keys"), close),
    h("dl", null, KEYS.map(([key, what]) => h("div", null, h("dt", null, h("kbd", null, key)), h("dd", null, what)))),
  );
  return dialog;
}
