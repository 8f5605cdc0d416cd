// Makes report.js, report.css and the licences of what is in them: node build.mjs [FOLDER]
// The same sources and the same packages give the same bytes, on any machine.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? join(here, "../src/steno/report/assets"));

const result = await build({
  absWorkingDir: here,
  entryPoints: [
    { in: "src/main.ts", out: "report" },
    { in: "src/styles/report.css", out: "report" },
  ],
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2020", "chrome100", "firefox113", "safari16.4"],
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  preserveSymlinks: true,
  write: false,
});

mkdirSync(folder, { recursive: true });
for (const file of result.outputFiles) writeFileSync(file.path, inElement(file.text));
writeFileSync(join(folder, "LICENSES.txt"), licences(Object.keys(result.metafile.inputs)));
for (const file of result.outputFiles) console.log(`${file.path}: ${file.contents.length} bytes`);

/** HTML knows two more ways to lose the end of a script than `</script`, which esbuild looks after; both occur in literals only. */
function inElement(text) {
  return text.replace(/<(?=!--|script)/gi, "\\x3c");
}

/** The licence of every package that a file of the bundle is from, and of those that such a package may have in itself. */
function licences(inputs) {
  const found = new Map();
  const waiting = inputs.map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean);
  for (let name = waiting.pop(); name; name = waiting.pop()) {
    if (found.has(name) || name.startsWith("@types/")) continue;
    const home = join(here, "node_modules", name);
    const { version, license, dependencies } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    const file = readdirSync(home).sort().find((one) => /^licen[cs]e/i.test(one));
    const text = file ? readFileSync(join(home, file), "utf8").trim() : "(no licence file in the package)";
    found.set(name, `${name} ${version} (${license})\n\n${text}\n`);
    waiting.push(...Object.keys(dependencies ?? {}));
  }
  const texts = [...found.keys()].sort().map((name) => found.get(name));
  return `report.js and report.css contain these packages.\n\n${texts.join(`\n${"-".repeat(72)}\n\n`)}`;
}
