// Light, dark, or as the reader's system has it.
import { h } from "./dom";

const CHOICES = ["auto", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];
const KEY = "steno-theme";
const DARK = "(prefers-color-scheme: dark)";
const MEDIA: Record<Choice, string> = { auto: DARK, light: "not all", dark: "all" };

export function themeButton(): HTMLButtonElement {
  let choice = remembered();
  const button = h("button", { type: "button", class: "quiet theme", on: { click: next } });
  const rules = darkRules();
  const show = () => {
    for (const rule of rules) rule.media.mediaText = MEDIA[choice];
    button.textContent = { auto: "◐", light: "○", dark: "●" }[choice];
    button.title = `Colours: ${choice === "auto" ? "as the system has them" : choice}`;
    button.setAttribute("aria-label", button.title);
    document.dispatchEvent(new Event("steno:theme"));
  };
  function next(): void {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length]!;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // A page from a file may have no storage; the choice then holds for this visit.
    }
    show();
  }
  matchMedia(DARK).addEventListener("change", show);
  show();
  return button;
}

/** The parts of the style that are for the dark: the reader's choice turns them on or off. */
function darkRules(): CSSMediaRule[] {
  return [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule): rule is CSSMediaRule => rule instanceof CSSMediaRule && rule.conditionText === DARK);
}

function remembered(): Choice {
  try {
    return CHOICES.find((one) => one === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

/** The colours of the style, for what is drawn and not styled. */
export function colours(names: readonly string[]): Record<string, string> {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
