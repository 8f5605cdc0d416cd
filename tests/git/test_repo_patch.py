"""The patch of a run, applied to the state before it, gives the state after it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from steno.capture.git.shadow import ShadowRepo
from support.watched import git, taken, watch

pytestmark = pytest.mark.usefixtures("clean_git")

if TYPE_CHECKING:
    from pathlib import Path

SECRET = b"hunter2-is-the-password"
NAMES = [
    b"plain",
    b"with space",
    b'quote"d',
    b"new\nline",
    b"latin-\xe9",
    b"tab\there",
    b"dir/inner",
    b"dir/deeper/x",
    b"back\\slash",
    "snow-\u2603".encode(),
    b"-dash",
    b"dir/ -> arrow",
]
CONTENTS = [
    b"",
    b"one\n",
    b"no newline at end",
    b"crlf\r\nlines\r\n",
    b"mixed\r\nends\n",
    b"\0binary\xff\xfe" * 40,
    b"latin \xe9\n",
    b"".join(b"line %d\n" % number for number in range(200)),
    b"diff --git a/x b/x\n--- a/x\n+++ b/x\n",
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "file").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def files_of(root: Path) -> dict[bytes, tuple[str, bytes]]:
    """Return what git keeps of a work tree: contents, links and the executable bit."""
    found: dict[bytes, tuple[str, bytes]] = {}
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        if relative.parts[0] == ".git":
            continue
        if path.is_symlink():
            found[bytes(relative)] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[bytes(relative)] = ("x" if path.stat().st_mode & 0o100 else "-", path.read_bytes())
    return found


def remove_empty_directories(root: Path) -> None:
    """Forget what git does not keep, so that it is not in the way of a file."""
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()


class Editor:
    """Changes a work tree at random, the way people and agents do."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)

    def path(self) -> Path:
        return self.root / os.fsdecode(self.random.choice(NAMES))

    def plain_file(self) -> Path | None:
        path = self.path()
        return path if path.is_file() and not path.is_symlink() else None

    def clear(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.is_symlink() or path.exists():
            path.unlink()

    def make_room(self, path: Path) -> None:
        for parent in [*path.parents][::-1]:
            if parent.is_relative_to(self.root) and (parent.is_symlink() or not parent.is_dir()):
                self.clear(parent)
                parent.mkdir()
        self.clear(path)

    def write(self) -> None:
        path = self.path()
        self.make_room(path)
        path.write_bytes(self.random.choice(CONTENTS) * self.random.choice((1, 1, 2)))

    def edit_one_line(self) -> None:
        path = self.plain_file()
        if path is not None:
            lines = path.read_bytes().split(b"\n")
            lines[self.random.randrange(len(lines))] = b"edited"
            path.write_bytes(b"\n".join(lines))

    def delete(self) -> None:
        self.clear(self.path())

    def link(self) -> None:
        path = self.path()
        self.make_room(path)
        path.symlink_to(os.fsdecode(self.random.choice(NAMES)))

    def change_mode(self) -> None:
        path = self.plain_file()
        if path is not None:
            path.chmod(self.random.choice((0o644, 0o755)))

    def rename(self) -> None:
        source, target = self.plain_file(), self.path()
        if source is not None and source != target:
            self.make_room(target)
            source.rename(target)

    def file_for_directory(self) -> None:
        self.clear(self.root / "dir")
        (self.root / "dir").write_bytes(b"was a directory\n")

    def use_git(self) -> None:
        commands = [
            ("add", "-A"),
            ("commit", "-qam", "by the run"),
            ("reset", "-q"),
            ("checkout", "-q", "-f", "HEAD~1"),
            ("stash", "-u"),
            ("checkout", "-q", "main"),
            ("reset", "--hard", "-q"),
            ("gc", "-q"),
        ]
        git(self.root, *self.random.choice(commands), check=False)

    def work(self, steps: int) -> None:
        moves = [
            *(self.write, self.write, self.write, self.edit_one_line, self.edit_one_line, self.delete),
            *(self.link, self.change_mode, self.rename, self.file_for_directory, self.use_git),
        ]
        for _ in range(steps):
            self.random.choice(moves)()


def check_round_trip(work: Path, seed: int) -> None:
    editor = Editor(work, seed)
    editor.work(12)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "base", check=False)
    editor.work(8)
    copy = work.parent / "copy"
    with watch(work) as repo:
        before = taken(repo.before())
        shutil.copytree(work, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        remove_empty_directories(copy)
        editor.work(10)
        after = taken(repo.after())
        stream = repo.patch(before, after)
        patch = b"".join(stream)
        listed = {os.fsencode(change.path) for change in repo.changes(before, after)}
    assert stream.failure is None, stream.failure
    assert not patch or patch.endswith(b"\n")
    was, now = files_of(copy), files_of(work)
    assert listed == {path for path in {*was, *now} if was.get(path) != now.get(path)}
    if patch:
        applied = subprocess.run(
            ["git", "apply", "-"], cwd=copy, input=patch, capture_output=True, check=False
        )
        assert applied.returncode == 0, (seed, applied.stderr, patch)
    assert files_of(copy) == now


@pytest.mark.parametrize("seed", range(40))
def test_random_runs_can_be_replayed_from_their_patch(work: Path, seed: int) -> None:
    check_round_trip(work, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_random_runs_can_be_replayed_from_their_patch(work: Path, seed: int) -> None:
    check_round_trip(work, seed)


def test_commits_checkouts_and_resets_of_the_run_do_not_disturb_the_patch(work: Path) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "file").write_text("two\n")
        git(work, "commit", "-qam", "second")
        git(work, "checkout", "-q", "--detach")
        (work / "file").write_text("three\n")
        after = taken(repo.after())
        patch = b"".join(repo.patch(before, after))
        uncommitted = b"".join(repo.worktree_patch(after))
    assert before.head != after.head
    assert b"-one\n+three\n" in patch
    assert b"-two\n+three\n" in uncommitted


def test_a_commit_without_an_edit_is_no_change(work: Path) -> None:
    (work / "file").write_text("two\n")
    with watch(work) as repo:
        before = taken(repo.before())
        git(work, "commit", "-qam", "second")
        after = taken(repo.after())
        assert repo.changes(before, after) == []
        assert b"".join(repo.patch(before, after)) == b""
        assert b"".join(repo.worktree_patch(after)) == b""


def test_a_type_change_is_named(work: Path) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "file").unlink()
        (work / "file").symlink_to("elsewhere")
        changes = repo.changes(before, taken(repo.after()))
    assert [(change.path, change.status) for change in changes] == [("file", "T")]


