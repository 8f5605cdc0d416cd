// Asking the server that gave us the page, and nobody else.
// In: an address below the page's own. Out: its JSON, or an Error whose message is what the server said, made visible.
import { visible } from "../words";

export async function ask<T>(address: string): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(address, { credentials: "omit", redirect: "error" });
  } catch {
    throw new Error("The server does not answer. Is `steno serve` still running?");
  }
  if (!answer.ok) throw new Error((await answer.text()).split("\n").map(visible).join(" "));
  return (await answer.json()) as T;
}
