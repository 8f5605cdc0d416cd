"""From a verified run to files as they were before it, or as it left them: a plan, and what came of it.

Of a record that is not valid nothing is ever written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from steno.errors import BadRequestError
from steno.evidence.layout import FILES, SURFACE
from steno.model.run import Destroyed, Others, Run, Verdict
from steno.model.trust import trusted
from steno.restore.apply import carry_out, opened
from steno.restore.filesystem import TRASH, FileSystem, Trash
from steno.restore.outcome import Outcome
from steno.restore.plan import Do, Plan, Problem, make_plan
from steno.restore.states import (
    Contents,
    FileRecords,
    HardLink,
    LackingContentError,
    is_at_or_below,
    open_contents,
    read_records,
)
from steno.restore.tasks import Direction, User

_NS_PER_MS = 10**6
_ATTRIBUTES = "its extended attributes, or flags of its inode, were set; what they were is not in the record"


def put_back(
    direction: Direction, run: Run, chosen: Sequence[bytes], store: Path, *, dry_run: bool, force: bool
) -> tuple[Outcome, Verdict]:
    """`chosen` are paths as the record names them; none: all that the run touched. `store` has the trash."""
    user = User.of_this_process()
    run.expect(FILES, SURFACE, undone=True)
    verdict = trusted(run)
    if not run.has_kernel_layer:
        raise BadRequestError(
            f"{run.path.name} has no record of files",
            hint="it was recorded without the kernel observer; `steno doctor` says why that may be",
        )
    records = _read(run, store)
    others = run.changed_by_others
    unkept = _not_kept(run, records, chosen)
    unkept += [
        Problem(one.path, _ATTRIBUTES)
        for one in records.files
        if one.set_beside and _is_chosen(one.path, chosen)
    ]
    _check_chosen(records, unkept, chosen)
    of_chosen = [one for one in records.files if _is_chosen(one.path, chosen)]
    with (
        open_contents(run, store) as contents,
        opened(of_chosen, user) as directories,
    ):
        plan = make_plan(
            records,
            direction,
            FileSystem(),
            contents,
            user=user,
            chosen=chosen,
            force=force,
            ended_ns=_end_of_run(run) if _is_of_store(run, store) else None,
            others=others.changed,
        )
        plan.notes.extend(_unclear(plan, others))
        gone = plan.discarded
        unkept = [one for one in unkept if not any(is_at_or_below(one.path, path) for path in gone)]
        going_on = not dry_run and (plan.is_clear or force)
        trash = _trash_of(store, verdict.run_id or "")
        if going_on:
            directories.put_back = plan.ends
        failed = carry_out(plan, contents, user, trash) if going_on else None
        if direction is Direction.UNDO:
            known = {(one.path, state.blob) for one in records.files for state in (one.before, one.after)}
            wanted = [
                one
                for one in others.destroyed
                if _is_chosen(one.path, chosen) and (one.path, one.blob) not in known
            ]
            plan.notes.extend(_into_trash(wanted, contents, trash if going_on else None))
        outcome = Outcome(plan, failed, unkept, trash.places)
    return outcome, verdict


def _read(run: Run, store: Path) -> FileRecords:
    """What is concluded of files, also from and to where no state is kept. The store itself is nobody's."""
    records = read_records(run.files)
    found = run.renamed({record.path for record in records.files})
    more = read_records(found.strays, found.renames)
    home = os.fsencode(store.resolve())
    strays = [record for record in more.files if not is_at_or_below(record.path, home)]
    links = {path: HardLink(*name) for path, name in found.names.items()}
    return FileRecords(records.files + strays, more.renames, found.unlisted, links)


def _unclear(plan: Plan, others: Others) -> Iterator[Problem]:
    """Of what is taken away: who wrote it last."""
    for step in plan.steps if plan.direction is Direction.UNDO else ():
        if step.do in {Do.REMOVE, Do.WRITE} and step.path in others.unclear:
            yield Problem(step.path, f"{others.unclear[step.path]}; it goes to the trash")


def _into_trash(wanted: list[Destroyed], contents: Contents, trash: Trash | None) -> Iterator[Problem]:
    """What nobody finds at its path, neither before the undo nor after it."""
    for one in wanted:
        try:
            content = contents.get(one.blob)
            if trash is not None:
                trash.put(content, one.path)
        except LackingContentError as error:
            yield Problem(one.path, f"{one.why}: {error}")
        except OSError as error:
            yield Problem(one.path, f"{one.why}: it could not be put into the trash: {error.strerror}")
        else:
            yield Problem(one.path, f"{one.why}: that goes to the trash")


def _trash_of(store: Path, run_id: str) -> Trash:
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
    return Trash(store.absolute() / TRASH, f"{now}-{run_id}")


def _end_of_run(run: Run) -> int:
    return (run.facts.finished_at_ms + 1) * _NS_PER_MS


def _is_of_store(run: Run, store: Path) -> bool:
    """The end of a run is believed of our own: a stranger could say that any file is older than it."""
    return run.path.resolve().parent == store.resolve()


def _not_kept(run: Run, records: FileRecords, chosen: Sequence[bytes]) -> list[Problem]:
    """What the run changed and nothing here can bring back, because its states are not in the record."""
    found = run.not_kept(record.path for record in records.files)
    problems = [Problem(one.path.encode(), f"its state is not kept ({one.why})") for one in found]
    return [one for one in problems if _is_chosen(one.path, chosen)]


def _is_chosen(path: bytes, chosen: Sequence[bytes]) -> bool:
    return not chosen or any(is_at_or_below(path, choice) for choice in chosen)


def _check_chosen(records: FileRecords, unkept: Sequence[Problem], chosen: Sequence[bytes]) -> None:
    names = {*(record.path for record in records.files), *(one.path for one in unkept)}
    for choice in chosen:
        if not any(is_at_or_below(name, choice) for name in names):
            raise BadRequestError(
                f"the run has not touched {os.fsdecode(choice)}, nor anything below it",
                hint="`steno files RUN` lists what it touched",
            )
