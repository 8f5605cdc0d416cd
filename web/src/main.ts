// Starts the page: reads what Python wrote into it, checks the digests, and lets the panels draw themselves.
import { check } from "./check";
import { isWaiting, showCheck, trustNothingYet } from "./checked";
import { fill, h } from "./dom";
import { heldHead } from "./head";
import { keys } from "./keys";
import { Model } from "./model";
import { overview } from "./overview";
import { pages } from "./pages/index";
import { signal } from "./panel";
import type { App, Page, Span } from "./panel";
import { panels } from "./panels/index";
import { afterPaint } from "./seen";
import { Source } from "./source";
import { Tabs } from "./tabs";
import { themeButton } from "./theme";

function start(): void {
  const host = document.getElementById("panels");
  const text = document.getElementById("steno-page")?.textContent;
  if (!host || !text) return;
  const page = JSON.parse(text) as Page;
  const draw = pages[page.kind];
  document.body.append(h("div", { class: "corner" }, draw ? null : helpButton(), themeButton()));
  if (draw) draw(host, page);
  else record(host, page);
}

/** The panels of one run, which a report and a page of the server share. */
function record(host: HTMLElement, page: Page): void {
  trustNothingYet();
  const source = new Source(page);
  const app: App = {
    page,
    source,
    model: new Model(source),
    window: signal<Span | null>(null),
    now: signal<number | null>(null),
    checked: afterPaint().then(() => check(page, source)),
    open: (panel, target) => tabs.open(panel, target),
  };
  const tabs = new Tabs(app, panels);
  fill(host, ...tabs.elements(overview(app)));
  tabs.start();
  keys(app, tabs);
  void conclude(app).then(() => tabs.settle());
}

/** The head is held against the record only where its bytes are known to be right, and it promises something. */
async function conclude({ checked, model, page }: App): Promise<void> {
  const found = await checked;
  const header = document.getElementById("verdict");
  const isRight = (found.state === "match" || found.state === "partial") && found.judgement.state !== "mismatch";
  showCheck(found, page.judgement, header && isWaiting(header) && isRight ? await heldHead(header, model, page) : null);
}

function helpButton(): HTMLButtonElement {
  const open = () => document.dispatchEvent(new Event("steno:help"));
  return h("button", { type: "button", class: "quiet", title: "Keys", "aria-label": "Keys", on: { click: open } }, "?");
}

start();
