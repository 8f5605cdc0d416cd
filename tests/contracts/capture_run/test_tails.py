"""capture-run: what is hashed, and the last bytes of a stream, never half a character at the front."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.bundle.store import RunState
from steno.contracts.capture_run import environment, hashes, tail
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import EventData
from steno.judge.facts import RunFacts
from steno.model.record import Record
from steno.model.run import Run
from support.documents import documents
from support.spools import FINISH, ON_TERMINAL, START, MemoryLayers, numbered, recording, start, tape_files

AFTER = kinds.RepoSnapshotAfter(root="/work", head="b" * 40, changed=1)


def run_of(*data: EventData, files: Mapping[str, bytes] | None = None) -> Run:
    layers: Any = MemoryLayers(numbered(data), files, 4096)
    nothing: Any = None  # there is no folder
    run = Run(nullcontext(nothing))
    run.record = Record(nothing, RunState.SEALED, layers, RunFacts.of(layers), None, documents(layers))
    return run


def tail_of(data: bytes, limit: int, tape: str = layout.STDOUT) -> bytes:
    return tail(run_of(start(tail_bytes=limit), files=tape_files(tape, [(1, data)])), tape)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_one_large_chunk_gives_its_end_and_not_nothing() -> None:
    data = b"".join(b"%09d\n" % number for number in range(1000))
    assert tail_of(data, 4000) == data[-4000:]


def test_a_stream_shorter_than_the_limit_is_its_own_tail() -> None:
    assert tail_of(b"short", 4000) == b"short"
    assert tail_of(b"", 4000) == b""
    assert tail_of(b"exact", 5) == b"exact"


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_gives_nothing(limit: int) -> None:
    assert tail_of(b"text", limit) == b""


@pytest.mark.parametrize(
    ("limit", "expected"), [(1, ""), (2, ""), (3, "\u20ac"), (4, "\u20ac"), (6, "\u20ac\u20ac")]
)
def test_a_cut_inside_a_character_drops_the_rest_of_it(limit: int, expected: str) -> None:
    assert tail_of("\u20ac\u20ac\u20ac".encode(), limit).decode() == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.integers(1, 60))
def test_the_tail_of_text_is_text_and_at_most_three_bytes_short(text: str, limit: int) -> None:
    data = text.encode()
    found = tail_of(data, limit)
    assert data.endswith(found)
    assert text.endswith(found.decode())
    assert min(limit, len(data)) - 3 <= len(found) <= limit


def test_no_more_than_three_bytes_are_dropped_from_what_is_not_text() -> None:
    assert tail_of(b"\x80" * 100, 10) == b"\x80" * 7


def test_a_stream_that_begins_with_half_a_character_keeps_it() -> None:
    assert tail_of(b"\x80abc", 4) == b"\x80abc"


def test_on_a_merged_terminal_stdout_is_the_output_and_stderr_is_empty() -> None:
    run = run_of(start(terminal=ON_TERMINAL), files=tape_files(layout.OUTPUT, [(1, b"both")]))
    assert tail(run, layout.STDOUT) == b"both"
    assert tail(run, layout.STDERR) == b""


def test_on_a_split_terminal_stdout_is_its_own_though_nothing_was_written_to_it() -> None:
    terminal = recording(ON_TERMINAL, layout.STDOUT, layout.STDERR, layout.OUTPUT)
    files = {**tape_files(layout.OUTPUT, [(1, b"no\r\n")]), **tape_files(layout.STDERR, [(1, b"no\n")])}
    run = run_of(start(terminal=terminal), files=files)
    assert tail(run, layout.STDOUT) == b""
    assert tail(run, layout.STDERR) == b"no\n"


def test_hashes_are_of_the_tails_the_environment_and_the_patch() -> None:
    files = {
        **tape_files(layout.STDOUT, [(1, b"x" * 5000)]),
        **tape_files(layout.STDERR, [(1, b"errors")]),
        layout.DIFF: b"a patch",
    }
    run = run_of(start(tail_bytes=10), AFTER, FINISH, files=files)
    assert hashes(run) == {
        "stdout_tail_hash": sha256(b"x" * 10),
        "stderr_tail_hash": sha256(b"errors"),
        "env_hash": sha256(canonical.encode(environment(run))),
        "repo_diff_hash": sha256(b"a patch"),
    }


def test_where_nothing_was_compared_there_is_no_hash_of_a_patch() -> None:
    only_after = kinds.RepoSnapshotAfter(root="/work", head="b" * 40)
    for run in (run_of(START, FINISH), run_of(START, only_after, FINISH)):
        assert "repo_diff_hash" not in hashes(run)


def test_where_nothing_changed_it_is_the_hash_of_an_empty_patch() -> None:
    unchanged = kinds.RepoSnapshotAfter(root="/work", head="a" * 40, changed=0)
    assert hashes(run_of(START, unchanged, FINISH))["repo_diff_hash"] == sha256(b"")


def test_the_environment_holds_facts_and_no_path_but_the_directory() -> None:
    found = environment(run_of(START, kinds.ToolVersions({"git": "2.39", "node": "v22"}), FINISH))
    assert found["host"] == {"os": "Linux", "platform": "linux", "node": "v22"}
    assert set(found) == {
        "run_id", "started_at_ms", "finished_at_ms", "cwd", "cmd", "exit_code", "git_enabled", "host",
        "tool_versions", "streams",
    }  # fmt: skip