def test_a_directory_that_became_a_link_loses_its_files(work: Path) -> None:
    (work / "d").mkdir()
    (work / "d" / "f").write_text("f\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "d")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "d").rename(work / "e")
        (work / "d").symlink_to("e")
        changes = repo.changes(before, taken(repo.after()))
    assert [(change.path, change.status) for change in changes] == [("d", "A"), ("d/f", "D"), ("e/f", "A")]


@pytest.mark.parametrize(
    "content",
    [
        b"\0\1\2" + SECRET,
        SECRET.decode().encode("utf-16"),
        b"\0" * (1 << 20) + b"x" * 17 + SECRET + b"\0" * 100,
        b"\0" * ((1 << 20) - 5) + SECRET,
    ],
)
def test_a_binary_file_with_a_secret_is_withheld(work: Path, content: bytes) -> None:
    (work / "clean.bin").write_bytes(b"\0clean")
    with watch(work, finder=lambda data: SECRET in data) as repo:
        before = taken(repo.before())
        (work / "secret.bin").write_bytes(content)
        (work / "clean.bin").write_bytes(b"\0still clean")
        after = taken(repo.after())
        stream = repo.patch(before, after)
        patch = b"".join(stream)
        changes = repo.changes(before, after)
    assert stream.withheld == ("secret.bin",)
    assert [(change.path, change.binary, change.withheld) for change in changes] == [
        ("clean.bin", True, False),
        ("secret.bin", True, True),
    ]
    assert patch.count(b"GIT binary patch") == 1
    assert b"secret.bin" not in patch  # a stanza without content would make git refuse the whole patch


def test_a_text_file_leaves_no_hash_of_its_content_in_the_patch(work: Path) -> None:
    (work / "kept.txt").write_text("index 0123456789abcdef..0123456789abcdef 100644\n")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / ".env").write_text("password=tr0ub4dor\n")
        (work / "kept.txt").write_text("another line\n")
        patch = b"".join(repo.patch(before, taken(repo.after())))
        hashed = git(work, "hash-object", ".env").strip()
    assert hashed not in patch
    assert b"\nindex " not in patch
    assert b"\n-index 0123456789abcdef..0123456789abcdef 100644\n" in patch


