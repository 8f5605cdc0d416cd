"""What `show --json` has beyond the summary: what is derived of the evidence, unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steno.evidence import canonical
from steno.views.show import summary, told_files
from support.reading import opened, sealed
from support.run_builder import RunBuilder


def told(run: Path) -> dict[str, Any]:
    with opened(run) as found:
        return told_files(found)


def test_each_file_is_told_as_the_evidence_gives_it(tmp_path: Path) -> None:
    with opened(sealed(RunBuilder().process("sh").wrote(b"/\xff"), tmp_path)) as found:
        derived, shown = found.documents, told_files(found)
        for name, data in shown.items():
            assert data == canonical.decode(b"".join(derived.read(name)))
    assert {"processes.json", "files.json", "calls.json"} < shown.keys()


def test_no_derived_json_file_is_out_of_reach(tmp_path: Path) -> None:
    run = sealed(RunBuilder().process("sh"), tmp_path)
    with opened(run) as found:
        derived = {name for name in found.documents.names if name.endswith(".json")}
        shown = summary(found, run)
    under_own_names = {
        "run.json": "run",
        "observation-health.json": "health",
        "redaction-report.json": "redactions",
    }
    assert derived <= {*told(run), *under_own_names}
    assert set(under_own_names.values()) <= shown.keys()


def test_without_a_kernel_layer_its_files_are_not_made_up(tmp_path: Path) -> None:
    assert told(sealed(RunBuilder(observer="none"), tmp_path)).keys() == {
        "calls.json",
        "capability-surface.json",
        "correlation-report.json",
    }


def test_a_run_that_is_not_sealed_has_none(tmp_path: Path) -> None:
    assert told(RunBuilder().process("sh").spool(tmp_path)) == {}
