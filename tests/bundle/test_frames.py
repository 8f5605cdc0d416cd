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

from steno.bundle import frames as frames_room
from steno.bundle.folder import Folder, NotRegularError
from steno.bundle.frame_records import FramesError
from steno.bundle.frames import Frames, Touched, open_frames
from steno.evidence import wire
from support.frames_made import ABSENT, DIRECTORY, KEY, FakeFrames, Found, encrypted

WRITE_AND_TRUNCATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@contextmanager
def opened(spool: Path, key: bytes = KEY) -> Iterator[Frames]:
    with Folder(spool) as folder, open_frames(folder, key) as frames:
        yield frames


def touched_in(made: FakeFrames, spool: Path) -> dict[bytes, Touched]:
    made.write(spool)
    with opened(spool) as frames:
        return frames.touched()


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
        assert list(frames.touched()) == [b"/%d" % number for number in range(10)]


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
            found[-1] += (frames.touched(),)
    assert found[0] == found[1]
    assert len(found[0][1]) == len(typical().events) + 6


def test_a_path_whose_words_are_there_twice_has_the_operations_of_both(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found()).event("unlink", "/b", state=Found())
    made.write(tmp_path)
    twice = b"".join(len(text).to_bytes(4, "little") + text for text in (b"/a", b"/a"))
    (tmp_path / "kernel" / wire.STRINGS_FILE).write_bytes(encrypted(KEY, made.nonce[:12], twice))
    with opened(tmp_path) as frames:
        path = frames.touched()[b"/a"]
    assert path.first is not None
    assert (path.is_changed, path.is_removed) == (True, True)


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
    frames.touched()
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
        assert frames.touched() == {}
        assert list(frames.strings) == [b""]


# --- what was touched ---------------------------------------------------------------------------------------


def test_the_first_look_at_a_path_tells_what_was_there_and_all_calls_what_they_are_of(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/a", state=Found(size=3))
    made.event("open", "/a", state=Found(size=9), arg=WRITE_AND_TRUNCATE).event("unlink", "/a", state=Found())
    path = touched_in(made, tmp_path)[b"/a"]
    assert path.first is not None
    assert path.first.size == 3
    assert path[1:] == (True, True, True, True, False)


@pytest.mark.parametrize(
    ("op", "fields", "used", "changed", "written"),
    [
        ("stat", {}, False, False, False),
        ("link", {}, False, False, False),
        ("open", {"arg": os.O_RDONLY}, True, False, False),
        ("open", {"arg": os.O_RDONLY | os.O_CREAT}, True, False, False),
        ("open", {"arg": os.O_RDONLY | os.O_CREAT, "state": ABSENT}, True, True, True),
        ("open", {"arg": os.O_WRONLY, "state": ABSENT}, False, False, False),
        ("open", {"arg": os.O_RDWR}, True, True, True),
        ("open", {"arg": os.O_RDONLY | os.O_TRUNC}, True, True, True),
        ("open", {"arg": os.O_PATH}, False, False, False),
        ("open", {"arg": os.O_RDONLY | os.O_DIRECTORY}, False, False, False),
        ("open", {"arg": os.O_RDWR, "result": -13}, False, False, False),
        ("exec", {}, True, False, False),
        ("chmod", {}, False, True, False),
        ("rename_to", {}, True, True, True),
    ],
)
def test_what_a_call_is_of(
    tmp_path: Path, op: str, fields: dict[str, Any], *, used: bool, changed: bool, written: bool
) -> None:
    made = FakeFrames().process().event(op, "/a", **{"state": Found(), **fields})
    path = touched_in(made, tmp_path)[b"/a"]
    assert (path.is_used, path.is_changed, path.is_written) == (used, changed, written)


def test_what_was_not_there_and_what_nobody_saw_have_no_first_state(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/absent", state=ABSENT).event("unlink", "/unseen")
    made.event("stat", "/absent", state=Found())
    paths = touched_in(made, tmp_path)
    assert (paths[b"/absent"].first, paths[b"/unseen"].first) == (None, None)


def test_only_absolute_paths_of_the_file_system_are_touched(tmp_path: Path) -> None:
    made = FakeFrames().process().event("connect", "unix:/run/x").event("stat", "relative", state=DIRECTORY)
    made.event("open", "/etc/shadow", state=Found(), notes=["other_root"]).event(
        "chdir", "/", state=DIRECTORY
    )
    assert list(touched_in(made, tmp_path)) == [b"/"]


def test_what_lies_below_a_mount_of_the_run_is_known_to(tmp_path: Path) -> None:
    made = FakeFrames().process().event("stat", "/m/x", state=Found()).event("stat", "/mm", state=Found())
    made.event("mount", "/m", state=DIRECTORY).event("mount", "/mm", arg=1 << 5)
    paths = touched_in(made, tmp_path)
    assert {name for name, path in paths.items() if path.is_below_mount} == {b"/m", b"/m/x"}


def test_every_content_that_was_kept_is_told_with_its_paths(tmp_path: Path) -> None:
    made = FakeFrames().process()
    kept = Found(size=3, blob=made.blob(b"old"), content="kept")
    made.event("open", "/a", state=kept, arg=WRITE_AND_TRUNCATE)
    made.event("unlink", "/b", state=kept._replace(size=9)).event("unlink", "/a", state=kept)
    made.event("open", "/c", state=Found(blob=2, content="too_large"))
    made.write(tmp_path)
    with opened(tmp_path) as frames:
        frames.touched()
        ((number, content),) = frames.kept.items()
    assert (number, content.state.size, content.paths) == (1, 3, [b"/a", b"/b"])


def test_directories_that_brought_more_than_is_told_are_counted(tmp_path: Path) -> None:
    made = FakeFrames().process()
    made.event("rename", "/old", extra="/new", state=DIRECTORY, notes=["late"], result=0)
    made.event("rename_to", "/new", extra="/old", state=DIRECTORY, notes=["late"], result=0)
    made.event("stat", "/new/told-of-nowhere", state=Found())
    made.write(tmp_path)
    with opened(tmp_path) as frames:
        frames.touched()
        assert frames.unlisted == 1
