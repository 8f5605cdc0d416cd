"""The indexes: made from the register, one entry an attempt, never lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from steno.agents.stream import Session
from steno.errors import StoreError
from steno.launch.finish import write_indexes
from steno.launch.registry import Entry, keep, open_register
from support.attempts_made import RUN_ID, known, meta

OTHER = "20260126T120000-codex-00000002"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path


def attempt(root: Path, number: int = 1, run_id: str = RUN_ID, session: str | None = None) -> None:
    told = Session("thread_id", session, "stdout") if session else Session()
    made = meta(number, run_id, session=told)
    with open_register(root, run_id, make=True) as register:
        keep(register, Entry(reserved_at="", known=known(number, run_id), meta=made))
    write_indexes(root)


def indexed(root: Path) -> list[dict[str, Any]]:
    told = json.loads((root / "runs" / "index.json").read_bytes())
    assert told["schemaVersion"] == 1
    return told["attempts"]  # type: ignore[no-any-return]


def handles(root: Path) -> list[tuple[str, int, str]]:
    told = json.loads((root / "metadata" / "interactive-handles.json").read_bytes())
    assert told["schemaVersion"] == 1
    return [(one["handle"], one["attempt"], one["session"]["value"]) for one in told["handles"]]


def test_every_attempt_that_ended_has_an_entry(root: Path) -> None:
    attempt(root, 2)
    attempt(root, 1)
    attempt(root, 1, OTHER)
    with open_register(root, OTHER) as register:
        keep(register, Entry(reserved_at="", known=known(2, OTHER)))  # it runs, or crashed
        Path(register.path, "3.json").write_bytes(b"{")
    write_indexes(root)
    found = indexed(root)
    assert [(one["runId"], one["attempt"]) for one in found] == [(RUN_ID, 1), (RUN_ID, 2), (OTHER, 1)]
    assert found[0]["metaPath"] == f"runs/{RUN_ID}/.audit/meta.1.json"
    assert (found[0]["state"], found[0]["reasonCode"]) == ("completed", "DONE_MARKER_FOUND")


def test_the_last_session_of_a_run_is_its_handle(root: Path) -> None:
    attempt(root, 1, session="s1")
    attempt(root, 2, session="s2")
    attempt(root, 3)
    attempt(root, 1, OTHER)
    assert handles(root) == [("0123abcd", 2, "s2")]


def test_an_index_that_was_damaged_or_forged_is_right_after_the_next_attempt(root: Path) -> None:
    attempt(root, 1, session="s1")
    (root / "runs" / "index.json").write_text("{")
    (root / "metadata" / "interactive-handles.json").unlink()
    attempt(root, 2)
    assert len(indexed(root)) == 2
    assert handles(root) == [("0123abcd", 1, "s1")]


def test_an_index_that_cannot_be_written_is_an_error_with_a_hint(root: Path) -> None:
    (root / "runs" / "index.json").mkdir()
    with pytest.raises(StoreError, match="indexes") as caught:
        attempt(root)
    assert "kept" in caught.value.hint


@pytest.mark.process
def test_many_processes_at_once_lose_no_entry(root: Path) -> None:
    with open_register(root, RUN_ID, make=True):
        pass
    children = []
    for number in range(1, 9):
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                attempt(root, number, session=f"s{number}")
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    assert {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children} == {0}
    assert [one["attempt"] for one in indexed(root)] == list(range(1, 9))
