// Two runs compared: what the second did that the first did not, and the other way round, as `steno diff` tells it.
// In: the ids in the address, and ./compare.json. Out: the verdict, then each category with what was added and removed.
import { fill, h } from "../dom";
import type { Page } from "../panel";
import { counted, lookup, visible } from "../words";
import { ask } from "./ask";

interface Entry {
  entry: string;
  names?: string[];
  was_attempted?: boolean;
}

interface Category {
  added: Entry[];
  removed: Entry[];
  unchanged: unknown[];
}

interface Comparison {
  verdict: string;
  degraded: string[];
  notes: { says: string }[];
  summary: { added: number; removed: number; unchanged: number };
  categories: Record<string, Category>;
  attempts: Record<string, Category>;
  /** What each category is called. */
  headings: Record<string, string>;
  /** What each run was: its name and its command. */
  titles: Record<string, string>;
}

const VERDICTS: Record<string, [string, string]> = {
  same: ["The same: B did nothing that A did not.", "is-good"],
  removed: ["B did nothing that A did not, and less.", "is-good"],
  added: ["B did something that A did not.", "is-bad"],
  inconclusive: ["Nothing was seen to be added, and something may have been missed.", "is-warning"],
};
const AT_ONCE = 200;
const MOST_TITLE = 300;
/** What matters most comes first; the other categories stand between, as they come. */
const FIRST = ["endpoints.connected", "endpoints.sent", "execs.ran", "files.deleted", "files.created", "files.written"];
const LAST = "files.read";
/** These sets hold what is not known to have failed. */
const OUTCOME_NOT_SEEN = new Set(["endpoints.connected", "unix_sockets.connected"]);

export function drawCompare(host: HTMLElement, _page: Page): void {
  const asked = new URLSearchParams(location.search);
  const [a, b] = [asked.get("a") ?? "", asked.get("b") ?? ""];
  const body = h("div", { role: "status" }, h("p", null, "Verifying and comparing both …"));
  const both = h("div", { class: "compare-sides" }, ...sides(a, b, {}));
  fill(host, h("div", { class: "panel" }, both, body));
  ask<Comparison>(`./compare.json?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`).then(
    (found) => {
      fill(both, ...sides(a, b, found.titles));
      fill(body, ...compared(found));
    },
    (error: Error) => fill(body, h("p", { class: "alarm", role: "alert" }, error.message)),
  );
}

function sides(a: string, b: string, titles: Record<string, string>): HTMLElement[] {
  const side = (name: string, id: string) => {
    const title = lookup(titles, id);
    const address = h("a", { href: `./run/${encodeURIComponent(id)}/` }, visible(id));
    return h("p", null, h("strong", null, name), " ", title !== undefined && h("code", null, visible(title.slice(0, MOST_TITLE))), " ", address);
  };
  const other = `./compare?a=${encodeURIComponent(b)}&b=${encodeURIComponent(a)}`;
  return [side("A", a), side("B", b), h("a", { href: other }, "The other way round")];
}

function compared(found: Comparison): Node[] {
  const [words, role] = VERDICTS[found.verdict] ?? [visible(found.verdict), "is-warning"];
  const { added, removed, unchanged } = found.summary;
  return [
    h("p", { class: `live-status ${role}` }, words, ` (${added} added, ${removed} removed, ${unchanged} unchanged)`),
    ...found.degraded.map((why) => h("p", { class: "compare-note is-warning" }, `Degraded evidence: ${visible(why)}`)),
    ...found.notes.map((note) => h("p", { class: "compare-note" }, visible(note.says))),
    ...inOrder(found.categories).map(([name, category]) => section(headingOf(found, name), category)),
    h(
      "details",
      null,
      h("summary", null, "What was only tried, and failed"),
      inOrder(found.attempts).map(([name, category]) => section(headingOf(found, name), category)),
    ),
  ].filter((node) => node !== null);
}

function inOrder(categories: Record<string, Category>): [string, Category][] {
  const rank = (name: string): number => {
    if (name === LAST) return FIRST.length + 1;
    return FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
  };
  return Object.entries(categories).sort(([one], [other]) => rank(one) - rank(other));
}

function headingOf({ headings }: Comparison, name: string): string {
  const heading = lookup(headings, name) ?? name;
  return OUTCOME_NOT_SEEN.has(name) ? `${heading}, or attempted with the outcome not seen` : heading;
}

function section(heading: string, { added, removed, unchanged }: Category): HTMLElement | null {
  if (!added.length && !removed.length) return null;
  const counts = `+${added.length} -${removed.length}, ${counted(unchanged.length, "unchanged", "unchanged")}`;
  return h(
    "section",
    { class: "compare-category" },
    h("h2", null, visible(heading), " ", h("small", null, counts)),
    entries("Added", "is-added", added),
    entries("Removed", "is-removed", removed),
  );
}

function entries(label: string, role: string, found: Entry[]): HTMLElement | null {
  if (!found.length) return null;
  const list = h("ul", { class: `compare-entries ${role}`, "aria-label": label });
  const more = h("button", { type: "button", class: "more" });
  let shown = 0;
  const add = (): void => {
    list.append(...found.slice(shown, shown + AT_ONCE).map((one) => h("li", null, words(one))));
    shown = Math.min(shown + AT_ONCE, found.length);
    more.hidden = shown >= found.length;
    more.textContent = `Show more: ${counted(found.length - shown, "entry", "entries")} left`;
  };
  more.addEventListener("click", add);
  add();
  return h("div", null, list, more);
}

function words(one: Entry): string {
  const names = one.names?.length ? `  (${one.names.map(visible).join(", ")})` : "";
  return `${visible(one.entry)}${names}${one.was_attempted ? "  (the other side tried it, and failed)" : ""}`;
}
