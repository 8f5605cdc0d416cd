// Tool calls: what an agent said, what policy decided, what the kernel saw, and the verdict on the three.
// In: the tables of calls, claims, checks and effects, and correlation-report.json. Out: a table, each call with its details; what belongs to no call; and what
// the agent said at the end. What contradicts a call is never left out, and never folded away.
import { fill, h, prose } from "../../dom";
import { tablePath } from "../../layout";
import type { Call } from "../../made/tables";
import type { Calls } from "../../model";
import type { App, Panel } from "../../panel";
import { whenSeen } from "../../seen";
import { overlaps, timeOf } from "../../span";
import { counted, duration, listed, lookup, visible } from "../../words";
import { callDetail, checkLine, effectList } from "./detail";
import { VERDICT_HELP, VERDICTS, contradictions, decidedWords, nameOf, saidWords, seenWords, selfReported } from "./words";
import { table } from "../table";
import { isUnsealed, whyNotHere } from "../without_layer";

const PATH = tablePath("calls");
const NAMES_SHOWN = 5;
const VERDICT_ROLES: Record<string, string> = {
  confirmed: "is-good",
  contradicted: "is-bad",
  denied: "is-warn",
  ambiguous: "is-warn",
};

export const calls: Panel = {
  id: "calls",
  title: "Calls",
  counted: "tool calls",
  async count(app) {
    const found = await app.model.calls();
    return found && (found.calls.length || found.claims.length) ? found.calls.length : null;
  },
  async mount(host, app) {
    const found = await app.model.calls();
    if (!found || !(found.calls.length || found.claims.length)) return fill(host, await nothing(app, found));
    const correlation = await app.model.correlation();
    const draw = (): void => fill(host, ...sections(app, found, correlation));
    draw();
    return app.window.subscribe(whenSeen(host, draw));
  },
  show(host, _app, target) {
    const opener = target ? host.querySelector<HTMLElement>(`[data-call="${CSS.escape(target)}"]`) : null;
    if (opener?.getAttribute("aria-expanded") === "false") opener.click();
    opener?.scrollIntoView({ block: "center" });
  },
};

async function nothing(app: App, found: Calls | null): Promise<HTMLElement> {
  if (!found || isUnsealed(app)) {
    const why = isUnsealed(app)
      ? "this run is not sealed: its calls are told when it is"
      : `${PATH}: ${await whyNotHere(app, PATH)}`;
    return h("p", { class: "empty" }, `The calls cannot be told: ${why}.`);
  }
  const health = await app.model.health().catch(() => null);
  const shim = ((health?.notes ?? []) as string[]).find((note) => note.startsWith("sdk_layer_absent:shim_"));
  const silent = shim
    ? `no agent told of one (shim ${visible(shim.slice("sdk_layer_absent:shim_".length))})`
    : "no agent told of one";
  return h(
    "div",
    { class: "empty" },
    h("p", null, `No tool call is in this record: ${silent}, and no policy decided on one.`),
    h(
      "p",
      { class: "muted" },
      prose(
        "`steno mcp wrap` stands between an agent and its tools, `steno hook` listens to an agent; what they tell is held against what the kernel saw.",
      ),
    ),
  );
}

function sections(app: App, found: Calls, correlation: Record<string, any> | null): (Node | null)[] {
  const window = app.window.get();
  const shown = found.calls.filter(
    (call) => !window || (call.started_ns !== null && overlaps(window, timeOf(call.started_ns), timeOf(call.ended_ns))),
  );
  const left = found.calls.length - shown.length;
  return [
    verdictCounts(found),
    doubts(correlation),
    left ? h("p", { class: "muted" }, `${counted(left, "call")} outside of the selected window not shown.`) : null,
    shown.length ? callTable(app, found, shown) : null,
    ...claims(found),
    ...outside(app, found),
    ...shared(app, found),
  ];
}

function verdictCounts(found: Calls): HTMLElement {
  const counts = VERDICTS.map(
    (verdict) => [verdict, found.calls.filter((call) => call.verdict === verdict).length] as const,
  );
  return h(
    "p",
    { class: "counts" },
    counted(found.calls.length, "tool call"),
    counts.filter(([, count]) => count).map(([verdict, count]) => badge(verdict, `${count} ${verdict}`)),
  );
}

