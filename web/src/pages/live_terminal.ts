// The terminal of a run that is going on, as it shows itself.
// In: ./terminal, a stream in the player's own live format. Out: the player, without controls: there is nothing to seek in yet.
import * as asciinema from "asciinema-player";
import { fill, h } from "../dom";

export function liveTerminal(host: HTMLElement): void {
  const stage = h("div", { class: "stage" });
  fill(host, h("h2", null, "Terminal"), stage);
  const source = { driver: "eventsource", url: "./terminal", bufferTime: 0 } as never;
  asciinema.create(source, stage, { controls: false, fit: "width", autoPlay: true, theme: "asciinema" });
}
