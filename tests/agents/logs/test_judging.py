"""After the agent: what fails is told as a step that failed, and never raised."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.contracts.agent_audit.completion import Rules
from steno.contracts.agent_audit.streams import Chunks
from steno.evidence import kinds
from steno.evidence.kinds import AgentStep
from steno.evidence.layers import Layers
from steno.launch.attempt import AfterRun, Step, Steps, judged
from steno.launch.run_dirs import PreparedRun, prepare_run
from steno.launch.snapshot import Masking, ScannedFiles, SnapshotProgress
from steno.launch.strace_chain import RecordedStreams
from support.spools import MemoryLayers, numbered, start

RUN_ID = "2026-01-25T12-00-00-000Z_00000001"


class NoStreams(RecordedStreams):
    def rebuild(self, layers: Layers) -> Chunks:
        raise OSError(f"the trace of {layers.run_id} is gone")


@pytest.fixture
def prepared(tmp_path: Path) -> Iterator[PreparedRun]:
    with prepare_run(tmp_path, "codex", None, now=datetime(2026, 1, 25, tzinfo=UTC)) as prepared:
        yield prepared


def after(judging: AfterRun, folder: Path) -> list[AgentStep]:
    with Folder(folder) as spool:
        told = list(judging.after(FolderLayers(spool, RUN_ID)))
    return [event for event in told if isinstance(event, AgentStep)]


def judging_of(prepared: PreparedRun) -> AfterRun:
    steps = Steps()
    for step in Step:
        if step < Step.STREAMS:
            steps.did(step, "well")
    look, masking = SnapshotProgress(lambda _: None), Masking({}, [])
    return AfterRun(prepared, steps, ScannedFiles({}), Rules(), NoStreams(), look, masking)


def test_a_step_that_fails_is_told_and_noted_and_the_others_are_done(
    prepared: PreparedRun, tmp_path: Path
) -> None:
    (prepared.run_dir / "made").write_text("made\n")
    judging = judging_of(prepared)
    told = after(judging, tmp_path)
    assert [step.number for step in told] == [8, 9, 10, 11]
    assert told[0].detail == f"failed: the trace of {RUN_ID} is gone"
    assert told[2].detail == "1 file: 1 created, 0 modified, 0 deleted"
    assert judging.completion is None  # there are no events to tell how the process ended
    assert len(judging.notes) == 2
    assert prepared.audit.parts == ("fs-after", "fs-diff")


def test_a_snapshot_that_cannot_be_kept_is_not_named_in_meta(prepared: PreparedRun, tmp_path: Path) -> None:
    prepared.audit_dir.rmdir()
    prepared.audit_dir.write_text("forged")
    judging = judging_of(prepared)
    after(judging, tmp_path)
    assert prepared.audit.parts == ()
    assert "is not a directory" in judging.notes[-1]


def test_an_agent_that_was_not_started_is_not_judged() -> None:
    events = [start(), kinds.CommandNotStarted(errno=8, message="Exec format error")]
    layers = cast("FolderLayers", MemoryLayers(numbered(events), {}))
    assert judged(layers, RecordedStreams(), Rules()) is None
