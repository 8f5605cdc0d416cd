"""Attempts whose recorder was killed: what they would have left, from what was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from steno.agents.catalog import Catalogue
from steno.bundle.folder import Folder
from steno.errors import BadRequestError, RunNotFoundError
from steno.evidence import kinds, layout
from steno.launch.audit_files import AuditFiles
from steno.launch.finish import keep_meta
from steno.launch.recover import can_be_finished, finish_crashed
from steno.launch.registry import AttemptState, attempts, keep, open_register, read_entry
from steno.launch.run_dirs import PreparedRun, prepare_run
from steno.launch.status import attempt_left, one_run
from steno.record.recover import recover_run
from support.making import RUN_ID, make_run, start

NOW = datetime(2026, 1, 25, 12, tzinfo=UTC)
SESSION = b'{"type":"thread.started","thread_id":"t-1"}\n'
STEP = kinds.AgentStep(number=1, name="arguments", detail="start codex")
CATALOGUE = Catalogue.load({})


@pytest.fixture
def crashed(tmp_path: Path) -> PreparedRun:
    """It was launched, and has a snapshot of the files before; then everybody was killed."""
    with prepare_run(tmp_path, "codex", None, now=NOW) as prepared:
        prepared.audit.write_json("fs-before", {})
        prepared.keep(
            known=msgspec.structs.replace(
                prepared.entry.known, home="isolated", selector="0123abcd", rules={"parser": "codex"}
            ),
            store=str(tmp_path / "store"),
            record=RUN_ID,
            files=prepared.audit.files,
        )
    return prepared


def recorded(root: Path, *events: kinds.EventData) -> Path:
    tapes = [(layout.STDOUT, 1, SESSION), (layout.STDERR, 2, b"oh\n")]
    return make_run(root / "store", start("codex", "exec", "hi"), STEP, *events, tapes=tapes, sealed=False)


def finish(root: Path, run: PreparedRun) -> list[str]:
    return finish_crashed(root, run.name.run_id, CATALOGUE)


def files(run: PreparedRun) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.audit_dir.iterdir()}


STARTED = kinds.CommandStarted(pid=7)


@pytest.mark.parametrize("recovered", [False, True], ids=["as it was left", "after steno recover"])
def test_an_attempt_that_was_killed_gets_its_files_and_is_interrupted(
    tmp_path: Path, crashed: PreparedRun, recovered: bool
) -> None:
    path = recorded(tmp_path, STARTED)
    if recovered:
        recover_run(path)
    assert finish(tmp_path, crashed) == []
    found = files(crashed)
    meta = json.loads(found["meta.1.json"])
    assert found["stdout.1.log"] == SESSION
    assert found["stderr.1.log"] == b"oh\n"
    assert {f".audit/{name}" for name in found} == {name for name in meta["auditFiles"].values() if name}
    assert (meta["auditFiles"]["fsBefore"], meta["auditFiles"]["fsAfter"]) == (
        ".audit/fs-before.1.json",
        None,
    )
    assert (meta["started"], meta["success"], meta["exitCode"]) == (True, False, None)
    assert meta["protocol"]["completion"]["state"] == "interrupted"
    assert meta["interactive"]["session"]["value"] == "t-1"
    assert (meta["reuse"]["selector"], meta["steno"]["home"]) == ("0123abcd", "isolated")
    assert (meta["steno"]["runId"], meta["steno"]["complete"]) == (RUN_ID, False)
    assert [step["name"] for step in meta["steno"]["steps"]] == ["arguments"]
    (entry,) = json.loads((tmp_path / "runs" / "index.json").read_bytes())["attempts"]
    assert entry["state"] == "interrupted"
    run = one_run(tmp_path, crashed.name.run_id)
    assert (run["attempts"][0]["state"], "notOurs" in run) == ("finished", False)


def test_a_second_time_changes_nothing(tmp_path: Path, crashed: PreparedRun) -> None:
    recorded(tmp_path, STARTED)
    finish(tmp_path, crashed)
    before = files(crashed)
    assert finish(tmp_path, crashed) == []
    assert files(crashed) == before


def test_files_that_the_crash_left_whole_or_half_written_are_kept(
    tmp_path: Path, crashed: PreparedRun
) -> None:
    recorded(tmp_path, STARTED)
    half = ".stderr.1.log.0123456789abcdef"
    left = {"stdout.1.log": SESSION, half: b"o", "stdin.1.log": b"forged"}
    for name, content in left.items():
        (crashed.audit_dir / name).write_bytes(content)
    (note,) = finish(tmp_path, crashed)
    found = files(crashed)
    aside = next(name for name in found if name.startswith("stdin.1.log.found-"))
    assert aside in note
    assert (found[half], found["stdout.1.log"], found[aside]) == (b"o", SESSION, b"forged")
    assert found["stdin.1.log"] != b"forged"
    (attempt,) = one_run(tmp_path, crashed.name.run_id)["attempts"]
    assert (attempt["halfWritten"], "changed" in attempt) == ([half], False)


def test_an_attempt_that_never_began_to_record_stays_as_it_is(tmp_path: Path, crashed: PreparedRun) -> None:
    before = files(crashed)
    assert finish(tmp_path, crashed) == []
    assert files(crashed) == before
    assert one_run(tmp_path, crashed.name.run_id)["attempts"][0]["state"] == "crashed"


def test_an_agent_that_was_not_started_yet_is_not_judged(tmp_path: Path, crashed: PreparedRun) -> None:
    recorded(tmp_path)
    assert finish(tmp_path, crashed) == []
    (record,) = attempts(tmp_path, crashed.name.run_id)
    assert record.meta is not None
    assert (record.meta.started, record.meta.protocol.completion) == (False, None)


def test_an_agent_that_nobody_describes_any_more_gets_its_files_too(
    tmp_path: Path, crashed: PreparedRun
) -> None:
    recorded(tmp_path, STARTED)
    assert finish_crashed(tmp_path, crashed.name.run_id, Catalogue({}, {})) == []
    meta = json.loads(files(crashed)["meta.1.json"])
    assert meta["interactive"]["session"]["value"] == "t-1"
    assert meta["auditFiles"]["stdout"] == ".audit/stdout.1.log"


def test_a_recording_that_cannot_be_read_is_told(tmp_path: Path, crashed: PreparedRun) -> None:
    (tmp_path / "store" / RUN_ID).mkdir(parents=True)
    (note,) = finish(tmp_path, crashed)
    assert "neither a manifest nor a spool" in note
    assert one_run(tmp_path, crashed.name.run_id)["attempts"][0]["state"] == "crashed"


@pytest.fixture
def again(tmp_path: Path, crashed: PreparedRun) -> Iterator[PreparedRun]:
    with prepare_run(tmp_path, "codex", crashed.name.run_id, now=NOW) as prepared:
        yield prepared


def test_while_an_attempt_runs_nothing_is_touched(tmp_path: Path, again: PreparedRun) -> None:
    recorded(tmp_path, STARTED)
    before = files(again)
    assert finish(tmp_path, again) == []
    assert files(again) == before


def test_a_meta_file_that_is_gone_is_written_again(tmp_path: Path, crashed: PreparedRun) -> None:
    recorded(tmp_path, STARTED)
    finish(tmp_path, crashed)
    before = files(crashed)
    (crashed.audit_dir / "meta.1.json").unlink()
    finish(tmp_path, crashed)
    assert files(crashed) == before


# --- what could not be written when the attempt ended ------------------------------------------------


@pytest.fixture
def full(tmp_path: Path, crashed: PreparedRun) -> Iterator[PreparedRun]:
    """It is finished, and `.audit` is a place that takes nothing, as a full disk would be."""
    recorded(tmp_path, STARTED)
    crashed.audit_dir.rename(tmp_path / "kept")
    crashed.audit_dir.write_text("")
    yield crashed
    assert attempts(tmp_path, crashed.name.run_id)[0].state is AttemptState.FINISHED


def give_room(root: Path, run: PreparedRun) -> None:
    run.audit_dir.unlink()
    (root / "kept").rename(run.audit_dir)


def test_streams_that_could_not_be_written_are_missing_until_there_is_room(
    tmp_path: Path, full: PreparedRun
) -> None:
    (note,) = finish(tmp_path, full)
    assert "stdout.1.log, stderr.1.log, pty-output.1.log" in note
    (again,) = finish(tmp_path, full)
    assert again == note
    give_room(tmp_path, full)
    (attempt,) = one_run(tmp_path, full.name.run_id)["attempts"]
    assert {"stdout.1.log", "fd-trace.1.log", "meta.1.json"} < set(attempt["missing"])
    assert "judgedAgain" not in attempt
    with pytest.raises(BadRequestError, match=r"stdout\.1\.log, stderr\.1\.log could not be written"):
        attempt_left(tmp_path, full.name.run_id, None)
    assert finish(tmp_path, full) == []
    found = files(full)
    meta = json.loads(found["meta.1.json"])
    assert (found["stdout.1.log"], meta["auditFiles"]["stdout"]) == (SESSION, ".audit/stdout.1.log")
    (attempt,) = one_run(tmp_path, full.name.run_id)["attempts"]
    assert {"missing", "changed"} & attempt.keys() == set()
    assert attempt_left(tmp_path, full.name.run_id, None).stdout == SESSION
    assert finish(tmp_path, full) == []
    assert files(full) == found


def test_a_meta_file_that_told_of_the_lack_is_replaced_and_the_streams_of_strace_stay_missing(
    tmp_path: Path, full: PreparedRun
) -> None:
    finish(tmp_path, full)
    give_room(tmp_path, full)
    (record,) = attempts(tmp_path, full.name.run_id)
    assert record.meta is not None
    traced = msgspec.structs.replace(
        record.meta, runtime=msgspec.structs.replace(record.meta.runtime, trace_source="strace")
    )
    for meta in (traced, record.meta):
        with open_register(tmp_path, full.name.run_id) as kept:
            prepared = PreparedRun(full.name, full.run, kept, read_entry(kept, 1))
            with Folder(full.run_dir) as run:
                prepared.audit = AuditFiles(run, 1, prepared.entry.files, prepared.entry.unwritten)
                keep_meta(tmp_path, prepared, meta)
        assert finish(tmp_path, full) == []
        assert ("stdout.1.log" in files(full)) == (meta is record.meta)
    assert [name for name in files(full) if ".found-" in name] == []


def test_a_run_whose_directory_is_gone_is_left_alone_and_is_whole_again_when_it_is_back(
    tmp_path: Path, crashed: PreparedRun
) -> None:
    recorded(tmp_path, STARTED)
    crashed.run_dir.rename(tmp_path / "moved")
    assert finish(tmp_path, crashed) == []
    (tmp_path / "moved").rename(crashed.run_dir)
    assert finish(tmp_path, crashed) == []
    assert files(crashed)["stdout.1.log"] == SESSION


def test_a_word_that_names_no_run_is_an_error(tmp_path: Path, crashed: PreparedRun) -> None:
    with pytest.raises(RunNotFoundError):
        finish_crashed(tmp_path, "00000000", CATALOGUE)
    assert crashed.audit_dir.exists()


def test_that_something_can_be_finished_is_told_without_writing(tmp_path: Path, crashed: PreparedRun) -> None:
    recorded(tmp_path)
    before = files(crashed)
    assert can_be_finished(tmp_path, crashed.name.run_id)
    assert files(crashed) == before
    assert (tmp_path / "store" / RUN_ID / "spool").is_dir()
    assert finish(tmp_path, crashed) == []
    assert not can_be_finished(tmp_path, crashed.name.run_id)


def test_rules_of_a_newer_steno_are_noted_and_not_guessed(tmp_path: Path, crashed: PreparedRun) -> None:
    recorded(tmp_path)
    with open_register(tmp_path, crashed.name.run_id) as kept:
        entry = read_entry(kept, 1)
        known = msgspec.structs.replace(entry.known, rules={"parser": "codex", "fromTomorrow": 1})
        keep(kept, msgspec.structs.replace(entry, known=known))
    (note,) = finish(tmp_path, crashed)
    assert "rules that this version does not know" in note
