"""`files.json`: what was done to each path, its states, and what changed. The lines of these tests are older
ones, which tell what was before."""

from __future__ import annotations

import os
from typing import Any

import pytest

from steno.evidence import canonical, wire
from steno.evidence.syscalls import BadTableError
from support.documents import files, state
from support.frames_made import ABSENT, DIRECTORY, FakeFrames, Found
from support.kernel_tables import kernel_layers

UNKNOWN, FAILED = wire.RESULT_UNKNOWN, wire.RESULT_FAILED
READ, CREATE = os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC
NS = 1_700_000_000_000_000_000
Line = dict[str, Any]


def after(**changes: Any) -> Line:
    fields = {"mode": 0o100644, "size": 0, "mtime_ns": NS, "uid": 1000, "gid": 1000}
    return state(**(fields | changes))


def line(path: str, after_state: Line, **more: Any) -> Line:
    return {"path": path, "after": after_state, **more}


def told(made: FakeFrames, *lines: Line) -> Line:
    value: Line = canonical.decode(b"".join(files(kernel_layers(made, lines, older=True))))
    assert value["schema"] == "steno.files.v1"
    return value


def file_of(made: FakeFrames, one: Line) -> Line:
    (found,) = told(made, one)["files"]
    assert isinstance(found, dict)
    return found


def test_a_created_file() -> None:
    made = FakeFrames().process().event("open", "/a", state=ABSENT, arg=CREATE)
    found = file_of(made, line("/a", after(size=3), after_blob="after:/a"))
    assert found == {
        "path": "/a",
        "operations": ["write"],
        "before": {"exists": False},
        "after": {
            "exists": True,
            "type": "file",
            "mode": 0o100644,
            "mtime": 1_700_000_000,
            "mtime_ns": str(NS),
            "size": 3,
            "uid": 1000,
            "gid": 1000,
            "blob": "after:/a",
        },
        "change": "created",
    }


def test_a_deleted_file_leaves_a_tombstone_and_so_does_one_that_was_created_and_deleted() -> None:
    made = FakeFrames().process().event("unlink", "/a", state=Found(size=1))
    found = file_of(made, line("/a", {"exists": False}, before_blob="before:/a"))
    assert found["after"] == {"exists": False, "tombstone": True}
    assert (found["before"]["blob"], found["change"]) == ("before:/a", "deleted")
    made = (
        FakeFrames()
        .process()
        .event("open", "/a", state=ABSENT, arg=CREATE)
        .event("unlink", "/a", state=Found())
    )
    found = file_of(made, line("/a", {"exists": False}))
    assert (found["before"], found["after"]) == ({"exists": False}, {"exists": False, "tombstone": True})
    assert (found["operations"], found["change"]) == (["delete", "write"], "none")


def test_a_path_that_was_only_asked_for() -> None:
    made = FakeFrames().process().event("open", "/no", state=ABSENT, arg=READ, result=-2)
    found = file_of(made, line("/no", {"exists": False}))
    assert (found["operations"], found["after"], found["change"]) == (
        ["existence"],
        {"exists": False},
        "none",
    )


@pytest.mark.parametrize(
    ("changes", "more", "change"),
    [
        ({}, {"same_content": True}, "none"),
        ({}, {"before_blob": "before:/a", "after_blob": "before:/a"}, "none"),
        ({}, {}, "unknown"),  # a time can be put back
        ({"mode": 0o100600}, {}, "unknown"),
        ({"size": 9}, {}, "modified"),
        ({"mtime_ns": NS + 1}, {}, "modified"),
        ({"mtime_ns": NS + 1}, {"before_blob": "before:/a", "after_blob": "before:/a"}, "metadata"),
        ({"mtime_ns": NS + 1}, {"same_content": True}, "metadata"),
        ({"size": 9}, {"same_content": True}, "modified"),
        ({}, {"same_content": False}, "modified"),
        ({"mode": 0o100600}, {"same_content": True}, "metadata"),
        ({"uid": 0}, {"same_content": True}, "metadata"),
        ({"mode": 0o40755}, {}, "modified"),
    ],
)
def test_what_changed_follows_from_the_two_states(changes: Line, more: Line, change: str) -> None:
    made = FakeFrames().process().event("open", "/a", state=Found(size=5), arg=os.O_RDWR)
    assert file_of(made, line("/a", after(**{"size": 5, **changes}), **more))["change"] == change


@pytest.mark.parametrize(
    ("result", "more", "change"),
    [
        (0, {}, "metadata"),
        (0, {"same_ctime": True}, "metadata"),  # looked at only after it
        (UNKNOWN, {"same_ctime": False}, "metadata"),
        (UNKNOWN, {"same_ctime": True}, "none"),
        (UNKNOWN, {}, "none"),
        (-95, {"same_ctime": False}, "none"),
        (FAILED, {"same_ctime": False}, "none"),
    ],
)
def test_what_is_in_no_state_was_set_if_the_call_or_the_time_of_change_says_so(
    result: int, more: Line, change: str
) -> None:
    made = FakeFrames().process().event("setxattr", "/a", state=Found(size=5), result=result)
    assert file_of(made, line("/a", after(size=5), **more))["change"] == change


