"""Frames: what the helper wrote is read back; what was cut or forged is left out or refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frames_made import ABSENT, DIRECTORY, KEY, FakeFrames, Found, encrypted
from steno.bundle import frames as frames_room
from steno.bundle.folder import Folder, NotRegularError
from steno.bundle.frame_records import FramesError
from steno.bundle.frames import FirstLook, Frames, open_frames
from steno.evidence import wire

WRITE_AND_TRUNCATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@contextmanager
def opened(spool: Path, key: bytes = KEY) -> Iterator[Frames]:
    with Folder(spool) as folder, open_frames(folder, key) as frames:
        yield frames


def looks_of(made: FakeFrames, spool: Path) -> dict[bytes, FirstLook]:
    made.write(spool)
    with opened(spool) as frames:
        return frames.first_states()


def ops_of(frames: Frames) -> list[str]:
    return [wire.OPS[code].name for batch in frames.batches() for code in batch.op]


def typical() -> FakeFrames:
    made = FakeFrames().process()
    made.exec("/bin/sh", ["sh", "-c", "true"], state=Found(mode=0o100755), result=0)
    made.event("open", "/a", state=Found(size=3, target="/b"), arg=os.O_RDONLY)
    made.event("stat", "/none", state=ABSENT, result=-2)
    return made.exit()


def test_everything_that_was_written_is_read_back(tmp_path: Path) -> None:
    made = typical()
    number = made.blob(b"old content" * 20_000)
    made.write(tmp_path)
    with opened(tmp_path) as frames:
        assert list(frames.strings) == [b"", *made.strings]
        assert list(frames.states) == made.states
        (batch,) = frames.batches()
        assert batch.count == len(made.events)
        for name in ("mono_ns", "process", "tid", "op", "notes", "result", "path", "extra", "state", "arg"):
            assert list(getattr(batch, name)) == [getattr(event, name) for event in made.events], name
        assert b"".join(frames.blob(number)) == b"old content" * 20_000
        assert (frames.header.closed, frames.torn, frames.damaged) == (1, False, 0)


def test_a_path_or_argument_is_not_on_the_disk_in_clear(tmp_path: Path) -> None:
    typical().write(tmp_path)
    assert not any(b"/bin/sh" in file.read_bytes() for file in (tmp_path / "kernel").iterdir())


def test_many_events_come_in_batches_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames_room, "BATCH", 3)
    made = FakeFrames().process()
    for number in range(10):
        made.event("stat", f"/{number}", state=Found(ino=number))
    made.write(tmp_path)
    with opened(tmp_path) as frames:
        times = [list(batch.mono_ns) for batch in frames.batches()]
        assert [len(batch) for batch in times] == [3, 3, 3, 2]
        assert [time for batch in times for time in batch] == [event.mono_ns for event in made.events]
        assert list(frames.first_states()) == [b"/%d" % number for number in range(10)]


def test_equal_calls_are_one_kind_whichever_way_they_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = typical()
    for number in range(20):
        made.event("stat", f"/{number % 3}", state=ABSENT, process=1 + number % 2)
    made.write(tmp_path)
    found: list[tuple[Any, ...]] = []
    for large in (1, 1 << 20):
        monkeypatch.setattr(frames_room, "LARGE", large)
        with opened(tmp_path) as frames:
            (batch,) = frames.batches()
            calls, of_rows = batch.kinds
            rows = list(of_rows) if isinstance(of_rows, list) else of_rows.to_pylist()
            assert [calls.resolved[kind] for kind in rows] == list(batch.resolved)
            found.append((rows, list(zip(calls.process, calls.op, calls.state, strict=True))))
            found[-1] += (frames.first_states(),)
    assert found[0] == found[1]
    assert len(found[0][1]) == len(typical().events) + 6


def test_a_path_whose_words_are_there_twice_has_the_operations_of_both(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found()).event("unlink", "/b", state=Found())
    made.write(tmp_path)
    twice = b"".join(len(text).to_bytes(4, "little") + text for text in (b"/a", b"/a"))
    (tmp_path / "kernel" / wire.STRINGS_FILE).write_bytes(encrypted(KEY, made.nonce[:12], twice))
    with opened(tmp_path) as frames:
        look = frames.first_states()[b"/a"]
    assert look.operations == {"existence", "delete"}
    assert look.changed


def test_bytes_beyond_those_that_the_header_calls_whole_are_not_read(tmp_path: Path) -> None:
    made = typical()
    made.header(events=2 * wire.EVENT.size).write(tmp_path)
    with opened(tmp_path) as frames:
        assert ops_of(frames) == ["process", "exec"]
        assert not frames.torn


@given(
    cuts=st.fixed_dictionaries(
        {},
        optional={name: st.floats(0, 1) for name in (wire.EVENTS_FILE, wire.STATES_FILE, wire.STRINGS_FILE)},
    )
)
@SMALL
def test_wherever_a_file_is_cut_what_is_left_refers_only_to_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, cuts: dict[str, float]
) -> None:
    spool = tmp_path_factory.mktemp("cut")
    typical().write(spool)
    for name, part in cuts.items():
        path = spool / "kernel" / name
        os.truncate(path, int(path.stat().st_size * part))
    try:
        with opened(spool) as frames:
            look_at_everything(frames)
            assert frames.torn == any(part < 1 for part in cuts.values())
    except FramesError:
        assert cuts[wire.STRINGS_FILE] < 1


def look_at_everything(frames: Frames) -> None:
    frames.first_states()
    for batch in frames.batches():
        for numbers in (batch.path, batch.resolved, batch.extra):
            assert all(isinstance(frames.strings[number], bytes) for number in numbers)
        assert all(
            frames.states[state - wire.STATE_FIRST] for state in batch.state if state >= wire.STATE_FIRST
        )
        assert all(code in wire.OPS for code in batch.op)


@given(st.data())
@SMALL
def test_on_any_bytes_the_frames_are_read_or_refused_with_one_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    spool = tmp_path_factory.mktemp("hostile")
    made = typical()
    made.write(spool)
    name = data.draw(st.sampled_from(sorted(made.files())))
    path = spool / "kernel" / name
    content = bytearray(path.read_bytes())
    for at, byte in data.draw(
        st.lists(st.tuples(st.integers(0, min(len(content), 400) - 1), st.integers(0, 255)), max_size=6)
    ):
        content[at] = byte
    path.write_bytes(bytes(content) + data.draw(st.binary(max_size=80)))
    try:
        with opened(spool) as frames:
            look_at_everything(frames)
    except FramesError:
        return


@pytest.mark.parametrize(
    "change",
    [
        {"path": 999},
        {"resolved": 999},
        {"extra": 999},
        {"state": 999},
        {"op": 19},
        {"op": 0x0103},
        {"process": 1 << 31},
        {"tid": 1 << 31},
        {"mono_ns": 1 << 63},
    ],
    ids=str,
)
def test_a_record_that_cannot_be_is_left_out_and_counted(tmp_path: Path, change: dict[str, int]) -> None:
    made = typical()
    made.events[2] = made.events[2]._replace(**change)
    made.write(tmp_path)
    with opened(tmp_path) as frames:
        assert ops_of(frames) == ["process", "exec", "stat", "exit"]
        assert frames.damaged == 1


@pytest.mark.parametrize("change", [{"target": 999}, {"content": 99}, {"size": 1 << 63}], ids=str)
def test_an_event_whose_state_cannot_be_is_left_out(tmp_path: Path, change: dict[str, int]) -> None:
    made = typical()
    made.states[1] = made.states[1]._replace(**change)
    made.write(tmp_path)
    with opened(tmp_path) as frames:
        assert ops_of(frames) == ["process", "exec", "stat", "exit"]
        assert frames.damaged == 1


@pytest.mark.parametrize("change", [{"magic": 1}, {"version": 2}], ids=str)
def test_another_format_is_refused(tmp_path: Path, change: dict[str, int]) -> None:
    typical().header(**change).write(tmp_path)
    with pytest.raises(FramesError, match="version"), opened(tmp_path):
        pass


def test_another_key_is_noticed(tmp_path: Path) -> None:
    typical().write(tmp_path)
    with pytest.raises(FramesError, match="key"), opened(tmp_path, bytes(32)):
        pass


@pytest.mark.parametrize("name", sorted(typical().files()))
def test_a_missing_file_is_damage_and_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    typical().write(tmp_path)
    (tmp_path / "kernel" / name).rename(tmp_path / "elsewhere")
    with pytest.raises(FramesError), opened(tmp_path):
        pass
    (tmp_path / "kernel" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises((FramesError, NotRegularError)), opened(tmp_path):
        pass


def test_frames_without_an_event_are_frames(tmp_path: Path) -> None:
    FakeFrames().write(tmp_path)
    with opened(tmp_path) as frames:
        assert list(frames.batches()) == []
        assert frames.first_states() == {}
        assert list(frames.strings) == [b""]


# --- the first look at a path ------------------------------------------------------------------------------


def test_the_first_change_tells_the_state_and_later_ones_what_was_done(tmp_path: Path) -> None:
    """What somebody else did between a look and that change is no change of the run's."""
    first, meant, later = Found(size=3), Found(size=9, mtime_ns=5), Found(size=7, mtime_ns=6)
    made = FakeFrames().process().event("stat", "/a", state=first)
    made.event("open", "/a", state=meant, arg=WRITE_AND_TRUNCATE).event("unlink", "/a", state=later)
    look = looks_of(made, tmp_path)[b"/a"]
    assert look.state is not None
    assert look.state.size == 9
    assert look.operations == {"existence", "write", "delete"}
    assert (look.changed, look.unresolved, look.blob) == (True, False, 0)


