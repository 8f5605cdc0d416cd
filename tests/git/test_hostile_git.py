"""A hostile repository, and a hostile command in it, cannot make a snapshot run anything or hide a change."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from steno.capture.git import process
from steno.capture.git.snapshot import RepoWatch, Skip, Snapshot
from support.watched import git, taken, watch

pytestmark = pytest.mark.usefixtures("clean_git")


def make_repo(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "file.txt").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = make_repo(tmp_path / "work")
    git(root, "submodule", "add", "-q", str(make_repo(tmp_path / "module")), "mod")
    git(root, "commit", "-qm", "with a submodule")
    return root


class Trap:
    """A program that leaves a mark when it runs, and every place git may be told to run it from."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.mark = directory / "ran"
        self.program = directory / "evil"
        self.program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.mark}'\ncat\n")
        self.program.chmod(0o755)
        self.hooks = directory / "hooks"
        self.hooks.mkdir()
        for name in (
            "post-index-change",
            "pre-commit",
            "fsmonitor-watchman",
            "post-checkout",
            "reference-transaction",
        ):
            shutil.copy(self.program, self.hooks / name)

    def arm(self, git_dir: Path, root: Path) -> None:
        """Write directly, without git, so that setting the trap does not spring it."""
        evil = self.program
        (git_dir / "included").write_text(f"[core]\n\tfsmonitor = {evil}\n[diff]\n\texternal = {evil}\n")
        with (git_dir / "config").open("a") as config:
            config.write(
                f"""
[include]
	path = included
[core]
	fsmonitor = {evil}
	hooksPath = {self.hooks}
	pager = {evil}
	editor = {evil}
	sshCommand = {evil}
	askPass = {evil}
	gitProxy = {evil}
	alternateRefsCommand = {evil}
	attributesFile = {git_dir}/attributes
[pager]
	config = {evil}
	status = {evil}
	diff = {evil}
[alias]
	status = !{evil}
	ls-files = !{evil}
	write-tree = !{evil}
	diff-tree = !{evil}
[filter "x"]
	clean = {evil}
	smudge = {evil}
	required = true
[filter "y"]
	process = {evil}
	required = true
[diff]
	external = {evil}
[diff "x"]
	command = {evil}
	textconv = {evil}
	cachetextconv = true
[merge "x"]
	driver = {evil}
[uploadpack]
	packObjectsHook = {evil}
[remote "origin"]
	url = ext::{evil}
	promisor = true
	vcs = evil
[extensions]
	partialClone = origin
[trace2]
	eventTarget = {self.mark}
[gpg]
	program = {evil}
[submodule]
	recurse = true
"""
            )
        attributes = "*.txt filter=x diff=x\n*.dat filter=y diff=x\n"
        (git_dir / "attributes").write_text(attributes)
        (git_dir / "info").mkdir(exist_ok=True)
        (git_dir / "info" / "attributes").write_text(attributes)
        (root / ".gitattributes").write_text(attributes)
        shutil.copytree(self.hooks, git_dir / "hooks", dirs_exist_ok=True)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


def edit(root: Path) -> None:
    (root / "file.txt").write_text("two\n")
    (root / "new.txt").write_text("new\n")
    (root / "new.dat").write_text("new\n")
    (root / "staged.dat").write_text("new\n")


def take_everything(repo: RepoWatch, before: Snapshot) -> bytes:
    after = taken(repo.after())
    repo.changes(before, after)
    b"".join(repo.worktree_patch(before))
    b"".join(repo.worktree_patch(after))
    return b"".join(repo.patch(before, after))


def test_the_trap_would_spring_under_plain_git(work: Path, trap: Trap) -> None:
    trap.arm(work / ".git", work)
    edit(work)
    subprocess.run(["git", "status"], cwd=work, check=False, capture_output=True)
    assert trap.mark.exists()


def test_the_trap_in_a_submodule_would_spring_under_plain_git(work: Path, trap: Trap) -> None:
    trap.arm(work / ".git" / "modules" / "mod", work / "mod")
    edit(work / "mod")
    subprocess.run(["git", "status"], cwd=work, check=False, capture_output=True)
    assert trap.mark.exists()


@pytest.mark.parametrize("where", ["outer", "submodule", "embedded"])
@pytest.mark.parametrize("when", ["before the run", "during the run"])
def test_nothing_that_the_repository_configures_is_run(work: Path, trap: Trap, where: str, when: str) -> None:
    embedded = make_repo(work / "embedded")
    git_dir, root = {
        "outer": (work / ".git", work),
        "submodule": (work / ".git" / "modules" / "mod", work / "mod"),
        "embedded": (embedded / ".git", embedded),
    }[where]
    if when == "before the run":
        trap.arm(git_dir, root)
        edit(root)
    with watch(work) as repo:
        before = taken(repo.before())
        trap.arm(git_dir, root)
        edit(root)
        (root / "file.txt").write_text("three\n")
        patch = take_everything(repo, before)
    assert b"+three\n" in patch
    assert not trap.mark.exists(), trap.mark.read_text()


def test_a_repository_made_by_the_run_runs_nothing(work: Path, trap: Trap) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        made = make_repo(work / "made")
        trap.arm(made / ".git", made)
        edit(made)
        patch = take_everything(repo, before)
    assert b"b/made/new.txt" in patch
    assert not trap.mark.exists(), trap.mark.read_text()


