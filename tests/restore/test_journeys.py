"""Names of things while directories are renamed: as if each rename were done to each name, in fewer steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.restore import rename_history as followed
from steno.restore.rename_history import Entry, RenameHistory, forth
from steno.restore.states import Rename, is_at_or_below

NAMES = st.sampled_from([b"/a", b"/b", b"/a/a", b"/a/b", b"/b/a", b"/c/b", b"/a/a/b"])
PATHS = st.builds(
    lambda name, more: name + more, NAMES, st.sampled_from([b"", b"/x", b"/x/a", b"/a", b"/b/x"])
)
RENAMES = st.builds(Rename, NAMES, NAMES, st.booleans()).filter(
    lambda one: not is_at_or_below(one.old, one.new) and not is_at_or_below(one.new, one.old)
)


def way(path: bytes, since: int, renames: list[Rename]) -> list[bytes | None]:
    """After each rename the name; None: replaced."""
    found: list[bytes | None] = [path]
    for rename in renames[since:]:
        last = found[-1]
        found.append(last if last is None else forth(last, rename))
    return found


@given(st.lists(RENAMES, max_size=8), PATHS, st.data())
def test_a_thing_is_followed_through_every_rename(
    renames: list[Rename], path: bytes, data: st.DataObject
) -> None:
    rename_history = RenameHistory(renames)
    moment = data.draw(st.integers(0, len(renames)))
    thing = rename_history.entry_at(path, moment)
    names = way(*thing, renames)
    assert names[moment - thing.since] == path
    kept = [name for name in names if name is not None]
    assert rename_history.names(thing) == list(dict.fromkeys(kept))
    assert rename_history.latest_names(thing) == list(dict.fromkeys(reversed(kept)))
    assert rename_history.final_name(thing) == names[-1]


@given(st.lists(RENAMES, max_size=8), PATHS)
def test_all_that_had_a_name_is_found(renames: list[Rename], path: bytes) -> None:
    rename_history = RenameHistory()
    for rename in renames:
        rename_history.entries(path)  # what is known by then is no more when another rename comes
        rename_history.names(Entry(path))
        rename_history.add(rename)
    assert rename_history.entries(path) == {
        rename_history.entry_at(path, moment) for moment in range(len(renames) + 1)
    }


def test_many_things_in_a_directory_that_is_renamed_many_times_are_followed_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = 400
    steps = 0

    def counted(path: bytes, rename: Rename) -> bytes | None:
        nonlocal steps
        steps += 1
        return forth(path, rename)

    monkeypatch.setattr(followed, "forth", counted)
    rename_history = RenameHistory([Rename(b"/a", b"/b", exchange=True)] * times)
    for number in range(times):
        for name in (b"/a/%d" % number, b"/b/%d" % number):
            assert rename_history.entries(name) == {Entry(b"/a/%d" % number), Entry(b"/b/%d" % number)}
            assert len(rename_history.names(Entry(name))) == 2
    assert steps <= 8 * times
