// What git saw of a run: the repository before and after, and the patch between the two.
// In: the snapshots, the list of changes and the patch, masked as all of the record is. Out: an element, or null without a snapshot.
import { h } from "../../dom";
import { VirtualList } from "../../list";
import { fromBytes } from "../../kernel";
import { CHANGES, DIFF, REPO_AFTER, REPO_BEFORE } from "../../layout";
import type { App } from "../../panel";
import { counted, lookup, visible, visibleLine } from "../../words";
import { table } from "../table";

type Data = Record<string, any>;

interface Change {
  path: string;
  status: string;
  added?: number | null;
  deleted?: number | null;
}

const MOST_BYTES = 8 << 20;
const LONGEST = 2000;
const SHORT_HEAD = 12;
const ROW_HEIGHT = 26;
const ROLES: Record<string, string> = { "+": "has-new", "-": "has-old", "@": "row-fold" };

export function hasGit(app: App): boolean {
  return app.source.has(REPO_AFTER);
}

export async function gitSection(app: App): Promise<HTMLElement | null> {
  const { source } = app;
  if (!hasGit(app)) return null;
  const read = <T>(path: string) => (source.has(path) ? source.json<T>(path) : null);
  const [before, after, listed] = await Promise.all([read<Data>(REPO_BEFORE), read<Data>(REPO_AFTER), read<Change[]>(CHANGES)]);
  const head = h("p", null, `git: ${headWords(before, after)}`);
  if (after?.changed == null)
    return h("section", { class: "git" }, head, h("p", null, "which files changed was not compared: git was not seen before the run"));
  const changes = listed ?? [];
  if (!changes.length) return h("section", { class: "git" }, head, h("p", null, "no file changed"));
  return h(
    "section",
    { class: "git" },
    head,
    h(
      "p",
      null,
      `${counted(changes.length, "file")} changed, +${Number(after?.added_lines ?? 0)} −${Number(after?.deleted_lines ?? 0)}`,
    ),
    changeTable(changes),
    ...(await patch(app)),
  );
}

function headWords(before: Data | null | undefined, after: Data | null | undefined): string {
  const [one, other] = [placeOf(before), placeOf(after)];
  return one === other ? one : `${one} → ${other}`;
}

function placeOf(snapshot: Data | null | undefined): string {
  if (!snapshot) return "not known";
  if (!snapshot.head) return "no commit yet";
  return visible(`${String(snapshot.branch ?? "detached")} ${String(snapshot.head).slice(0, SHORT_HEAD)}`);
}

function changeTable(changes: Change[]): HTMLElement {
  return table({
    caption: "Changed files, as git saw them",
    headings: ["Change", "File", "Lines"],
    things: changes,
    cells: (one) => [
      visible(String(one.status)),
      h("span", { class: "mono" }, visible(String(one.path))),
      one.added == null || one.deleted == null ? "binary" : `+${one.added} −${one.deleted}`,
    ],
  });
}

async function patch(app: App): Promise<Node[]> {
  if (!app.source.has(DIFF)) return [];
  const bytes = await app.source.bytes(DIFF);
  if (!bytes.length) return [];
  const lines = fromBytes(bytes.subarray(0, MOST_BYTES)).split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  const list = new VirtualList({
    label: "The patch",
    columns: [{ name: "code", title: "diff.patch", width: "minmax(var(--code-width), 1fr)" }],
    cells: (row) => [lineCode(lines[row]!)],
    dress: (row) => ({ class: dress(lines[row]!) }),
  });
  list.element.classList.add("diff", "diff-patch");
  list.element.style.setProperty(
    "--code-width",
    `${Math.min(Math.max(...lines.slice(0, 20_000).map((line) => line.length), 40), LONGEST) + 3}ch`,
  );
  list.element.style.setProperty("--rows-height", `${(lines.length + 2) * ROW_HEIGHT}px`);
  list.reset(lines.length);
  const cut =
    bytes.length > MOST_BYTES
      ? [h("p", { class: "is-warn" }, `Only the first ${MOST_BYTES >> 20} MiB of the patch are shown.`)]
      : [];
  return [...cut, list.element];
}

function lineCode(line: string): HTMLElement {
  const more = line.length > LONGEST ? ` … ${line.length - LONGEST} more characters in this line` : "";
  return h("code", null, visibleLine(line.slice(0, LONGEST)), more ? h("span", { class: "remark" }, more) : null);
}

function dress(line: string): string {
  if (/^(diff |--- |\+\+\+ )/.test(line)) return "row-head";
  const role = lookup(ROLES, line[0] ?? "");
  return role?.startsWith("has") ? `row-changed ${role}` : (role ?? "row-same");
}
