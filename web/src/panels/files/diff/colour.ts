// Syntax colour: which part of a line is of which kind.
// In: a text and the name of its file. Out: for each line its pieces with the class of their colour; null where the
// language is not known or a line too long. The tree of lowlight is walked; no markup is ever made of it.
import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import perl from "highlight.js/lib/languages/perl";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { lookup } from "../../../words";

export interface Piece {
  text: string;
  kind: string;
}

/** Some 50 milliseconds of work: what is larger is coloured in pieces, when they are looked at. */
const LARGEST = 24 * 1024;
const LINES_AT_ONCE = 200;
const LONGEST_LINE = 2000;

const low = createLowlight({
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  lua,
  makefile,
  markdown,
  perl,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
});

const BY_ENDING: Record<string, string> = {
  ...sameName("c", "cpp", "css", "diff", "go", "ini", "java", "json", "lua", "php", "sql", "swift", "xml", "yaml"),
  bash: "bash",
  sh: "bash",
  zsh: "bash",
  h: "c",
  cc: "cpp",
  cxx: "cpp",
  hpp: "cpp",
  cs: "csharp",
  patch: "diff",
  cfg: "ini",
  conf: "ini",
  toml: "ini",
  cjs: "javascript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  ipynb: "json",
  kt: "kotlin",
  mk: "makefile",
  md: "markdown",
  pl: "perl",
  pm: "perl",
  py: "python",
  pyi: "python",
  rb: "ruby",
  rs: "rust",
  cts: "typescript",
  mts: "typescript",
  ts: "typescript",
  tsx: "typescript",
  htm: "xml",
  html: "xml",
  svg: "xml",
  vue: "xml",
  yml: "yaml",
};
const BY_NAME: Record<string, string> = {
  dockerfile: "dockerfile",
  makefile: "makefile",
  gnumakefile: "makefile",
  ".bashrc": "bash",
  ".profile": "bash",
  ".gitconfig": "ini",
  gemfile: "ruby",
  rakefile: "ruby",
};

export function languageOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const ending = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "";
  const found = lookup(BY_NAME, name) ?? lookup(BY_ENDING, ending);
  return found ?? null;
}

interface Text {
  count: number;
  bytes: number;
  text(line: number): string;
}

/** The colours of a text, found when a line is first looked at. Where a large text is cut into pieces, a comment that goes on over the cut loses its colour. */
export class Colours {
  private readonly pieces = new Map<number, Piece[][] | null>();
  private readonly atOnce: number;

  constructor(
    private readonly lines: Text,
    private readonly language: string,
  ) {
    this.atOnce = lines.bytes <= LARGEST ? Math.max(lines.count, 1) : LINES_AT_ONCE;
  }

  line(at: number): Piece[] | null {
    const first = at - (at % this.atOnce);
    if (!this.pieces.has(first)) this.pieces.set(first, this.piece(first));
    return this.pieces.get(first)?.[at - first] ?? null;
  }

  private piece(first: number): Piece[][] | null {
    const count = Math.min(this.atOnce, this.lines.count - first);
    const lines = Array.from({ length: count }, (_, at) => this.lines.text(first + at));
    if (lines.some((line) => line.length > LONGEST_LINE)) return null;
    try {
      return coloured(lines.join("\n"), this.language);
    } catch {
      return null; // a grammar that does not cope with it: shown without colours
    }
  }
}

export function coloured(text: string, language: string): Piece[][] {
  const lines: Piece[][] = [[]];
  walk(low.highlight(language, text) as Tree, "", lines);
  return lines;
}

interface Tree {
  type: string;
  value?: string;
  children?: Tree[];
  properties?: { className?: unknown };
}

function walk(tree: Tree, kind: string, lines: Piece[][]): void {
  if (tree.type === "text") {
    (tree.value ?? "").split("\n").forEach((part, place) => {
      if (place) lines.push([]);
      if (part) lines[lines.length - 1]!.push({ text: part, kind });
    });
    return;
  }
  const classes = tree.properties?.className;
  const inner = Array.isArray(classes) && typeof classes[0] === "string" ? classes[0] : kind;
  for (const child of tree.children ?? []) walk(child, inner, lines);
}

function sameName(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}
