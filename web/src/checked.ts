// What the browser's own check found, in the header. The header begins as not checked; only a check that went well, of the
// digests and of the header itself, turns it into the verdict that `steno verify` gave when the page was made, and only then
// is anything green.
import type { Check } from "./check";
import { fill, h } from "./dom";
import { counted, visible } from "./words";

const MOST_PROBLEMS = 20;
const UNCHECKED = "verdict-unchecked";
const UNTRUSTED = "is-untrusted";
const MISMATCH = "Not what was sealed";
const OTHER_HEAD = "The head was changed";
/** What a sound record is called, as views/report/answers.py has it. */
const SOUND: Record<string, [word: string, sentence: string]> = {
  valid: ["Record valid", "Every digest is right, and every derived file follows from what was recorded."],
  incomplete: [
    "Record incomplete",
    "What is here is what was sealed, but the record itself declares that something is missing.",
  ],
};

/** Until it is shown to be right, nothing is green. */
export function trustNothingYet(): void {
  document.documentElement.classList.add(UNTRUSTED);
}

/** `differences`: where the header says something else than the record. */
export function showCheck(found: Check, differences: string[]): void {
  const place = document.getElementById("digest-check");
  const header = document.getElementById("verdict");
  if (!place || !header) return;
  place.classList.add(`check-${found.state}`);
  fill(place, sentence(found));
  if (found.state === "mismatch") {
    mismatch(header, MISMATCH, "The bytes in this page are not those of the record. Rely on nothing below.");
    header.prepend(alarm("This page does not hold what was sealed.", found.problems));
  } else if (differences.length) {
    mismatch(header, OTHER_HEAD, "What stands here is not what the record says. The panels below read the record.");
    header.prepend(alarm("The head of this page does not say what the record in it says.", differences));
  } else if (isWaiting(header) && found.state !== "unable") {
    verdict(header, found.isComplete ? "valid" : "incomplete");
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
      return [`${counted(found.checked, "digest")} and the root `, root, " match"];
    case "partial":
      return [`${found.checked} of ${counted(found.total, "digest")} match, with the root `, root, "; the others are not in this page"];
    case "mismatch":
      return [`does not match: ${counted(found.problems.length, "problem")}`];
    case "unable":
      return [`not checked: ${visible(found.problems[0] ?? "unknown")}`];
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
