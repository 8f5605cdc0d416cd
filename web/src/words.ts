// Text from a record, made safe to read; sizes and times in words. The same as text/safe.py and text/units.py say.
// In: any text or number of a bundle. Out: text in which nothing hides: what cannot be seen, or would change the order
// of what can, is spelled out. Never changes what can be seen.

// Cc, Cf, Cs, Co, Cn, Zl, Zp, as in Python.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
const PLAIN = /^[ -~]*$/;
const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const SIZES = ["KiB", "MiB", "GiB", "TiB", "PiB"];

export function visible(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSEEN, spelled);
}

/** A line of a file or of a terminal: the same, but tabs stay. */
export function visibleLine(text: string): string {
  return PLAIN.test(text) ? text : text.replace(UNSEEN, (one) => (one === "\t" ? one : spelled(one)));
}

export function size(bytes: number | string | undefined): string {
  const count = Number(bytes ?? NaN);
  if (!Number.isFinite(count)) return "?";
  if (count < 1024) return `${count} B`;
  const power = Math.min(Math.floor(Math.log2(count) / 10), SIZES.length);
  return `${(count / 1024 ** power).toFixed(1)} ${SIZES[power - 1]}`;
}

export function duration(nanoseconds: number | string): string {
  const seconds = Math.max(Number(nanoseconds), 0) / 1e9;
  if (seconds < 10) return `${seconds.toFixed(2)}s`;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const whole = Math.floor(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`;
}

export function counted(count: number, thing: string, things = `${thing}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? thing : things}`;
}

/** `a, b, c and 4 more`: every word made visible. */
export function listed(words: readonly string[], limit: number): string {
  const shown = words.slice(0, limit).map(visible).join(", ");
  return words.length > limit ? `${shown} and ${words.length - limit} more` : shown;
}

/** What a table has under a name that a stranger may have chosen (`constructor`). */
export function lookup<T>(table: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function spelled(character: string): string {
  const short = SHORT[character];
  if (short) return short;
  const code = character.codePointAt(0)!;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
