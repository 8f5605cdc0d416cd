// The network of a run, by endpoint: what `steno net` says, and the names that were asked for.
// In: the table of connections. Out: two tables, addresses and unix sockets, and what has no address.
// A connect is what was asked for: whether it came to pass is told where the result is. Never looks up a name.
import { fill, h } from "../../dom";
import { tablePath } from "../../layout";
import type { Connection, Unaddressed } from "../../made/tables";
import type { App, Panel } from "../../panel";
import { whenSeen } from "../../seen";
import { numberOf } from "../../tables";
import { programsOf } from "../../tree";
import { counted, duration, lookup, visible } from "../../words";
import { namesIn } from "../names_in_window";
import { table } from "../table";
import { withoutKernel } from "../without_layer";

const UNIX = "unix";
const PROCESSES_SHOWN = 4;

export const network: Panel = {
  id: "network",
  title: "Network",
  counted: "endpoints",
  async count(app) {
    return (await app.model.connections())?.filter((one) => one.family !== UNIX).length ?? null;
  },
  async mount(host, app) {
    const found = await app.model.connections();
    if (!found) return fill(host, await withoutKernel(app, "The network", tablePath("connections")));
    const rest = (await app.model.unaddressed()).map(restWords);
    const shown = await shownWith(app);
    const draw = async (): Promise<void> => {
      const span = app.window.get();
      const names = span ? await namesIn(app, span) : null;
      if (span === app.window.get()) fill(host, ...sections(found, rest, names, shown));
    };
    await draw();
    return app.window.subscribe(whenSeen(host, () => void draw()));
  },
  show(host, _app, target) {
    for (const row of host.querySelectorAll(".is-sought")) row.classList.remove("is-sought");
    const row = target ? rowOf(host, target) : null;
    row?.classList.add("is-sought");
    row?.scrollIntoView({ block: "center" });
  },
};

/** The row of an endpoint, by its address or its name; rows that are not shown yet are brought in. */
function rowOf(host: HTMLElement, target: string): HTMLElement | null {
  const wanted = CSS.escape(target);
  for (;;) {
    const found = host.querySelector(`[data-address="${wanted}"], [data-name="${wanted}"]`);
    if (found) return found.closest("tr");
    const more = [...host.querySelectorAll<HTMLElement>("button.more")].find((one) => !one.hidden);
    if (!more) return null;
    more.click();
  }
}

interface Shown {
  app: App;
  programs: Map<number, string>;
  names: Record<string, string[]>;
}

function sections(found: Connection[], rest: string[], names: Set<string> | null, shown: Shown): (Node | null)[] {
  const inWindow = found.filter((one) => names === null || names.has(one.address));
  const internet = inWindow.filter((one) => one.family !== UNIX);
  const unix = inWindow.filter((one) => one.family === UNIX);
  const left = found.length - inWindow.length;
  return [
    left ? h("p", { class: "muted" }, `${counted(left, "endpoint")} outside of the selected window not shown.`) : null,
    h("h3", null, "Endpoints"),
    internet.length
      ? endpointTable(internet, "Endpoint", shown)
      : h("p", { class: "empty" }, "No connection to an address was tried; none was bound or sent to."),
    unix.length ? h("h3", null, "Unix sockets") : null,
    unix.length ? endpointTable(unix, "Unix socket", shown) : null,
    rest.length ? h("h3", null, "Sockets without an address here") : null,
    rest.length
      ? h(
          "ul",
          { class: "muted" },
          rest.map((words) => h("li", null, words)),
        )
      : null,
  ];
}

function endpointTable(endpoints: Connection[], heading: string, shown: Shown): HTMLElement {
  return table({
    caption: `${heading}s`,
    headings: ["First", heading, "Outcome", "Calls", "Count", "Processes"],
    things: endpoints,
    class: (one) => (one.all_failed ? "is-bad" : ""),
    cells: (one) => [
      duration(numberOf(one.first_ns)),
      h("span", { class: "mono", "data-address": one.address, "data-name": one.name }, visible(one.name) || "(unnamed)", ...askedFor(one, shown.names)),
      visible(one.came_of_all ?? "–"),
      visible(one.calls.join(", ")),
      one.times,
      who(one, shown),
    ],
  });
}

function askedFor(one: Connection, names: Record<string, string[]>): Node[] {
  const bare = one.name.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  const asked = lookup(names, bare) ?? lookup(names, one.name) ?? [];
  return asked.map((name) => h("span", { class: "asked" }, `asked for as ${visible(name)}`));
}

function who(one: Connection, { app, programs }: Shown): HTMLElement {
  const links = one.processes
    .slice(0, PROCESSES_SHOWN)
    .map((number) =>
      h(
        "button",
        { class: "link", type: "button", on: { click: () => app.open("processes", String(number)) } },
        `${visible(programs.get(number) ?? "?")}[${number}]`,
      ),
    );
  const more = one.processes.length - links.length;
  return h("span", { class: "links" }, links, more > 0 ? `and ${more} more` : null);
}

async function shownWith(app: App): Promise<Shown> {
  const surface = (await app.model.surface())?.steno ?? {};
  return { app, programs: programsOf(await app.model.processes()), names: surface.names ?? {} };
}

function restWords(one: Unaddressed): string {
  return visible(`${one.sockets === null ? `${one.operation} on a descriptor` : `${one.sockets} sockets`}: ${one.times}`);
}
