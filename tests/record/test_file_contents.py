"""Which content of a file is kept, from where, under which key, and why none is; and which of what is kept is
concluded to be the one before, and the one after."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from steno.bundle.blobs import BlobWriter, open_blobs
from steno.bundle.folder import Folder
from steno.bundle.frames import KeptContent, Touched
from steno.capture.git.classify import GitClass, Repository
from steno.capture.paths import Contents, Directories, FileState, FinalState, recorded_paths
from steno.evidence import wire
from steno.evidence.ignore_rules import IgnoreRules
from steno.judge import contents as judged
from steno.judge.contents import KEPT, Identity, Look
from steno.record import contents
from steno.record.contents import ContentKeeper, without_blobs
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.looks import state_of, touched
from support.sought import assert_nowhere
from support.waiting import until

KEY = bytes(32)
LARGEST = 1000
CLEAN = GitClass(Repository(b"/", "a" * 40, dirty=False), b"file", tracked=True, dirty=False, ignored=False)
DIRTY = CLEAN._replace(dirty=True)


class Content(NamedTuple):
    """What is concluded of a content: its key, or why there is none; of the one after, whether it is the one
    before."""

    blob: str | None = None
    why: str | None = None
    is_as_before: bool | None = None


NOTHING, LOST = Content(), Content(why="unknown")
_WORDS = {number: name for name, number in wire.CONTENT.items()}


class Done(NamedTuple):
    """The first look at a path, and what the run did to it."""

    state: wire.State | None
    operations: frozenset[str]

    @property
    def touched(self) -> Touched:
        return touched(self.state, *self.operations)


def look(state: wire.State | None, *operations: str) -> Done:
    return Done(state, frozenset(operations))


def first_look(path: Path, *operations: str) -> Done:
    return look(state_of(path), *operations)


class KeptByHelper:
    """What the frames hold: blob 1."""

    content: bytes | OSError = b""

    def blob(self, number: int) -> Iterator[bytes]:
        assert number == 1
        if isinstance(self.content, OSError):
            raise self.content
        yield self.content[:2]
        yield self.content[2:]


class Keeping:
    """A file, a keeper, and what came of them."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "file"
        self.helper = KeptByHelper()
        self.findings = Findings()
        self.folder = directory / "bundle"
        self.folder.mkdir()
        self.lost = 0

    def keep(
        self, before: Done, git: GitClass | None = None, *, looked: bool = True
    ) -> tuple[Content, Content]:
        path = os.fsencode(self.path)
        found = recorded_paths({path: before.touched}, IgnoreRules(()), Path("/no/store"), looked=looked)[
            path
        ]
        return self.keep_as(before, found, git)

    def keep_as(
        self,
        before: Done,
        found: FinalState,
        git: GitClass | None = None,
        others: dict[bytes, FinalState] | None = None,
    ) -> tuple[Content, Content]:
        path = os.fsencode(self.path)
        ends: dict[Identity, str] = {}
        with Folder(self.folder) as folder, Directories() as directories:
            writer = BlobWriter(folder, KEY)
            redactor = Redactor(findings=self.findings, literals=[b"value-of-this-run"])
            contents = Contents(directories, LARGEST)
            keeper = ContentKeeper(writer, self.helper, contents, redactor, self.findings, largest=LARGEST)
            if before.state is not None and before.state.blob:
                keeper.keep_looks({1: KeptContent(before.state, [path])}, [path], lambda _: "/file")
            kept = keeper.keep(path, "/file", before.touched, found, git)
            for other, last in (others or {}).items():
                key = keeper.keep(other, "/other", before.touched, last, None).blob
                if key is not None and last.state is not None:
                    ends[_look(last.state).identity] = key
            self.lost = keeper.lost
            writer.close()
        first = None if before.state is None else _look(before.state, keeper.keys.get(before.state.blob))
        end = judged.End(
            None if found.state is None else _look(found.state),
            judged.Content(kept.blob, kept.why or None),
            known=found.known,
        )
        chosen = judged.contents(first, end, before.operations, ends)
        return Content(*chosen.before), Content(*chosen.after, chosen.same_content)

    def blobs(self) -> dict[str, bytes | None]:
        with Folder(self.folder) as folder, open_blobs(folder) as blobs:
            return dict(blobs.contents([KEY]))

    @property
    def has_blobs(self) -> bool:
        return any(self.folder.iterdir())


def _look(state: wire.State | FileState, blob: str | None = None) -> Look:
    content = _WORDS[state.content] if isinstance(state, wire.State) else "not_kept"
    assert (blob is None) or content == KEPT
    return Look(*state[:9], content=content, blob=blob)


@pytest.fixture
def keeping(tmp_path: Path) -> Keeping:
    return Keeping(Path(os.path.realpath(tmp_path)))


def test_a_file_only_read_has_one_content_before_and_after(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"content")
    same = Content("before:/file")
    assert keeping.keep(first_look(keeping.path, "read")) == (same, same)
    assert keeping.blobs() == {"before:/file": b"content"}


