"""What became of files between two snapshots."""

from __future__ import annotations

import hashlib
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.contracts.agent_audit.changes import Diff, FileState, diff, spelled

_NAMES = st.binary(min_size=1, max_size=20).map(lambda name: name.replace(b"\0", b"x"))
_TRICKY = st.text("\\x5cf0é/", min_size=1, max_size=12).map(str.encode)


def name_of(words: str) -> bytes:
    """The bytes of a name that was spelled."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), words.encode())


def content(data: bytes, mtime_ms: int = 0) -> FileState:
    return FileState(size=len(data), mtime_ms=mtime_ms, sha256=hashlib.sha256(data).hexdigest())


def unread(size: int = 1) -> FileState:
    return FileState(size=size, mtime_ms=0, sha256=None, error="EACCES")


def test_created_modified_and_deleted_are_told_apart_and_sorted() -> None:
    before = {"b": content(b"1"), "a": content(b"1"), "gone": content(b"1"), "same": content(b"1")}
    after = {
        "z": content(b"1"),
        "y": content(b"1"),
        "b": content(b"2"),
        "a": content(b"22"),
        "same": content(b"1"),
    }
    assert diff(before, after) == Diff(created=["y", "z"], modified=["a", "b"], deleted=["gone"])


def test_a_file_that_was_only_touched_is_not_modified() -> None:
    assert diff({"a": content(b"1", 1)}, {"a": content(b"1", 2)}) == Diff([], [], [])


def test_what_could_not_be_read_is_never_called_unchanged() -> None:
    assert diff({"a": unread()}, {"a": content(b"1")}).unreadable == ["a"]
    assert diff({"a": content(b"1")}, {"a": unread()}).unreadable == ["a"]


def test_another_size_is_another_content_even_unread() -> None:
    assert diff({"a": unread(1)}, {"a": content(b"22")}).modified == ["a"]


def test_what_was_below_a_directory_that_could_not_be_looked_into_is_not_called_created_or_deleted() -> None:
    files = {"d/a": content(b"1"), "e": content(b"1")}
    assert diff({"d/": unread()}, files) == Diff(["e"], [], [], ["d/", "d/a"])
    assert diff(files, {"d/": unread()}) == Diff([], [], ["e"], ["d/", "d/a"])


def test_the_file_has_three_keys_and_a_fourth_only_when_there_is_need() -> None:
    assert msgspec.to_builtins(Diff(["a"], [], [])) == {"created": ["a"], "modified": [], "deleted": []}
    assert msgspec.to_builtins(content(b"")).keys() == {"size", "mtimeMs", "sha256"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (b"plain/caf\xc3\xa9", "plain/café"),
        (b"\xff", r"\xff"),
        (rb"\xff", r"\x5cxff"),
        (rb"back\slash", r"back\slash"),
        (b"\xed\xa0\x80", r"\xed\xa0\x80"),
    ],
)
def test_bytes_that_are_not_utf8_are_spelled(name: bytes, words: str) -> None:
    assert spelled(name.decode("utf-8", "surrogateescape")) == words


@given(st.one_of(_NAMES, _TRICKY))
def test_no_two_names_are_spelled_alike(name: bytes) -> None:
    words = spelled(name.decode("utf-8", "surrogateescape"))
    assert name_of(words) == name
    words.encode()
