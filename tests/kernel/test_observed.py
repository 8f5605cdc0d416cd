"""Which paths are recorded and how they ended, on real file systems with things in the way."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.bundle.frames import Touched
from steno.capture import paths
from steno.capture.paths import Directories, FinalState, by_directory, recorded_paths
from steno.evidence.ignore_rules import IgnoreRules
from support.looks import first_look, state_of, touched

NOTHING_IGNORED = IgnoreRules(())
STRANGER = 54321


@pytest.fixture(params=["disk", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A directory on the disk, and one on a tmpfs."""
    if request.param == "disk":
        yield Path(os.path.realpath(tmp_path))
        return
    import tempfile

    with tempfile.TemporaryDirectory(dir="/dev/shm") as path:
        yield Path(path)


def seen(
    looks: dict[Path, Touched], *, rules: IgnoreRules = NOTHING_IGNORED, store: Path | None = None
) -> dict[Path, FinalState]:
    found = recorded_paths(
        {os.fsencode(path): each for path, each in looks.items()}, rules, store or Path("/no/store")
    )
    return {Path(os.fsdecode(path)): each for path, each in found.items()}


def test_a_file_is_seen_as_it_is_at_the_end(place: Path) -> None:
    path = place / "file"
    path.write_text("before")
    before = first_look(path, "write")
    path.write_text("after it all")
    path.chmod(0o600)
    state = seen({path: before})[path].state
    assert state is not None
    found = path.stat()
    assert state.size == 12
    assert state.mode == stat.S_IFREG | 0o600
    assert (state.dev, state.ino, state.mtime_ns) == (found.st_dev, found.st_ino, found.st_mtime_ns)


