"""The register: every number once, and what is believed of an attempt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.bundle.folder import Folder
from steno.contracts.agent_audit.meta import Meta
from steno.errors import StoreError
from steno.launch.file_lock import take
from steno.launch.registry import (
    AttemptState,
    Entry,
    attempts,
    keep,
    numbers,
    open_register,
    read_entry,
    registered_runs,
    reserve,
)
from support.attempts_made import RUN_ID, known, meta

NOW = datetime(2026, 1, 25, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def register(tmp_path: Path) -> Iterator[Folder]:
    with open_register(tmp_path, RUN_ID, make=True) as folder:
        yield folder


def kept(register: Folder, number: int = 1, made: Meta | None = None) -> Entry:
    entry = Entry(reserved_at="2026-01-25T12:00:00Z", known=known(number), meta=made, files={"a": "0" * 64})
    keep(register, entry)
    return entry


def test_what_is_kept_is_read_back_and_the_last_word_counts(register: Folder, tmp_path: Path) -> None:
    kept(register)
    entry = kept(register, 1, meta())
    assert read_entry(register, 1) == entry
    assert register.names() == ["1.json"]
    assert registered_runs(tmp_path) == [RUN_ID]


def test_a_directory_whose_name_is_not_utf8_can_be_told_of(register: Folder) -> None:
    keep(register, Entry(reserved_at="", known=known(run_directory="/d\udcff")))
    assert read_entry(register, 1).known.run_directory == r"/d\xff"


def test_a_number_is_one_more_than_any_and_none_that_is_taken(register: Folder) -> None:
    assert reserve(register, known(), NOW, ()).known.attempt == 1
    assert reserve(register, known(), NOW, {2, 3, 7}).known.attempt == 4
    assert numbers(register) == [1, 4]


def test_a_number_that_somebody_took_meanwhile_is_passed_over(
    register: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(register)
    monkeypatch.setattr("steno.launch.registry.numbers", lambda _: [])
    assert reserve(register, known(), NOW, ()).known.attempt == 2
    assert read_entry(register, 1).files


@pytest.mark.parametrize("left", [".2.json.0123456789abcdef", "x.json", "01.json", "2.json.lock", "٣.json"])
def test_a_file_that_is_no_entry_counts_for_nothing(register: Folder, tmp_path: Path, left: str) -> None:
    kept(register)
    Path(register.path, left).write_bytes(b"")
    assert numbers(register) == [1]
    assert len(attempts(tmp_path, RUN_ID)) == 1


def test_an_entry_that_cannot_be_written_is_an_error_with_a_hint(register: Folder) -> None:
    Path(register.path, "1.json").mkdir()
    with pytest.raises(StoreError, match=r"cannot write .*1\.json"):
        kept(register)


CHANGES: list[Callable[[dict[str, Any]], object]] = [
    lambda told: told.pop("reservedAt"),
    lambda told: told.update(extra=1),
    lambda told: told.update(schemaVersion=2),
    lambda told: told["known"].update(attempt=2),
    lambda told: told["known"].update(runId="20260125T120000-codex-00000000"),
    lambda told: told["meta"].update(attempt={"number": 2}),
    lambda told: told["meta"]["protocol"]["completion"].update(state="splendid"),
    lambda told: told["meta"]["runtime"].update(traceSource="guess"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_an_entry_that_is_not_what_it_should_be_is_damaged_and_others_are_not(
    register: Folder, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    entry = kept(register, 1, meta())
    told = msgspec.to_builtins(entry)
    change(told)
    Path(register.path, "1.json").write_text(json.dumps(told))
    kept(register, 2, meta(2))
    first, second = attempts(tmp_path, RUN_ID)
    assert (first.state, first.meta, second.state) == (AttemptState.DAMAGED, None, AttemptState.FINISHED)
    assert first.problem is not None
    assert "1.json cannot be read" in first.problem


@given(data=st.one_of(st.binary(max_size=40), st.just(b"[" * 100_000)))
def test_any_bytes_are_refused_without_a_fall(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("root")
    with open_register(root, RUN_ID, make=True) as register:
        Path(register.path, "1.json").write_bytes(data)
    assert [record.state for record in attempts(root, RUN_ID)] == [AttemptState.DAMAGED]


def test_the_last_attempt_runs_while_its_register_is_held(register: Folder, tmp_path: Path) -> None:
    kept(register, 1, meta())
    kept(register, 2)
    kept(register, 3)
    take(register.fd, seconds=0)
    assert [str(record.state) for record in attempts(tmp_path, RUN_ID)] == ["finished", "crashed", "running"]
    register.close()
    assert attempts(tmp_path, RUN_ID)[2].state is AttemptState.CRASHED


def test_a_run_that_was_never_registered_has_no_attempts(tmp_path: Path) -> None:
    assert attempts(tmp_path, RUN_ID) == []
    assert registered_runs(tmp_path) == []


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "metadata").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotADirectoryError), open_register(tmp_path, RUN_ID, make=True):
        pass
    assert not list((tmp_path / "elsewhere").iterdir())
