"""What agent-snapshot saves of files, clause by clause: its exceptions, its classes, its blobs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyarrow import parquet

from steno.capture.ignore import load
from steno.evidence import layout
from support.frames_made import ABSENT
from support.kernel_runs import READ, WRITE, Run
from support.watched import git

pytestmark = pytest.mark.usefixtures("clean_git")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(Path(os.path.realpath(tmp_path)))


@pytest.fixture
def tracked(run: Run) -> Path:
    """A clean file in a repository."""
    git(run.work, "init", "-q", "-b", "main")
    path = run.work / "tracked"
    path.write_text("committed\n")
    (run.work / ".gitignore").write_text("*.o\n")
    git(run.work, "add", "-A")
    git(run.work, "commit", "-qm", "first")
    return path


def test_clean_tracked_files_that_are_only_read_are_represented_by_git(run: Run, tracked: Path) -> None:
    run.saw("open", tracked, arg=READ)
    run.keep()
    found = run.judged(tracked)
    assert found["git"]["tracked"]
    assert not found["git"]["dirty"]
    assert "blob" not in found["before"]
    assert "blob" not in found["after"]


def test_a_written_file_has_its_content_after_even_if_it_is_clean_at_the_end(run: Run, tracked: Path) -> None:
    kept = run.frames.blob(tracked.read_bytes())
    run.saw("open", tracked, arg=WRITE, state=run.found(tracked, blob=kept, content="kept"))
    tracked.write_text("committed\n")
    run.keep()
    found = run.judged(tracked)
    assert not found["git"]["dirty"]
    assert run.blobs()[found["after"]["blob"]] == b"committed\n"


def test_dirty_tracked_files_that_are_read_are_copied(run: Run, tracked: Path) -> None:
    tracked.write_text("changed\n")
    run.saw("open", tracked, arg=READ)
    run.keep()
    assert run.line(tracked)["git"]["dirty"]
    assert run.blobs() == {f"before:{tracked}": b"changed\n"}


def test_untracked_files_that_are_read_are_copied(run: Run, tracked: Path) -> None:
    path = run.work / "untracked"
    path.write_text("new\n")
    run.saw("open", path, arg=READ)
    run.keep()
    assert not run.line(path)["git"]["tracked"]
    assert run.blobs() == {f"before:{path}": b"new\n"}


def test_ignored_files_of_a_repository_that_are_read_are_copied(run: Run, tracked: Path) -> None:
    path = run.work / "main.o"
    path.write_text("object\n")
    run.saw("open", path, arg=READ)
    run.keep()
    assert run.line(path)["git"]["ignored"]
    assert run.blobs() == {f"before:{path}": b"object\n"}


def test_files_outside_of_any_repository_that_are_read_are_copied(run: Run) -> None:
    path = run.work / "file"
    path.write_text("text\n")
    run.saw("open", path, arg=READ)
    run.keep()
    assert "git" not in run.line(path)
    assert run.blobs() == {f"before:{path}": b"text\n"}


def test_deleted_files_are_represented_with_tombstones(run: Run) -> None:
    path = run.work / "file"
    path.write_text("text\n")
    run.saw("unlink", path, state=run.found(path, blob=run.frames.blob(b"text\n"), content="kept"))
    path.unlink()
    run.keep()
    found = run.judged(path)
    assert found["after"] == {"exists": False, "tombstone": True}
    assert run.blobs()[found["before"]["blob"]] == b"text\n"


def test_any_path_inside_a_git_directory_is_ignored(run: Run, tracked: Path) -> None:
    run.saw("open", run.work / ".git" / "index", arg=READ)
    run.keep()
    assert run.lines() == []


def test_paths_listed_in_the_ignore_configuration_are_ignored_and_so_is_the_file_itself(
    run: Run, home: Path
) -> None:
    config = home / ".config" / "agent-snapshot" / "ignore.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps([str(run.work / "scratch")]))
    run.rules = load({"HOME": str(home)})
    (run.work / "scratch").mkdir()
    (run.work / "scratch" / "file").write_text("x")
    for path in (run.work / "scratch", run.work / "scratch" / "file", Path(os.path.realpath(config))):
        run.saw("open", path, arg=READ)
    run.keep()
    assert run.lines() == []


def test_files_of_another_user_that_are_not_writable_are_not_recorded(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run.work / "system"
    path.write_text("x")
    path.chmod(0o644)
    run.saw("open", path, arg=READ)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    run.keep()
    assert run.lines() == []


def test_a_stat_that_fails_is_an_observation(run: Run) -> None:
    run.saw("stat", run.work / "missing", result=-2)
    run.keep()
    assert run.lines() == [{"path": str(run.work / "missing"), "after": {"exists": False}}]


def test_a_rename_has_an_effect_on_both_names(run: Run) -> None:
    old, new = run.work / "old", run.work / "new"
    old.write_text("text\n")
    run.saw("rename", old, state=run.found(old, blob=run.frames.blob(b"text\n"), content="kept"))
    run.saw("rename_to", new, state=ABSENT)
    old.rename(new)
    run.keep()
    assert run.judged(old)["after"]["tombstone"]
    assert run.judged(new)["after"]["exists"]
    assert run.blobs() == {f"before:{old}": b"text\n"}
    assert run.judged(old)["before"]["blob"] == run.judged(new)["after"]["blob"] == f"before:{old}"


def test_repositories_have_their_roots_and_commit_hashes(run: Run, tracked: Path) -> None:
    run.saw("open", tracked, arg=READ)
    run.keep()
    head = git(run.work, "rev-parse", "HEAD").decode().strip()
    assert run.lines()[0]["repository"] == {"root": str(run.work), "head": head, "dirty": False}


def test_names_that_are_not_utf8_are_text_through_latin_1(run: Run) -> None:
    name = os.fsencode(run.work) + b"/caf\xe9"
    run.saw("stat", name)
    run.keep()
    assert run.lines()[0]["path"] == f"{run.work}/caf\u00e9"


def test_the_file_of_blobs_is_made_only_when_there_is_a_blob(run: Run) -> None:
    run.saw("stat", run.work)
    run.keep()
    assert not (run.spool / layout.BLOBS).exists()


def test_blobs_have_keys_and_binary_contents_in_snappy_row_groups_of_at_most_64(run: Run) -> None:
    for number in range(70):
        path = run.work / f"{number:02}"
        run.saw("open", path, arg=WRITE)
        path.write_text(str(number))
    run.keep()
    table = parquet.ParquetFile(run.spool / layout.BLOBS)
    assert [table.metadata.row_group(at).num_rows for at in range(table.num_row_groups)] == [64, 6]
    assert table.metadata.row_group(0).column(1).compression == "SNAPPY"
    rows = table.read(columns=["key", "content"]).to_pylist()
    assert rows[7] == {"key": f"after:{run.work}/07", "content": b"7"}
