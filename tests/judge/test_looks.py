"""Which look at a path tells what was there before a run, and which content that was."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steno.evidence import canonical, syscalls
from support.documents import files
from support.frames_made import ABSENT, DIRECTORY, FakeFrames, Found
from support.kernel_tables import kernel_layers

WRITE_AND_TRUNCATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
GONE = {"exists": False}
Told = dict[str, Any]


def left(found: Found, **changes: Any) -> Told:
    """A state as the recorder's look at the end told it."""
    shown = found._replace(**changes)
    names = ("dev", "ino", "mode", "nlink", "size", "mtime_ns", "ctime_ns", "uid", "gid")
    return {"exists": True, **{name: getattr(shown, name) for name in names}}


def told(made: FakeFrames, *names: str, **lines: Told) -> dict[str, Told]:
    """What is told of paths that are gone (`names`), or as the lines say: their names without a slash."""
    every = {f"/{name}": {"after": GONE} for name in names} | {
        f"/{name}": line for name, line in lines.items()
    }
    ordered = [{"path": path, **every[path]} for path in sorted(every)]
    value: Told = canonical.decode(b"".join(files(kernel_layers(made, ordered))))
    return {file["path"].removeprefix("/"): file for file in value["files"]}


def kept(made: FakeFrames, content: bytes = b"old", **fields: Any) -> Found:
    return Found(**{"size": len(content), "blob": made.blob(content), "content": "kept", **fields})


def test_a_later_look_at_the_same_file_supplies_its_content() -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found(size=3))
    found = told(made.event("open", "/a", state=kept(made), arg=WRITE_AND_TRUNCATE), "a")["a"]
    assert found["before"]["blob"] == "1"


def test_what_somebody_put_there_before_the_first_change_is_the_state_before() -> None:
    made = FakeFrames().process().event("stat", "/a", state=ABSENT)
    made.event("unlink", "/a", state=ABSENT)  # takes nothing away
    made.event("open", "/a", state=kept(made, ctime_ns=9), arg=WRITE_AND_TRUNCATE)
    assert told(made, "a")["a"]["before"]["blob"] == "1"


def test_of_two_contents_under_one_name_the_one_of_the_file_before_is_chosen() -> None:
    made = FakeFrames().process()
    made.event("unlink", "/a", state=kept(made, b"first")).event(
        "unlink", "/a", state=kept(made, b"later", ino=2)
    )
    assert told(made, "a")["a"]["before"]["blob"] == "1"


def test_the_content_of_another_file_under_the_same_name_is_not_that_of_the_one_before() -> None:
    made = FakeFrames().process().event("unlink", "/a", state=Found(size=3))
    made.event("open", "/a", state=kept(made, ctime_ns=9), arg=WRITE_AND_TRUNCATE)
    before = told(made, "a")["a"]["before"]
    assert "blob" not in before
    assert before["content"] == "unknown"


def test_a_file_that_was_changed_under_another_name_is_what_it_was_before_that() -> None:
    made = FakeFrames().process()
    first = kept(made, nlink=3)
    made.event("link", "/a", extra="/d", state=first, result=0)
    made.event("open", "/a", state=first._replace(nlink=4, ctime_ns=5), arg=WRITE_AND_TRUNCATE)
    now = first._replace(size=9, mtime_ns=5, ctime_ns=5, mode=0o100600)
    for op, name in (("unlink", "/b"), ("stat", "/c"), ("unlink", "/d"), ("chmod", "/a")):
        made.event(op, name, state=now)
    found = told(made, "a", "b", "c", "d")
    for name in "abcd":
        before = found[name]["before"]
        assert (before["size"], before["mode"], before["blob"]) == (3, 0o100644, "1"), name


def test_a_file_that_was_kept_under_another_name_has_that_content() -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found(size=3, nlink=2))
    made.event("unlink", "/b", state=kept(made, nlink=2)).event("open", "/a", state=None, arg=os.O_RDONLY)
    assert told(made, "a", "b")["a"]["before"]["blob"] == "1"


def test_what_somebody_changed_after_it_was_kept_is_not_given_the_content_of_then() -> None:
    made = FakeFrames().process()
    old = kept(made)
    made.event("open", "/a", state=old, arg=WRITE_AND_TRUNCATE, result=-13)
    made.event("open", "/a", state=old._replace(size=8, mtime_ns=5), arg=WRITE_AND_TRUNCATE)
    made.event("unlink", "/b", state=old._replace(size=9, mtime_ns=6))
    found = told(made, "a", "b")
    for name in "ab":
        before = found[name]["before"]
        assert (before["size"], before["content"]) == (8, "unknown")


def test_why_a_content_was_not_kept_is_told() -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found(size=3))
    made.event("unlink", "/a", state=Found(size=3, content="too_large"))
    assert told(made, "a")["a"]["before"]["content"] == "too_large"


