// What the browser's own check found, in the header: of the evidence, and apart from it of what was concluded. The header
// begins as not checked; only a check that went well, of the digests and of the header itself, turns it into the verdict that `steno verify` gave when the page was made, and only then
// is anything green.
import type { Check } from "./check";
import { fill, h } from "./dom";
import type { HeldHead } from "./head";
import type { Judgement } from "./panel";
import { counted, visible } from "./words";

const MOST_PROBLEMS = 20;
const UNCHECKED = "verdict-unchecked";
const UNTRUSTED = "is-untrusted";
const MISMATCH = "Not what was sealed";
const OTHER_JUDGEMENT = "What was concluded was changed";
const OTHER_HEAD = "The head was changed";
/** What a sound record is called, as report/overview.py has it. */
const SOUND: Record<string, [word: string, sentence: string]> = {
  valid: ["Record valid", "Every digest is right: this is what was sealed, and nothing that should be in it is missing."],
  incomplete: [
    "Record incomplete",
    "What is here is what was sealed, but the record itself declares that something is missing.",
  ],
};

/** Until it is shown to be right, nothing is green. */
export function trustNothingYet(): void {
  document.documentElement.classList.add(UNTRUSTED);
}

/** `held`: null where there was nothing to hold the header against. */
export function showCheck(found: Check, by: Judgement, held: HeldHead | null): void {
  const place = document.getElementById("digest-check");
  const header = document.getElementById("verdict");
  if (!place || !header) return;
  place.classList.add(`check-${found.judgement.state === "mismatch" ? "mismatch" : found.state}`);
  fill(place, ...sentence(found), ...judgementSentence(found, by));
  if (found.state === "mismatch") {
    mismatch(header, MISMATCH, "The bytes in this page are not those of the record. Rely on nothing below.");
    header.prepend(alarm("This page does not hold what was sealed.", found.problems));
  } else if (found.judgement.state === "mismatch") {
    mismatch(header, OTHER_JUDGEMENT, "The evidence is what was sealed; what this page says follows from it was changed.");
    header.prepend(alarm("What this page holds is not what its maker concluded from the evidence.", found.judgement.problems));
  } else if (held?.differences.length) {
    mismatch(header, OTHER_HEAD, "What stands here is not what the files of this page say. The panels below read those.");
    header.prepend(alarm("The head of this page does not say what the files in it say.", held.differences));
  } else if (held) {
    verdict(header, held.isComplete ? "valid" : "incomplete");
  }
}

/** Whether the header is of a record that was sound when the page was made, and waits to be checked. */
export function isWaiting(header: Element): boolean {
  return header.classList.contains(UNCHECKED);
}

/** The verdict of when the page was made, now that the page is known to hold what was verified. */
function verdict(header: HTMLElement, status: string): void {
  header.classList.replace(UNCHECKED, "verdict-checked");
  document.documentElement.classList.remove(UNTRUSTED);
  document.dispatchEvent(new Event("steno:theme"));
  say(header, ...SOUND[status]!);
}

/** A record that was bad when the page was made keeps its own word. */
function mismatch(header: HTMLElement, word: string, sentence: string): void {
  if (!isWaiting(header)) return;
  header.classList.remove("verdict-valid", "verdict-incomplete");
  header.classList.replace(UNCHECKED, "verdict-mismatch");
  say(header, word, sentence);
}

function say(header: HTMLElement, word: string, sentence: string): void {
  for (const [id, text] of Object.entries({ "verdict-word": word, "verdict-sentence": sentence })) {
    const place = document.getElementById(id);
    if (place) place.textContent = text;
  }
  const troubles = header.classList.contains("verdict-checked") ? document.getElementById("verdict-troubles")?.textContent : "";
  document.title = `${word}${troubles ?? ""}: ${header.dataset.about ?? ""}`;
}

function sentence(found: Check): (Node | string)[] {
  const root = found.root ? h("code", { title: `root ${found.root}` }, found.root.slice(0, 12)) : "";
  switch (found.state) {
    case "match":
      return [`evidence: ${counted(found.checked, "digest")} and the root `, root, " match"];
    case "partial":
      return [`evidence: ${found.checked} of ${counted(found.total, "digest")} match, with the root `, root, "; the others are not in this page"];
    case "mismatch":
      return [`evidence: does not match, ${counted(found.problems.length, "problem")}`];
    case "unable":
      return [`not checked: ${visible(found.problems[0] ?? "unknown")}`];
  }
}

/** Whose word the rest is: no root is over it, so it is never green. */
function judgementSentence({ judgement }: Check, by: Judgement): (Node | string)[] {
  const rules = visible(`rules ${by.rules} of Steno ${by.steno}`);
  switch (judgement.state) {
    case "match":
      return ["; ", h("span", { class: "muted" }, `concluded: ${counted(judgement.checked, "file")} as ${rules} gave them, which no root is over`)];
    case "served":
      return ["; ", h("span", { class: "muted" }, `concluded: by this server when it is asked, by ${rules}, which no root is over`)];
    case "mismatch":
      return [`; concluded: does not match, ${counted(judgement.problems.length, "problem")}`];
    case "unable":
      return [];
  }
}

function alarm(what: string, problems: string[]): HTMLElement {
  const shown = problems.slice(0, MOST_PROBLEMS);
  const more = problems.length - shown.length;
  return h(
    "div",
    { class: "alarm", role: "alert" },
    h("strong", null, what),
    h("ul", null, shown.map((problem) => h("li", null, visible(problem))), more > 0 && h("li", null, `and ${more} more`)),
  );
}
