// The tabs over the panels: one is shown, the address says which (#files/%2Fetc%2Fhosts), and a panel is drawn when it is first
// looked at. One that fails says so in its own place and leaves the others alone.
import { fill, h } from "./dom";
import type { App, Panel } from "./panel";
import { afterPaint } from "./seen";
import { SourceError } from "./source";
import { visible } from "./words";

/** There the header is more than a screen, and whoever follows a link to a panel would see nothing of it. */
const PHONE = "(max-width: 640px)";

export class Tabs {
  private readonly bar = h("div", { class: "tabs", role: "tablist", "aria-label": "Panels" });
  private readonly tabs = new Map<string, HTMLButtonElement>();
  private readonly hosts = new Map<string, HTMLElement>();
  private readonly mounted = new Map<string, Promise<HTMLElement | null>>();
  private current = "";
  private isEntering = false;
  private isAsked = false;
  /** Where the panels were when the page was brought to something in them; null: nobody was, or has moved it since. */
  private heldAt: number | null = null;

  constructor(
    private readonly app: App,
    private readonly panels: Panel[],
  ) {
    for (const panel of panels) this.add(panel);
    this.bar.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("hashchange", () => this.follow());
    for (const moving of ["wheel", "touchmove", "pointerdown", "keydown"])
      window.addEventListener(moving, () => (this.heldAt = null), { passive: true, capture: true });
  }

  /** The bar, what stands between it and the panels, and the panels. */
  elements(between: Node): Node[] {
    return [this.bar, between, ...this.hosts.values()];
  }

  start(): void {
    if (!this.follow()) this.show(this.panels[0]!.id, "", false);
  }

  /** The head has got its last words, and may be of another height: what somebody was sent to is brought back into sight. */
  settle(): void {
    if (this.heldAt !== null) window.scrollBy(0, this.top() - this.heldAt);
  }

  open(id: string, target = ""): void {
    if (!this.hosts.has(id)) return;
    const address = `#${id}${target ? `/${encodeURIComponent(target)}` : ""}`;
    if (location.hash === address) this.show(id, target, target !== "");
    else location.hash = address;
  }

  /** Goes to a panel and into it, so that the next key is for what is there. */
  openNumber(number: number): boolean {
    const panel = this.panels[number - 1];
    if (!panel) return false;
    this.isEntering = true;
    this.open(panel.id);
    return true;
  }

  currentHost(): HTMLElement | null {
    return this.hosts.get(this.current) ?? null;
  }

  /** Goes to a panel as somebody asked for it, who then wants to see it. */
  private ask(id: string): void {
    this.isAsked = true;
    this.open(id);
  }

  private add(panel: Panel): void {
    const count = h("span", { class: "tab-count" });
    const tab = h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${panel.id}`,
        "aria-controls": `panel-${panel.id}`,
        "aria-selected": "false",
        tabindex: -1,
        on: { click: () => this.ask(panel.id) },
      },
      panel.title,
      count,
    );
    this.bar.append(tab);
    this.tabs.set(panel.id, tab);
    this.hosts.set(
      panel.id,
      h("section", { id: `panel-${panel.id}`, class: "panel", role: "tabpanel", "aria-labelledby": tab.id, hidden: true }),
    );
    panel.count(this.app).then(
      (found) => {
        if (found === null) tab.classList.add("is-absent");
        else {
          count.textContent = ` ${found.toLocaleString("en")}`;
          tab.title = `${found.toLocaleString("en")} ${panel.counted}`;
        }
      },
      () => tab.classList.add("is-broken"),
    );
  }

  /** Shows what the address names. */
  private follow(): boolean {
    const [id, ...rest] = location.hash.slice(1).split("/");
    if (!id || !this.hosts.has(id)) return false;
    let target = rest.join("/");
    try {
      target = decodeURIComponent(target);
    } catch {
      // Somebody wrote the address by hand: it is taken as it is.
    }
    this.show(id, target, target !== "" || matchMedia(PHONE).matches);
    return true;
  }

  private show(id: string, target: string, isSent: boolean): void {
    this.current = id;
    for (const [other, tab] of this.tabs) {
      tab.setAttribute("aria-selected", String(other === id));
      tab.tabIndex = other === id ? 0 : -1;
      this.hosts.get(other)!.hidden = other !== id;
    }
    const { isEntering, isAsked } = this;
    this.isEntering = this.isAsked = false;
    this.reveal(this.tabs.get(id)!, isEntering || isAsked || isSent);
    const panel = this.panels.find((one) => one.id === id)!;
    const host = this.hosts.get(id)!;
    void this.mount(panel, host).then((content) => {
      try {
        const before = this.top();
        if (content) panel.show?.(content, this.app, target);
        if (this.heldAt !== null) this.heldAt += this.top() - before;
      } catch (error) {
        host.prepend(failure(panel, error));
      }
      if (isEntering && this.current === id) enter(host);
    });
  }

  /** Scrolls the bar to its tab; where somebody was sent to something, the page goes to the panels, too. */
  private reveal(tab: HTMLElement, isSent: boolean): void {
    const { bar } = this;
    if (tab.offsetLeft < bar.scrollLeft || tab.offsetLeft + tab.offsetWidth > bar.scrollLeft + bar.clientWidth)
      bar.scrollLeft = tab.offsetLeft - bar.clientWidth / 3;
    const below = this.top();
    if (isSent && below > 0) window.scrollBy(0, below);
    this.heldAt = isSent ? this.top() : null;
  }

  private top(): number {
    return this.bar.parentElement!.getBoundingClientRect().top;
  }

  /** What the panel has drawn itself into; null when it failed. */
  private mount(panel: Panel, host: HTMLElement): Promise<HTMLElement | null> {
    let mounting = this.mounted.get(panel.id);
    if (!mounting) {
      mounting = this.draw(panel, host);
      this.mounted.set(panel.id, mounting);
    }
    return mounting;
  }

  private async draw(panel: Panel, host: HTMLElement): Promise<HTMLElement | null> {
    const loading = h("p", { class: "loading", role: "status" }, "Reading …");
    const content = h("div", { class: "panel-content" });
    fill(host, loading, content);
    try {
      await afterPaint(); // the key or the click is answered first
      await panel.mount(content, this.app);
    } catch (error) {
      fill(host, failure(panel, error));
      return null;
    }
    loading.remove();
    return content;
  }

  private press(event: KeyboardEvent): void {
    const ids = this.panels.map((one) => one.id);
    const at = ids.indexOf(this.current);
    const moves: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: ids.length - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = ids[(to + ids.length) % ids.length]!;
    this.ask(next);
    this.tabs.get(next)!.focus({ preventScroll: true });
  }
}

/** What is moved with the arrows in a panel; else the panel itself. */
function enter(host: HTMLElement): void {
  const inside = host.querySelector<HTMLElement>(".list, canvas[tabindex]");
  if (!inside) host.tabIndex = -1;
  (inside ?? host).focus({ preventScroll: true });
}

function failure(panel: Panel, error: unknown): HTMLElement {
  const what =
    error instanceof SourceError
      ? error.message
      : `What the record has for it is not as its format says (${error instanceof Error ? error.message : String(error)}).`;
  return h(
    "div",
    { class: "alarm", role: "alert" },
    h("strong", null, `${panel.title} cannot be shown.`),
    h("p", null, visible(what)),
    h("p", null, "The other panels do not depend on it."),
  );
}
