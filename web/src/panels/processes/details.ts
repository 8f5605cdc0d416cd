// Everything that is known of one process.
import { h } from "../../dom";
import type { Exec } from "../../made/tables";
import type { App } from "../../panel";
import type { Scene } from "../../scene";
import { clock, lasting, lengthOf } from "../../span";
import { numberOf } from "../../tables";
import { hasEnded } from "../../tree";
import { counted, visible } from "../../words";

const MOST_CHILDREN = 30;
const MOST_WORDS = 300;
const MOST_CHARACTERS = 2000;

export function detailsOf(
  app: App,
  scene: Scene,
  number: number,
  alike: number[],
  reveal: (number: number) => void,
): HTMLElement[] {
  const { tree, lanes } = scene;
  const process = tree.known.get(number)!;
  const span = lanes.spanOf.get(number)!;
  const children = tree.below.get(number) ?? [];
  const link = (to: number) =>
    h("button", { type: "button", class: "link", on: { click: () => reveal(to) } }, `${visible(tree.programs.get(to) ?? "?")} (${to})`);
  const fact = (name: string, ...what: (Node | string | null)[]) => h("div", null, h("dt", null, name), h("dd", null, ...what));
  return [
    h("h3", null, visible(tree.programs.get(number) ?? "?"), h("small", null, ` process ${number}`)),
    h(
      "div",
      { class: "buttons" },
      action("Its time as the window", () => app.window.set({ ...span })),
      action("Its events", () => app.open("events", `process:${number}`)),
    ),
    h(
      "dl",
      { class: "facts" },
      alike.length > 1 ? fact("Alike", `the first of ${counted(alike.length, "process", "processes")} that did the same`) : null,
      fact("Ended", ending(scene, number)),
      fact("Ran", `${process.ended_ns === null ? "from" : `${lasting(lengthOf(span))}, from`} ${clock(span.from)}`),
      fact("Pid", `${process.pid ?? "not known"}${process.threads > 1 ? `, ${process.threads} threads` : ""}`),
      fact("Events", process.n_events.toLocaleString("en")),
      fact("Started by", process.parent !== null && tree.known.has(process.parent) ? link(process.parent) : "the recorder, or nobody that was seen"),
      children.length
        ? fact(
            "Started",
            h("span", { class: "links" }, ...children.slice(0, MOST_CHILDREN).map(link)),
            children.length > MOST_CHILDREN ? ` and ${children.length - MOST_CHILDREN} more` : null,
          )
        : null,
    ),
    ...programs(scene.execs.get(number) ?? []),
  ].filter((one) => one !== null) as HTMLElement[];
}

function action(text: string, click: () => void): HTMLElement {
  return h("button", { type: "button", on: { click } }, text);
}

function ending(scene: Scene, number: number): string {
  const one = scene.tree.known.get(number)!;
  if (one.still_running) return "still alive when the recording ended";
  if (!hasEnded(one)) return "not seen";
  const how = one.signal === null ? `exit ${one.exit_code}` : `by ${one.signal}${one.core_dumped ? ", with a core" : ""}`;
  return `${visible(how)} (${one.end_known === "kernel" ? "told by the kernel" : visible(one.end_known)})`;
}

/** What it executed. Tries that failed on the way along PATH are one line. */
function programs(execs: Exec[]): HTMLElement[] {
  const worked = execs.filter((one) => one.outcome !== "failed");
  const failed = execs.length - worked.length;
  const made = worked.map((exec) =>
    h(
      "section",
      { class: "exec" },
      h("h4", null, visible(exec.executable ?? exec.requested ?? "?"), h("small", null, ` at ${clock(numberOf(exec.at_ns))}`)),
      h("ol", { class: "argv", start: 0 }, exec.arguments.slice(0, MOST_WORDS).map(argument)),
      exec.arguments.length > MOST_WORDS ? h("p", null, `${exec.arguments.length - MOST_WORDS} more are in the record.`) : null,
      exec.arguments_cut ? h("p", null, `${numberOf(exec.n_arguments) - exec.arguments.length} more arguments are not kept.`) : null,
      exec.interpreter ? h("p", null, `Run by ${visible(exec.interpreter)}.`) : null,
      exec.privilege_lost ? h("p", { class: "is-warn" }, "It ran without the privilege of its set-user-id bit.") : null,
    ),
  );
  if (failed) made.push(h("section", { class: "exec" }, h("p", null, `${counted(failed, "attempt")} to run a program failed.`)));
  return made;
}

function argument(word: string): HTMLElement {
  const rest = word.length - MOST_CHARACTERS;
  const seen = visible(word.slice(0, MOST_CHARACTERS)) || "(empty)";
  return h("li", null, h("code", null, seen), rest > 0 ? ` and ${counted(rest, "more character", "more characters")}` : null);
}
