"""Names that mean other things: other roots, trailing slashes, moved directories, masked names. Then undo."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steno.evidence import layout
from support.observers import STOPPING, observers
from support.ordinary import root_may_mount
from support.recorded import only_run
from support.snapshots import snapshot, without_directory_times
from support.tracees import rows

Steno = Callable[..., Any]
OLD = "old\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    (place / "victim").write_text(OLD)
    return place


@pytest.fixture(params=observers(STOPPING))
def changed(
    request: pytest.FixtureRequest, steno: Steno, store: Path, work: Path
) -> Callable[..., dict[str, str]]:
    """Runs a command; what it changed below the directory, by name.

    A probe alone looks after the call, so that it does not know what was there before.
    """

    def run(*words: str) -> dict[str, str]:
        steno("run", "--no-git", "--observer", request.param, "--", *words, cwd=work)
        files = only_run(store).json(layout.FILES)["files"]
        inside = f"{work}/"
        return {
            one["path"].removeprefix(inside): one["change"]
            for one in files
            if one["path"].startswith(inside) and one["change"] not in {"none", "metadata"}
        }

    return run


Changed = Callable[..., dict[str, str]]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_what_a_sandbox_does_to_our_files_is_ours_to_undo(changed: Changed, steno: Steno, work: Path) -> None:
    sandbox = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "sh", "-c"]
    assert changed(*sandbox, "echo new >made; rm victim") == {"made": "created", "victim": "deleted"}
    assert steno("undo", "@last").returncode == 0
    assert {path.name for path in work.iterdir()} == {"victim"}


@pytest.mark.parametrize(
    "first",
    [
        "unshare -Ur true",
        "python3 -c 'import os; os.unshare(0x400)'",
        "python3 -c 'import os; os.chroot(\"/nonexistent\")' 2>/dev/null",
    ],
    ids=["another process", "descriptors only", "a failed chroot"],
)
def test_a_call_that_could_change_the_root_does_not_blind_the_record(changed: Changed, first: str) -> None:
    assert changed("sh", "-c", f"{first}; echo new >made") == {"made": "created"}


@pytest.mark.parametrize("look", ["test -d victim/", "ls victim/ 2>/dev/null", "cat victim/x 2>/dev/null"])
def test_a_file_asked_for_as_a_directory_is_not_absent(
    changed: Changed, steno: Steno, work: Path, look: str
) -> None:
    assert changed("sh", "-c", f"{look}; echo new-content >victim") == {"victim": "modified"}
    assert steno("undo", "@last").returncode == 0
    assert (work / "victim").read_text() == OLD


def test_a_path_without_a_letter_is_not_the_working_directory(changed: Changed) -> None:
    script = "import os\ntry: os.open('', os.O_CREAT | os.O_WRONLY)\nexcept OSError: open('made', 'w')"
    assert changed("python3", "-c", script) == {"made": "created"}


def test_what_is_built_aside_and_moved_into_place_is_there_under_its_last_name(
    changed: Changed, steno: Steno, work: Path
) -> None:
    script = "mkdir -p .tmp/sub; echo a >.tmp/a; echo b >.tmp/sub/b; mv .tmp final"
    created = {"final": "created", "final/a": "created", "final/sub": "created", "final/sub/b": "created"}
    assert changed("sh", "-c", script) == created
    shutil.rmtree(work / "final")
    assert steno("restore", "@last").returncode == 0
    assert (work / "final/sub/b").read_text() == "b\n"


def test_directories_that_changed_places_are_changed_back(changed: Changed, steno: Steno, work: Path) -> None:
    for name in ("a", "b"):
        (work / name).mkdir()
        (work / name / "f").write_text(name * 10)
    changed("sh", "-c", "mv a c; mv b a; mv c b; cat a/f b/f")
    assert (work / "a/f").read_text() == "b" * 10
    assert steno("undo", "@last").returncode == 0
    assert [(work / name / "f").read_text() for name in ("a", "b")] == ["a" * 10, "b" * 10]
    assert not (work / "c").exists()


@pytest.fixture
def pair(work: Path) -> Path:
    for name in ("a", "b"):
        (work / name / "sub").mkdir(parents=True)
        (work / name / "f").write_text(name)
        (work / name / "sub/g").write_text(name * 3)
    return work


TO_EXCHANGE = """
import ctypes, os
def exchange(one, other):
    return ctypes.CDLL(None).renameat2(-100, one.encode(), -100, other.encode(), 2)
