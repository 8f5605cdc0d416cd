// How far the run was observed, and what was masked: what this record cannot tell, in words.
// In: observation-health.json, run.json, redaction-report.json and the digests that the browser computed. Out: sections, the
// worst first, and last what is evidence here and what was concluded from it. Never softens a word of the health.
import type { Check } from "../../check";
import { fill, h } from "../../dom";
import { HEALTH } from "../../layout";
import { CORRELATION, GAPS, NO_SCOPE, WITNESSES } from "../../made/words";
import type { App, Panel } from "../../panel";
import { counted, listed, lookup, size, visible } from "../../words";
import { COUNTERS, isLoss, noteInWords } from "./words";
import { isUnsealed, whyNotHere } from "../without_layer";
import { redactionSection } from "./redactions";

type Data = Record<string, any>;
type Role = "is-good" | "is-bad" | "is-warn" | "";
interface Told {
  role: Role;
  words: string;
}

const SHOWN = 5;

export const health: Panel = {
  id: "health",
  title: "Health",
  counted: "gaps",
  async count(app) {
    const found = await app.model.health();
    return found ? ((found.steno?.gaps ?? []) as string[]).length || null : null;
  },
  async mount(host, app) {
    // Of a run that is not sealed nobody has looked yet at what its observer wrote.
    const found = isUnsealed(app) ? null : await app.model.health().catch((error: Error) => error.message);
    const run = await app.model.run().catch(() => null); // the head says that it cannot be read
    const digests = h("div", { "aria-live": "polite" }, "The digests are being computed.");
    fill(
      host,
      ...gapSection((run?.gaps ?? []) as Data[], app),
      h("h3", null, "How far it was observed"),
      ...(found && typeof found !== "string" ? healthSections(found) : [h("p", { class: "empty" }, await whyNoHealth(app, found))]),
      h("h3", { id: "redactions" }, "What was masked"),
      await redactionSection(app),
      h("h3", null, "Is this page what was sealed?"),
      verdict(app),
      digests,
    );
    void app.checked.then((check) =>
      fill(
        digests,
        told([...digestWords(check), ...extracts(app)]),
        h("h3", null, "What was concluded from it"),
        told(judgementWords(check, app)),
      ),
    );
  },
  show(host, _app, target) {
    if (target === "redactions") host.querySelector("#redactions")?.scrollIntoView();
  },
};

function healthSections(found: Data): Node[] {
  return [told(observed(found)), ...notSeen(found), ...counterSection(found)];
}

async function whyNoHealth(app: App, wrong: string | null): Promise<string> {
  if (wrong) return `Cannot be told: ${visible(wrong)}.`;
  return isUnsealed(app)
    ? "This run is not sealed: how far it was observed is told when it is."
    : `Cannot be told: ${HEALTH}: ${await whyNotHere(app, HEALTH)}.`;
}

function told(lines: Told[]): HTMLElement {
  return h(
    "ul",
    { class: "told" },
    lines.map(({ role, words }) => h("li", { class: role }, visible(words))),
  );
}

/** The gaps of the record: what is known to be missing from it. */
function gapSection(gaps: Data[], app: App): Node[] {
  const reasons = gaps.map((gap) => String(gap.reason));
  const others = (app.page.verdict?.gaps ?? []).filter((gap) => !reasons.includes(gap.split(":", 1)[0]!));
  if (!gaps.length && !others.length) return [];
  const items = gaps.map((gap) => {
    const lost = gap.lost_bytes ? ` (${size(gap.lost_bytes)} lost)` : "";
    const missing = lookup(GAPS, String(gap.reason));
    return h(
      "li",
      { class: "is-bad" },
      visible(`${String(gap.reason)}: ${String(gap.detail)}${lost}`),
      missing ? h("div", { class: "muted" }, `Missing: ${missing}.`) : null,
    );
  });
  return [
    h("h3", null, "Gaps: what is missing from this record"),
    h(
      "ul",
      { class: "told" },
      items,
      others.map((gap) => h("li", { class: "is-bad" }, visible(gap))),
    ),
  ];
}

function observed(found: Data): Told[] {
  const own = found.steno as Data;
  const layers = `kernel layer ${own.kernel_layer}, policy layer ${found.policy_layer}, sdk layer ${found.sdk_layer}`;
  const lines: Told[] = [{ role: own.kernel_layer === "partial" ? "is-warn" : "", words: layers }];
  if (own.kernel_layer !== "absent")
    lines.push({ role: "", words: lookup(WITNESSES, own.observer) ?? String(own.observer) });
  return [...lines, ...losses(found, own), ...scope(found, own)];
}

function losses(found: Data, own: Data): Told[] {
  const lines: Told[] = [];
  const drops = Number(found.ringbuf_drops);
  const disagreements = own.witness_disagreements as { count: number; listed: Data[] };
  if (drops)
    lines.push({ role: "is-bad", words: `${counted(drops, "event")} DROPPED: the probe's ring buffer was full` });
  if (disagreements.count) {
    const named = disagreements.listed.map((one) => `${one.op} ${one.path} (only ${one.seen_by})`);
    const some = named.length ? `: ${listed(named, SHOWN)}` : "";
    lines.push({ role: "is-bad", words: `${counted(disagreements.count, "change")} seen by one witness only${some}` });
  }
  if (own.observer === "both" && (drops || own.counters?.lost_events))
    lines.push({ role: "is-warn", words: "the two witnesses could not be compared everywhere" });
  else if (own.observer === "both" && !disagreements.count)
    lines.push({ role: "is-good", words: "the two witnesses agree" });
  return lines;
}

