"""Submodules and embedded repositories: one shadow each, one patch for all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from steno.capture.git.snapshot import RepoWatch, Snapshot
from support.watched import git, taken, watch

pytestmark = pytest.mark.usefixtures("clean_git")


def make_repo(root: Path, name: str) -> Path:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / name).write_text(f"{name}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a superproject with a submodule in a directory with a blank, which has one of its own."""
    inner = make_repo(tmp_path / "inner", "inner.txt")
    middle = make_repo(tmp_path / "middle", "middle.txt")
    git(middle, "submodule", "add", "-q", str(inner), "in")
    git(middle, "commit", "-qm", "with inner")
    root = make_repo(tmp_path / "work", "outer.txt")
    git(root, "submodule", "add", "-q", str(middle), "lib/mid dle")
    git(root, "submodule", "update", "-q", "--init", "--recursive")
    git(root, "commit", "-qm", "with middle")
    return root


def check_applies(repo: RepoWatch, before: Snapshot, work: Path, pristine: Path) -> bytes:
    stream = repo.patch(before, taken(repo.after()))
    patch = b"".join(stream)
    assert stream.failure is None
    subprocess.run(["git", "apply", "-"], cwd=pristine, input=patch, check=True, capture_output=True)
    for path in (path for path in work.rglob("*") if path.is_file() and ".git" not in path.parts):
        assert (pristine / path.relative_to(work)).read_bytes() == path.read_bytes()
    for path in (path for path in pristine.rglob("*") if path.is_file() and ".git" not in path.parts):
        assert (work / path.relative_to(pristine)).exists()
    return patch


def test_changes_in_submodules_are_in_one_patch_that_applies_at_the_top(work: Path) -> None:
    pristine = work.parent / "pristine"
    shutil.copytree(work, pristine, symlinks=True)
    middle = work / "lib" / "mid dle"
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "outer.txt").write_text("changed outside\n")
        (middle / "middle.txt").write_text("changed in the middle\n")
        (middle / "new").write_text("new\n")
        (middle / "in" / "inner.txt").unlink()
        check_applies(repo, before, work, pristine)
        after = taken(repo.after())
        paths = [(change.path, change.status) for change in repo.changes(before, after)]
    assert paths == [
        ("outer.txt", "M"),
        ("lib/mid dle/middle.txt", "M"),
        ("lib/mid dle/new", "A"),
        ("lib/mid dle/in/inner.txt", "D"),
    ]


def test_a_dirty_submodule_is_in_the_status_as_git_prints_it(work: Path) -> None:
    (work / "zebra").write_text("z\n")
    git(work, "add", "zebra")
    (work / "untracked").write_text("u\n")
    (work / "lib" / "mid dle" / "untracked").write_text("u\n")
    with watch(work) as repo:
        before = taken(repo.before())
    assert before.status == git(work, "status", "--porcelain")
    assert before.embedded == ()


def test_a_commit_inside_a_submodule_moves_its_link(work: Path) -> None:
    pristine = work.parent / "pristine"
    shutil.copytree(work, pristine, symlinks=True)
    middle = work / "lib" / "mid dle"
    with watch(work) as repo:
        before = taken(repo.before())
        (middle / "middle.txt").write_text("committed\n")
        git(middle, "commit", "-qam", "inside")
        patch = check_applies(repo, before, work, pristine)
    assert b"+Subproject commit" in patch
    assert b"+committed\n" in patch


def test_a_submodule_that_the_run_removes_is_all_deletions(work: Path) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        git(work, "rm", "-qrf", "lib")
        after = taken(repo.after())
        changes = {change.path: change.status for change in repo.changes(before, after)}
    assert changes == {
        ".gitmodules": "M",
        "lib/mid dle": "D",
        "lib/mid dle/.gitmodules": "D",
        "lib/mid dle/in": "D",
        "lib/mid dle/in/inner.txt": "D",
        "lib/mid dle/middle.txt": "D",
    }


