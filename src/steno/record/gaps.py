"""Gaps that are a number of something: the counters of the frames, and the words for one and for more."""

from __future__ import annotations

from typing import NamedTuple


def counted(count: int, one: str, more: str, rest: str) -> str:
    return f"{count} {one if count == 1 else more} {rest}"


class CountedGap(NamedTuple):
    reason: str
    one: str
    more: str
    rest: str

    def says(self, count: int) -> str:
        return counted(count, self.one, self.more, self.rest)


_PROCESS, _CALL, _EVENT = ("process", "processes"), ("call", "calls"), ("event", "events")
_CHANGE_WAS = ("change was", "changes were")
OUTLIVED = CountedGap("processes_outlived", "process was", "processes were", "alive when the recording ended")
CORES = CountedGap("core_unobserved", *_PROCESS, "left a core, which the kernel wrote unseen")
REACHED_OUTSIDE = CountedGap(
    "outside_reached",
    *_CALL,
    "reached into processes outside the run, or of an unknown owner: what these did then is not recorded",
)
REACHED_RECORDER = CountedGap(
    "recorder_reached", *_CALL, "reached into the recorder: the record may be what the command made of it"
)
UNTAKEN = CountedGap(
    "recorder_reached", *_CALL, "never came to the observer, in a run that reached into processes outside it"
)
BELOW_MOUNTS = CountedGap(
    "changes_unresolved",
    "path was",
    "paths were",
    "changed where the run mounted something: what else it names is not known",
)
EVENTS_LOST = CountedGap("events_lost", *_EVENT, "could not be written")
_UNWATCHED = ("descriptor", "descriptors", "of the terminal could not be watched")


def split_hole(unwatched: int, unattributed: int) -> str:
    """What is on the terminal and on neither stream. What an unwatched descriptor wrote is not counted."""
    if not unwatched:
        return counted(unattributed, "byte is", "bytes are", "in neither stream")
    least = f", at least {unattributed}," if unattributed else ""
    return f"{counted(unwatched, *_UNWATCHED)}, an unknown number of bytes{least} is in neither stream"


# By the counter in the header of the frames.
OF_COUNTERS = {
    "lost_events": CountedGap("kernel_events_lost", *_EVENT, "could not be seen or written"),
    "outlived": OUTLIVED,
    "lost_blobs": CountedGap("blobs_lost", "content", "contents", "could not be kept before a change"),
    "unreadable": CountedGap("kernel_calls_unreadable", *_CALL, "could not be looked into"),
    "unresolved": CountedGap(
        "changes_unresolved", "change of a file", "changes of files", "whose name could not be learned"
    ),
    "unlisted": CountedGap(
        "changes_unresolved", "renamed directory was", "renamed directories were", "not listed to the end"
    ),
    "unknown_parents": CountedGap("process_origin_unknown", *_PROCESS, "whose parent is not known"),
    "unseen_exits": CountedGap("process_end_unknown", *_PROCESS, "whose end was not seen"),
    "ring_lost": CountedGap("ring_buffer_drops", *_EVENT, "of the probe found its buffer full"),
    "probe_unread": CountedGap("kernel_calls_unreadable", *_CALL, "had memory that the probe could not read"),
    "probe_unplaced": CountedGap("kernel_events_lost", *_CALL, "began while the probe's memory was full"),
    "only_notify": CountedGap(
        "witness_disagreement", *_CHANGE_WAS, "seen by the filter and not by the probe"
    ),
    "only_ebpf": CountedGap("witness_disagreement", *_CHANGE_WAS, "seen by the probe and not by the filter"),
    "taken_over": CountedGap(
        "recorder_reached", *_CALL, "were let through by somebody else than the observer"
    ),
    "escaped": CountedGap("processes_escaped", *_PROCESS, "left the cgroup of the run"),
}
