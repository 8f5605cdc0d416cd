"""What a probe alone cannot know, because it looks after a call, is told as unknown or as a gap."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support.observers import working
from support.program import Steno
from support.recorded import Recorded, only_run

pytestmark = pytest.mark.skipif(not working(("ebpf",)), reason="no probe can be loaded here")


class Probed:
    def __init__(self, steno: Steno, store: Path, room: Path) -> None:
        self._steno = steno
        self._store = store
        self.room = room

    def run(self, *command: str) -> Recorded:
        done = self._steno("run", "--no-git", "--observer", "ebpf", "--", *command, cwd=self.room)
        assert done.returncode == 0, done.stderr
        return only_run(self._store)

    def files(self, run: Recorded) -> dict[str, dict[str, Any]]:
        """By their names in the room."""
        above = f"{self.room}/"
        files = run.json("files.json")["files"]
        return {one["path"].removeprefix(above): one for one in files if one["path"].startswith(above)}


@pytest.fixture
def probed(steno: Steno, store: Path, tmp_path: Path) -> Probed:
    room = tmp_path / "room"
    room.mkdir()
    return Probed(steno, store, room)


def test_a_change_without_a_name_is_a_gap(probed: Probed) -> None:
    (probed.room / "gone").mkdir()
    run = probed.run(
        sys.executable, "-c", "import os; os.chdir('gone'); os.rmdir('../gone'); os.chmod('.', 0o700)"
    )
    assert run.verdict().gaps == ["changes_unresolved"]


def test_a_file_that_was_written_and_has_its_time_back_may_be_another(probed: Probed) -> None:
    (probed.room / "file").write_text("same\n")
    script = "touch -r file time; echo SAME >file; touch -r time file"
    assert probed.files(probed.run("sh", "-c", script))["file"]["change"] == "unknown"


@pytest.mark.parametrize(
    "doing",
    [
        "os.rename('old', 'in/new'); open('in/new/file', 'a').close(); os.unlink('in/new/file')",
        "fd = os.open('old', 0); os.rename('old', 'in/new'); os.unlink('file', dir_fd=fd)",
        "os.rename('old', 'next'); os.rename('next', 'in/new')",
        "os.rename('old', 'in/new'); os.unlink('in/new/file'); os.rmdir('in/new')",
    ],
)
def test_what_was_in_a_renamed_directory_is_told_or_the_record_says_that_it_is_not(
    probed: Probed, doing: str
) -> None:
    (probed.room / "in").mkdir()
    (probed.room / "old").mkdir()
    (probed.room / "old" / "file").write_text("content")
    run = probed.run(sys.executable, "-c", f"import os; {doing}")
    files = probed.files(run)
    told = "old/file" in files and not files["old/file"]["after"]["exists"]
    assert told or run.verdict().gaps == ["changes_unresolved"]
    assert not any(
        files[name]["before"].get("exists") for name in ("next/file", "in/new/file") if name in files
    )


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("rm file; sleep 0.2; echo 2 >file", "file"),
        ("cat file; rm file; sleep 0.2; echo 2 >file", "file"),
        ("mv file other; sleep 0.2; echo 2 >file", "file"),
        ("rm file; sleep 0.2; mkdir file", "file"),
        ("rm -r folder; sleep 0.2; echo 2 >folder", "folder"),
        ("rm link; sleep 0.2; ln -s there link", "link"),
        ("ln -sfn there link", "link"),
    ],
)
def test_what_is_removed_and_made_again_was_there_before_and_is_not_undone(
    probed: Probed, steno: Steno, script: str, name: str
) -> None:
    """The probe looks when it is gone. That is no time at which it was not there."""
    (probed.room / "file").write_text("one\n")
    (probed.room / "folder").mkdir()
    (probed.room / "folder" / "below").write_text("one\n")
    (probed.room / "link").symlink_to("here")
    files = probed.files(probed.run("sh", "-c", script))
    assert files[name]["change"] in {"modified", "unknown"}
    assert files[name]["before"].get("exists") is not False
    assert files[name]["before"].get("target") in {None, "here"}
    if name == "folder":
        assert files["folder/below"]["after"]["exists"] is False
        assert files["folder/below"]["before"].get("exists") is not False
    done = steno("undo", "@last")
    assert done.returncode == 1
    assert b"not in the record" in done.stderr or b"does not know" in done.stderr
    assert (probed.room / name).is_symlink() or (probed.room / name).exists()