/** How well the layers are tied to each other, where that is not clean. */
function doubts(correlation: Record<string, any> | null): HTMLElement | null {
  if (!correlation || correlation.status === "clean") return null;
  const ambiguities = (correlation.ambiguities ?? []) as string[];
  const words = ambiguities.length ? `: ${listed(ambiguities, NAMES_SHOWN)}` : "";
  return h("p", { class: "is-warn" }, `correlation: ${visible(String(correlation.status))}${words}`);
}

function callTable(app: App, found: Calls, shown: Call[]): HTMLElement {
  return table({
    caption: "Tool calls: verdict, tool, said, policy, kernel saw",
    headings: ["Verdict", "Tool", "Said", "Policy", "Kernel saw", "When"],
    things: shown,
    cells: (call) => [
      badge(call.verdict),
      h("span", { class: "mono" }, visible(nameOf(call))),
      saidWords(call),
      decidedWords(call),
      seenWords(found.seenOf.get(call.call)),
      call.started_ns === null ? "–" : duration(call.started_ns),
    ],
    below: (call) => underCall(app, found, call),
  });
}

function underCall(app: App, found: Calls, call: Call): HTMLElement {
  const body = h("div", { hidden: true });
  const open = h(
    "button",
    {
      class: "opener link",
      type: "button",
      "aria-expanded": "false",
      "data-call": call.tool_call_id,
      on: {
        click: () => {
          if (!body.firstChild) fill(body, callDetail(app, call, found));
          body.hidden = !body.hidden;
          open.setAttribute("aria-expanded", String(!body.hidden));
        },
      },
    },
    visible(`${call.tool_call_id}: details`),
  );
  return h(
    "div",
    null,
    contradictions(found.checksOf.get(call.call) ?? []).map(({ rule, detail }) => h("p", { class: "is-bad" }, visible(`${rule}: ${detail}`))),
    open,
    body,
  );
}

function badge(verdict: string, words = verdict): HTMLElement {
  const role = lookup(VERDICT_ROLES, verdict) ?? "muted";
  return h("span", { class: `badge ${role}`, title: lookup(VERDICT_HELP, verdict) ?? "" }, visible(words));
}

/** Said versus did: the agent's last words, and the rules that hold them against the record. */
function claims(found: Calls): (Node | null)[] {
  if (!found.claims.length) return [];
  const items = found.claims.map((claim) => {
    const checks = found.checksOfClaim.get(claim.claim) ?? [];
    const who = visible(`${claim.source} at the end: ${claim.kind}, ${selfReported(claim.corroboration)}`);
    return h(
      "li",
      null,
      who,
      h(
        "ul",
        null,
        checks.map((check) => h("li", null, checkLine(check))),
      ),
    );
  });
  return [h("h3", null, "Said at the end, and what was seen"), h("ul", { class: "claims" }, items)];
}

function outside(app: App, found: Calls): (Node | null)[] {
  const seen = found.outside;
  const heading = h("h3", null, "Outside of every call");
  if (!seen)
    return found.calls.length
      ? [heading, h("p", { class: "muted" }, "Not known: this record has no kernel layer.")]
      : [];
  return [
    heading,
    h("p", null, `Effects in the window of no call: ${seenWords(seen)}`),
    h("details", null, h("summary", null, "All of them"), effectList(app, seen)),
    found.byServers.length
      ? h(
          "ul",
          null,
          found.byServers.map((own) => h("li", null, visible(`of these by the server ${own.server}: ${seenWords(own)}`))),
        )
      : null,
  ];
}

function shared(app: App, found: Calls): (Node | null)[] {
  if (!found.shared.length) return [];
  const items = found.shared.map((group) =>
    h(
      "li",
      null,
      h("p", { class: "is-warn" }, `of one of ${listed(group.candidates, NAMES_SHOWN)}: ${seenWords(group)}`),
      effectList(app, group),
    ),
  );
  return [h("h3", null, "Of one of several calls"), h("ul", { class: "claims" }, items)];
}
