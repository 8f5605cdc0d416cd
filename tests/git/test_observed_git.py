"""Classes of files in git: found with few children, and nothing that the user's repository names is run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from steno.capture.git import classify, process
from steno.capture.git.classify import GitClass, GitFacts, RepositoryFinder, git_facts
from support.watched import git

pytestmark = pytest.mark.usefixtures("clean_git")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a file of every class."""
    root = Path(os.path.realpath(tmp_path)) / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for name in ("clean.txt", "dirty.txt", "staged.txt", "gone.txt", "sub/deep.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("one\n")
    (root / ".gitignore").write_text("*.o\nbuild/\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    (root / "dirty.txt").write_text("changed\n")
    (root / "staged.txt").write_text("staged\n")
    git(root, "add", "staged.txt")
    (root / "gone.txt").unlink()
    (root / "new.txt").write_text("new\n")
    (root / "main.o").write_text("object\n")
    (root / "build").mkdir()
    (root / "build" / "out").write_text("built\n")
    return root


def classes(*paths: Path, fallback: Path | None = None) -> GitFacts:
    return git_facts([os.fsencode(path) for path in paths], fallback or paths[0].parent)


def class_of(path: Path) -> GitClass:
    facts = classes(path)
    assert not facts.failures
    return facts.classes[os.fsencode(path)]


@pytest.mark.parametrize(
    ("name", "tracked", "dirty", "ignored"),
    [
        ("clean.txt", True, False, False),
        ("sub/deep.txt", True, False, False),
        ("dirty.txt", True, True, False),
        ("staged.txt", True, True, False),
        ("gone.txt", True, True, False),
        ("new.txt", False, False, False),
        ("never.txt", False, False, False),
        ("main.o", False, False, True),
        ("build/out", False, False, True),
    ],
)
def test_a_file_has_the_class_that_git_gives_it(
    work: Path, name: str, *, tracked: bool, dirty: bool, ignored: bool
) -> None:
    found = class_of(work / name)
    assert (found.tracked, found.dirty, found.ignored) == (tracked, dirty, ignored)
    assert found.relative_path == name.encode()
    assert found.is_clean is (tracked and not dirty)


def test_a_repository_has_its_root_head_and_whether_it_is_dirty(work: Path) -> None:
    head = git(work, "rev-parse", "HEAD").decode().strip()
    (repository,) = classes(work / "clean.txt").repositories
    assert repository == (os.fsencode(work), head, True)
    git(work, "reset", "-q", "--hard")
    (repository,) = classes(work / "clean.txt").repositories
    assert not repository.dirty


def test_all_paths_of_a_repository_are_asked_for_at_once(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    child = process.Child.__init__

    def counted(self: process.Child, *args: object, **more: object) -> None:
        started.append(args)
        child(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(process.Child, "__init__", counted)
    paths = [path for path in work.rglob("*") if path.is_file() and ".git" not in path.parts]
    facts = classes(*paths, fallback=work)
    assert len(facts.classes) == len(paths)
    assert len(started) == 4
    started.clear()
    classes(work / "clean.txt")
    assert len(started) == 3


def test_no_git_is_started_for_paths_outside_of_any_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classify, "find_git", lambda: pytest.fail("git was looked for"))
    monkeypatch.setattr(classify, "make_shadow", lambda _: pytest.fail("a directory was made"))
    assert classes(tmp_path / "file", tmp_path / "none" / "file") == GitFacts([], {}, [])


def test_a_worktree_is_a_repository_of_its_own(work: Path) -> None:
    git(work, "worktree", "add", "-q", "../other", "-b", "other")
    path = work.parent / "other" / "clean.txt"
    found = class_of(path)
    assert found.is_clean
    assert found.repository.root == os.fsencode(path.parent)


def test_a_file_in_a_submodule_belongs_to_the_submodule(work: Path) -> None:
    module = work.parent / "module"
    module.mkdir()
    git(module, "init", "-q", "-b", "main")
    (module / "file").write_text("x")
    git(module, "add", "-A")
    git(module, "commit", "-qm", "first")
    git(work, "submodule", "add", "-q", str(module), "mod")
    facts = classes(work / "mod" / "file", work / "clean.txt", fallback=work)
    assert not facts.failures
    assert facts.classes[os.fsencode(work / "mod" / "file")].repository.root == os.fsencode(work / "mod")
    assert facts.classes[os.fsencode(work / "mod" / "file")].is_clean
    assert [each.root for each in facts.repositories] == [os.fsencode(work), os.fsencode(work / "mod")]


def test_a_file_in_a_submodule_that_is_not_checked_out_breaks_nothing(work: Path) -> None:
    commit = git(work, "rev-parse", "HEAD").decode().strip()
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{commit},mod")
    (work / "mod").mkdir()
    (work / "mod" / "file").write_text("x")
    facts = classes(work / "mod" / "file", work / "main.o", fallback=work)
    assert not facts.failures
    assert not facts.classes[os.fsencode(work / "mod" / "file")].tracked
    assert facts.classes[os.fsencode(work / "main.o")].ignored


@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_that_git_was_told_not_to_look_at_is_not_called_clean(work: Path, option: str) -> None:
    git(work, "update-index", option, "clean.txt")
    (work / "clean.txt").write_text("hidden change\n")
    assert class_of(work / "clean.txt").dirty


def test_before_the_first_commit_nothing_is_clean(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("x")
    git(tmp_path, "add", "-A")
    found = class_of(Path(os.path.realpath(tmp_path)) / "file")
    assert found.tracked
    assert not found.is_clean
    assert found.repository.head is None


def test_names_with_odd_bytes_have_their_class(work: Path) -> None:
    names = [b"\xff\xfe", b":(top)x", b"a\nb", b" sp ace", b'"quoted"', b"*.txt", b"-dash"]
    for name in names:
        (work / os.fsdecode(name)).write_bytes(b"x")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "odd names")
    odd = [os.fsencode(work) + b"/" + name for name in names]
    untracked = [path + b".o" for path in odd]
    facts = git_facts([*odd, *untracked], work)
    assert not facts.failures
    assert all(facts.classes[path].is_clean for path in odd)
    assert all(facts.classes[path].ignored for path in untracked)


def test_a_repository_of_another_user_is_asked_too(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert class_of(work / "clean.txt").is_clean


def test_variables_of_the_caller_do_not_choose_the_repository(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert class_of(work / "clean.txt").is_clean


@pytest.mark.parametrize("damage", ["index", "HEAD", "config", "objects"])
def test_a_broken_repository_is_told_and_not_raised(work: Path, damage: str) -> None:
    entry = work / ".git" / damage
    if entry.is_dir():
        shutil.rmtree(entry / next(path.name for path in sorted(entry.iterdir()) if len(path.name) == 2))
        (entry / "info" / "alternates").write_text("/dev/null\n")
    else:
        entry.write_bytes(b"\xff not what it should be")
    facts = classes(work / "clean.txt")
    assert facts.failures or facts.classes
    if damage != "objects":
        assert len(facts.failures) == 1
        assert not facts.classes


def test_a_failing_repository_does_not_take_the_others_along(work: Path) -> None:
    other = work.parent / "other"
    shutil.copytree(work, other, symlinks=True)
    (other / ".git" / "index").write_bytes(b"broken")
    facts = classes(other / "clean.txt", work / "clean.txt", fallback=work)
    assert len(facts.failures) == 1
    assert list(facts.classes) == [os.fsencode(work / "clean.txt")]


def test_git_that_hangs_ends_at_the_deadline(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / ".gitignore").unlink()
    os.mkfifo(work / ".gitignore")
    monkeypatch.setattr(classify, "SECONDS", 1.0)
    facts = classes(work / "new.txt")
    assert "GIT_TIMEOUT" in facts.failures[0]


def test_without_git_the_classes_are_missing(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    facts = classes(work / "clean.txt")
    assert "GIT_MISSING" in facts.failures[0]


def test_nothing_that_the_repository_configures_is_run_and_nothing_is_written_there(work: Path) -> None:
    mark = work.parent / "ran"
    evil = work.parent / "evil"
    evil.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{mark}'\ncat\n")
    evil.chmod(0o755)
    hooks = work / ".git" / "hooks"
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        shutil.copy(evil, hooks / name)
    with (work / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {evil}\n\thooksPath = {hooks}\n\tpager = {evil}\n"
            f'[filter "evil"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n'
            f'[diff]\n\texternal = {evil}\n[diff "evil"]\n\ttextconv = {evil}\n'
        )
    (work / ".gitattributes").write_text("* filter=evil diff=evil\n")
    os.utime(work / "clean.txt", (1, 1))  # so that git has to read it
    before = {path: path.stat() for path in (work / ".git").rglob("*")}
    facts = classes(work / "clean.txt", work / "new.txt", work / "main.o", fallback=work)
    assert not facts.failures
    assert not mark.exists()
    assert facts.classes[os.fsencode(work / "clean.txt")].is_clean
    after = {path: path.stat() for path in (work / ".git").rglob("*")}
    assert {path: found.st_mtime_ns for path, found in before.items()} == {
        path: found.st_mtime_ns for path, found in after.items()
    }


def test_no_private_directory_is_left_behind(work: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    classes(work / "clean.txt")
    assert {name for name in set(os.listdir("/dev/shm")) - before if f"-{os.getpid()}-" in name} == set()


# --- finding the repository -----------------------------------------------------------------------------


def test_a_directory_is_asked_about_once(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = RepositoryFinder()
    asked = []
    look = os.lstat

    def counted(path: bytes, **more: int) -> os.stat_result:
        asked.append(path)
        return look(path, **more)

    monkeypatch.setattr(os, "lstat", counted)
    for _ in range(3):
        for name in ("clean.txt", "sub/deep.txt", "none/x/y"):
            place = finder.find(os.fsencode(work / name))
            assert place is not None
            assert place.root == work
    ours = [path for path in asked if isinstance(path, bytes) and path.endswith(b"/.git")]
    assert len(ours) == len(set(ours))


def test_a_link_to_a_repository_is_none(work: Path) -> None:
    (work.parent / "link").symlink_to("work")
    assert RepositoryFinder().find(os.fsencode(work.parent / "link" / "clean.txt")) is None


def test_a_git_entry_that_is_none_is_passed_over(work: Path) -> None:
    (work / "sub" / ".git").write_text("gitdir: /nowhere\n")
    os.mkfifo(work / "build" / ".git")
    for name in ("sub/deep.txt", "build/out"):
        place = RepositoryFinder().find(os.fsencode(work / name))
        assert place is not None
        assert place.root == work


def test_a_bare_repository_has_no_files(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "outer" / ".git"], check=True)
    assert classes(Path(os.path.realpath(tmp_path)) / "outer" / "file") == GitFacts([], {}, [])