def test_a_file_that_was_read_and_touched_after_that_may_be_another() -> None:
    made = FakeFrames().process().event("open", "/a", state=Found(size=5), arg=READ)
    assert file_of(made, line("/a", after(size=5)))["change"] == "none"
    assert file_of(made, line("/a", after(size=5), before_content="raced"))["change"] == "unknown"


def test_nothing_is_as_nothing_was() -> None:
    made = FakeFrames().process().event("open", "/a", state=Found(size=0), arg=os.O_RDWR)
    assert file_of(made, line("/a", after(size=0)))["change"] == "none"


@pytest.mark.parametrize("changes", [{"mtime_ns": NS + 1}, {"size": 8192, "mtime_ns": NS + 1}])
def test_a_directory_that_lists_something_else_is_metadata(changes: Line) -> None:
    made = FakeFrames().process().event("stat", "/d", state=Found(mode=0o40755))
    assert file_of(made, line("/d", after(**{"mode": 0o40755, **changes})))["change"] == "metadata"
    assert file_of(made, line("/d", after(mode=0o40755)))["change"] == "none"


def test_a_time_that_was_only_set_is_metadata() -> None:
    made = FakeFrames().process().event("utimes", "/a", state=Found())
    assert file_of(made, line("/a", after(mtime_ns=5)))["change"] == "metadata"


def test_a_link_that_points_elsewhere_is_modified() -> None:
    link = Found(mode=0o120777, target=b"/\xff")
    made = FakeFrames().process().event("readlink", "/l", state=link)
    found = file_of(made, line("/l", after(mode=0o120777, target=b"/\xff")))
    assert (found["change"], found["operations"], found["before"]["target_b64"]) == ("none", ["read"], "L/8=")
    assert file_of(made, line("/l", after(mode=0o120777, target=b"/x")))["change"] == "modified"


@pytest.mark.parametrize(
    ("target", "change"), [(b"/x", "metadata"), (b"/****", "modified"), (None, "modified")]
)
def test_a_link_that_was_made_again_with_the_same_target_is_metadata(
    target: bytes | None, change: str
) -> None:
    """A masked target may be another one, and so may one that nobody read."""
    link = Found(mode=0o120777, target=target or b"")
    made = FakeFrames().process().event("unlink", "/l", state=link).event("symlink", "/l", state=ABSENT)
    assert file_of(made, line("/l", after(mode=0o120777, target=target, mtime_ns=5)))["change"] == change


def test_what_was_only_looked_at_was_not_changed_by_the_run_however_it_was_left() -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found())
    assert file_of(made, line("/a", {"unknown": True}))["change"] == "none"


def test_what_nobody_knows_is_not_guessed() -> None:
    made = FakeFrames().process().event("chmod", "/a", state=Found()).event("unlink", "/b")
    found = told(
        made, line("/a", {"unknown": True}, before_content="too_large"), line("/b", {"exists": False})
    )
    first, second = found["files"]
    assert (first["after"], first["change"], first["before"]["content"]) == (
        {"unknown": True},
        "unknown",
        "too_large",
    )
    assert (second["before"], second["change"]) == ({"unknown": True}, "unknown")
    assert file_of(made, line("/c", {"exists": False}))["operations"] == []


def test_paths_without_a_line_are_not_told() -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found())
    assert told(made)["files"] == []


def test_renames_of_directories_are_in_order_and_failed_ones_are_not() -> None:
    made = FakeFrames().process()
    made.event("rename", "/d", extra="/e", state=DIRECTORY).event("rename_to", "/e", extra="/d", state=ABSENT)
    made.event("rename", "/f", extra="/g", state=Found())
    made.event("rename", "/h", extra="/i", state=DIRECTORY, result=-20)
    made.event("rename", b"/\xff", extra="/j", state=DIRECTORY, notes=["exchange"])
    assert told(made)["directory_renames"] == [
        {"from": "/d", "to": "/e"},
        {"from": "/\xff", "from_b64": "L/8=", "to": "/j", "exchange": True},
    ]


def test_an_exchange_is_told_once_from_a_directory_whichever_name_it_had() -> None:
    made = FakeFrames().process()
    for one, other in (
        (DIRECTORY, DIRECTORY),
        (Found(), DIRECTORY),
        (DIRECTORY, Found()),
        (Found(), Found()),
    ):
        made.event("rename", "/a", extra="/b", state=one, notes=["exchange"])
        made.event("rename_to", "/b", extra="/a", state=other, notes=["exchange"])
    made.event("rename", "/a", extra="/b", state=Found(), notes=["exchange"], result=-2)
    made.event("rename_to", "/b", extra="/a", state=DIRECTORY, notes=["exchange"], result=-2)
    there = {"from": "/a", "to": "/b", "exchange": True}
    back = {"from": "/b", "to": "/a", "exchange": True}
    assert told(made)["directory_renames"] == [there, back, there]


