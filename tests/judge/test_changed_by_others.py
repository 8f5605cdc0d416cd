"""What somebody else changed after the run had: told by what was found, and by when it was written."""

from __future__ import annotations

import os
from typing import Any

import pytest

from steno.evidence import wire
from steno.judge.changed_by_others import (
    DESTROYED,
    PERHAPS_DESTROYED,
    REMADE,
    REPLACED,
    UNCLEAR,
    WRITTEN,
    Destroyed,
    changed_by_others,
)
from support.documents import state
from support.frames_made import ABSENT, DIRECTORY, FakeFrames, Found
from support.kernel_tables import kernel_layers
from support.spools import STARTED_AT_MS

WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
SECOND_NS = 10**9
START_NS = STARTED_AT_MS * 10**6
UNKNOWN = wire.RESULT_UNKNOWN


def others(made: FakeFrames, *, size: int = 0, seconds: float = 0.0) -> dict[str, str]:
    """Of files that are there at the end, written that long after the run began."""
    mtime_ns = START_NS + int(seconds * SECOND_NS)
    after = state(0o100644, size=size, mtime_ns=mtime_ns, uid=0, gid=0)
    found = changed_by_others(kernel_layers(made, [{"path": "/a", "after": after}]))
    return {os.fsdecode(path): why for path, why in {**found.changed, **found.unclear}.items()}


def run() -> FakeFrames:
    return FakeFrames().process().process(parent=1001)


def test_what_is_there_although_the_run_removed_it_was_made_again() -> None:
    assert others(run().event("unlink", "/a", state=Found(), result=0)) == {"/a": REMADE}
    assert others(run().event("rename", "/a", extra="/b", state=Found(), result=0)) == {"/a": REMADE}


@pytest.mark.parametrize(("flags", "found"), [(0, {}), (1 << 5, {"/a": REMADE})])
def test_where_the_run_mounted_something_nobody_knows_what_is_there(
    flags: int, found: dict[str, str]
) -> None:
    """A look at the end shows one of the files that the name is of. Mounting it anew hides nothing."""
    made = run().event("unlink", "/a", state=Found(), result=0)
    assert others(made.event("mount", "/", state=DIRECTORY, arg=flags, result=0)) == found


def test_a_removal_that_may_have_failed_is_told_by_what_is_there() -> None:
    same = Found(size=3, mtime_ns=START_NS)
    assert others(run().event("unlink", "/a", state=same, result=UNKNOWN), size=3) == {}
    assert others(run().event("unlink", "/a", state=same, result=UNKNOWN), size=4) == {"/a": REMADE}


def test_what_the_run_made_again_itself_is_its_own() -> None:
    made = run().event("unlink", "/a", state=Found(), result=0).event("open", "/a", state=ABSENT, arg=WRITE)
    assert others(made) == {}
    made = run().event("unlink", "/a", state=Found(), result=0)
    made.event("rename_to", "/a", extra="/b", state=ABSENT, result=0)
    assert others(made, seconds=9) == {}


def test_what_somebody_made_after_the_removal_is_told_though_the_run_changed_it_then() -> None:
    made = run().event("unlink", "/a", state=Found(), result=0)
    assert others(made.event("open", "/a", state=Found(ino=7), arg=WRITE)) == {"/a": REMADE}


def test_another_file_in_the_place_of_one_that_the_run_wrote_was_put_there_by_somebody() -> None:
    made = run().event("open", "/a", state=Found(ino=3), arg=WRITE)
    assert others(made.event("stat", "/a", state=Found(ino=4))) == {"/a": REPLACED}
    made = run().event("open", "/a", state=Found(ino=3), arg=WRITE)
    made.event("rename_to", "/a", extra="/b", state=Found(ino=3), result=0)
    assert others(made.event("stat", "/a", state=Found(ino=4))) == {}


def test_a_directory_that_was_renamed_brings_other_files() -> None:
    made = run().event("open", "/a", state=Found(ino=3), arg=WRITE)
    made.event("rename", "/d", extra="/e", state=DIRECTORY, result=0)
    assert others(made.event("stat", "/a", state=Found(ino=4))) == {}


def test_what_was_done_before_the_first_change_of_the_run_is_no_matter() -> None:
    made = run().event("stat", "/a", state=Found(ino=3)).event("unlink", "/a", state=ABSENT)
    assert others(made.event("open", "/a", state=Found(ino=4), arg=WRITE)) == {}


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, {}), (2.0, {"/a": WRITTEN})])
def test_what_was_written_when_all_writers_had_ended_was_written_by_somebody(
    seconds: float, expected: dict[str, Any]
) -> None:
    made = run().event("open", "/a", process=2, state=ABSENT, arg=WRITE, at=1000)
    assert others(made.event("exit", process=2, result=0, at=2000), seconds=seconds) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(0.5, {}), (2.0, {"/a": UNCLEAR})])
