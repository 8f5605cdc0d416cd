"""Names of things while directories are renamed: as if each rename were done to each name, in fewer steps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.restore import rename_history as followed
from steno.restore.rename_history import Journeys, Thing, forth
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
    journeys = Journeys(renames)
    moment = data.draw(st.integers(0, len(renames)))
    thing = journeys.thing_at(path, moment)
    names = way(*thing, renames)
    assert names[moment - thing.since] == path
    kept = [name for name in names if name is not None]
    assert journeys.names(thing) == list(dict.fromkeys(kept))
    assert journeys.latest_names(thing) == list(dict.fromkeys(reversed(kept)))
    assert journeys.final_name(thing) == names[-1]


@given(st.lists(RENAMES, max_size=8), PATHS)
def test_all_that_had_a_name_is_found(renames: list[Rename], path: bytes) -> None:
    journeys = Journeys()
    for rename in renames:
        journeys.things(path)  # what is known by then is no more when another rename comes
        journeys.names(Thing(path))
        journeys.add(rename)
    assert journeys.things(path) == {journeys.thing_at(path, moment) for moment in range(len(renames) + 1)}


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
    journeys = Journeys([Rename(b"/a", b"/b", exchange=True)] * times)
    for number in range(times):
        for name in (b"/a/%d" % number, b"/b/%d" % number):
            assert journeys.things(name) == {Thing(b"/a/%d" % number), Thing(b"/b/%d" % number)}
            assert len(journeys.names(Thing(name))) == 2
    assert steps <= 8 * times