def test_a_program_that_was_run_is_a_file_that_was_read(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"#!/bin/sh")
    assert keeping.keep(first_look(keeping.path, "execute", "read"))[0].blob == "before:/file"


def test_a_file_only_asked_about_needs_no_content(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"content")
    assert keeping.keep(first_look(keeping.path, "existence")) == (NOTHING, NOTHING)
    assert not keeping.has_blobs


def test_a_clean_tracked_file_only_read_needs_no_content(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"content")
    why = Content(why="clean_git")
    assert keeping.keep(first_look(keeping.path, "read"), CLEAN) == (why, why)
    assert not keeping.has_blobs


@pytest.mark.parametrize(
    "git", [DIRTY, CLEAN._replace(tracked=False), CLEAN._replace(tracked=False, ignored=True), None]
)
def test_a_dirty_untracked_or_ignored_file_that_is_read_is_copied(
    keeping: Keeping, git: GitClass | None
) -> None:
    keeping.path.write_bytes(b"content")
    assert keeping.keep(first_look(keeping.path, "read"), git)[0].blob == "before:/file"


def test_a_clean_tracked_file_that_is_written_has_its_content_after(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    keeping.helper.content = b"old"
    before = look(state_of(keeping.path, blob=1, content="kept"), "write")
    keeping.path.write_bytes(b"new")
    other = Content("after:/file", is_as_before=False)
    assert keeping.keep(before, CLEAN) == (Content("before:/file"), other)
    assert keeping.blobs() == {"before:/file": b"old", "after:/file": b"new"}


def test_a_file_opened_for_writing_and_left_alone_has_its_content_after(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"same")
    keeping.helper.content = b"same"
    before = look(state_of(keeping.path, blob=1, content="kept"), "write")
    same = Content("before:/file", is_as_before=True)
    assert keeping.keep(before) == (Content("before:/file"), same)
    assert keeping.blobs() == {"before:/file": b"same"}


def test_a_file_whose_inode_shows_no_change_is_as_before_although_its_content_was_not_kept(
    keeping: Keeping,
) -> None:
    keeping.path.write_bytes(b"same")
    before = first_look(keeping.path, "write")
    assert keeping.keep(before) == (LOST, Content("after:/file", is_as_before=True))
    keeping.path.write_bytes(bytes(LARGEST + 1))
    before = first_look(keeping.path, "write")
    assert keeping.keep(before)[1] == Content(why="too_large", is_as_before=True)


def test_of_a_file_that_was_written_and_has_its_time_back_nobody_knows_whether_it_is_as_before(
    keeping: Keeping,
) -> None:
    keeping.path.write_bytes(b"same")
    before = first_look(keeping.path, "write", "metadata")
    was = before.state
    assert was is not None
    found = keeping.keep_as(before, FinalState(FileState(*was[:4], was.ctime_ns + 1, *was[5:9])))
    assert found[1].is_as_before is None


@pytest.mark.parametrize(("content", "is_same"), [(b"two", False), (b"one", True)])
def test_a_file_that_took_the_place_of_one_of_its_size_and_time_is_compared_with_it(
    keeping: Keeping, content: bytes, *, is_same: bool
) -> None:
    """Directories changed their names: what was in them has the times that it had."""
    old, new = (keeping.path.parent / name / "file" for name in ("old", "new"))
    for path, holds in ((old, b"one"), (new, content)):
        path.parent.mkdir()
        path.write_bytes(holds)
        os.utime(path, ns=(5, 5))
    before = first_look(old, "write", "delete")
    keeping.path = old
    aside = old.parent.with_name("aside")
    old.parent.rename(aside)
    new.parent.rename(old.parent)
    paths = (old, aside / "file")
    ends = recorded_paths(
        {os.fsencode(path): before.touched for path in paths}, IgnoreRules(()), Path("/no/store")
    )
    kept = keeping.keep_as(before, ends[os.fsencode(old)], others=ends)
    assert kept[1] == Content("after:/file", is_as_before=is_same)


def test_a_new_file_has_only_a_content_after(keeping: Keeping) -> None:
    before = first_look(keeping.path, "write")
    keeping.path.write_bytes(b"new")
    assert keeping.keep(before) == (NOTHING, Content("after:/file"))


def test_a_deleted_file_has_only_a_content_before(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    keeping.helper.content = b"old"
    before = look(state_of(keeping.path, blob=1, content="kept"), "delete")
    keeping.path.unlink()
    assert keeping.keep(before) == (Content("before:/file"), NOTHING)


def test_a_directory_that_became_a_file_has_a_content_after(keeping: Keeping) -> None:
    keeping.path.mkdir()
    before = first_look(keeping.path, "delete", "write", "directory")
    keeping.path.rmdir()
    keeping.path.write_bytes(b"new")
    assert keeping.keep(before) == (NOTHING, Content("after:/file"))


def test_a_file_that_somebody_else_changed_since_it_was_read_is_raced(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    before = first_look(keeping.path, "read")
    keeping.path.write_bytes(b"other")
    assert keeping.keep(before) == (Content(why="raced"), Content("after:/file"))


def test_a_file_that_somebody_else_removed_since_it_was_read_is_raced(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    before = first_look(keeping.path, "read")
    keeping.path.unlink()
    assert keeping.keep(before) == (Content(why="raced"), NOTHING)


def test_a_rewrite_with_the_old_time_put_back_is_raced(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    before = first_look(keeping.path, "read")
    was = before.state
    assert was is not None

    def rewritten_later() -> bool:
        """Within one tick of the file system's clock the time of the change is the old one, too."""
        keeping.path.write_bytes(b"new")
        os.utime(keeping.path, ns=(was.mtime_ns, was.mtime_ns))
        return keeping.path.stat().st_ctime_ns != was.ctime_ns

    until(rewritten_later)
    assert keeping.keep(before)[0] == Content(why="raced")


def test_a_file_that_others_changed_and_the_run_only_asked_about_needs_no_content(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    before = first_look(keeping.path, "existence")
    keeping.path.write_bytes(b"longer")
    assert keeping.keep(before) == (NOTHING, NOTHING)


def test_a_change_of_mode_needs_no_second_copy(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"content")
    keeping.helper.content = b"content"
    before = look(state_of(keeping.path, blob=1, content="kept"), "metadata")
    keeping.path.chmod(0o600)
    same = Content("before:/file")
    assert keeping.keep(before) == (same, same)


def test_a_file_read_and_then_made_private_is_still_known(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"content")
    before = first_look(keeping.path, "read", "metadata")
    keeping.path.chmod(0o600)
    assert keeping.keep(before)[0].blob == "before:/file"


def test_a_large_file_is_told_and_not_copied(keeping: Keeping) -> None:
    keeping.path.write_bytes(bytes(LARGEST + 1))
    why = Content(why="too_large")
    assert keeping.keep(first_look(keeping.path, "read")) == (why, why)
    assert keeping.keep(look(None, "write")) == (NOTHING, why)


@pytest.mark.parametrize("why", ["too_large", "unreadable", "changing", "ignored"])
def test_why_the_helper_kept_nothing_is_told(keeping: Keeping, why: str) -> None:
    keeping.path.write_bytes(b"old")
    before = look(state_of(keeping.path, content=why), "write")
    keeping.path.write_bytes(b"new")
    assert keeping.keep(before) == (Content(why=why), Content("after:/file"))


def test_a_changed_file_of_which_the_helper_says_nothing_is_unknown(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    before = first_look(keeping.path, "write")
    keeping.path.write_bytes(b"newer")
    assert keeping.keep(before)[0] == LOST


@pytest.mark.parametrize(
    "content", [b"ol", b"old and more", OSError(5, "gone")], ids=["cut", "longer", "unreadable"]
)
def test_a_kept_content_that_is_not_whole_is_lost(keeping: Keeping, content: bytes | OSError) -> None:
    keeping.path.write_bytes(b"old")
    keeping.helper.content = content
    assert keeping.keep(look(state_of(keeping.path, blob=1, content="kept"), "delete"))[0] == LOST
    assert keeping.lost == 1


def test_when_it_is_too_late_only_what_the_helper_kept_is_there(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"old")
    keeping.helper.content = b"old"
    kept = keeping.keep(look(state_of(keeping.path, blob=1, content="kept"), "write"), looked=False)
    assert kept == (Content("before:/file"), NOTHING)
    assert keeping.keep(first_look(keeping.path, "read"), looked=False) == (LOST, NOTHING)


def test_a_file_that_changes_while_it_is_copied_has_a_content_and_a_mark(keeping: Keeping) -> None:
    keeping.path.write_bytes(b"line\n")
    path = os.fsencode(keeping.path)
    before = look(None, "write")
    found = recorded_paths({path: before.touched}, IgnoreRules(()), Path("/no/store"))[path]
    keeping.path.write_bytes(b"line\nmore\n")
    assert keeping.keep_as(before, found) == (NOTHING, Content("after:/file", "changing"))
    assert keeping.blobs() == {"after:/file": b"line\n"}


@pytest.mark.parametrize("content", [b"key is value-of-this-run", b"password = 'korrektePferdBatterie9'\n"])
def test_a_content_with_a_secret_is_encrypted_and_counted(keeping: Keeping, content: bytes) -> None:
    keeping.path.write_bytes(content)
    keeping.keep(first_look(keeping.path, "read"))
    assert keeping.blobs() == {"before:/file": content}
    assert_nowhere([content], keeping.folder / "blobs.parquet")
    with Folder(keeping.folder) as folder, open_blobs(folder) as blobs:
        assert blobs.is_encrypted("before:/file")
    told = keeping.findings.snapshot()
    assert told["redacted_fields"] == ["blobs:/file"]
    assert told["counts"] == {"encrypted-blob": 1}


def test_when_the_disk_takes_no_blob_no_key_is_told() -> None:
    kept = {
        b"/a": contents.Content(why="too_large"),
        b"/b": contents.Content("after:/b", "changing"),
        b"/c": contents.NOTHING,
    }
    lost = {b"/a": kept[b"/a"], b"/b": contents.LOST, b"/c": contents.NOTHING}
    assert without_blobs(kept) == lost
