// The fixed strings of a record in words.
// In: notes, gaps, counters and scopes as `observation-health.json` and `run.json` have them. Out: sentences, the same
// as those of `steno show` where it has one. A string that is not known here is shown as it is, never dropped.
import { CORRELATION, GAPS, NO_SCOPE } from "../../made/words";
import { lookup } from "../../words";

type Words = Record<string, string>;

/** Counters of the observer; those that make the layer partial are losses. */
export const COUNTERS: Record<string, { words: string; loss: boolean }> = {
  lost_events: { words: "events lost", loss: true },
  lost_blobs: { words: "contents lost", loss: true },
  unreadable: { words: "calls whose arguments could not be read", loss: true },
  outlived: { words: "processes that were alive when the recording ended", loss: true },
  unknown_parents: { words: "processes whose parent is not known", loss: true },
  unseen_exits: { words: "processes whose end was not seen", loss: true },
  ring_lost: { words: "events that found the buffer of the probe full", loss: true },
  probe_unread: { words: "calls whose memory the probe could not read", loss: true },
  probe_unplaced: { words: "calls that the probe had no room for", loss: true },
  only_notify: { words: "changes that only the filter saw", loss: true },
  only_ebpf: { words: "changes that only the probe saw", loss: true },
  escaped: { words: "processes that left the cgroup of the run", loss: true },
  undecoded: { words: "calls counted, not decoded", loss: false },
  unresolved: { words: "changes of files whose name could not be learned", loss: false },
  elsewhere: { words: "changes in another root or mount namespace, not among the files", loss: false },
  unlisted: { words: "renamed directories with more entries than are told of", loss: false },
  unmet_forks: { words: "forks whose child was never met", loss: false },
  privilege_lost: { words: "set-user-id programs that ran without their privilege", loss: false },
  listeners_refused: { words: "programs that wanted a seccomp listener of their own and got none", loss: false },
};

const NOTES: Words = {
  changes_in_another_root: "some changes were made in another root or mount namespace, under names that are not ours",
  policy_layer_absent: "no policy layer: no call of a tool went through a proxy of Steno",
  intake_on_disk: "what programs told the run was kept on the disk, not in memory",
  stdout_and_stderr_merged: "stdout and stderr share one stream and cannot be told apart",
  stdout_and_stderr_not_split: "which bytes of the terminal were stdout and which stderr was not told",
  stdin_not_recorded: "input was passed on to the command and not recorded",
};

const NOTES_WITH_REASON: Record<string, (reason: string) => string> = {
  kernel_layer_absent: (reason) => `no kernel layer: ${absence(reason)}`,
  kernel_layer_partial: (reason) => `the kernel layer is partial: ${loss(reason)}`,
  cgroup_scope_absent: (reason) => `no cgroup of its own: ${lookup(NO_SCOPE, reason) ?? reason}`,
  cgroup_correlation_partial: (reason) =>
    `what was seen is not fully tied to the run: ${lookup(PARTIAL, reason) ?? reason}`,
  cgroup_correlation_failed: (reason) => `${CORRELATION.failed}: ${lookup(FAILED, reason) ?? reason}`,
  sdk_layer_absent: (reason) => `no SDK layer: no agent told of itself (shim ${reason.replace(/^shim_/, "")})`,
  sdk_log_refused: (reason) => `what a framework told was refused from some line on: ${reason.replace(/_/g, " ")}`,
  claims_incomplete: (reason) => `claims and decisions are incomplete: ${lookup(GAPS, reason) ?? reason}`,
  probe_absent: (reason) => `no probe: ${reason}`,
  terminal_bytes_unattributed: (count) => `${count} bytes of the terminal may be on neither stdout nor stderr`,
  terminal_descriptors_unwatched: (count) => `${count} descriptors of the terminal could not be watched`,
  terminal_held_by_others: (stream) => `${stream}: another process still held it when the command ended`,
};

const PARTIAL: Words = {
  kernel_layer_absent: "there is no kernel layer",
  end_unknown: "how the run's cgroup was left is not known",
  processes_left: "processes were left in the run's cgroup when the recording ended",
  processes_escaped: "processes left the run's cgroup",
};

const FAILED: Words = {
  not_born_into_scope: "the command was not born into it",
  processes_of_unknown_origin: "processes of unknown origin were seen in it",
};

/** Notes that tell of a loss, not only of a choice. */
export function isLoss(note: string): boolean {
  return /^(kernel_layer_partial|cgroup_correlation_failed|claims_incomplete|sdk_log_refused|terminal_bytes|terminal_desc)/.test(
    note,
  );
}

export function noteInWords(note: string): string {
  const [kind, reason] = [note.split(":", 1)[0]!, note.slice(note.indexOf(":") + 1)];
  const told = lookup(NOTES_WITH_REASON, kind);
  if (told && note.includes(":")) return told(reason);
  return lookup(NOTES, note) ?? note;
}

/** Why there is no kernel layer. */
export function absence(reason: string): string {
  if (reason === "not_linux") return NO_SCOPE.not_linux!;
  if (reason.startsWith("observer_") && !Object.hasOwn(GAPS, reason))
    return `it was recorded with observer '${reason.slice("observer_".length)}'`;
  return lookup(GAPS, reason) ?? reason;
}

function loss(reason: string): string {
  if (reason === "not_closed") return "the observer did not end its record itself";
  return lookup(GAPS, reason) ?? lookup(COUNTERS, reason)?.words ?? reason;
}
