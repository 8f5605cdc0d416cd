"""The patch of a run's changes: git understands it, and nothing is shown that must not be."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from steno.errors import UnreadableBundleError
from steno.evidence import layout
from steno.views import file_diff
from support.frames_made import Found
from support.program import SECONDS
from support.reading import opened, sealed
from support.run_builder import DIRECTORY, LINK, UNKNOWN, Content, RunBuilder, State

SECRET = b"password=correct-horse-battery-staple\n"
HERE = Found(mode=DIRECTORY)


def run() -> RunBuilder:
    return RunBuilder().process("sh")


def patch(path: Path) -> bytes:
    with opened(path) as run, run.contents() as contents:
        return b"".join(line for one in run.files for line in file_diff.diff(one, contents))


def patch_of(store: Path, before: bytes, after: bytes, path: str | bytes = "/w/f") -> bytes:
    return patch(sealed(run().wrote(path, after, before=before), store))


def test_a_change_is_a_patch_in_gits_form(tmp_path: Path) -> None:
    assert patch_of(tmp_path, b"a\nb\nc\n", b"a\nB\nc\n") == (
        b"diff --git a/w/f b/w/f\n--- a/w/f\n+++ b/w/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
    )


def test_a_missing_newline_at_the_end_is_told(tmp_path: Path) -> None:
    found = patch_of(tmp_path, b"a\r\nb", b"a\r\nb\n")
    assert found.endswith(b"@@ -1,2 +1,2 @@\n a\r\n-b\n\\ No newline at end of file\n+b\n")


def test_a_new_and_a_deleted_file_are_whole(tmp_path: Path) -> None:
    builder = run().wrote("/w/new", Content(b"n\n", like=Found(mode=0o100755))).deleted("/w/old", b"o\n")
    assert patch(sealed(builder.wrote("/w/empty", b""), tmp_path)) == (
        b"diff --git a/w/empty b/w/empty\nnew file mode 100644\n"
        b"diff --git a/w/new b/w/new\nnew file mode 100755\n--- /dev/null\n+++ b/w/new\n@@ -0,0 +1 @@\n+n\n"
        b"diff --git a/w/old b/w/old\ndeleted file mode 100644\n"
        b"--- a/w/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-o\n"
    )


def test_modes_and_links_are_told(tmp_path: Path) -> None:
    builder = (
        run()
        .changed_mode("/w/x", 0o755)
        .call("utimes", "/w/t", state=Found(size=5), result=0)
        .left("/w/t", Found(size=5, mtime_ns=1))
        .call("unlink", "/w/l", state=Found(mode=LINK, size=1, target="a"), result=0)
        .call("symlink", "/w/l", state=None, extra="b", result=0)
        .left("/w/l", Found(mode=LINK, size=1, target="b"))
    )
    found = patch(sealed(builder, tmp_path))
    assert b"diff --git a/w/x b/w/x\nold mode 100644\nnew mode 100755\n" in found
    assert b"# /w/t: the content and the mode are as they were\n" in found
    assert b"-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n" in found


def test_a_directory_is_told_of_when_it_came_went_or_has_another_mode(tmp_path: Path) -> None:
    builder = (
        run()
        .listed("/w/same")
        .left("/w/same", HERE._replace(mtime_ns=1))
        .made_directory("/w/new")
        .changed_mode("/w/mode", 0o700, HERE)
    )
    assert patch(sealed(builder, tmp_path)) == (
        b"# /w/mode: directory before, directory after\n# /w/new: nothing before, directory after\n"
    )


def test_a_binary_file_is_named_not_shown(tmp_path: Path) -> None:
    found = patch_of(tmp_path, b"a\0b", b"a\0c")
    assert found.endswith(b"Binary files a/w/f and b/w/f differ\n")


def test_a_secret_is_not_shown_and_that_is_said(tmp_path: Path) -> None:
    builder = run().wrote("/w/.env", Content(SECRET, secret=True), before=b"old\n")
    found = patch(sealed(builder, tmp_path))
    assert found == b"# /w/.env: modified, not shown: its content holds a secret and is kept encrypted\n"


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (Content(b"12345", kept="too_large"), b"it was too large to be kept"),
        (Content(b"12345", kept="raced"), b"it changed before it could be read"),
        (Found(size=5), b"its content was not kept"),
        (Content(bytes(file_diff.LARGEST + 1)), b"bytes are too many to compare"),
        (UNKNOWN, b"its state after the run is not known"),
        (HERE, b"nothing before, directory after"),
    ],
)
def test_what_cannot_be_shown_is_said(tmp_path: Path, after: State, says: bytes) -> None:
    found = patch(sealed(run().wrote("/w/f", after), tmp_path))
    assert found.startswith(b"# /w/f: ")
    assert says in found


def test_a_content_that_the_record_names_and_does_not_have_was_not_kept(tmp_path: Path) -> None:
    builder = run().wrote("/w/g").wrote("/w/f", Found(size=5), after_blob="after:nothing-like-this")
    assert b"# /w/f: created, not shown: its content was not kept\n" in patch(builder.seal(tmp_path))


@pytest.mark.parametrize("name", [b"/w/two words", b"/w/caf\xe9", b'/w/a"b\\c\n\x1b', "/w/ü".encode()])
def test_names_are_written_as_git_reads_them(tmp_path: Path, name: bytes) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / os.fsdecode(name[1:])).write_bytes(b"one\ntwo\n")
    text = patch_of(tmp_path / "store", b"one\ntwo\n", b"one\nthree\n", name)
    assert b"\x1b" not in text
    subprocess.run(["git", "apply"], input=text, cwd=tmp_path, check=True, timeout=SECONDS)
    assert (tmp_path / os.fsdecode(name[1:])).read_bytes() == b"one\nthree\n"


@pytest.mark.parametrize("seed", range(20))
def test_git_makes_the_new_content_of_the_old_one(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    words = [b"a\n", b"b\n", b"\n", b"long line\r\n", b"c\rd\n", b"+x\n", b"-- y\n", b"\x0c\n"]
    before = b"".join(dice.choices(words, k=dice.randrange(60))) + dice.choice([b"", b"end"])
    lines = before.splitlines(keepends=True)
    for _ in range(dice.randrange(1, 6)):
        place = dice.randrange(len(lines) + 1)
        lines[place : place + dice.randrange(3)] = dice.choices(words, k=dice.randrange(3))
    after = b"".join(lines) or b"x\n"
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "f").write_bytes(before)
    text = patch_of(tmp_path / "store", before or b"", after)
    if before != after:
        subprocess.run(["git", "apply"], input=text, cwd=tmp_path, check=True, timeout=SECONDS)
        assert (tmp_path / "w" / "f").read_bytes() == after


def test_two_contents_that_share_nothing_are_not_compared_for_ever(tmp_path: Path) -> None:
    dice = random.Random(1)
    before, after = (b"".join(b"%d\n" % dice.randrange(300) for _ in range(200_000)) for _ in "ab")
    began = time.process_time()
    found = patch_of(tmp_path, before, after)
    assert found.count(b"\n-") + found.count(b"\n+") > 399_000
    assert time.process_time() - began < 20


def test_blobs_that_cannot_be_read_are_an_error_of_the_bundle(tmp_path: Path) -> None:
    path = run().wrote("/w/f").seal(tmp_path)
    (path / layout.BLOBS).write_bytes(b"PAR1 garbage PAR1")
    with (
        opened(path) as found,
        pytest.raises(UnreadableBundleError),
        found.contents(),
    ):
        pass
