// What a panel says that has nothing to show: why, and what to do about it.
// In: the record's own word on its layers. Out: an element with the reason. Never an empty place.
import { h, prose } from "../dom";
import { JUDGED, JUDGED_OF_KERNEL, KERNEL_TABLE, sealedFiles } from "../layout";
import type { Manifest } from "../layout";
import type { App } from "../panel";
import { visible } from "../words";
import { absence } from "./health/words";

/** Its facts are told when it is sealed: what an observer wrote is not looked at before. */
export function isUnsealed(app: App): boolean {
  return ["running", "unsealed", "orphaned"].includes(app.page.state);
}

/** Why there is nothing of `path` in this page, which the kernel layer would have given. */
export async function withoutKernel(app: App, what: string, path: string): Promise<HTMLElement> {
  const words = await reason(app, path);
  return h(
    "div",
    { class: "empty" },
    h("p", null, `${what} cannot be told: ${visible(words.why)}`),
    h("p", { class: "muted" }, prose(words.hint)),
  );
}

/** Why a file that the record may have is not in this page; no sentence of its own. */
export async function whyNotHere(app: App, path: string): Promise<string> {
  const isLeftOut = app.page.left_out.some((file) => file.path === path);
  if (!isLeftOut && (await isInManifest(app, path)))
    return "the manifest names it, and the record has no such file, or none that may be read";
  return app.source.whyNot(path);
}

/** Why nothing of the kernel layer is here, in a sentence, and what to do about it. */
export async function reason(app: App, wanted: string): Promise<{ why: string; hint: string }> {
  if (app.page.left_out.some((file) => file.path === wanted)) {
    const hint = JUDGED.has(wanted) ? "`steno show` concludes it from the bundle." : "The bundle itself has it.";
    return { why: `${wanted}: ${app.source.whyNot(wanted)}.`, hint };
  }
  const path = JUDGED_OF_KERNEL.has(wanted) && !app.source.has(KERNEL_TABLE) ? KERNEL_TABLE : wanted; // what it follows from
  if (app.page.state === "running")
    return { why: "this run is still going on.", hint: "What the kernel saw is told when it has ended." };
  if (isUnsealed(app)) {
    const gone = app.page.state === "orphaned" ? " Its recorder is gone, and the command goes on." : "";
    return { why: `this run is not sealed.${gone}`, hint: "`steno recover` seals what was recorded; then it is told." };
  }
  const harmed = {
    why: `${path}: ${await whyNotHere(app, path)}.`,
    hint: "This record is harmed: `steno verify` says what is wrong with it.",
  };
  if (app.page.state !== "sealed" || (await isInManifest(app, path))) return harmed;
  const health = await app.model.health().catch(() => null);
  const note = ((health?.notes ?? []) as string[]).find((one) => String(one).startsWith("kernel_layer_absent:"));
  if (!note) return harmed;
  return {
    why: `this run has no kernel layer: ${absence(note.slice(note.indexOf(":") + 1))}.`,
    hint: "`steno doctor` says whether this machine can observe the kernel; then record the run again.",
  };
}

/** Whether the record should have a file of evidence. */
export async function isInManifest(app: App, path: string): Promise<boolean> {
  const manifest = await app.model.manifest().catch(() => null);
  return manifest?.files ? sealedFiles(manifest as Manifest).some((one) => one.path === path) : false;
}
