// Usage: play-cast.mjs PLAYER_DIST FILE.cast
// Plays a cast to its end with the core of asciinema-player and prints what it would show, as JSON.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [dist, file] = process.argv.slice(2);
const core = readdirSync(dist).find((name) => name.startsWith("core-"));
const { C: Core } = await import(pathToFileURL(join(dist, core)));
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const player = new Core({ data: () => readFileSync(file, "utf8") }, { logger: quiet, preload: true });
const shown = [];
let size = null;
player.addEventListener("output", (text) => shown.push(text));
player.addEventListener("resize", (to) => (size = to));
player.addEventListener("error", (error) => {
  console.error(error);
  process.exit(1);
});
player.terminalReady();
await player.init();
await player.seek("100%");
console.log(JSON.stringify({ shown: shown.flat().join(""), duration: player.getDuration(), size }));
process.exit(0);