def test_where_the_run_mounted_something_the_look_at_the_end_is_recorded_whoever_it_is_of(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "file"
    path.write_text("of whichever file this is now")
    monkeypatch.setattr(os, "getuid", lambda: STRANGER)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    look = first_look(path, "read")
    assert not seen({path: look})
    state = seen({path: look._replace(is_below_mount=True)})[path].state
    assert state is not None
    assert state.size == path.stat().st_size


def test_a_link_is_seen_with_its_target_and_not_followed(place: Path) -> None:
    path = place / "link"
    path.symlink_to(b"somewhere/\xff".decode("utf-8", "surrogateescape"))
    state = seen({path: first_look(path, "read")})[path].state
    assert state is not None
    assert stat.S_ISLNK(state.mode)
    assert state.target == b"somewhere/\xff"


def test_a_deleted_file_is_recorded_as_gone(place: Path) -> None:
    path = place / "file"
    path.write_text("x")
    before = first_look(path, "delete")
    path.unlink()
    assert seen({path: before}) == {path: FinalState(None)}


def test_a_path_that_was_never_there_is_an_observation(place: Path) -> None:
    path, deeper = place / "missing", place / "missing" / "deeper"
    assert seen({path: touched(None, "existence"), deeper: touched(None, "existence")}) == {
        path: FinalState(None),
        deeper: FinalState(None),
    }


def test_names_that_are_not_utf8_are_exact(place: Path) -> None:
    name = os.fsencode(place) + b"/\xff\xfe \n"
    with open(name, "wb") as file:  # noqa: PTH123 - bytes
        file.write(b"abc")
    found = recorded_paths({name: first_look(name, "read")}, NOTHING_IGNORED, Path("/no/store"))
    assert list(found) == [name]


def test_what_is_ignored_or_in_the_store_is_not_recorded(place: Path) -> None:
    for name in ("ignored", "runs", "kept"):
        (place / name).mkdir()
        (place / name / "file").write_text("x")
    looks = {
        place / name / "file": first_look(place / name / "file", "read")
        for name in ("ignored", "runs", "kept")
    }
    found = seen(looks, rules=IgnoreRules({os.fsencode(place / "ignored")}), store=place / "runs")
    assert list(found) == [place / "kept" / "file"]


def test_what_is_ignored_and_cannot_be_replaced_is_recorded_once_the_run_has_removed_all_of_it(
    place: Path,
) -> None:
    looks = {}
    for name in (".claude", ".codex", ".cache"):
        (place / name).mkdir()
        (place / name / "settings").touch()
        looks[place / name / "settings"] = first_look(place / name / "settings", "delete")
    for name in (".claude", ".cache"):
        looks[place / name] = first_look(place / name, "delete")
        shutil.rmtree(place / name)
    entries = IgnoreRules(os.fsencode(place / name) for name in (".claude", ".codex", ".cache"))
    found = seen(looks, rules=entries, store=place / "runs")
    assert list(found) == [place / ".claude", place / ".claude" / "settings"]


GIT = ["HEAD", "index", "objects/ab/cdef", "refs/heads/main"]


def repository(place: Path) -> dict[Path, Touched]:
    """A `.git`, and the looks of a run that wrote each of its files."""
    files = [place / ".git" / name for name in GIT]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("ref: refs/heads/main\n")
    return {path: first_look(path, "write") for path in [*files, place / "beside"]}


def test_what_changes_in_a_repository_is_gits_business(place: Path) -> None:
    (place / "beside").touch()
    assert list(seen(repository(place))) == [place / "beside"]


@pytest.mark.parametrize(
    "ruin",
    ["remove", "empty", "close", "remake", "take objects away", "take branches away", "empty an object"],
)
def test_a_git_directory_that_is_removed_or_ruined_is_recorded_like_any_other(place: Path, ruin: str) -> None:
    (place / "beside").touch()
    looks = repository(place)
    head = place / ".git" / "HEAD"
    match ruin:
        case "remove":
            shutil.rmtree(place / ".git")
        case "empty":
            head.write_text("")
        case "close":
            head.chmod(0)
        case "remake":
            looks[place / ".git"] = first_look(place / ".git", "delete")
        case "take objects away" | "take branches away":
            part = place / ".git" / ("objects" if "objects" in ruin else "refs")
            looks[part] = first_look(part, "delete")
            shutil.rmtree(part)
        case "empty an object":
            (place / ".git/objects/ab/cdef").write_text("")
    assert set(seen(looks)) == set(looks)


def test_a_worktree_names_its_repository_in_a_file(place: Path) -> None:
    git = place / ".git"
    git.write_text("gitdir: /elsewhere/.git/worktrees/it\n")
    looks = {git: first_look(git, "write")}
    assert not seen(looks)
    git.write_text("")
    assert list(seen(looks)) == [git]


def test_the_store_is_not_recorded_under_its_other_name_either(place: Path) -> None:
    (place / "real").mkdir()
    (place / "real" / "file").write_text("x")
    (place / "store").symlink_to("real")
    path = place / "real" / "file"
    assert not seen({path: first_look(path, "read")}, store=place / "store")


def test_a_prefix_that_is_no_directory_is_not_recorded(place: Path) -> None:
    (place / "file").write_text("x")
    assert not seen({place / "file" / "below": touched(None, "existence")})


def test_special_files_are_not_recorded_and_never_opened(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo, unix = place / "fifo", place / "socket"
    os.mkfifo(fifo)
    monkeypatch.chdir(place)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        looks = {
            path: first_look(path, "read", "write")
            for path in (fifo, unix, Path("/dev/tty"), Path("/dev/null"))
        }
        assert not seen(looks)


def test_a_file_that_became_a_fifo_is_recorded(place: Path) -> None:
    path = place / "file"
    path.write_text("x")
    before = first_look(path, "delete", "write")
    path.unlink()
    os.mkfifo(path)
    state = seen({path: before})[path].state
    assert state is not None
    assert stat.S_ISFIFO(state.mode)


def test_a_directory_swapped_for_a_link_leads_nowhere(place: Path) -> None:
    (place / "dir").mkdir()
    (place / "dir" / "file").write_text("mine")
    (place / "outside").mkdir()
    (place / "outside" / "file").write_text("not mine")
    path = place / "dir" / "file"
    before = first_look(path, "read")
    (place / "dir").rename(place / "moved")
    (place / "dir").symlink_to("outside")
    assert seen({path: before}) == {path: FinalState(None, parent_gone=True)}


@pytest.mark.parametrize("path", ["relative", "/a/../b", "/a/./b", "//a", "/a//b", "/a/", "/a/..", "/a\0b"])
def test_a_path_that_the_kernel_would_not_spell_so_is_not_recorded(path: str) -> None:
    assert not recorded_paths({path.encode(): touched(None, "existence")}, NOTHING_IGNORED, Path("/no/store"))


def test_names_that_begin_with_dots_are_recorded(place: Path) -> None:
    paths = [place / name for name in (".hidden", "..more", "a.", "...")]
    assert set(seen({path: touched(None, "existence") for path in paths})) == set(paths)


@pytest.mark.skipif(os.geteuid() != 0, reason="what belongs to others is not recorded for a user")
def test_the_root_itself_can_be_seen() -> None:
    state = seen({Path("/"): first_look(Path("/"), "directory")})[Path("/")].state
    assert state is not None
    assert state.ino == Path("/").stat().st_ino


def test_when_it_is_too_late_nothing_is_looked_at(place: Path) -> None:
    path = place / "file"
    path.write_text("x")
    looks = {os.fsencode(path): first_look(path, "write"), os.fsencode(place / "no"): touched(None, "write")}
    found = recorded_paths(looks, NOTHING_IGNORED, Path("/no/store"), looked=False)
    assert set(found.values()) == {FinalState(None, known=False)}
    assert len(found) == 2


# --- owned by another user ----------------------------------------------------------------------------


class Someone:
    """Makes this process look like an ordinary user, as far as the rules ask."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, writable: bool) -> None:
        monkeypatch.setattr(os, "getuid", lambda: STRANGER)
        monkeypatch.setattr(os, "getgid", lambda: STRANGER)
        monkeypatch.setattr(os, "getgroups", list)
        monkeypatch.setattr(os, "access", self.access)
        self.writable = writable
        self.asked: list[bytes] = []

    def access(self, path: bytes, _mode: int, **_: object) -> bool:
        self.asked.append(path)
        return self.writable


def test_a_file_of_another_user_that_we_cannot_write_is_part_of_the_system(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "theirs"
    path.write_text("x")
    Someone(monkeypatch, writable=False)
    assert not seen({path: first_look(path, "read")})


def test_a_file_of_another_user_that_we_can_write_is_recorded(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "theirs"
    path.write_text("x")
    Someone(monkeypatch, writable=True)
    assert set(seen({path: first_look(path, "read")})) == {path}


def test_a_file_of_ours_is_recorded_also_when_it_is_read_only(place: Path) -> None:
    path = place / "ours"
    path.write_text("x")
    path.chmod(0o400)
    assert set(seen({path: first_look(path, "read")})) == {path}


def test_a_link_of_another_user_counts_by_its_directory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place / "link"
    path.symlink_to("target")
    someone = Someone(monkeypatch, writable=False)
    assert not seen({path: first_look(path, "read")})
    assert someone.asked == [b"."]


def test_a_file_of_another_user_that_the_run_removed_is_recorded(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place / "theirs"
    path.write_text("x")
    before = first_look(path, "delete")
    path.unlink()
    Someone(monkeypatch, writable=False)
    assert seen({path: before}) == {path: FinalState(None)}


def test_a_file_of_another_user_is_judged_by_its_bits_when_it_is_too_late_to_look(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, private = place / "shared", place / "private"
    for path, mode in ((shared, 0o666), (private, 0o644)):
        path.write_text("x")
        path.chmod(mode)
    looks = {os.fsencode(path): first_look(path, "read") for path in (shared, private)}
    Someone(monkeypatch, writable=False)
    found = recorded_paths(looks, NOTHING_IGNORED, Path("/no/store"), looked=False)
    assert list(found) == [os.fsencode(shared)]


@pytest.mark.process
@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
def test_an_ordinary_user_sees_what_the_kernel_lets_him(place: Path) -> None:
    place.chmod(0o755)
    locked = place / "locked"
    locked.mkdir()
    (locked / "file").write_text("x")
    locked.chmod(0o700)
    (place / "system").write_text("x")
    (place / "writable").write_text("x")
    (place / "writable").chmod(0o666)
    paths = [locked / "file", place / "system", place / "writable"]
    looks = {os.fsencode(path): first_look(path, "read") for path in paths}
    looks[os.fsencode(locked / "file")] = touched(None, "existence")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(STRANGER, STRANGER, STRANGER)
        os.setresuid(STRANGER, STRANGER, STRANGER)
        try:
            found = recorded_paths(looks, NOTHING_IGNORED, Path("/no/store"))
            os.write(writing, repr({path: each.known for path, each in found.items()}).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    told = os.read(reading, 1 << 16).decode()
    os.close(reading)
    os.close(writing)
    # Where the directories above are closed to strangers, as a private temporary one, all is unknown.
    expected = {os.fsencode(place / "writable"): True, os.fsencode(locked / "file"): False}
    if all(parent.stat().st_mode & stat.S_IXOTH for parent in place.parents):
        assert told == repr(dict(sorted(expected.items(), key=lambda item: by_directory(item[0]))))


# --- the way down ----------------------------------------------------------------------------------------


def test_few_descriptors_are_held_however_deep_a_path_is(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 100)
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    gc.collect()  # what other tests have left is not closed meanwhile
    before = len(os.listdir("/proc/self/fd"))
    with Directories() as way:
        for path in (deep / "file", deep.parent / "none", tmp_path / "d" / "d", deep / "file"):
            above, name = way.above(os.fsencode(path))
            assert os.fstat(above).st_ino == path.parent.stat().st_ino
            assert name == os.fsencode(path.name)
            assert len(os.listdir("/proc/self/fd")) <= before + paths.HELD + 3
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_way_that_ends_early_does_not_spoil_the_next(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with Directories() as way:
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                way.above(os.fsencode(tmp_path / "a" / "none" / "x"))
            above, _name = way.above(os.fsencode(tmp_path / "a" / "b" / "x"))
            assert os.fstat(above).st_ino == (tmp_path / "a" / "b").stat().st_ino


def test_paths_of_one_directory_stay_together() -> None:
    paths = [b"/a/b", b"/a/b-c", b"/a/b/x", b"/a/b/y"]
    assert sorted(paths, key=by_directory) == [b"/a/b", b"/a/b/x", b"/a/b/y", b"/a/b-c"]


def test_the_state_of_a_helper_and_ours_agree_on_an_untouched_file(place: Path) -> None:
    path = place / "file"
    path.write_text("x")
    before = state_of(path)
    found = seen({path: touched(before, "read")})[path].state
    assert before is not None
    assert found is not None
    assert before[:8] == found[:8]
