"""The rows of assay-runner's matrix that have neither policy nor SDK; the others stand with S4 and S5."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from steno.bundle.verify import Status
from steno.evidence import layout
from support.assay_archives import Measure, exported, taken_apart, verdict_of
from support.making import FINISHED, HOST, make_run, start
from support.observers import PROBING, strongest, working

SMALLEST_RING = {"STENO_RING_BYTES": "4096"}
FLOOD = "i=0; while [ $i -lt 3000 ]; do [ -e /nowhere/$i ]; i=$((i+1)); done"


def test_matrix_raw_file_and_process_run_is_complete_with_a_stable_capability_set(
    measure: Measure, tmp_path: Path
) -> None:
    (tmp_path / "read").write_text("x")
    runs = [measure(strongest(), "cat", str(tmp_path / "read"), cwd=tmp_path) for _ in range(2)]
    assert {run.health["kernel_layer"] for run in runs} == {"complete"}
    assert (
        {run.health["policy_layer"] for run in runs}
        == {run.health["sdk_layer"] for run in runs}
        == {"absent"}
    )
    first, second = ({**run.surface, "run_id": ""} for run in runs)
    assert first == second


def test_matrix_raw_run_on_non_linux_is_a_valid_degraded_bundle(tmp_path: Path) -> None:
    host = msgspec.structs.replace(HOST, os="Darwin", platform="darwin")
    run = make_run(tmp_path / "store", start(host=host), *FINISHED)
    archive = exported(run, tmp_path)
    assert b'"kernel_layer":"absent"' in taken_apart(archive)[layout.HEALTH]
    assert verdict_of(archive).status is Status.INCOMPLETE


@pytest.mark.skipif(not working(PROBING), reason="there is no probe here, so there is no ring buffer")
def test_matrix_ringbuf_pressure_is_a_visible_health_warning(measure: Measure) -> None:
    measured = measure("ebpf", "sh", "-c", FLOOD, env=SMALLEST_RING)
    assert measured.health["ringbuf_drops"] > 0
    assert measured.health["kernel_layer"] == "partial_ringbuf_drops"
    assert measured.status == "incomplete"
