"""One run summed up: what `steno show` prints, and the same as data."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from steno.contracts.capture_run import hashes
from steno.evidence import kinds, layout
from steno.evidence.kinds import RepoSnapshot
from steno.judge.types import FAILED, GONE_AGAIN, Connection, Process
from steno.model.contents import NotKept
from steno.model.record import readable
from steno.model.run import Run
from steno.model.table_documents import DOCUMENTS
from steno.text import units
from steno.text.safe import columns, listed, pad, visible
from steno.text.style import Paint, folded
from steno.views import calls, health
from steno.views import files as content_missing
from steno.views import files as not_kept
from steno.views.files import Choice, ContentMissing, FileFilter, chosen

SCHEMA = "steno.show.v1"


def summary(run: Run, path: Path) -> dict[str, Any]:
    """`path` is where the user finds the record, which for a packed one is not where it is read."""
    with readable(run.folder):
        return _summary(run, path)


def _summary(run: Run, path: Path) -> dict[str, Any]:
    run.expect(*DOCUMENTS)
    return {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "state": str(run.state),
        "path": str(path),
        "root": run.root,
        "completeness": run.completeness,
        "gaps": run.declared_gaps,
        "run": run.document(layout.RUN),
        "command_ns": run.facts.command_ns,
        "health": msgspec.to_builtins(run.health),
        "redactions": run.document(layout.REDACTION_REPORT),
        "hashes": hashes(run),
        "repo": {
            "before": _snapshot(run.facts.before),
            "after": _snapshot(run.facts.after),
            "changes": run.git_changes,
        },
        "terminal": terminal(run),
        "kernel": kernel(run),
        "calls": calls.summary(run),
    }


def lasted_ns(found: dict[str, Any]) -> int:
    """How long the command took; where its start or its end was not seen, how long it was recorded."""
    command: int | None = found["command_ns"]
    recorded: int = found["run"]["duration_ns"]
    return recorded if command is None else command


def terminal(run: Run) -> dict[str, Any]:
    """How much went over each stream, how often the size changed, and who left early."""
    events = [event.data for event in run.evidence.events()]
    return {
        "bytes": {tape.rpartition("/")[2]: run.evidence.size(tape) for tape in run.streams},
        "arrivals": {tape.rpartition("/")[2]: _arrivals(run, tape) for tape in run.streams},
        "resizes": sum(isinstance(data, kinds.TerminalResized) for data in events),
        "closed": [msgspec.to_builtins(data) for data in events if isinstance(data, kinds.StreamClosed)],
        "signals": [
            msgspec.to_builtins(data) for data in events if isinstance(data, kinds.RecorderSignalled)
        ],
        "stops": sum(isinstance(data, kinds.CommandStopped) for data in events),
    }


def _arrivals(run: Run, tape: str) -> int:
    return sum(1 for _ in run.evidence.arrivals(tape))


def _snapshot(snapshot: RepoSnapshot | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = msgspec.to_builtins(snapshot) if snapshot is not None else None
    return found


# `run.json`, the health, the redactions, the hashes and the snapshots are in the summary
FILES = (layout.PROCESSES, layout.FILES, layout.CALLS, layout.SURFACE, layout.CORRELATION)


def told_files(run: Run) -> dict[str, Any]:
    if not run.is_sealed:
        return {}
    return {path: run.document(path) for path in FILES if run.documents.has(path)}


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
    read = chosen(files, FileFilter(Choice.READ))
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


def kernel_lines(found: dict[str, Any] | None, paint: Paint) -> Iterator[str]:
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
    yield from not_kept.not_kept_lines(unkept)
    yield from content_missing.missing_lines([ContentMissing(**one) for one in found["content_missing"]])
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


_LABEL = 12
_WIDE = 80
_FILES_SHOWN = 20
_WIDEST_NAME = 48
_WORDS_SHOWN = 5
_SHORT_HEAD = 12
_STREAMS = {
    "separate": "stdout and stderr recorded apart",
    "merged": "stdout and stderr merged",
    "split": "stdout and stderr told apart by the observer",
}
_STDIN = {
    "pty": "typed input recorded",
    "relayed": "stdin recorded",
    "inherited": "stdin passed on, not recorded",
    "closed": "stdin closed",
}

Data = dict[str, Any]


def lines(found: Data, paint: Paint, *, width: int | None = None) -> Iterator[str]:
    """`width` is that of the terminal, if there is one; a wide one folds by itself, and can be copied."""
    narrow = width if width is not None and width < _WIDE else None
    return folded(_lines(found, paint), width=narrow, indent=_LABEL)


def _lines(found: Data, paint: Paint) -> Iterator[str]:
    yield paint("heading", found["run_id"])
    sections = (
        ("Record", _record(found, paint)),
        ("Gaps", _gaps(found, paint)),
        ("Command", _command(found["run"])),
        ("Where", _where(found["run"])),
        ("When", _when(found)),
        ("Result", _result(found, paint)),
        ("Used", _used(found["run"]["usage"])),
        ("Terminal", _terminal(found)),
        ("Kernel", kernel_lines(found["kernel"], paint)),
        ("Calls", calls.summary_lines(found["calls"], found["run_id"], paint)),
        ("Git", _git(found, paint)),
        ("Redacted", _redacted(found["redactions"])),
        ("Observed", health.lines(found["health"], paint)),
        ("Bundle", iter([visible(found["path"])])),
    )
    for label, section in sections:
        for number, line in enumerate(section):
            yield pad("" if number else label, _LABEL) + line


def _record(found: Data, paint: Paint) -> Iterator[str]:
    if found["state"] == "running":
        yield paint("warning", "RUNNING: these are the facts so far")
    elif found["state"] == "orphaned":
        yield paint("bad", "ORPHANED: its recorder is gone, its command goes on; only the kernel is watched")
        yield f"when it has ended, `steno recover {found['run_id']}` seals what was recorded"
    elif found["state"] == "unsealed":
        yield paint("bad", "UNSEALED: its recorder is gone; these are the facts up to then")
        yield f"`steno recover {found['run_id']}` seals what was recorded"
    elif (
        found["completeness"]["complete"] and "kernel_layer_absent:not_installed" in found["health"]["notes"]
    ):
        yield paint(
            "bad", "sealed; the kernel was NOT OBSERVED: no file, process or connection is in the record"
        )
        yield "Steno was installed without steno-trace; `steno doctor` says what to do"
    elif found["completeness"]["complete"]:
        yield paint("good", "sealed, complete")
    elif not found["completeness"]["completed"]:
        yield paint("bad", "sealed, INCOMPLETE: the run was not recorded to its end")
    else:
        yield paint("bad", "sealed, INCOMPLETE: something that happened is not in the record")


def _gaps(found: Data, paint: Paint) -> Iterator[str]:
    for gap in found["gaps"]:
        lost = f" ({units.size(gap['lost_bytes'])} lost)" if gap.get("lost_bytes") else ""
        yield paint("warning", visible(f"{gap['reason']}: {gap['detail']}{lost}"))


def _command(run: Data) -> Iterator[str]:
    yield visible(shlex.join(run["command"]))
    if run["name"]:
        yield f"named {visible(run['name'])}"


def _where(run: Data) -> Iterator[str]:
    host = run["host"]
    yield visible(run["cwd"])
    yield visible(f"on {host['name']} ({host['os']} {host['release']} {host['machine']})")


def _when(found: Data) -> Iterator[str]:
    run = found["run"]
    lasted = units.duration(lasted_ns(found))
    so_far = "" if found["state"] == "sealed" else " up to the last event"
    yield f"{units.moment(run['started_at_ms'])}, for {lasted}{so_far}"


def _result(found: Data, paint: Paint) -> Iterator[str]:
    run = found["run"]
    code, signal = run["exit_code"], run["signal"]
    if signal is not None:
        yield paint("bad", f"ended by {visible(signal)}") + f" (exit code {code})"
    elif code is not None:
        yield paint("bad" if code else "good", f"exit code {code}")
    elif found["state"] in {"running", "orphaned"}:
        yield "still running"
    else:
        seen = seen_end(found["kernel"])
        yield paint("warning", visible(seen or "not known: the end was not seen"))


def _used(usage: Data | None) -> Iterator[str]:
    if usage is None or usage["user_us"] is None or usage["system_us"] is None:
        return
    user, system = units.cpu_time(usage["user_us"]), units.cpu_time(usage["system_us"])
    yield f"{user} cpu in user mode, {system} in the kernel"
    if usage["max_rss_kib"] is not None:
        yield f"{units.size(usage['max_rss_kib'] * 1024)} of memory at most"


def _terminal(found: Data) -> Iterator[str]:
    recorded, seen = found["run"]["terminal"], found["terminal"]
    if recorded["kind"] == "pty":
        size = f"{recorded['cols']}x{recorded['rows']}"
        resizes = f", resized {units.counted(seen['resizes'], 'time')}" if seen["resizes"] else ""
        kind = f"a pseudo-terminal ({visible(recorded['term'] or 'TERM unset')}, {size}{resizes})"
    else:
        kind = "pipes"
    apart = _STREAMS.get(recorded["streams"], visible(recorded["streams"]))
    yield f"{kind}; {apart}; {_STDIN.get(recorded['stdin'], visible(recorded['stdin']))}"
    yield ", ".join(f"{units.size(count)} {name}" for name, count in seen["bytes"].items()) or "no stream"
    for closed in seen["closed"]:
        why = "its reader went away" if closed["reason"] in kinds.READER_LEFT else "it could not be written"
        yield visible(f"{closed['stream']}: {why} ({closed['reason']})")
    for stream in recorded["held_by_others"]:
        yield visible(f"{stream}: another process still held it when the command ended")
    if recorded["stdin_unread_bytes"]:
        yield f"{units.size(recorded['stdin_unread_bytes'])} of the input were never read by the command"
    for signal in seen["signals"]:
        how = "passed on to the command" if signal["forwarded"] else "not passed on"
        yield visible(f"{signal['signal']} was sent to the recorder ({how})")


def _git(found: Data, paint: Paint) -> Iterator[str]:
    before, after = found["repo"]["before"], found["repo"]["after"]
    if not found["run"]["git_enabled"]:
        yield "not looked at (--no-git)"
    elif before is None:
        yield "no snapshot was taken"
    elif before.get("reason"):
        yield _skipped(before)
    else:
        yield from _snapshots(before, after)
        yield from _changes(found["repo"]["changes"], after, paint)
        yield from _left_out(before, after or {})


def _skipped(snapshot: Data) -> str:
    if snapshot["reason"] == "NOT_A_GIT_REPO":
        return "not a git repository"
    return visible(f"no snapshot: {snapshot['reason']}: {snapshot.get('detail') or ''}")


def _snapshots(before: Data, after: Data | None) -> Iterator[str]:
    if after is None:
        yield f"{_place(before)} before; what came after is not known"
    elif after.get("reason"):
        yield f"{_place(before)} before; after: {_skipped(after)}"
    elif _place(before) == _place(after):
        yield _place(before)
    else:
        yield f"{_place(before)} → {_place(after)}"


def _place(snapshot: Data) -> str:
    if snapshot.get("head") is None:
        branch = snapshot.get("branch")
        return f"{visible(branch)}, no commit yet" if branch else "no commit yet"
    return f"{visible(snapshot.get('branch') or 'detached')} {visible(snapshot['head'][:_SHORT_HEAD])}"


def _changes(changes: list[Data] | None, after: Data | None, paint: Paint) -> Iterator[str]:
    if changes is None:
        return
    if not changes:
        yield "no file changed"
        return
    added, deleted = (after or {}).get("added_lines") or 0, (after or {}).get("deleted_lines") or 0
    yield f"{units.counted(len(changes), 'file')} changed, +{added} -{deleted}"
    shown = [(visible(f"{one['status']} {one['path']}"), _counts(one)) for one in changes[:_FILES_SHOWN]]
    width = min(max(columns(path) for path, _ in shown), _WIDEST_NAME)  # one long name moves no other row
    for path, counts in shown:
        yield f"  {pad(path, width)}  {paint('faint', counts)}"
    if len(changes) > _FILES_SHOWN:
        yield f"  and {len(changes) - _FILES_SHOWN} more; --json has them all"


def _counts(change: Data) -> str:
    if change["added"] is None or change["deleted"] is None:
        return "binary" if change["binary"] else "lines not known"
    return f"+{change['added']} -{change['deleted']}"


def _left_out(before: Data, after: Data) -> Iterator[str]:
    if after.get("withheld"):
        yield f"content withheld, because it held a secret: {listed(after['withheld'], _WORDS_SHOWN)}"
    if after.get("masked_in_patch"):
        masked = after["masked_in_patch"]
        places = "one place" if masked == 1 else f"{masked} places"
        yield f"diff.patch is masked in {places}: git apply gives masked text, or refuses"
    if after.get("unpatched"):
        yield f"changed, but too large for the patch: {listed(after['unpatched'], _WORDS_SHOWN)}"
    omitted = {
        item["path"]: item["reason"] for item in [*before.get("omitted", []), *after.get("omitted", [])]
    }
    if omitted:
        words = (f"{path} ({reason})" for path, reason in omitted.items())
        yield f"content not looked at: {listed(words, _WORDS_SHOWN)}"
    for note in dict.fromkeys([*before.get("notes", []), *after.get("notes", [])]):
        yield f"note: {visible(note)}"


def _redacted(report: Data) -> Iterator[str]:
    if not report.get("total"):
        yield "nothing"
        return
    counts = ", ".join(f"{visible(rule)} {count}" for rule, count in report["counts"].items())
    yield f"{units.counted(report['total'], 'secret')}: {counts}"
    yield f"in {listed(report['redacted_fields'], _WORDS_SHOWN)}"
