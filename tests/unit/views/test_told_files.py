"""What `show --json` has beyond the summary: the derived files, unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernel_bundles import file, kernel_run, process
from making import FINISHED, make_run, start
from steno.bundle.folder import Folder
from steno.derive.catalogue import derivations
from steno.errors import UnreadableBundleError
from steno.views.record import open_record
from steno.views.summary import summary
from steno.views.told_files import told_files


def told(run: Path) -> dict[str, Any]:
    with Folder(run) as folder, open_record(folder) as record:
        return told_files(record)


def test_each_file_is_told_as_the_bundle_has_it(tmp_path: Path) -> None:
    files = [file(b"/\xff", "created")]
    run = kernel_run(tmp_path, start(), *FINISHED, processes=[process(1, "sh")], files=files)
    found = told(run)
    assert {"processes.json", "files.json", "calls.json"} < found.keys()
    for name, data in found.items():
        assert data == json.loads((run / name).read_bytes())


def test_no_derived_json_file_is_out_of_reach(tmp_path: Path) -> None:
    run = kernel_run(tmp_path, start(), *FINISHED)
    with Folder(run) as folder, open_record(folder) as record:
        derived = {name for name in derivations(record.layers) if name.endswith(".json")}
        shown = summary(record, run)
    under_own_names = {
        "run.json": "run",
        "observation-health.json": "health",
        "redaction-report.json": "redactions",
        "hashes.json": "hashes",
    }
    assert derived <= {*told(run), *under_own_names}
    assert set(under_own_names.values()) <= shown.keys()


def test_without_a_kernel_layer_its_files_are_not_made_up(tmp_path: Path) -> None:
    assert told(make_run(tmp_path)).keys() == {
        "calls.json",
        "capability-surface.json",
        "correlation-report.json",
    }


def test_a_run_that_is_not_sealed_has_none(tmp_path: Path) -> None:
    assert told(make_run(tmp_path, start(), sealed=False)) == {}


def test_a_file_that_is_no_json_is_an_error_of_the_bundle(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / "calls.json").write_bytes(b"[")
    with pytest.raises(UnreadableBundleError, match=r"calls\.json"):
        told(run)
