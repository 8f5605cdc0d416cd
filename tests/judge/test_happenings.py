"""What whoever watches a run is told of, and what not."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

import pytest

from steno.judge.activity import FILE, Happening, Row, Teller, gathered, shortened

WRITE = os.O_WRONLY | os.O_CREAT


def row(op: str, path: bytes | None = b"/w/a", **changed: Any) -> Row:
    fields: dict[str, Any] = {
        "mono_ns": 1,
        "process": 1,
        "op": op,
        "path": path,
        "resolved": path,
        "extra": None,
        "result": 0,
        "notes": 0,
        "arg": 0,
        "exists": True,
        "mode": stat.S_IFREG | 0o644,
    }
    return Row(**(fields | changed))


def told(*rows: Row) -> list[Happening]:
    teller = Teller()
    return [one for each in rows if (one := teller.tell(each)) is not None]


def words(*rows: Row) -> list[str]:
    return [f"{one.word} {one.subject}{' ' if one.detail else ''}{one.detail}" for one in told(*rows)]


def exec_row(*argv: bytes, **changed: Any) -> Row:
    extra = b"".join(word + b"\0" for word in argv)
    return row("exec", b"/usr/bin/" + argv[0], **({"extra": extra, "arg": len(argv)} | changed))


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (row("open", arg=WRITE, exists=False, mode=0), "created /w/a"),
        (row("open", arg=WRITE), "written /w/a"),
        (row("unlink"), "deleted /w/a"),
        (row("rename", extra=b"/w/b"), "renamed /w/a -> /w/b"),
        (row("chmod"), "changed /w/a chmod"),
        (row("mkdir", exists=False, mode=0), "created /w/a"),
        (row("connect", b"inet:10.0.0.1:443", result=None), "connects to inet:10.0.0.1:443"),
        (row("connect", b"inet:10.0.0.1:443", result=-errno.EINPROGRESS), "connects to inet:10.0.0.1:443"),
        (
            row("connect", b"inet:10.0.0.1:1", result=-errno.ECONNREFUSED),
            "connect fails inet:10.0.0.1:1 ECONNREFUSED",
        ),
        (row("answer", b"example.org", extra=b"10.0.0.1"), "resolves example.org 10.0.0.1"),
        (exec_row(b"sh", b"-c", b"a b"), "started sh -c 'a b'"),
        (row("exit", None, arg=3 << 8), "ended with 3"),
        (row("exit", None, arg=9), "ended by SIGKILL"),
    ],
)
def test_what_changes_something_is_told_in_words(seen: Row, says: str) -> None:
    assert words(seen) == [says]


@pytest.mark.parametrize(
    "seen",
    [
        row("open"),
        row("stat"),
        row("open", arg=WRITE, result=-errno.EACCES),
        row("unlink", result=-errno.ENOENT),
        row("open", b"/dev/null", arg=WRITE, mode=stat.S_IFCHR | 0o666),
        row("connect", None),
        exec_row(b"sh", result=-errno.ENOENT),
        exec_row(b"sh", result=None, exists=False),
    ],
)
def test_looks_reads_devices_and_failures_are_not_told(seen: Row) -> None:
    assert told(seen) == []


def test_a_happening_names_the_program_that_its_process_runs() -> None:
    (_, written) = told(exec_row(b"ed", process=4), row("open", arg=WRITE, process=4))
    assert (written.process, written.program) == (4, "ed")


def test_a_copy_of_a_process_is_what_its_parent_is_until_it_runs_something_itself() -> None:
    born = row("process", None, process=2, arg=7 | 1 << 32)
    found = told(
        exec_row(b"sh"), born, row("unlink", process=2), exec_row(b"rm", process=2), row("unlink", process=2)
    )
    assert [one.program for one in found if one.what == FILE] == ["sh", "rm"]


def test_a_copy_that_ends_well_is_not_worth_a_word_and_one_that_fails_is() -> None:
    born = row("process", None, process=2, arg=7 | 1 << 32)
    assert words(exec_row(b"sh"), born, row("exit", None, process=2)) == ["started sh"]
    assert words(exec_row(b"sh"), born, row("exit", None, process=2, arg=256)) == [
        "started sh",
        "ended with 1",
    ]


def test_an_end_that_is_not_zero_is_bad() -> None:
    assert [
        one.bad for one in told(row("exit", None), row("exit", None, arg=256), row("exit", None, arg=9))
    ] == [
        False,
        True,
        True,
    ]


def test_an_endless_command_is_cut_and_its_length_is_told() -> None:
    (found,) = told(exec_row(*[b"x" * 9000] * 100))
    assert len(found.subject) < 5000
    assert len(found.facts["argv"]) == 64
    assert shortened("a" * 5000).endswith("a…")


def test_the_memory_of_programs_is_bounded() -> None:
    teller = Teller()
    for process in range(1, 10_000):
        teller.tell(exec_row(b"sh", process=process))
        teller.tell(row("process", None, process=100_000 + process, arg=process << 32))
    assert len(teller._programs) <= 4096  # noqa: SLF001 - what must not grow
    assert len(teller._copies) <= 4096  # noqa: SLF001 - the same


def test_what_is_done_again_and_again_is_told_once_with_how_often() -> None:
    again = gathered(told(*[row("open", arg=WRITE)] * 3, row("unlink"), row("open", arg=WRITE, process=2)))
    assert [(one.word, one.process, one.times) for one in again] == [
        ("written", 1, 3),
        ("deleted", 1, 1),
        ("written", 2, 1),
    ]


def test_what_programs_tell_the_recorder_is_no_change_of_a_file() -> None:
    teller = Teller(["/dev/shm/intake"])
    assert teller.tell(row("open", b"/dev/shm/intake/hooks", arg=WRITE)) is None
    assert teller.tell(row("open", b"/dev/shm/intake2", arg=WRITE)) is not None


def test_starts_and_ends_are_never_gathered() -> None:
    assert len(gathered(told(*[exec_row(b"true"), row("exit", None)] * 2))) == 4


def test_a_name_that_is_not_utf8_is_text_all_the_same() -> None:
    (found,) = told(row("unlink", b"/w/\xff\x1b"))
    assert found.subject == "/w/\\xff\x1b"
    assert found.to_json()["subject"] == found.subject


def test_empty_fields_are_not_in_the_json() -> None:
    (found,) = told(row("unlink", process=0))
    assert found.to_json() == {
        "at_ns": 1,
        "what": "file",
        "word": "deleted",
        "subject": "/w/a",
        "bad": False,
        "times": 1,
    }
