"""What the kernel layer of a run amounts to, in a few numbers and lines: its part of `steno show`.

In: a run. Out: JSON data, or None for a run without the layer, and lines that are safe to print.
Never verifies, and never reads the table of all events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from steno.judge.types import FAILED, GONE_AGAIN, Connection, Process
from steno.model.contents import NotKept
from steno.model.run import Run
from steno.text import units
from steno.text.safe import listed
from steno.text.style import Paint
from steno.views import content_missing, not_kept
from steno.views.content_missing import ContentMissing
from steno.views.file_list import Choice, Wanted, chosen

_OBSERVED = "kernel_observed"
_ENDPOINTS_SHOWN = 5
_PROCESS = ("process", "processes")
# counter -> what it counts, one and more of it, and what became of that
_LOSSES = {
    "lost_events": (("event", "events"), "lost"),
    "lost_blobs": (("content", "contents"), "lost"),
    "unreadable": (("call", "calls"), "whose arguments could not be read"),
    "undecoded": (("call", "calls"), "counted, not decoded"),
    "unresolved": (("change of a file", "changes of files"), "whose name could not be learned"),
    "elsewhere": (("change", "changes"), "in another root or mount namespace, not among the files"),
    "unknown_parents": (_PROCESS, "whose parent is not known"),
    "unseen_exits": (_PROCESS, "whose end was not seen"),
    "probe_unread": (("call", "calls"), "whose memory the probe could not read"),
    "probe_unplaced": (("call", "calls"), "that the probe had no room for"),
    "escaped": (_PROCESS, "that left the cgroup of the run"),
}


def kernel(run: Run) -> dict[str, Any] | None:
    if not run.has_kernel_layer:
        return None
    files, connections = list(run.files), list(run.connections)
    processes = [one for one in run.processes if not one.is_our_hook]
    endpoints = [one for one in connections if not one.is_unix]
    unix = [one for one in connections if one.is_unix]
    read = chosen(files, Wanted(Choice.READ))
    return {
        "observed": _observed(run),
        "processes": len(processes),
        "hook_processes": len(run.processes) - len(processes),
        "outlived": sum(one.still_running for one in processes),
        "command_exit": _command_exit(processes),
        "files_seen": len(files),
        "files_read": sum(1 for _ in read),
        "files_changed": dict(
            Counter(one.change for one in files if one.is_changed and not one.changed_by_others)
        ),
        "files_changed_by_others": sum(one.changed_by_others for one in files),
        "files_gone_again": sum(one.letter == GONE_AGAIN for one in files),
        "files_not_kept": [one.to_json() for one in run.not_kept(one.name for one in files)],
        "content_missing": [one.to_json() for one in content_missing.content_missing(files)],
        "endpoints": [one.name for one in endpoints],
        "outcomes": _outcomes(endpoints),
        "unix_sockets": [one.name for one in unix],
        "unix_outcomes": _outcomes(unix),
    }


def lines(found: dict[str, Any] | None, paint: Paint) -> Iterator[str]:
    if found is None:
        return
    yield process_line(found)
    yield from file_lines(found)
    yield from network_lines(found, paint)


def process_line(found: dict[str, Any]) -> str:
    processes = units.counted(found["processes"], *_PROCESS)
    outlived = f", {found['outlived']} of them alive when it ended" if found["outlived"] else ""
    hooks = f", and {ours} of Steno's hooks" if (ours := found["hook_processes"]) else ""
    return f"{processes}{outlived}{hooks}"


def file_lines(found: dict[str, Any]) -> Iterator[str]:
    """What became of files; those whose states are not kept are never left out of the count."""
    unkept = paths_not_kept(found)
    gone = f", {found['files_gone_again']} created and gone again" if found["files_gone_again"] else ""
    yield f"{_changed(found['files_changed'], whole=not unkept)}{gone}, {found['files_read']} read"
    if others := found["files_changed_by_others"]:
        yield f"{units.counted(others, 'file')} changed by somebody else during the run"
    yield from not_kept.lines(unkept)
    yield from content_missing.lines([ContentMissing(**one) for one in found["content_missing"]])
    if refused := (found["observed"] or {}).get("store_refused"):
        yield f"{units.counted(refused, 'change')} of Steno's own records refused"


def paths_not_kept(found: dict[str, Any]) -> list[NotKept]:
    return [NotKept(one["path"], tuple(one["did"]), one["why"]) for one in found["files_not_kept"]]


def network_lines(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    """What was reached, and what the observer says that it missed."""
    yield from _endpoints(found["outcomes"])
    if found["unix_outcomes"]:
        yield from _endpoints(found["unix_outcomes"], "unix socket")
    observed = found["observed"] or {}
    lost = [
        f"{units.counted(observed[name], *what)} {became}"
        for name, (what, became) in _LOSSES.items()
        if observed.get(name)
    ]
    if lost:
        yield paint("warning", listed(lost, len(lost)))


def seen_end(found: dict[str, Any] | None) -> str | None:
    """How the command ended, where the recorder did not see it; None: the kernel did not tell either."""
    seen = (found or {}).get("command_exit")
    if seen is None:
        return None
    how = f"by {seen['signal']}" if seen["signal"] else f"with exit code {seen['code']}"
    return f"not seen by the recorder; the kernel saw the command end {how}"


def _command_exit(processes: list[Process]) -> dict[str, Any] | None:
    """How the first process ended, which is the command; None where the kernel did not tell."""
    first = min(processes, key=lambda one: one.process, default=None)
    if first is None or not first.has_ended:
        return None
    return {"code": first.exit_code, "signal": first.signal}


def _observed(run: Run) -> dict[str, Any] | None:
    """What the observer says of its own work; the last word counts."""
    said = [event.data for event in run.evidence.events() if event.type == _OBSERVED]
    data: dict[str, Any] | None = msgspec.to_builtins(said[-1]) if said else None
    return data


def _changed(changes: dict[str, int], *, whole: bool) -> str:
    if not changes:
        return "no file changed" if whole else "no file changed among those whose states are kept"
    parts = [f"{count} {change}" for change, count in sorted(changes.items())]
    return f"{units.counted(sum(changes.values()), 'file')} changed ({listed(parts, len(parts))})"


def _outcomes(found: Iterable[Connection]) -> list[dict[str, Any]]:
    return [{"name": one.name, "outcome": one.outcome, "sent": one.sent} for one in found]


def _endpoints(outcomes: list[dict[str, Any]], thing: str = "endpoint") -> Iterator[str]:
    """Those that were refused stand apart: they are not what the run talked to."""
    refused = [one for one in outcomes if is_refused(one)]
    yield _named([_with_outcome(one) for one in outcomes if not is_refused(one)], thing)
    if refused:
        yield f"not reached: {_named([_with_outcome(one) for one in refused], thing)}"


def is_refused(one: dict[str, Any]) -> bool:
    """Whether every connect to it is known to have failed, and nothing was sent to it either."""
    return (one["outcome"] or "").startswith(FAILED) and not one["sent"]


def _with_outcome(one: dict[str, Any]) -> str:
    return f"{one['name']} ({one['outcome']})" if one["outcome"] else one["name"]


def _named(names: list[str], thing: str) -> str:
    if not names:
        return f"no {thing}"
    return f"{units.counted(len(names), thing)}: {listed(names, _ENDPOINTS_SHOWN)}"
