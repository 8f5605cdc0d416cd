"""One run in words: what `steno show` prints.

In: the data of `views.summary`. Out: lines of text that are safe to print. Says first whether the record can
be relied on; a gap is never left to a footnote. Never prints text of the record that it has not made visible.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from steno.evidence import kinds
from steno.text import units
from steno.text.safe import columns, listed, pad, visible
from steno.text.style import Paint, folded
from steno.views import calls_text, health_text, kernel_summary
from steno.views.summary import lasted_ns

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
        ("Kernel", kernel_summary.lines(found["kernel"], paint)),
        ("Calls", calls_text.summary_lines(found["calls"], found["run_id"], paint)),
        ("Git", _git(found, paint)),
        ("Redacted", _redacted(found["redactions"])),
        ("Observed", health_text.lines(found["health"], paint)),
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
        seen = kernel_summary.seen_end(found["kernel"])
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
