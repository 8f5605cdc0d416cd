// The files of a run: what it changed, read and looked at, and what changed inside them.
// In: the table of files and blobs.parquet; without a kernel layer, what git saw. Out: a list, and the file that is looked at.
import { fill, h } from "../../dom";
import { tablePath } from "../../layout";
import type { App, Panel } from "../../panel";
import { whenSeen } from "../../seen";
import { gitSection, hasGit } from "./git";
import { FilesView } from "./view";
import { withoutKernel } from "../without_layer";

let view: FilesView | null = null;

export const files: Panel = {
  id: "files",
  title: "Files",
  counted: "files changed, as the head counts them",
  async count(app) {
    const found = await app.model.files();
    return found ? found.filter((file) => file.change !== "none" && !file.changed_by_others).length : null;
  },
  async mount(host, app) {
    const found = await app.model.files();
    if (!found) return fill(host, await withoutKernel(app, "The files of the run", tablePath("files")), await gitSection(app));
    const made = new FilesView(app, found, await app.model.directoryRenames(), await baseOf(app));
    view = made;
    fill(host, ...made.elements(), gitDetails(app));
    if (app.window.get()) await made.filter();
    return app.window.subscribe(whenSeen(host, () => void made.filter()));
  },
  show(_host, _app, target) {
    view?.show(target);
  },
};

/** Read when somebody opens it. */
function gitDetails(app: App): HTMLElement | null {
  if (!hasGit(app)) return null;
  const details = h("details", { class: "git-details" }, h("summary", null, "What git saw"));
  const open = async (): Promise<void> => details.append((await gitSection(app)) ?? "");
  details.addEventListener("toggle", () => void open(), { once: true });
  return details;
}

async function baseOf(app: App): Promise<string> {
  const run = await app.model.run();
  return typeof run?.cwd === "string" ? run.cwd : "";
}