"""


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exchange('a', 'b'); exchange('a', 'b')", {}),
        ("exchange('a', 'b'); os.rename('a', 'c'); os.rename('b', 'a'); os.rename('c', 'b')", {}),
        ("os.mkdir('c'); exchange('a', 'c'); exchange('b', 'c'); exchange('a', 'b'); os.rmdir('c')", None),
        ("exchange('a', 'b'); open('a/f', 'w').write('new'); exchange('b', 'a')", {"b/f": "modified"}),
        ("exchange('a', 'victim')", None),
        ("exchange('victim', 'a'); open('victim/f', 'w').write('new')", None),
        ("os.rename('b/sub', 'c'); assert exchange('a', 'b/sub'); open('a/f', 'w').write('new')", None),
        ("try: os.rename('a', 'b')\nexcept OSError: open('b/f', 'w').write('new')", {"b/f": "modified"}),
    ],
    ids=["twice", "and renamed", "three", "and written", "file", "file first", "with nothing", "refused"],
)
def test_what_lies_in_directories_that_change_places_was_there_before(
    changed: Changed, steno: Steno, pair: Path, script: str, told: dict[str, str] | None
) -> None:
    before = without_directory_times(snapshot(pair))
    found = changed("python3", "-c", TO_EXCHANGE + script)
    assert told is None or found == told
    assert steno("undo", "@last").returncode == 0
    assert without_directory_times(snapshot(pair)) == before


DOING = """
for word, one, other in json.loads(sys.argv[1]):
    with contextlib.suppress(OSError):
        match word:
            case "write": open(one, "w").write(other)
            case "exchange": exchange(one, other)
            case "rename": os.rename(one, other)
            case _: getattr(os, word)(one)
"""
WORDS = ("mkdir", "write", "write", "unlink", "rmdir", "rename", "rename", *["exchange"] * 3)
NAMES = ("a", "b", "c", "a/sub", "a/c", "b/f", "b/sub", "c/f", "a/sub/g", "victim")


@pytest.mark.parametrize("seed", [7, 8, 9, 10])
def test_whatever_is_renamed_the_record_is_true_and_undo_is_right_or_refused(
    changed: Changed, steno: Steno, store: Path, pair: Path, seed: int
) -> None:
    chance = random.Random(seed)
    doings = [(chance.choice(WORDS), chance.choice(NAMES), chance.choice(NAMES)) for _ in range(20)]
    before = snapshot(pair)
    changed("python3", "-c", "import contextlib, json, sys" + TO_EXCHANGE + DOING, json.dumps(doings))
    after = snapshot(pair)
    for file in only_run(store).json(layout.FILES)["files"]:
        if file["path"].startswith(f"{pair}/"):
            for told, tree in ((file["before"], before), (file["after"], after)):
                assert told.get("unknown") or told["exists"] == (file["path"].encode() in tree), file["path"]
    undone = steno("undo", "@last").returncode
    assert undone or without_directory_times(snapshot(pair)) == without_directory_times(before)
    assert not undone or snapshot(pair) == after


def test_a_link_to_a_secret_place_is_not_brought_back_to_a_masked_one(
    changed: Changed, steno: Steno, work: Path
) -> None:
    (work / "link").symlink_to("https://user:hunter2pass@host/")
    assert changed("rm", "link") == {"link": "deleted"}
    undone = steno("undo", "@last")
    assert undone.returncode == 1
    assert b"held a secret" in undone.stderr
    assert not (work / "link").is_symlink()


def test_a_file_without_a_name_is_no_file_of_the_record(changed: Changed) -> None:
    script = (
        "import os\nfd = os.memfd_create('m'); os.write(fd, b'x'); os.ftruncate(fd, 0); os.fchmod(fd, 0o700)"
    )
    assert changed("python3", "-c", script) == {}


THROUGH_PROC = """
import os
os.unlink("/proc/self/cwd/victim")
os.mkdir("/proc/self/cwd/made")
os.mkdir("moved")
os.rename("/proc/self/cwd/moved", f"/proc/{os.getpid()}/cwd/new")
"""


@pytest.mark.parametrize("observer", observers())
def test_what_is_changed_through_the_own_working_directory_in_proc_has_its_name(
    steno: Steno, store: Path, work: Path, observer: str
) -> None:
    steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", THROUGH_PROC, cwd=work)
    run = only_run(store)
    changing = ("unlink", "mkdir", "rename", "rename_to")
    told = [(row.op, os.fsdecode(row.resolved)) for row in rows(run) if row.op in changing]
    names = [
        ("unlink", "victim"),
        ("mkdir", "made"),
        ("mkdir", "moved"),
        ("rename", "moved"),
        ("rename_to", "new"),
    ]
    assert told == [(op, f"{work}/{name}") for op, name in names]
    assert run.is_valid


# By the time a probe tells of it the process whose descriptor it went through is gone.
THROUGH_ANOTHER = """
for name in one two three four five six; do
    sh -c 'exec 8<.; mkdir /proc/$$/fd/8/$1; mkdir /proc/$$/task/$$/cwd/$1-too' sh $name