def test_repositories_and_git_facts_are_those_of_the_lines() -> None:
    repository = {"root": "/r", "head": "a" * 40, "dirty": True}
    git = {"in_repo": True, "root": "/r", "head": None, "relative_path": "x"}
    git |= {"tracked": True, "dirty": False, "ignored": False}
    made = FakeFrames().process().event("stat", "/r/x", state=Found())
    found = told(made, {"repository": repository}, line("/r/x", after(), git=git))
    assert found["git_repositories"] == [repository]
    assert found["files"][0]["git"] == git


def test_it_holds_nothing_that_differs_between_equal_runs() -> None:
    def made(first_ns: int, pid: int) -> FakeFrames:
        return FakeFrames().process(pid).event("stat", "/a", state=Found(ino=pid, dev=pid), at=first_ns)

    results = {
        b"".join(files(kernel_layers(made(n, n), [line("/a", after())], older=True))) for n in (1, 2, 3)
    }
    assert len(results) == 1


@pytest.mark.parametrize(
    "lines",
    [
        [line("/b", {"exists": False}), line("/a", {"exists": False})],
        [line("/a", {"exists": False}), {"repository": {"root": "/", "head": None, "dirty": False}}],
        [{"path": "/a"}],
        [{"path": "/a", "after": {"exists": "perhaps"}}],
        [{"path": "/a", "path_b64": "!", "after": {}}],
        [[]],
        [{"repository": 1}],
    ],
)
def test_lines_that_are_not_ours_are_refused(lines: list[Any]) -> None:
    with pytest.raises(BadTableError, match=r"files\.ndjson"):
        told(FakeFrames(), *lines)


def test_a_field_that_only_a_newer_steno_knows_is_passed_over() -> None:
    newer = {"path": "/a", "after": {"exists": False, "more": [1]}, "more": 1}
    repository = {"repository": {"root": "/", "head": None, "dirty": False, "more": 1}}
    known = {"path": "/a", "after": {"exists": False}}
    assert told(FakeFrames(), repository, newer)["files"] == told(FakeFrames(), known)["files"]


def test_where_the_run_mounted_something_nothing_is_said_of_states_at_any_time() -> None:
    made = FakeFrames().process().event("stat", "/m/x", state=Found()).event("mount", "/m", state=DIRECTORY)
    made.event("rename", "/m/a", state=DIRECTORY, extra="/m/b").event("umount", "/m", state=DIRECTORY)
    made.event("open", "/m/x", state=Found(size=2), arg=CREATE).event("unlink", "/mm", state=Found())
    found = told(made, line("/m/x", {"unknown": True}), line("/mm", {"exists": False}))
    hidden, beside = found["files"]
    assert (hidden["before"], hidden["after"]) == ({"unknown": True}, {"unknown": True})
    assert (hidden["change"], beside["change"], found["directory_renames"]) == ("unknown", "deleted", [])


def _renamed_late(*, listed: bool) -> FakeFrames:
    late = ["late"]
    made = FakeFrames().process()
    made.event("rename", "/old", state=ABSENT, result=0, notes=late, extra="/new")
    made.event("rename_to", "/new", state=Found(mode=0o40755), result=0, notes=late, extra="/old")
    if listed:
        made.event("moved", "/old/a", state=Found(size=5), result=0, notes=late, extra="/new/a")
        made.event("moved_to", "/new/a", state=ABSENT, result=0, notes=late, extra="/old/a")
    return made.event("open", "/new/a", state=Found(size=5), result=0, arg=READ)


@pytest.mark.parametrize("listed", [True, False])
def test_what_is_found_below_a_directory_that_came_there_was_not_there_before(*, listed: bool) -> None:
    made = _renamed_late(listed=listed)
    assert file_of(made, line("/new/a", after(size=5)))["before"] == {"unknown": True}


def test_what_is_made_below_a_directory_that_came_there_was_not_there_before() -> None:
    made = _renamed_late(listed=False).event("open", "/new/b", state=ABSENT, result=0, arg=CREATE)
    assert file_of(made, line("/new/b", after()))["change"] == "created"


def test_what_is_made_again_below_a_directory_that_went_away_may_have_been_there_before() -> None:
    made = _renamed_late(listed=False).event("open", "/old/b", state=ABSENT, result=0, arg=CREATE)
    assert file_of(made, line("/old/b", after()))["before"] == {"unknown": True}


def test_what_was_seen_before_its_directory_was_renamed_is_known() -> None:
    late = ["late"]
    made = FakeFrames().process()
    made.event("stat", "/old/a", state=Found(size=5), result=0)
    made.event("access", "/old/b", state=ABSENT, result=0, notes=late)  # which may be of later
    made.event("rename", "/old", state=ABSENT, result=0, notes=late, extra="/new")
    made.event("rename_to", "/new", state=Found(mode=0o40755), result=0, notes=late, extra="/old")
    assert file_of(made, line("/old/a", {"exists": False}))["change"] == "deleted"
    assert file_of(made, line("/old/b", {"exists": False}))["before"] == {"unknown": True}
