// The network of a run, by endpoint: what `steno net` says, and the names that were asked for.
// In: the lines of syscalls.ndjson about sockets. Out: two tables, addresses and unix sockets, and what has no address.
// A connect is what was asked for: whether it came to pass is told where the result is. Never looks up a name.
import { fill, h } from "../../dom";
import { KERNEL_LINES, KERNEL_TABLE } from "../../layout";
import type { App, Panel } from "../../panel";
import { whenSeen } from "../../seen";
import { treeOf } from "../../tree";
import { counted, duration, lookup, visible } from "../../words";
import { namesIn } from "../names_in_window";
import { table } from "../table";
import { withoutKernel } from "../without_layer";
import { outcomeOf } from "./outcome";
import type { Connects } from "./outcome";
import { FAMILIES, SocketsUsed } from "./sockets";
import type { Line } from "./sockets";

interface Endpoint {
  address: string;
  isUnix: boolean;
  name: string;
  operations: Map<string, number>;
  /** What the calls of each kind ended with. */
  results: Map<string, Set<string>>;
  /** The same of its connects, by the kind of socket they were made on. */
  connects: Connects;
  processes: Set<number>;
  first: number;
  last: number;
}

interface Network {
  endpoints: Endpoint[];
  /** Calls on a descriptor whose address is not told, and sockets by their kind: words and how many. */
  rest: string[];
}

const TYPES: Record<string, string> = { 1: "stream", 2: "datagram", 3: "raw", 5: "seqpacket" };
const NO_ERROR = ["ok", "unknown"];
/** Addresses of nobody: the kernel's own, and the end of a connection. */
const NO_PEER = ["netlink:", "family:0", "family:?"];
const PROCESSES_SHOWN = 4;

