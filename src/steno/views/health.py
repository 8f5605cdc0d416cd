"""How far a run was observed, in words: the worst news is never left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steno.model.record import SO_FAR
from steno.text import units
from steno.text.safe import listed, visible
from steno.text.style import Paint

Data = dict[str, Any]
_SHOWN = 5
WITNESSES = {
    "notify": "calls were stopped by a filter (notify)",
    "ebpf": "calls were seen by a probe (ebpf)",
    "both": "changes were stopped by a filter, calls were seen by a probe (both)",
}
NO_SCOPE = {
    "not_linux": "this is not Linux",
    "no_cgroup2_mount": "cgroup v2 is not mounted",
    "not_permitted": "the user may not make one",
    "read_only": "its file system is read-only",
    "failed": "it could not be made",
    "not_made": "none was made",
}
_NOT_INSTALLED = "kernel_layer_absent:not_installed"
CORRELATION = {
    "clean": "the command was born into a cgroup of its own, which was empty at the end",
    "failed": "what was seen CANNOT be tied to this run's cgroup",
}


def lines(health: Data, paint: Paint) -> Iterator[str]:
    own = health["steno"]
    layers = {
        "kernel": own["kernel_layer"],
        "policy": health["policy_layer"],
        "sdk": health["sdk_layer"],
    }
    words = ", ".join(f"{layer} layer {visible(state)}" for layer, state in layers.items())
    unobserved = _NOT_INSTALLED in health["notes"]
    yield paint("warning", words) if own["kernel_layer"] == "partial" or unobserved else words
    if unobserved:
        yield paint("bad", "NOTHING watched the kernel: Steno was installed without steno-trace")
    if own["kernel_layer"] == SO_FAR:
        yield "what the kernel saw, and who saw it, is told when the run is sealed"
        return
    if own["kernel_layer"] != "absent":
        yield WITNESSES.get(own["observer"], visible(own["observer"]))
    yield from _losses(health, paint)
    yield from _scope(health, paint)


def _losses(health: Data, paint: Paint) -> Iterator[str]:
    own, drops = health["steno"], health["ringbuf_drops"]
    disagreements = own["witness_disagreements"]
    if drops:
        yield paint("bad", f"{units.counted(drops, 'event')} DROPPED: the probe's ring buffer was full")
    if disagreements["count"]:
        named = [f"{one['op']} {one['path']} (only {one['seen_by']})" for one in disagreements["listed"]]
        some = f": {listed(named, _SHOWN)}" if named else ""
        count = units.counted(disagreements["count"], "change")
        yield paint("bad", f"{count} seen by one witness only{some}")
    if own["observer"] == "both" and (drops or own["counters"].get("lost_events")):
        yield paint("warning", "the two witnesses could not be compared everywhere")
    elif own["observer"] == "both" and not disagreements["count"]:
        yield "the two witnesses agree"
    for note in health["notes"]:
        if note.startswith("probe_absent:"):
            yield f"no probe: {visible(note.partition(':')[2])}"


def _scope(health: Data, paint: Paint) -> Iterator[str]:
    scope, correlation = health["steno"]["scope"], health["cgroup_correlation"]
    if health["steno"]["kernel_layer"] == "absent":
        return
    if correlation in CORRELATION:
        words = CORRELATION[correlation]
        yield paint("bad", words) if correlation == "failed" else words
    elif scope is None or scope["hierarchy"] is None:
        reason = "" if scope is None else scope["reason"] or ""
        yield "no cgroup of its own" + (f": {NO_SCOPE.get(reason, visible(reason))}" if reason else "")
    elif scope["left"]:
        left = units.counted(scope["left"], "process", "processes")
        yield paint("warning", f"{left} left in the run's cgroup when the recording ended")
    else:
        yield paint("warning", "how the run's cgroup was left is not known")