def test_a_later_look_at_the_same_file_supplies_its_content(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found(size=3))
    kept = Found(size=3, blob=made.blob(b"old"), content="kept")
    look = looks_of(made.event("open", "/a", state=kept, arg=WRITE_AND_TRUNCATE), tmp_path)[b"/a"]
    assert (look.blob, look.content) == (1, wire.CONTENT["kept"])


def test_what_somebody_put_there_before_the_first_change_is_the_state_before(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/a", state=ABSENT)
    made.event("unlink", "/a", state=ABSENT)  # takes nothing away
    kept = Found(size=3, ctime_ns=9, blob=made.blob(b"new"), content="kept")
    look = looks_of(made.event("open", "/a", state=kept, arg=WRITE_AND_TRUNCATE), tmp_path)[b"/a"]
    assert (look.blob, look.content) == (1, wire.CONTENT["kept"])


def test_the_content_of_another_file_under_the_same_name_is_not_that_of_the_one_before(
    tmp_path: Path,
) -> None:
    made = FakeFrames().process().event("unlink", "/a", state=Found(size=3))
    kept = Found(size=3, ctime_ns=9, blob=made.blob(b"new"), content="kept")
    look = looks_of(made.event("open", "/a", state=kept, arg=WRITE_AND_TRUNCATE), tmp_path)[b"/a"]
    assert (look.blob, look.content) == (0, wire.CONTENT["not_kept"])


def test_a_file_that_was_changed_under_another_name_is_what_it_was_before_that(tmp_path: Path) -> None:
    made = FakeFrames().process()
    first = Found(size=3, nlink=3, blob=made.blob(b"old"), content="kept")
    made.event("link", "/a", extra="/d", state=first, result=0)
    made.event("open", "/a", state=first._replace(nlink=4, ctime_ns=5), arg=WRITE_AND_TRUNCATE)
    now = first._replace(size=9, mtime_ns=5, ctime_ns=5, mode=0o100600)
    for op, name in (("unlink", "/b"), ("stat", "/c"), ("unlink", "/d"), ("chmod", "/a")):
        made.event(op, name, state=now)
    looks = looks_of(made, tmp_path)
    for path in (b"/a", b"/b", b"/c", b"/d"):
        state = looks[path].state
        assert state is not None
        assert (state.size, state.mode, state.nlink) == (3, 0o100644, 4), path
        assert (looks[path].blob, looks[path].content) == (1, wire.CONTENT["kept"])
        assert looks[path].other_name == (path != b"/a")


def test_what_somebody_changed_after_it_was_kept_is_not_given_the_content_of_then(tmp_path: Path) -> None:
    made = FakeFrames().process()
    kept = Found(size=3, blob=made.blob(b"old"), content="kept")
    made.event("open", "/a", state=kept, arg=WRITE_AND_TRUNCATE, result=-13)
    made.event("open", "/a", state=kept._replace(size=8, mtime_ns=5), arg=WRITE_AND_TRUNCATE)
    made.event("unlink", "/b", state=kept._replace(size=9, mtime_ns=6))
    looks = looks_of(made, tmp_path)
    for path in (b"/a", b"/b"):
        state = looks[path].state
        assert state is not None
        assert (state.size, looks[path].content) == (8, wire.CONTENT["not_kept"])


def test_why_a_content_was_not_kept_is_told(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found(size=3))
    made.event("unlink", "/a", state=Found(size=3, content="too_large"))
    assert looks_of(made, tmp_path)[b"/a"].content == wire.CONTENT["too_large"]


def test_what_was_not_there_and_what_nobody_saw_are_told_apart(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/absent", state=ABSENT).event("unlink", "/unseen")
    looks = looks_of(made, tmp_path)
    assert looks[b"/absent"].state is None
    assert looks[b"/absent"].operations == {"existence"}
    assert (looks[b"/absent"].unresolved, looks[b"/unseen"].unresolved) == (False, True)
    assert looks[b"/unseen"].changed


def test_only_absolute_paths_of_the_file_system_are_looked_at(tmp_path: Path) -> None:
    made = FakeFrames().process().event("connect", "unix:/run/x").event("stat", "relative", state=DIRECTORY)
    made.event("open", "/etc/shadow", state=Found(), notes=["other_root"]).event(
        "chdir", "/", state=DIRECTORY
    )
    assert list(looks_of(made, tmp_path)) == [b"/"]


def test_where_the_run_mounted_something_nobody_knows_what_was_there(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/m/x", state=Found()).event("stat", "/mm", state=Found())
    made.event("mount", "/m", state=DIRECTORY).event(
        "unlink", "/m/x", state=Found(size=1, blob=1, content="kept")
    )
    looks = looks_of(made, tmp_path)
    assert {path for path, look in looks.items() if look.mounted} == {b"/m", b"/m/x"}
    hidden = looks[b"/m/x"]
    assert (hidden.state, hidden.blob, hidden.unresolved, hidden.changed) == (None, 0, True, True)
    assert looks[b"/mm"].state is not None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["stat", "open", "unlink", "rename", "chmod"]),
            st.sampled_from(["/a", "/b", "/c"]),
            st.sampled_from([None, ABSENT, Found(size=1), Found(size=2)]),
        ),
        max_size=30,
    ),
    st.integers(1, 7),
)
@SMALL
def test_the_states_before_are_those_that_a_plain_loop_finds(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, str, Any]], batch: int
) -> None:
    made = FakeFrames().process()
    expected: dict[bytes, int | None] = {}
    changed: set[str] = set()
    for op, path, state in calls:
        made.event(op, path, state=state)
        key, size = path.encode(), None if state in {None, ABSENT} else state.size
        changes = op in {"unlink", "rename", "chmod"} and state is not ABSENT
        another = key not in expected or (expected[key] is None) != (state is ABSENT)
        if path not in changed and state is not None and (changes or another):
            expected[key] = size
        if changes and key in expected:
            changed.add(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames_room, "BATCH", batch)
        looks = looks_of(made, tmp_path_factory.mktemp("looks"))
    found = {
        path: None if look.state is None else look.state.size
        for path, look in looks.items()
        if not look.unresolved
    }
    assert found == expected
    assert list(looks) == list(dict.fromkeys(path.encode() for _, path, _ in calls))