export const network: Panel = {
  id: "network",
  title: "Network",
  counted: "endpoints",
  async count(app) {
    if (!app.source.has(KERNEL_TABLE)) return null;
    return (await read(app)).endpoints.filter((one) => !one.isUnix).length;
  },
  async mount(host, app) {
    if (!app.source.has(KERNEL_TABLE)) return fill(host, await withoutKernel(app, "The network", KERNEL_TABLE));
    const found = await read(app);
    const shown = await shownWith(app);
    const draw = async (): Promise<void> => {
      const span = app.window.get();
      const names = span ? await namesIn(app, span) : null;
      if (span === app.window.get()) fill(host, ...sections(found, names, shown));
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

function sections(found: Network, names: Set<string> | null, shown: Shown): (Node | null)[] {
  const inWindow = found.endpoints.filter((one) => names === null || names.has(one.address));
  const internet = inWindow.filter((one) => !one.isUnix);
  const unix = inWindow.filter((one) => one.isUnix);
  const left = found.endpoints.length - inWindow.length;
  return [
    left ? h("p", { class: "muted" }, `${counted(left, "endpoint")} outside of the selected window not shown.`) : null,
    h("h3", null, "Endpoints"),
    internet.length
      ? endpointTable(internet, "Endpoint", shown)
      : h("p", { class: "empty" }, "No connection to an address was tried; none was bound or sent to."),
    unix.length ? h("h3", null, "Unix sockets") : null,
    unix.length ? endpointTable(unix, "Unix socket", shown) : null,
    found.rest.length ? h("h3", null, "Sockets without an address here") : null,
    found.rest.length
      ? h(
          "ul",
          { class: "muted" },
          found.rest.map((words) => h("li", null, words)),
        )
      : null,
  ];
}

function endpointTable(endpoints: Endpoint[], heading: string, shown: Shown): HTMLElement {
  return table({
    caption: `${heading}s`,
    headings: ["First", heading, "Outcome", "Calls", "Count", "Processes"],
    things: endpoints,
    class: (one) => (outcomeOf(one.results, one.connects).isRefused ? "is-bad" : ""),
    cells: (one) => [
      duration(one.first),
      h("span", { class: "mono", "data-address": one.address, "data-name": one.name }, visible(one.name) || "(unnamed)", ...askedFor(one, shown.names)),
      outcomeOf(one.results, one.connects).words,
      calls(one),
      [...one.operations.values()].reduce((sum, count) => sum + count, 0),
      who(one, shown),
    ],
  });
}

function askedFor(one: Endpoint, names: Record<string, string[]>): Node[] {
  const bare = one.name.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  const asked = lookup(names, bare) ?? lookup(names, one.name) ?? [];
  return asked.map((name) => h("span", { class: "asked" }, `asked for as ${visible(name)}`));
}

function calls(one: Endpoint): string {
  const words = [...one.operations.keys()].sort().map((op) => {
    const errors = [...(one.results.get(op) ?? [])].filter((result) => !NO_ERROR.includes(result)).sort();
    return errors.length ? `${op} (${errors.join(", ")})` : op;
  });
  return visible(words.join(", "));
}

function who(one: Endpoint, { app, programs }: Shown): HTMLElement {
  const numbers = [...one.processes].sort((a, b) => a - b);
  const links = numbers
    .slice(0, PROCESSES_SHOWN)
    .map((number) =>
      h(
        "button",
        { class: "link", type: "button", on: { click: () => app.open("processes", String(number)) } },
        `${visible(programs.get(number) ?? "?")}[${number}]`,
      ),
    );
  const more = numbers.length - links.length;
  return h("span", { class: "links" }, links, more > 0 ? `and ${more} more` : null);
}

async function shownWith(app: App): Promise<Shown> {
  const surface = (await app.model.surface())?.steno ?? {};
  return { app, programs: treeOf(await app.model.processes()).programs, names: surface.names ?? {} };
}

const known = new WeakMap<App, Promise<Network>>();

function read(app: App): Promise<Network> {
  const reading = known.get(app) ?? networkOf(app);
  known.set(app, reading);
  return reading;
}

async function networkOf(app: App): Promise<Network> {
  const lines = (await app.source.lines<Line>(KERNEL_LINES)).filter((line) => line.category === "net");
  const used = new SocketsUsed(lines, await app.model.processes());
  const found = new Map<string, Endpoint>();
  const rest = new Map<string, number>();
  for (const line of lines) {
    if (line.op === "socket" || line.path === undefined) {
      const words =
        line.op === "socket" ? `${kindOf(line.path ?? "?")} sockets` : `${visible(line.op)} on a descriptor`;
      rest.set(words, (rest.get(words) ?? 0) + line.count);
    } else if (!NO_PEER.includes(line.path)) {
      take(found, line, line.path, used);
    }
  }
  const sorted = [...rest].sort(([one], [other]) => (one < other ? -1 : 1));
  return { endpoints: [...found.values()], rest: sorted.map(([words, count]) => `${words}: ${count}`) };
}

function take(found: Map<string, Endpoint>, line: Line, address: string, used: SocketsUsed): void {
  let one = found.get(address);
  if (!one) found.set(address, (one = endpoint(address)));
  one.first = Math.min(one.first, Number(line.first_ns));
  one.last = Math.max(one.last, Number(line.last_ns));
  one.operations.set(line.op, (one.operations.get(line.op) ?? 0) + line.count);
  const results = one.results.get(line.op) ?? new Set();
  one.results.set(line.op, results.add(line.result));
  if (line.op === "connect") one.connects[used.kind(line, familyOf(address))].add(line.result);
  one.processes.add(line.process);
}

function endpoint(address: string): Endpoint {
  const family = address.split(":", 1)[0]!;
  const isUnix = familyOf(address) === "unix";
  const hasName = /^inet6?$/.test(family) || (family === "unix" && address.length > "unix:".length);
  return {
    address,
    isUnix,
    name: hasName ? address.slice(family.length + 1) : address,
    operations: new Map(),
    results: new Map(),
    connects: { connecting: new Set(), datagram: new Set(), either: new Set() },
    processes: new Set(),
    first: Infinity,
    last: 0,
  };
}

function familyOf(address: string): string {
  return address.startsWith("/") ? "unix" : address.split(":", 1)[0]!;
}

/** The words for `family:type`; above the low bits are SOCK_CLOEXEC and SOCK_NONBLOCK. */
function kindOf(numbers: string): string {
  const [family = "?", type = "?"] = numbers.split(":");
  return visible(
    `${lookup(FAMILIES, family) ?? `family ${family}`} ${lookup(TYPES, String(Number(type) & 15)) ?? `type ${type}`}`,
  );
}
