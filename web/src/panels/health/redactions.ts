// What was masked, and where: the redaction report as tables.
// In: redaction-report.json, which holds lengths and HMACs and never a secret. Out: an element. Equal HMACs are the same
// secret, so that it can be seen where one went.
import { h } from "../../dom";
import type { App } from "../../panel";
import { counted, visible } from "../../words";
import { table } from "../table";
import { isUnsealed } from "../without_layer";

interface Example {
  where: string;
  rule: string;
  length: number;
  hmac: string;
}

/** A content that holds a secret is encrypted as a whole: there is no value to tell apart. */
const WHOLE_CONTENT = "encrypted-blob";

export async function redactionSection(app: App): Promise<HTMLElement> {
  const report = await app.model.redactions();
  if (!report) return h("p", { class: "empty" }, "Cannot be told: the record has no redaction report yet.");
  const total = Number(report.total ?? 0);
  const soFar = isUnsealed(app) ? " so far" : "";
  if (!total) return h("p", null, `Nothing${soFar}: no secret was found in what was recorded.`);
  const examples = (report.examples ?? []) as Example[];
  const left = total - examples.length;
  return h(
    "div",
    null,
    h("p", null, `${counted(total, "secret")}${soFar}, by rule:`),
    h(
      "ul",
      { class: "told" },
      Object.entries((report.counts ?? {}) as Record<string, number>).map(([rule, count]) =>
        h("li", null, visible(`${rule}: ${count}`)),
      ),
    ),
    examples.length ? exampleTable(app, examples) : null,
    left > 0 ? h("p", { class: "muted" }, `${left} more are counted and not listed.`) : null,
    places(report),
  );
}

function exampleTable(app: App, examples: Example[]): HTMLElement {
  const numbers = numbered(examples);
  return table({
    caption: "What was masked",
    headings: ["Where", "Rule", "Bytes", "Secret"],
    things: examples,
    cells: (one) => [
      place(app, String(one.where)),
      visible(String(one.rule)),
      one.rule === WHOLE_CONTENT ? "–" : Number(one.length),
      one.rule === WHOLE_CONTENT ? "the whole content is kept encrypted" : `no. ${numbers.get(one.hmac)}`,
    ],
  });
}

function place(app: App, where: string): Node {
  const path = where.startsWith("blobs:/") ? where.slice("blobs:".length) : null;
  if (path === null) return h("span", { class: "mono" }, visible(where));
  return h(
    "button",
    { class: "link mono", type: "button", on: { click: () => app.open("files", path) } },
    visible(where),
  );
}

/** The same secret has the same number, wherever it was found. */
function numbered(examples: Example[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const { hmac, rule } of examples)
    if (rule !== WHOLE_CONTENT && !numbers.has(hmac)) numbers.set(hmac, numbers.size + 1);
  return numbers;
}

function places(report: Record<string, any>): HTMLElement | null {
  const fields = (report.redacted_fields ?? []) as string[];
  const more = Number(report.redacted_fields_left_off_at_most ?? 0);
  if (!fields.length) return null;
  return h(
    "details",
    null,
    h("summary", null, `${counted(fields.length, "place")} in the record${more ? `, and at most ${more} more` : ""}`),
    h(
      "ul",
      { class: "mono" },
      fields.map((field) => h("li", null, visible(String(field)))),
    ),
  );
}
