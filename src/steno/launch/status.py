"""Agents, their runs and their attempts, as data and as text; and attempts that are over, judged again.

All of it is what the register says. Of one run it is also told which files in `.audit` are not those that
Steno wrote. An attempt is judged again from its audit files alone, by the same function as when it ended,
so that whoever has the files gets the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steno.agents.catalog import Catalogue, find_program
from steno.agents.definition import Log
from steno.bundle.folder import Folder
from steno.contracts.agent_audit.completion import Completion, completion, rules_of
from steno.contracts.agent_audit.log_scan import words_of_command
from steno.contracts.agent_audit.meta import Meta
from steno.contracts.agent_audit.streams import AUDIT, file_name, typescript_header
from steno.errors import BadRequestError, RunNotFoundError
from steno.launch.attempt import Step
from steno.launch.audit_files import AuditFiles, compared, is_temporary, numbers_in, open_audit
from steno.launch.environment import ManagedPaths, search_path
from steno.launch.registry import AttemptRecord, AttemptState, Entry, agent_process, attempts
from steno.launch.run_dirs import RunName, directory_problem, find_run, open_run, open_runs, run_names
from steno.launch.translate import Attempt, attempt_of
from steno.text.safe import columns, cut, pad, visible
from steno.text.style import Paint, folded


def all_agents(root: Path, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """By name; also those whose description cannot be used."""
    catalogue = Catalogue.load(environ)
    path = search_path(environ, ManagedPaths(root))
    found = [{"name": name, "problem": problem} for name, problem in catalogue.problems.items()]
    for name, description in catalogue.known.items():
        agent: dict[str, Any] = {"name": name, "program": None, "install": description.install}
        try:
            agent["program"] = str(find_program(description, path))
        except BadRequestError as error:
            agent["problem"] = str(error)
        found.append(agent)
    return sorted(found, key=lambda agent: agent["name"])


def all_runs(root: Path) -> list[dict[str, Any]]:
    """Newest first."""
    try:
        with open_runs(root) as runs:
            found = [(name, _registered(root, name)) for name in run_names(runs)]
            found.sort(key=_when, reverse=True)
            return [_run(runs, name, registered) for name, registered in found]
    except RunNotFoundError:
        return []


def _when(run: tuple[RunName, _Registered]) -> tuple[str, str]:
    """The second, as its name has it, and within it what the register knows."""
    name, registered = run
    entries = [record.entry.reserved_at for record in registered.records if record.entry is not None]
    return name.run_id.partition("-")[0], min(entries, default="")


def one_run(root: Path, selector: str) -> dict[str, Any]:
    """Its files are compared with what was written, which takes a while when they are large."""
    with open_runs(root) as runs:
        name = find_run(runs, selector)
        found = _registered(root, name)
        return _with_differences(_run(runs, name, found), runs, found.records)


def one_attempt(meta: Meta) -> dict[str, Any]:
    """The attempt that was just made, as `one_run` has it among the others."""
    made = {"number": meta.attempt.number, "state": AttemptState.FINISHED.value, **_told(meta)}
    return {
        "runId": meta.run_id,
        "agentName": meta.agent_name,
        "handle": meta.interactive.handle,
        "runDirectory": meta.run_directory,
        "attempt": made,
    }


def how_it_ended(attempt: dict[str, Any]) -> str:
    completion = attempt.get("completion")
    if completion is not None:
        return f"{completion['state']} ({completion['reasonCode']})"
    if attempt.get("error"):
        what = "its end is not known" if attempt["started"] else "not started"
        return f"{what}: {attempt['error']}"
    return str(attempt["state"])


def lines_of_status(run: dict[str, Any]) -> Iterator[str]:
    yield visible(f"{run['runId']}  {run['runDirectory']}")
    if "problem" in run:
        yield visible(run["problem"])
    for attempt in run["attempts"]:
        yield visible(f"attempt {attempt['number']}  {how_it_ended(attempt)}")
        yield from (visible(f"  {line}") for line in _details(attempt))
    for name in run.get("notOurs", ()):
        yield visible(f"not ours: {name}")


class _Registered(NamedTuple):
    records: list[AttemptRecord]
    problem: str | None = None


def _registered(root: Path, name: RunName) -> _Registered:
    try:
        return _Registered(attempts(root, name.run_id))
    except OSError as error:
        return _Registered([], f"the register of the run cannot be read: {error.strerror}")


def _run(runs: Folder, name: RunName, found: _Registered) -> dict[str, Any]:
    run = {
        "runId": name.run_id,
        "agentName": name.agent,
        "handle": name.suffix,
        "runDirectory": str(runs.path / name.run_id),
        "attempts": [_attempt(record) for record in found.records],
    }
    problem = found.problem or directory_problem(runs.path / name.run_id)
    return run if problem is None else run | {"problem": problem}


def _attempt(record: AttemptRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"number": record.number, "state": record.state.value}
    if record.problem is not None:
        found["problem"] = record.problem
    if record.outlived and record.entry and (process := agent_process(record.entry)):
        found |= {"pid": process.pid, "problem": process.told}
    return found if record.meta is None else found | _told(record.meta)


def _told(meta: Meta) -> dict[str, Any]:
    return {
        "startedAt": meta.started_at,
        "endedAt": meta.ended_at,
        "started": meta.started,
        "exitCode": meta.exit_code,
        "signal": meta.signal,
        "error": meta.error,
        "completion": meta.protocol.completion,
        "session": meta.interactive.session.value,
        "stenoRunId": meta.steno.run_id,
        "complete": meta.steno.complete,
        "gaps": meta.steno.gaps,
        "environment": _environment(meta),
    }


def _environment(meta: Meta) -> str | None:
    """As the step tells it: the home, and which hooks and policy there were."""
    steps = {step.get("number"): step.get("detail") for step in meta.steno.steps}
    return steps.get(Step.ENVIRONMENT.value)


def _with_differences(run: dict[str, Any], runs: Folder, records: list[AttemptRecord]) -> dict[str, Any]:
    if directory_problem(runs.path / run["runId"]) is not None:
        return run  # which says so
    try:
        with runs.sub(run["runId"]) as folder, open_audit(folder) as audit:
            _compare(run, audit, records)
    except BadRequestError as error:
        run["problem"] = str(error)
    except OSError as error:
        run["problem"] = f"{runs.path / run['runId']}/.audit cannot be read: {error.strerror}"
    return run


def _compare(run: dict[str, Any], audit: Folder, records: list[AttemptRecord]) -> None:
    numbered = numbers_in(audit)
    ours: set[str] = set()
    for record, attempt in zip(records, run["attempts"], strict=True):
        files = record.entry.files if record.entry else {}
        ours |= files.keys()
        changed, missing = compared(audit, files)
        missing += record.entry.unwritten if record.entry else ()
        half = [name for name, number in numbered.items() if number == record.number and is_temporary(name)]
        told = {"changed": changed, "missing": missing, "halfWritten": half}
        attempt |= {key: names for key, names in told.items() if names}
        if record.meta is not None and not changed and not missing:
            attempt.update(_judgement_that_differs(audit, record.meta))
    # What a running attempt has written is not in the register yet.
    open_numbers = {record.number for record in records if record.meta is None}
    ours |= {name for name, number in numbered.items() if number in open_numbers or is_temporary(name)}
    if strange := [name for name in audit.names() if name not in ours]:
        run["notOurs"] = strange


def _judgement_that_differs(audit: Folder, meta: Meta) -> dict[str, Any]:
    try:
        again = judged_again(audit, meta)
    except BadRequestError as error:
        return {"problem": f"it cannot be judged again: {error}; {error.hint}"}
    judged = None if again is None else msgspec.to_builtins(again)
    return {} if judged in (None, meta.protocol.completion) else {"judgedAgain": judged}


def _details(attempt: dict[str, Any]) -> Iterator[str]:
    if attempt.get("exitCode") is not None:
        signal = f" ({attempt['signal']})" if attempt["signal"] else ""
        yield f"exit code {attempt['exitCode']}{signal}, {attempt['startedAt']} to {attempt['endedAt']}"
    if attempt.get("environment"):
        yield f"environment: {attempt['environment']}"
    if attempt.get("session"):
        yield f"session {attempt['session']}"
    if attempt.get("stenoRunId"):
        yield f"recorded as {attempt['stenoRunId']}"
    if attempt.get("gaps"):
        yield f"the record has gaps: {', '.join(attempt['gaps'])}"
    if (attempt.get("completion") or {}).get("diagnostics"):
        yield f"diagnostics: {', '.join(attempt['completion']['diagnostics'])}"
    if again := attempt.get("judgedAgain"):
        yield f"its files now say: {again['state']} ({again['reasonCode']})"
    yield from (f"changed since it was written: {name}" for name in attempt.get("changed", ()))
    yield from (f"missing: {name}" for name in attempt.get("missing", ()))
    yield from (f"half written: {name}" for name in attempt.get("halfWritten", ()))
    if attempt.get("problem"):
        yield attempt["problem"]


_GAP = "  "
_AGENTS = ("AGENT", "PROGRAM")
_RUNS = ("RUN", "ATTEMPT", "ENDED")
_LEAST_ROOM = 12  # columns; with less nothing of an end would be seen
_PLAIN = Paint()


def lines_of_agents(
    agents: Sequence[dict[str, Any]], *, width: int | None = None, paint: Paint = _PLAIN
) -> Iterator[str]:
    names = [visible(agent["name"]) for agent in agents]
    wide = max(map(columns, (_AGENTS[0], *names)))
    yield paint("heading", cut(f"{pad(_AGENTS[0], wide)}{_GAP}{_AGENTS[1]}", _whole(width)))
    for name, agent in zip(names, agents, strict=True):
        yield from folded(_lines_of_agent(pad(name, wide), agent), width=width, indent=wide + len(_GAP))


def _lines_of_agent(name: str, agent: dict[str, Any]) -> Iterator[str]:
    yield f"{name}{_GAP}{visible(agent.get('program') or agent['problem'])}"
    if agent.get("problem") and agent.get("install"):
        yield f"{pad('', columns(name))}{_GAP}install it: {visible(agent['install'])}"


def lines_of_list(
    runs: Sequence[dict[str, Any]], *, width: int | None = None, paint: Paint = _PLAIN
) -> Iterator[str]:
    if not runs:
        return
    told = [_cells(run) for run in runs]
    widths = [max(columns(line[place]) for line in (_RUNS, *told)) for place in range(2)]
    room = _whole(width) - sum(widths) - 2 * len(_GAP)
    narrow = room < _LEAST_ROOM
    if not narrow:
        yield paint("heading", _row(_RUNS, widths, room))
    for cells, run in zip(told, runs, strict=True):
        yield from _stacked(cells, _whole(width)) if narrow else [_row(cells, widths, room)]
        if "problem" in run:
            yield paint("warning", cut(f"{_GAP}{visible(run['problem'])}", _whole(width)))


def _cells(run: dict[str, Any]) -> tuple[str, str, str]:
    last = run["attempts"][-1] if run["attempts"] else None
    number, ended = ("-", "no attempt") if last is None else (str(last["number"]), how_it_ended(last))
    return visible(run["runId"]), number, visible(ended)


def _row(cells: Sequence[str], widths: Sequence[int], room: int) -> str:
    *first, last = cells
    return _GAP.join([*map(pad, first, widths), cut(last, room)])


def _stacked(cells: tuple[str, str, str], width: int) -> list[str]:
    run, number, ended = cells
    return [cut(ended, width), cut(f"{_GAP}{run} attempt {number}", width)]


def _whole(width: int | None) -> int:
    """What goes to a file or another program is not cut."""
    return 1 << 30 if width is None else width


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
