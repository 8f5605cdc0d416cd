"""An attempt that is over, judged and read again from what it left.

In: the audit files of an attempt and its meta, with the rules by which it was judged. Out: how it ended, by
the same function as when it did; and the attempt as a translation is made of. Never asks the recording, the
agent or its description, so whoever has the files gets the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from steno.agents.attempt import Attempt, attempt_of
from steno.agents.audit_files import AuditFiles, compared, open_audit
from steno.agents.completion import Completion, completion, rules_of
from steno.agents.given_words import words_of_command
from steno.agents.register import AttemptRecord, Entry, attempts
from steno.agents.run_directory import RunName, find_run, open_run, open_runs
from steno.agents.terminal_signal import Log
from steno.bundle.folder import Folder
from steno.contracts.agent_audit.meta import Meta
from steno.contracts.agent_audit.streams import AUDIT, file_name, typescript_header
from steno.errors import BadRequestError

_LOGS: dict[Log, str] = {"pty": "pty-output", "stdout": "stdout", "stderr": "stderr"}
_WITH_HEADER = {"stdin", "pty-output"}


def judged_again(audit: Folder, meta: Meta) -> Completion | None:
    """None: it was not started, or its rules or its recording were not kept. The files are those we wrote."""
    if not meta.started or meta.steno.rules is None or meta.steno.run_id is None:
        return None
    return completion(
        exit_code=meta.exit_code,
        signal=meta.signal,
        logs={log: _stream(audit, part, meta) for log, part in _LOGS.items()},
        rules=rules_of(meta.steno.rules),
        given=[*words_of_command(meta.launch.args), b"".join(_stream(audit, "stdin", meta))],
    )


def attempt_left(root: Path, selector: str, number: int | None) -> Attempt:
    """Without a number the last one that is over."""
    with open_runs(root) as runs:
        name = find_run(runs, selector)
        record = _chosen(attempts(root, name.run_id), name, number)
        if record.entry is None or record.meta is None:
            raise BadRequestError(
                f"attempt {record.number} of {name.run_id} is {record.state.value}: there is nothing to read",
                hint=f"`steno agent status {name.suffix}` tells more",
            )
        with open_run(runs, name) as run:
            _require_written(record.entry, name)
            _require_unchanged(run, record, record.entry.files)
            files = AuditFiles(run, record.number, record.entry.files)
            stdout, stderr = files.read("stdout"), files.read("stderr")
    return attempt_of(record.meta, record.meta.interactive.session.field, stdout, stderr)


def _require_written(entry: Entry, name: RunName) -> None:
    needed = [file_name(part, entry.known.attempt) for part in ("stdout", "stderr")]
    if lacking := [file for file in needed if file in entry.unwritten]:
        raise BadRequestError(
            f"{', '.join(lacking)} could not be written when the attempt ended",
            hint=f"`steno agent recover {name.suffix}` writes them from the recording, when that can be done",
        )


def _require_unchanged(run: Folder, record: AttemptRecord, written: Mapping[str, str]) -> None:
    names = {file_name(part, record.number) for part in ("stdout", "stderr")}
    files = {name: digest for name, digest in written.items() if name in names}
    with open_audit(run) as audit:
        changed, missing = compared(audit, files)
    if changed or missing:
        raise BadRequestError(
            f"{', '.join([*changed, *missing])} in {run.path / AUDIT} is not as Steno wrote it",
            hint="what strace split is kept nowhere else"
            if record.meta is not None and record.meta.runtime.trace_source == "strace"
            else "`steno export RUN --as agent-audit` writes it again, from the recording of the attempt",
        )


def _chosen(records: list[AttemptRecord], name: RunName, number: int | None) -> AttemptRecord:
    over = [record for record in records if record.meta is not None]
    wanted = over[-1:] if number is None else [record for record in records if record.number == number]
    if not wanted:
        which = "attempt that is over" if number is None else f"attempt {number}"
        raise BadRequestError(
            f"{name.run_id} has no {which}", hint=f"`steno agent status {name.suffix}` lists its attempts"
        )
    return wanted[0]


def _stream(audit: Folder, part: str, meta: Meta) -> Iterator[bytes]:
    header = len(typescript_header(meta.steno.run_id or "")) if part in _WITH_HEADER else 0
    try:
        yield from audit.read(file_name(part, meta.attempt.number), header)
    except FileNotFoundError:  # it could not be written then
        return
