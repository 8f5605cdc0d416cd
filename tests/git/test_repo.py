"""Snapshots of real repositories, in every state a repository can be in."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from steno.capture.git import shadow
from steno.capture.git.process import Child, Git, find_git
from steno.capture.git.repository import read_head
from steno.capture.git.snapshot import RepoWatch, Skip
from steno.capture.git.types import RepositoryPaths
from support.watched import git, taken, watch

pytestmark = pytest.mark.usefixtures("clean_git")

if TYPE_CHECKING:
    from pathlib import Path

EMPTY_SUMMARY = {
    "changed_files": 0,
    "added": 0,
    "modified": 0,
    "deleted": 0,
    "renamed": 0,
    "untracked": 0,
}
needs_ordinary_user = pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "kept.txt").write_text("one\ntwo\n")
    (root / "sub").mkdir()
    (root / "sub" / "deep.txt").write_text("deep\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def fallback(tmp_path: Path) -> Path:
    return tmp_path / "fallback"


def reason(cwd: Path) -> str:
    with watch(cwd) as repo:
        result = repo.before()
    assert isinstance(result, Skip), result
    return result.reason


def test_a_clean_repository_has_an_empty_status_and_the_tree_of_its_head(work: Path) -> None:
    with watch(work) as repo:
        snapshot = taken(repo.before())
    assert snapshot.root == str(work)
    assert snapshot.head == git(work, "rev-parse", "HEAD").decode().strip()
    assert snapshot.branch == "main"
    assert snapshot.status == b""
    assert snapshot.status_summary == EMPTY_SUMMARY
    assert snapshot.tree == git(work, "rev-parse", "HEAD^{tree}").decode().strip()
    assert snapshot.omitted == ()
    assert snapshot.notes == ()


def test_the_status_is_the_one_that_git_prints(work: Path) -> None:
    (work / "kept.txt").write_text("changed\n")
    (work / "staged new.txt").write_text("x\n")
    git(work, "add", "staged new.txt")
    git(work, "mv", "sub/deep.txt", "sub/moved.txt")
    (work / "untracked").mkdir()
    (work / "untracked" / "a").write_text("a\n")
    (work / "untracked" / "b").write_text("b\n")
    (work / 'odd "name"\n').write_text("odd\n")
    with watch(work) as repo:
        snapshot = taken(repo.before())
    assert snapshot.status == git(work, "status", "--porcelain")
    assert snapshot.status_summary == {
        "changed_files": 5,
        "added": 1,
        "modified": 1,
        "deleted": 0,
        "renamed": 1,
        "untracked": 2,
    }


def test_the_tree_holds_staged_unstaged_and_untracked_but_not_ignored_files(work: Path) -> None:
    (work / ".gitignore").write_text("*.log\n")
    (work / "noise.log").write_text("noise\n")
    (work / "staged").write_text("staged\n")
    git(work, "add", "staged")
    (work / "kept.txt").write_text("unstaged\n")
    with watch(work) as repo:
        snapshot = taken(repo.before())
        paths = [change.path for change in repo._evaluate_worktree(snapshot).comparison.changes]  # noqa: SLF001
        patch = b"".join(repo.worktree_patch(snapshot))
    assert paths == [".gitignore", "kept.txt", "staged"]
    assert b"+unstaged\n" in patch
    assert b"noise" not in patch


def test_before_the_first_commit_there_is_a_branch_and_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "a").write_text("a\n")
    with RepoWatch(tmp_path, fallback=tmp_path.parent, finder=lambda _: False) as repo:
        snapshot = taken(repo.before())
        patch = b"".join(repo.worktree_patch(snapshot))
    assert (snapshot.head, snapshot.branch) == (None, "trunk")
    assert snapshot.status == b"?? a\n"
    assert patch.endswith(b"@@ -0,0 +1 @@\n+a\n")


def test_git_itself_is_asked_where_references_are_no_files(work: Path, tmp_path: Path) -> None:
    unborn = tmp_path / "unborn"
    git(tmp_path, "init", "-q", "-b", "trunk", str(unborn))
    asked = Git(find_git(), tmp_path)
    heads = [
        read_head(asked, RepositoryPaths(root, root / ".git", root / ".git"), "reftable")
        for root in (work, unborn)
    ]
    assert heads == [(git(work, "rev-parse", "HEAD").decode().strip(), "main"), (None, "trunk")]


def test_a_detached_head_has_no_branch(work: Path) -> None:
    git(work, "checkout", "-q", "--detach")
    with watch(work) as repo:
        snapshot = taken(repo.before())
    assert snapshot.head is not None
    assert snapshot.branch is None


def test_packed_references_are_read(work: Path) -> None:
    git(work, "checkout", "-q", "-b", "topic/deep")
    git(work, "pack-refs", "--all")
    with watch(work) as repo:
        snapshot = taken(repo.before())
    assert snapshot.branch == "topic/deep"
    assert snapshot.head == git(work, "rev-parse", "HEAD").decode().strip()


def test_a_subdirectory_sees_the_whole_repository(work: Path) -> None:
    (work / "kept.txt").write_text("changed\n")
    with watch(work / "sub") as repo:
        snapshot = taken(repo.before())
    assert snapshot.root == str(work)
    assert snapshot.status == b" M kept.txt\n"


def test_a_linked_worktree_has_its_own_head_and_index(work: Path) -> None:
    other = work.parent / "other"
    git(work, "worktree", "add", "-q", "-b", "side", str(other))
    (other / "new").write_text("n\n")
    with watch(other) as repo:
        snapshot = taken(repo.before())
    assert snapshot.root == str(other)
    assert snapshot.branch == "side"
    assert snapshot.status == b"?? new\n"


@pytest.mark.parametrize("option", ["--split-index", "--index-version=4", "--untracked-cache"])
def test_every_kind_of_index_is_read(work: Path, option: str) -> None:
    git(work, "update-index", "--force-write-index", *option.split("=")) if "=" in option else git(
        work, "update-index", option
    )
    (work / "kept.txt").write_text("changed\n")
    git(work, "add", "kept.txt")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "kept.txt").write_text("CHANGED\n")
        changes = repo.changes(before, taken(repo.after()))
    assert before.status == b"M  kept.txt\n"
    assert [(change.path, change.added, change.deleted) for change in changes] == [("kept.txt", 1, 1)]


def test_a_sparse_checkout_is_not_seen_as_deletions(work: Path) -> None:
    (work / "other").mkdir()
    (work / "other" / "x").write_text("x\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "second")
    git(work, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    assert not (work / "other").exists()
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "sub" / "deep.txt").write_text("edited\n")
        changes = repo.changes(before, taken(repo.after()))
    assert before.status == b""
    assert before.tree == git(work, "rev-parse", "HEAD^{tree}").decode().strip()
    assert [change.path for change in changes] == ["sub/deep.txt"]


def test_a_repository_with_sha256_works(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "--object-format=sha256")
    (work / "a").write_text("a\n")
    git(work, "add", "a")
    git(work, "commit", "-qm", "a")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "a").write_text("b\n")
        after = taken(repo.after())
        patch = b"".join(repo.patch(before, after))
    assert before.head is not None
    assert len(before.head) == 64
    assert b"-a\n+b\n" in patch


def test_a_lock_on_the_index_does_not_matter(work: Path) -> None:
    (work / ".git" / "index.lock").touch()
    (work / "new").write_text("n\n")
    with watch(work) as repo:
        assert taken(repo.before()).status == b"?? new\n"
    assert (work / ".git" / "index.lock").exists()


def test_a_conflict_is_in_the_tree_as_it_lies_in_the_work_tree(work: Path) -> None:
    git(work, "checkout", "-qb", "side")
    (work / "kept.txt").write_text("side\n")
    git(work, "commit", "-qam", "side")
    git(work, "checkout", "-q", "main")
    (work / "kept.txt").write_text("main\n")
    git(work, "commit", "-qam", "main")
    subprocess.run(["git", "merge", "-q", "side"], cwd=work, check=False, capture_output=True)
    with watch(work) as repo:
        snapshot = taken(repo.before())
        patch = b"".join(repo.worktree_patch(snapshot))
    assert snapshot.status == b"UU kept.txt\n"
    assert b"+<<<<<<< HEAD\n" in patch


def test_the_store_inside_the_work_tree_does_not_count_as_a_change(work: Path) -> None:
    store = work / "artifacts" / "odd [name]"
    with watch(work, exclude=(store,)) as repo:
        before = taken(repo.before())
        store.mkdir(parents=True)
        (store / "record").write_text("r\n")
        (work / "real").write_text("real\n")
        after = taken(repo.after())
        changes = repo.changes(before, after)
    assert after.status == b"?? real\n"
    assert [change.path for change in changes] == ["real"]


def test_a_large_file_is_left_out_and_its_change_is_declared(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow, "MAX_COPY", 1000)
    (work / "same.bin").write_bytes(b"s" * 2000)
    (work / "changing.bin").write_bytes(b"c" * 2000)
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "changing.bin").write_bytes(b"d" * 2000)
        (work / "fresh.bin").write_bytes(b"f" * 2000)
        (work / "kept.txt").write_bytes(b"k" * 2000)
        (work / "small").write_text("s\n")
        stream = repo.patch(before, taken(repo.after()))
        patch = b"".join(stream)
    assert [(item.path, item.size, item.reason) for item in before.omitted] == [
        ("changing.bin", 2000, "too_large"),
        ("same.bin", 2000, "too_large"),
    ]
    assert [item.path for item in stream.unpatched] == ["changing.bin", "fresh.bin", "kept.txt"]
    assert [line for line in patch.split(b"\n") if line.startswith(b"diff")] == [
        b"diff --git a/small b/small"
    ]


def test_a_large_file_that_vanished_is_declared(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "MAX_COPY", 1000)
    (work / "large").write_bytes(b"s" * 2000)
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "large").unlink()
        assert [item.path for item in repo.patch(before, taken(repo.after())).unpatched] == ["large"]


def test_special_files_do_not_disturb(work: Path) -> None:
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, watch(work) as repo:
        listener.bind(os.path.relpath(work / "socket"))
        before = taken(repo.before())
        (work / "kept.txt").unlink()
        os.mkfifo(work / "kept.txt")
        stream = repo.patch(before, taken(repo.after()))
        assert b"".join(stream) == b""
    assert [(item.path, item.reason) for item in stream.unpatched] == [("kept.txt", "special_file")]


@needs_ordinary_user
def test_an_unreadable_file_is_left_out(work: Path) -> None:
    (work / "closed").write_text("x")
    (work / "closed").chmod(0)
    with watch(work) as repo:
        snapshot = taken(repo.before())
    assert [(item.path, item.reason) for item in snapshot.omitted] == [("closed", "unreadable")]


def test_files_hidden_with_index_bits_are_compared_all_the_same(work: Path) -> None:
    (work / "third").write_text("3\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "x")
    git(work, "update-index", "--assume-unchanged", "kept.txt", "third")
    git(work, "update-index", "--skip-worktree", "sub/deep.txt")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "kept.txt").write_text("hidden\n")
        (work / "sub" / "deep.txt").write_text("hidden\n")
        changes = repo.changes(before, taken(repo.after()))
    assert [change.path for change in changes] == ["kept.txt", "sub/deep.txt"]


def test_a_rewrite_in_the_same_second_with_the_old_time_is_seen(work: Path) -> None:
    target = work / "kept.txt"
    os.utime(target, ns=(10**18, 10**18))
    git(work, "update-index", "--refresh")
    with watch(work) as repo:
        before = taken(repo.before())
        target.write_text("owt\neno\n")
        os.utime(target, ns=(10**18, 10**18))
        changes = repo.changes(before, taken(repo.after()))
    assert [change.path for change in changes] == ["kept.txt"]


def test_an_ignored_file_that_the_run_commits_is_a_change(work: Path) -> None:
    (work / ".gitignore").write_text("*.log\n")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "forced.log").write_text("l\n")
        git(work, "add", "-f", "forced.log")
        git(work, "commit", "-qm", "forced")
        changes = repo.changes(before, taken(repo.after()))
    assert [(change.path, change.status) for change in changes] == [("forced.log", "A")]


def test_a_repository_made_by_the_run_is_found_afterwards(tmp_path: Path) -> None:
    with RepoWatch(tmp_path, fallback=tmp_path, finder=lambda _: False) as repo:
        before = repo.before()
        git(tmp_path, "init", "-q")
        assert isinstance(before, Skip)
        assert before.reason == "NOT_A_GIT_REPO"
        assert taken(repo.after()).head is None


def test_variables_of_a_surrounding_git_are_ignored_and_noted(
    work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nothing"))
    with watch(work) as repo:
        snapshot = taken(repo.before())
    assert snapshot.root == str(work)
    assert snapshot.notes == ("GIT_DIR was set and ignored", "GIT_INDEX_FILE was set and ignored")


def test_the_excludes_file_of_the_user_is_honoured(
    work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ignore").write_text("*.swp\n")
    (tmp_path / "config").write_text(f'[core]\n\texcludesFile = "{tmp_path}/ignore"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (work / "x.swp").touch()
    with watch(work) as repo:
        assert taken(repo.before()).status == b""


# --- what is no repository, or a broken one --------------------------------------------------------------


def test_a_plain_directory_is_skipped(tmp_path: Path) -> None:
    assert reason(tmp_path) == "NOT_A_GIT_REPO"


def test_a_missing_directory_is_skipped(tmp_path: Path) -> None:
    assert reason(tmp_path / "absent" / "deeper") == "NOT_A_GIT_REPO"


def test_a_bare_repository_is_skipped(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "x.git")
    assert reason(tmp_path / "x.git") == "BARE_REPOSITORY"


def test_the_inside_of_a_git_directory_is_skipped(work: Path) -> None:
    assert reason(work / ".git" / "refs") == "INSIDE_GIT_DIR"


def test_a_missing_git_is_a_reason(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{work}::bin")
    assert reason(work) == "GIT_MISSING"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("index", b"DIRC garbage"),
        ("HEAD", b"nonsense\n"),
        ("HEAD", b"ref: refs/../../etc/passwd\n"),
        ("HEAD", b"0123456789012345678901234567890123456789\n"),
        ("config", b"[core\n"),
    ],
)
def test_a_broken_repository_is_a_reason(work: Path, name: str, content: bytes) -> None:
    (work / ".git" / name).write_bytes(content)
    assert reason(work) == "GIT_BROKEN"


def test_missing_objects_are_a_reason(work: Path) -> None:
    shutil.rmtree(work / ".git" / "objects")
    (work / ".git" / "objects").mkdir()
    assert reason(work) == "GIT_BROKEN"


def test_a_git_file_that_leads_nowhere_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nonexistent\n")
    assert reason(tmp_path) == "GIT_BROKEN"


def test_a_work_tree_that_the_run_removed_is_a_reason(work: Path) -> None:
    with watch(work) as repo:
        taken(repo.before())
        shutil.rmtree(work)
        result = repo.after()
    assert isinstance(result, Skip)
    assert result.reason == "WORK_TREE_GONE"


@pytest.mark.parametrize("name", ["index", "HEAD"])
def test_what_the_run_broke_does_not_hide_what_it_changed(work: Path, name: str) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        (work / ".git" / name).write_bytes(b"garbage")
        (work / "kept.txt").write_text("changed\n")
        after = taken(repo.after())
        changes = repo.changes(before, after)
    assert [change.path for change in changes] == ["kept.txt"]
    assert after.notes


def test_a_patch_that_cannot_be_made_says_so_and_what_changed_is_named(work: Path) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "kept.txt").write_text("changed\n")
        shutil.rmtree(work / ".git")
        git(work, "init", "-q")
        after = taken(repo.after())
        (change,) = repo.changes(before, after)
        stream = repo.patch(before, after)
        assert b"".join(stream) == b""
    assert stream.failure is not None
    assert stream.failure.reason == "GIT_BROKEN"
    assert (change.path, change.status, change.added, change.binary) == ("kept.txt", "M", None, False)


def test_a_git_directory_that_the_run_removed_leaves_no_repository(work: Path) -> None:
    with watch(work) as repo:
        taken(repo.before())
        shutil.rmtree(work / ".git")
        result = repo.after()
    assert isinstance(result, Skip)
    assert (result.reason, result.detail) == ("NOT_A_GIT_REPO", f"the git directory {work / '.git'} is gone")


# --- cost and cleanliness -----------------------------------------------------------------------------------


def test_a_simple_run_takes_few_git_processes(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    start = Git.start

    def count(self: Git, *args: Any, **more: Any) -> Child:
        started.append(args)
        return start(self, *args, **more)

    monkeypatch.setattr(Git, "start", count)
    with watch(work) as repo:
        before = taken(repo.before())
        assert 0 < len(started) <= 6
        counted = len(started)
        (work / "kept.txt").write_text("changed\n")
        after = taken(repo.after())
        b"".join(repo.patch(before, after))
        repo.changes(before, after)
        assert len(started) - counted <= 8


def test_the_shadow_is_private_and_gone_afterwards(work: Path) -> None:
    with watch(work) as repo:
        (path,) = repo.shadow_paths
        taken(repo.before())
        assert path.stat().st_mode & 0o777 == 0o700
    assert not path.exists()


def state_of(directory: Path) -> dict[str, tuple[object, ...]]:
    state: dict[str, tuple[object, ...]] = {}
    for path in sorted(directory.rglob("*")):
        found = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        state[str(path)] = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode, content)
    return state


def test_nothing_in_the_repository_is_touched(work: Path) -> None:
    (work / "copy").write_text("one\ntwo\n")  # a blob that the repository holds already
    git(work, "gc", "-q")
    (work / "loose").write_text("loose\n")
    git(work, "add", "loose")
    with watch(work) as repo:
        was = state_of(work / ".git")
        before = taken(repo.before())
        assert state_of(work / ".git") == was
        (work / "kept.txt").write_text("loose\n")
        git(work, "commit", "-qam", "second")
        was = state_of(work / ".git")
        after = taken(repo.after())
        b"".join(repo.patch(before, after))
        b"".join(repo.worktree_patch(after))
        assert state_of(work / ".git") == was