def test_the_configuration_of_the_user_changed_by_the_run_runs_nothing(
    work: Path, trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.touch()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    with watch(work) as repo:
        before = taken(repo.before())
        config.write_text(
            f'[core]\n\tfsmonitor = {trap.program}\n[filter "x"]\n\tclean = {trap.program}\n'
            f"[trace2]\n\teventTarget = {trap.mark}\n"
        )
        (work / ".gitattributes").write_text("* filter=x\n")
        edit(work)
        make_repo(work / "made")
        trap.mark.unlink(missing_ok=True)
        take_everything(repo, before)
    assert not trap.mark.exists(), trap.mark.read_text()


def test_a_git_planted_in_the_work_tree_is_not_run(
    work: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f".:{work}/relative:{os.environ['PATH']}".replace(f"{work}/relative", "bin"))
    for directory in (work, work / "bin"):
        directory.mkdir(exist_ok=True)
        shutil.copy(trap.program, directory / "git")
    monkeypatch.chdir(work)
    with watch(work) as repo:
        take_everything(repo, taken(repo.before()))
    assert not trap.mark.exists()


def test_inherited_git_variables_run_nothing(work: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH_COMMAND", "GIT_EXEC_PATH"):
        monkeypatch.setenv(name, str(trap.program))
    monkeypatch.setenv("GIT_TRACE", str(trap.mark))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={trap.program}'")
    with watch(work) as repo:
        before = taken(repo.before())
        edit(work)
        take_everything(repo, before)
    assert not trap.mark.exists()


# --- hiding a change ------------------------------------------------------------------------------------


def changed_by(work: Path, run: str) -> set[str]:
    with watch(work) as repo:
        before = taken(repo.before())
        subprocess.run(["sh", "-ec", run], cwd=work, check=True, capture_output=True)
        return {change.path for change in repo.changes(before, taken(repo.after()))}


@pytest.mark.parametrize(
    "run",
    [
        "git update-index --assume-unchanged file.txt; echo evil > file.txt",
        "git update-index --skip-worktree file.txt; echo evil > file.txt",
        "git config core.trustctime false; touch -r file.txt .r; echo evl > file.txt; touch -r .r file.txt",
        "git config core.checkStat minimal; touch -r file.txt .r; echo evl > file.txt; touch -r .r file.txt",
        "echo file.txt > .git/info/exclude; git rm -q --cached file.txt; echo evil > file.txt",
        "git config core.worktree /nonexistent; echo evil > file.txt",
        "git config core.bare true; echo evil > file.txt",
        "echo evil > file.txt; git config core.fileMode false; rm .git/index",
        "echo evil > file.txt; git add -A; git commit -qm x",
        "echo evil > file.txt; git checkout -q --orphan new; git rm -rqf --cached .",
        "echo evil > file.txt; rm .git/HEAD",
        "echo evil > file.txt; mv .git .hidden; mv .hidden .git; ln -s /dev/null .git/index.lock",
    ],
)
def test_a_change_cannot_be_hidden(work: Path, run: str) -> None:
    assert "file.txt" in changed_by(work, run)


@pytest.mark.parametrize(
    "run",
    ["echo hidden.txt > .git/info/exclude", "git config core.excludesFile $PWD/.git/x; echo '*' > .git/x"],
)
def test_a_new_file_cannot_be_hidden_by_rules_outside_the_work_tree(work: Path, run: str) -> None:
    assert changed_by(work, f"{run}; echo evil > hidden.txt") == {"hidden.txt"}


def test_files_behind_an_ignored_link_count_as_deleted(work: Path) -> None:
    (work / ".gitignore").write_text("d\n")
    (work / "d").mkdir()
    (work / "d" / "f").write_text("f\n")
    git(work, "add", "-f", "-A", ".")
    git(work, "commit", "-qm", "d")
    assert changed_by(work, "mv d e; ln -s e d") == {"d/f", "e/f"}


def test_files_behind_a_link_to_other_files_count_as_deleted(work: Path) -> None:
    (work / "d").mkdir()
    (work / "d" / "f").write_text("f\n")
    (work.parent / "elsewhere").mkdir()
    (work.parent / "elsewhere" / "f").write_text("private\n")
    git(work, "add", "d")
    assert changed_by(work, "rm -r d; ln -s ../elsewhere d") == {"d", "d/f"}


def test_a_name_that_git_refuses_is_declared(work: Path) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        (work / ".Git").mkdir()
        (work / ".Git" / "evil").write_text("evil\n")
        (work / "git~1").write_text("evil\n")
        stream = repo.patch(before, taken(repo.after()))
        patch = b"".join(stream)
    assert b"b/git~1" in patch
    assert [(item.path, item.reason) for item in stream.unpatched] == [(".Git/evil", "name_refused_by_git")]


@pytest.mark.parametrize(
    "victim", [".git/HEAD", ".git/index", ".git/info/exclude", ".git/config", ".git/packed-refs"]
)
def test_a_pipe_in_place_of_a_git_file_does_not_hang_us(
    work: Path, victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TIMEOUT_SECONDS", 60.0)  # for a hang, and not for a slow machine
    with watch(work) as repo:
        before = taken(repo.before())
        (work / victim).unlink(missing_ok=True)
        os.mkfifo(work / victim)
        (work / "file.txt").write_text("evil\n")
        changes = {change.path for change in repo.changes(before, taken(repo.after()))}
    assert changes == {"file.txt"}


def test_a_pipe_that_git_itself_waits_on_ends_at_the_deadline(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watch(work) as repo:
        taken(repo.before())
        monkeypatch.setattr(process, "TIMEOUT_SECONDS", 0.5)
        os.mkfifo(work / ".gitignore")
        result = repo.after()
    assert isinstance(result, Skip)
    assert result.reason == "GIT_TIMEOUT"


def test_a_repository_of_another_user_is_read(work: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a repository away")
    for path in [work, *work.rglob("*")]:
        os.lchown(path, 12345, 12345)
    (work / "file.txt").write_text("two\n")
    with watch(work) as repo:
        assert taken(repo.before()).status == b" M file.txt\n"