done
"""


@pytest.mark.parametrize("observer", observers())
def test_what_is_changed_through_a_process_that_is_gone_has_its_name_or_is_a_gap(
    steno: Steno, store: Path, work: Path, observer: str
) -> None:
    steno("run", "--no-git", "--observer", observer, "--", "sh", "-c", THROUGH_ANOTHER, cwd=work)
    run = only_run(store)
    told = {Path(os.fsdecode(row.resolved)) for row in rows(run) if row.op == "mkdir" and row.resolved}
    made = {path for path in work.iterdir() if path.name != "victim"}
    assert told <= made
    assert told >= made or run.verdict().gaps == ["changes_unresolved"]
    assert observer == "ebpf" or run.is_valid


# A copy of the mount that lies nowhere: what it holds is called as what lies at our root.
DETACHED = """
import ctypes, os
SYS_OPEN_TREE, CWD, CLONE, CLOSE_ON_EXEC = 428, -100, 1, 0o2000000
tree = ctypes.CDLL(None).syscall(SYS_OPEN_TREE, CWD, b".", CLONE | CLOSE_ON_EXEC)
os.mkdir("etc", dir_fd=tree)
os.close(os.open("etc/passwd", os.O_WRONLY | os.O_CREAT, dir_fd=tree))
os.unlink("victim", dir_fd=tree)
"""


@root_may_mount
@pytest.mark.parametrize("observer", observers())
def test_what_is_changed_in_a_mount_that_lies_nowhere_is_a_gap_and_told_of_no_other_file(
    steno: Steno, store: Path, work: Path, observer: str
) -> None:
    steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", DETACHED, cwd=work)
    assert sorted(path.name for path in work.iterdir()) == ["etc"]
    run = only_run(store)
    assert "changes_unresolved" in run.verdict().gaps
    written = [one["path"] for one in run.json(layout.FILES)["files"] if "write" in one["operations"]]
    assert not {"/etc", "/etc/passwd", "/victim"} & set(written)


# As newer versions of mount(8) bind a directory.
BOUND = """
import ctypes, os
SYS_OPEN_TREE, SYS_MOVE_MOUNT, CWD, CLONE, FROM_EMPTY_PATH = 428, 429, -100, 1, 4
libc = ctypes.CDLL(None)
tree = libc.syscall(SYS_OPEN_TREE, CWD, b"source", CLONE)
assert libc.syscall(SYS_MOVE_MOUNT, tree, b"", CWD, b"target", FROM_EMPTY_PATH) == 0
os.close(tree)
assert libc.umount(b"target") == 0
"""


@root_may_mount
@pytest.mark.parametrize("observer", observers())
def test_what_is_mounted_by_a_descriptor_is_told_by_its_source(
    steno: Steno, store: Path, work: Path, observer: str
) -> None:
    (work / "source").mkdir()
    (work / "target").mkdir()
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", BOUND, cwd=work)
    assert done.returncode == 0
    (mounted,) = [row for row in rows(only_run(store)) if row.op == "mount"]
    assert (mounted.resolved, mounted.extra) == (os.fsencode(work / "target"), os.fsencode(work / "source"))