def test_a_secret_in_the_old_side_of_a_binary_file_is_withheld_too(work: Path) -> None:
    (work / "secret.bin").write_bytes(b"\0" + SECRET)
    with watch(work, finder=lambda data: SECRET in data) as repo:
        before = taken(repo.before())
        (work / "secret.bin").unlink()
        stream = repo.patch(before, taken(repo.after()))
        assert b"secret.bin" not in b"".join(stream)
        assert stream.withheld == ("secret.bin",)
        assert repo.worktree_patch(before).withheld == ("secret.bin",)


def test_text_marked_as_binary_is_shown_as_text_so_that_it_can_be_redacted(work: Path) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        (work / ".gitattributes").write_text("* binary\n")
        (work / "note.txt").write_text("plain words\n")
        patch = b"".join(repo.patch(before, taken(repo.after())))
    assert b"+plain words\n" in patch


class Answer(bytes):
    """What git said; counts what is copied out of it."""

    copied = 0

    def __getitem__(self, place: Any) -> Any:
        found = bytes(self)[place]
        Answer.copied += 1 if isinstance(found, int) else len(found)
        return Answer(found) if isinstance(found, bytes) else found

    def partition(self, sep: Any) -> tuple[bytes, bytes, bytes]:
        before, sep, after = bytes(self).partition(sep)
        Answer.copied += len(before) + len(after)
        return Answer(before), sep, Answer(after)


def test_contents_that_git_tells_are_copied_once_however_many_there_are(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, whole = ShadowRepo._run, []  # noqa: SLF001

    def run(shadow: ShadowRepo, args: Any, *rest: Any) -> bytes:
        output = real(shadow, args, *rest)
        if args[0] != "cat-file":
            return output
        whole.append(len(output))
        return Answer(output)

    (work / ".gitattributes").write_text("*.txt text\n")
    for number in range(50):
        (work / f"{number}.txt").write_text(f"{number}\n" * 1000)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "many")
    monkeypatch.setattr(ShadowRepo, "_run", run)
    with watch(work) as repo:
        before = taken(repo.before())
        for number in range(50):
            (work / f"{number}.txt").write_text("changed\n")
        patch = b"".join(repo.patch(before, taken(repo.after())))
    assert patch.count(b"+changed\n") == 50
    assert 50_000 < sum(whole) <= Answer.copied + 50_000 < 3 * sum(whole) + 50_000


@pytest.mark.parametrize("attributes", ["* text=auto\n", "*.txt text eol=crlf\n", ""])
@pytest.mark.parametrize("autocrlf", ["false", "true", "input"])
def test_line_ends_are_converted_as_git_does(work: Path, attributes: str, autocrlf: str) -> None:
    (work / "old.txt").write_bytes(b"kept\r\nas it is\r\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "crlf in the repository")
    git(work, "config", "core.autocrlf", autocrlf)
    (work / ".gitattributes").write_text(attributes)
    git(work, "add", ".gitattributes")
    git(work, "commit", "-qm", "attributes")
    (work / "new.txt").write_bytes(b"n\r\n")
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "old.txt").write_bytes(b"kept\r\nas it was\r\n")
        after = taken(repo.after())
        changes = {change.path: (change.added, change.deleted) for change in repo.changes(before, after)}
    git(work, "add", "-A")
    assert after.tree == git(work, "write-tree").decode().strip()
    if not attributes.startswith("*.txt"):
        assert changes == {"old.txt": (1, 1)}


def test_a_patch_of_many_megabytes_comes_in_small_chunks(work: Path) -> None:
    with watch(work) as repo:
        before = taken(repo.before())
        (work / "big").write_bytes(b"0123456789abcde\n" * (1 << 19))
        sizes = [len(chunk) for chunk in repo.patch(before, taken(repo.after()))]
    assert sum(sizes) > 8 << 20
    assert max(sizes) <= 1 << 16