def test_a_submodule_that_the_run_checks_out_is_all_additions(work: Path) -> None:
    git(work, "submodule", "-q", "deinit", "-f", "lib/mid dle")
    pristine = work.parent / "pristine"
    shutil.copytree(work, pristine, symlinks=True)
    with watch(work) as repo:
        before = taken(repo.before())
        git(work, "submodule", "update", "-q", "--init")
        check_applies(repo, before, work, pristine)
        changes = {change.path for change in repo.changes(before, taken(repo.after()))}
    assert changes == {"lib/mid dle/.gitmodules", "lib/mid dle/in", "lib/mid dle/middle.txt"}


def test_files_put_into_a_submodule_that_is_not_checked_out_are_seen(work: Path) -> None:
    git(work, "submodule", "-q", "deinit", "-f", "lib/mid dle")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "lib" / "mid dle" / "hidden").write_text("h\n")
        changes = [change.path for change in repo.changes(before, taken(repo.after()))]
    assert changes == ["lib/mid dle/hidden"]


def test_an_embedded_repository_is_listed_and_its_changes_are_in_the_patch(work: Path) -> None:
    embedded = make_repo(work / "embedded", "e.txt")
    pristine = work.parent / "pristine"
    shutil.copytree(work, pristine, symlinks=True)
    with watch(work) as repo:
        before = taken(repo.before())
        (embedded / "e.txt").write_text("changed\n")
        patch = check_applies(repo, before, work, pristine)
    assert before.embedded == ("embedded",)
    assert b"--- a/embedded/e.txt\n" in patch


def test_files_in_a_repository_that_the_run_makes_are_in_the_patch(work: Path) -> None:
    pristine = work.parent / "pristine"
    shutil.copytree(work, pristine, symlinks=True)
    with watch(work) as repo:
        before = taken(repo.before())
        make_repo(work / "made", "m.txt")
        (work / "made" / "untracked").write_text("u\n")
        patch = check_applies(repo, before, work, pristine)
    assert b"+++ b/made/m.txt\n" in patch
    assert b"+++ b/made/untracked\n" in patch


def test_an_embedded_repository_that_loses_its_git_directory_stays_comparable(work: Path) -> None:
    embedded = make_repo(work / "embedded", "e.txt")
    with watch(work) as repo:
        before = taken(repo.before())
        shutil.rmtree(embedded / ".git")
        (embedded / "fresh").write_text("f\n")
        after = taken(repo.after())
        changes = [(change.path, change.status) for change in repo.changes(before, after)]
    assert changes == [("embedded/fresh", "A")]


def test_an_embedded_repository_without_commits_does_no_harm(work: Path) -> None:
    (work / "unborn").mkdir()
    git(work / "unborn", "init", "-q")
    (work / "unborn" / "f").write_text("f\n")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "unborn" / "g").write_text("g\n")
        changes = [change.path for change in repo.changes(before, taken(repo.after()))]
    assert changes == ["unborn/g"]


def test_a_broken_submodule_is_a_declared_gap(work: Path) -> None:
    git_dir = work / ".git" / "modules" / "lib" / "mid dle"
    (git_dir / "index").write_bytes(b"garbage")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "outer.txt").write_text("x\n")
        stream = repo.patch(before, taken(repo.after()))
        patch = b"".join(stream)
    assert b"a/outer.txt" in patch
    assert [(item.path, item.reason) for item in stream.unpatched] == [("lib/mid dle", "GIT_BROKEN")]
    assert any("lib/mid dle: GIT_BROKEN" in note for note in before.notes)


def test_a_submodule_replaced_by_a_link_to_elsewhere_is_not_followed(work: Path) -> None:
    outside = make_repo(work.parent / "outside", "private")
    with watch(work) as repo:
        before = taken(repo.before())
        shutil.rmtree(work / "lib" / "mid dle")
        (work / "lib" / "mid dle").symlink_to(outside)
        changes = {change.path: change.status for change in repo.changes(before, taken(repo.after()))}
    assert changes["lib/mid dle"] == "T"
    assert changes["lib/mid dle/middle.txt"] == "D"
    assert not any("private" in path for path in changes)