def test_what_could_be_read_only_later_has_the_content_that_was_kept_then() -> None:
    made = FakeFrames().process()
    number = made.blob(b"old")
    locked = Found(size=3, blob=number, content="unreadable")
    made.event("chmod", "/a", state=locked)
    made.event("open", "/a", state=locked._replace(ctime_ns=9, content="kept"), arg=WRITE_AND_TRUNCATE)
    assert told(made, "a")["a"]["before"]["blob"] == "1"


def test_a_content_that_was_lost_on_the_way_is_unknown() -> None:
    made = FakeFrames().process().event("unlink", "/a", state=Found(size=3, blob=7, content="kept"))
    assert told(made, "a")["a"]["before"]["content"] == "unknown"


@pytest.mark.parametrize(("blob", "change"), [("1", "metadata"), ("2", "modified")])
def test_equal_contents_have_one_key_so_another_key_is_another_content(blob: str, change: str) -> None:
    made = FakeFrames().process()
    old = kept(made)
    made.event("open", "/a", state=old, arg=WRITE_AND_TRUNCATE)
    found = told(made, a={"after": left(old, mtime_ns=5, ctime_ns=5), "after_blob": blob})["a"]
    assert found["change"] == change


def test_below_a_mount_of_the_run_nothing_is_said_of_what_was_seen() -> None:
    made = FakeFrames().process()
    old = kept(made)
    made.event("open", "/m/x", state=old, arg=WRITE_AND_TRUNCATE).event("mount", "/m", state=DIRECTORY)
    line = {"path": "/m/x", "after": left(old, size=9), "after_blob": "after:/m/x"}
    (found,) = canonical.decode(b"".join(files(kernel_layers(made, [line]))))["files"]
    unknown = {"unknown": True}
    assert (found["before"], found["after"], found["change"]) == (unknown, unknown, "unknown")


def test_names_that_were_exchanged_are_told_apart_by_the_contents_that_are_left() -> None:
    """Two files of one size and time: nothing but the content tells that they are two."""
    made = FakeFrames().process()
    one, other = Found(size=3, ino=1), Found(size=3, ino=2)
    for op, name, extra, state in (
        ("rename", "/a", "/b", one),
        ("rename_to", "/b", "/a", other),
        ("rename", "/b", "/a", other),
        ("rename_to", "/a", "/b", one),
    ):
        made.event(op, name, extra=extra, state=state, notes=["exchange"], result=0)
    found = told(
        made,
        a={"after": left(other, ctime_ns=5), "after_blob": "after:/a"},
        b={"after": left(one, ctime_ns=5), "after_blob": "after:/b"},
        c={"after": left(one), "after_blob": "after:/c"},
    )
    assert found["a"]["change"] == "modified"


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_the_answer_is_the_same_however_many_rows_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(syscalls, "BATCH", batch)
    made = FakeFrames().process()
    first = kept(made, nlink=2)
    made.event("stat", "/a", state=first._replace(blob=0, content="not_kept"))
    made.event("open", "/a", state=first, arg=WRITE_AND_TRUNCATE)
    made.event("unlink", "/b", state=first._replace(size=9, mtime_ns=5, ctime_ns=5))
    found = told(made, "a", "b")
    assert [found[name]["before"].get("blob") for name in "ab"] == ["1", "1"]
    assert found["b"]["before"]["size"] == 3


@pytest.mark.parametrize("field", ["dev", "size", "mtime_ns", "ctime_ns"])
def test_a_number_of_a_line_that_is_none_makes_the_line_a_bad_one(field: str) -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found())
    line = {"path": "/a", "after": left(Found(), **{field: "1"})}
    with pytest.raises(syscalls.BadTableError, match="line 1"):
        b"".join(files(kernel_layers(made, [line])))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["stat", "access", "unlink", "rename", "chmod"]),
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from([None, ABSENT, Found(size=1), Found(size=2)]),
        ),
        max_size=30,
    ),
    st.integers(1, 7),
)
@settings(deadline=None)
def test_the_states_before_are_those_that_a_plain_loop_finds(
    calls: list[tuple[str, str, Any]], batch: int
) -> None:
    made = FakeFrames().process()
    expected: dict[str, int | None] = {}
    changed: set[str] = set()
    for number, (op, path, state) in enumerate(calls):
        made.event(op, f"/{path}", state=state, arg=number)  # of calls that are quite equal one is read
        size = None if state in {None, ABSENT} else state.size
        changes = op in {"unlink", "rename", "chmod"} and state is not ABSENT
        another = path not in expected or (expected[path] is None) != (state is ABSENT)
        if path not in changed and state is not None and (changes or another):
            expected[path] = size
        if changes and path in expected:
            changed.add(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syscalls, "BATCH", batch)
        found = {name: file["before"] for name, file in told(made, "a", "b", "c").items()}
    known = {name: before.get("size") for name, before in found.items() if "unknown" not in before}
    assert known == expected