function scope(found: Data, own: Data): Told[] {
  if (own.kernel_layer === "absent") return [];
  const known = lookup(CORRELATION, found.cgroup_correlation);
  if (known) return [{ role: found.cgroup_correlation === "failed" ? "is-bad" : "is-good", words: known }];
  const reason = String(own.scope?.reason ?? "");
  if (!own.scope || own.scope.hierarchy === null)
    return [{ role: "", words: `no cgroup of its own${reason ? `: ${lookup(NO_SCOPE, reason) ?? reason}` : ""}` }];
  if (own.scope.left) {
    const left = counted(Number(own.scope.left), "process", "processes");
    return [{ role: "is-warn", words: `${left} left in the run's cgroup when the recording ended` }];
  }
  return [{ role: "is-warn", words: "how the run's cgroup was left is not known" }];
}

function notSeen(found: Data): Node[] {
  const notes = (found.notes ?? []) as string[];
  if (!notes.length) return [];
  return [
    h("h3", null, "What was not seen"),
    told(notes.map((note) => ({ role: isLoss(note) ? ("is-bad" as const) : "", words: noteInWords(note) }))),
  ];
}

function counterSection(found: Data): Node[] {
  const counters = Object.entries((found.steno.counters ?? {}) as Record<string, number>);
  const lines = counters
    .filter(([, count]) => Number(count) !== 0)
    .map(([name, count]) => {
      const known = lookup(COUNTERS, name);
      return {
        role: known?.loss ? ("is-bad" as const) : ("is-warn" as const),
        words: `${known?.words ?? name}: ${count}`,
      };
    });
  const zeros = counters.length - lines.length;
  const rest = lines.length
    ? `The other ${counted(zeros, "counter")} are 0.`
    : `All ${counted(zeros, "counter")} of losses are 0.`;
  const features = ((found.steno.features ?? []) as string[]).map(visible).join(", ");
  return [
    ...(counters.length
      ? [h("h3", null, "Counted by the observer"), told(lines), h("p", { class: "muted" }, rest)]
      : []),
    ...(features ? [h("p", { class: "muted" }, `Features of the kernel in use: ${features}`)] : []),
  ];
}

/** What `steno verify` said when the page was made. */
function verdict(app: App): HTMLElement {
  const found = app.page.verdict;
  if (!found) return told([{ role: "is-warn", words: "it was not verified when this page was made" }]);
  const role: Role = found.status === "valid" ? "is-good" : found.status === "incomplete" ? "is-warn" : "is-bad";
  const lines: Told[] = [{ role, words: `steno verify, when this page was made: ${found.status}` }];
  return told([...lines, ...found.problems.map((words) => ({ role: "is-bad" as const, words }))]);
}

/** A part that nothing vouches for. */
function extracts(app: App): Told[] {
  return app.page.parts
    .filter((part) => part.extract_of !== undefined)
    .map((part) => ({
      role: "is-warn",
      words: `${part.extract_of} is too large for this page: the contents of changed files are shown from an extract, which has no digest in the manifest`,
    }));
}

function digestWords(check: Check): Told[] {
  const problems = check.problems.map((words) => ({
    role: check.state === "unable" ? ("is-warn" as const) : ("is-bad" as const),
    words,
  }));
  const files = `${check.checked} of ${counted(check.total, "file")} of evidence`;
  const lines: Record<Check["state"], Told> = {
    match: {
      role: "is-good",
      words: `this browser computed the digests of ${files}: all are those of the manifest, root ${check.root}`,
    },
    partial: {
      role: "is-warn",
      words: `this browser computed the digests of ${files}, and all are those of the manifest; the others are not in this page`,
    },
    mismatch: { role: "is-bad", words: `this browser computed the digests of ${files}: NOT what was sealed` },
    unable: { role: "is-warn", words: "this browser could not compute the digests" },
  };
  return [lines[check.state], ...problems];
}

/** No root is over it: whose word it is, and whether it came here as it was given. */
function judgementWords(check: Check, app: App): Told[] {
  const { rules, steno, files } = app.page.judgement;
  const by: Told = {
    role: "",
    words: `not sealed with the record, but concluded from its evidence by Steno ${steno}, rules ${rules}: ${Object.keys(files).join(", ")}`,
  };
  const lines: Record<Check["judgement"]["state"], Told> = {
    match: {
      role: "",
      words: `this browser computed the digests of ${counted(check.judgement.checked, "file")} of it: all are those that this page names`,
    },
    mismatch: { role: "is-bad", words: "it is NOT what this page names" },
    served: { role: "", words: "this server concludes it whenever it is asked" },
    unable: { role: "is-warn", words: "this browser could not compare it with anything" },
  };
  return [by, lines[check.judgement.state], ...check.judgement.problems.map((words) => ({ role: "is-bad" as const, words }))];
}