def test_while_a_writer_lives_nobody_knows_who_wrote(seconds: float, expected: dict[str, Any]) -> None:
    made = run().event("open", "/a", process=2, state=ABSENT, arg=WRITE, at=1000)
    assert others(made, seconds=seconds) == expected
    with_a_child = run().event("open", "/a", process=2, state=ABSENT, arg=WRITE, at=1000).process(parent=2)
    assert others(with_a_child.event("exit", process=2, result=0, at=2000), seconds=seconds) == expected


def test_what_the_run_wrote_through_another_name_was_written_by_the_run() -> None:
    made = run().event("open", "/a", process=2, state=Found(nlink=2), arg=WRITE, at=1000)
    made.event("exit", process=2, result=0, at=2000)
    made.event("open", "/b", state=Found(nlink=2), arg=WRITE, at=2 * SECOND_NS)
    assert others(made, seconds=2.0) == {}
    another = run().event("open", "/a", process=2, state=Found(), arg=WRITE, at=1000)
    another.event("exit", process=2, result=0, at=2000)
    another.event("open", "/b", state=Found(ino=2), arg=WRITE, at=2 * SECOND_NS)
    assert others(another, seconds=2.0) == {"/a": WRITTEN}


@pytest.mark.parametrize("other", ["/a", "/b"])
def test_a_rename_between_two_names_of_one_file_takes_nothing_away(other: str) -> None:
    made = run().event("rename", "/a", extra=other, state=Found(nlink=2), result=0)
    made.event("rename_to", other, extra="/a", state=Found(nlink=2), result=0)
    assert others(made.event("stat", "/a", state=Found(nlink=2))) == {}


def test_a_time_that_was_set_tells_nothing() -> None:
    made = run().event("open", "/a", process=2, state=ABSENT, arg=WRITE, at=1000)
    made.event("utimes", "/a", process=2, state=Found(), result=0, at=1500)
    assert others(made.event("exit", process=2, result=0, at=2000), seconds=9) == {}


def destroyed(made: FakeFrames) -> list[Destroyed]:
    return changed_by_others(kernel_layers(made)).destroyed


def written_and_kept_again(
    made: FakeFrames, *, at: float, by: int = 2, op: str = "unlink", **other: Any
) -> FakeFrames:
    """The run writes a file; what is there later, written that long after the run began, is destroyed."""
    first = Found(content="kept", blob=made.blob(b"first"))
    found = Found(content="kept", blob=made.blob(b"second"), mtime_ns=START_NS + int(at * SECOND_NS), **other)
    made.event("open", "/a", state=first, arg=WRITE, process=by, result=0)
    made.event("exit", process=by, arg=0, result=0)
    return made.event(op, "/a", state=found, result=0)


def test_what_the_run_destroyed_of_somebody_elses_is_named_with_its_content() -> None:
    made = written_and_kept_again(run(), at=9)
    assert destroyed(made) == [Destroyed(b"/a", "2", DESTROYED)]
    replaced = written_and_kept_again(run(), at=0, op="rename_to", ino=9)
    assert destroyed(replaced) == [Destroyed(b"/a", "2", DESTROYED)]


def test_where_the_run_may_have_written_it_itself_the_time_tells_whether_it_is_named() -> None:
    assert destroyed(written_and_kept_again(run(), at=9, by=1)) == [Destroyed(b"/a", "2", DESTROYED)]
    still_open = run()
    for blob, seconds in ((still_open.blob(b"first"), 0), (still_open.blob(b"second"), 9)):
        found = Found(content="kept", blob=blob, mtime_ns=START_NS + seconds * SECOND_NS)
        still_open.event("open", "/a", state=found, arg=WRITE, process=2, result=0)
    assert destroyed(still_open) == [Destroyed(b"/a", "2", PERHAPS_DESTROYED)]


def test_what_the_run_wrote_and_destroyed_itself_is_not_named() -> None:
    made = run()
    for blob in (made.blob(b"first"), made.blob(b"second")):
        made.event(
            "open", "/a", state=Found(content="kept", blob=blob, mtime_ns=START_NS), arg=WRITE, result=0
        )
    assert destroyed(made) == []
