"""What the tool behind assay-runner gets wrong, one test a defect: ours does not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from steno.bundle.verify import Status
from steno.contracts.assay import manifest as assay_manifest
from steno.evidence import canonical
from support.assay_archives import Measure, forged, lines_in, verdict_of
from support.observers import observers
from support.program import Steno

every_observer = pytest.mark.parametrize("observer", observers())


@every_observer
def test_exec_fork_unlink_and_rename_have_events(measure: Measure, observer: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    measured = measure(observer, "sh", "-c", "echo 1 >a; mv a b; rm b", cwd=work)
    assert {"exec", "fork", "unlink", "rename", "rename_to", "open"} <= {row["op"] for row in measured.rows}
    assert len(measured.kernel) == len(measured.rows)


@every_observer
def test_paths_are_resolved(measure: Measure, observer: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("x")
    (tmp_path / "link").symlink_to("real")
    measured = measure(observer, "cat", "link/../link/file", cwd=tmp_path)
    assert str(tmp_path / "real" / "file") in measured.surface["filesystem_paths"]
    assert not [path for path in measured.surface["filesystem_paths"] if "link" in path]


@every_observer
def test_nothing_is_filtered_by_its_place(measure: Measure, observer: str, tmp_path: Path) -> None:
    module = tmp_path / "node_modules" / "x.js"
    module.parent.mkdir()
    module.write_text("x")
    shared = Path("/dev/shm") / f"steno-test-{os.getpid()}-{observer}"
    shared.write_text("x")
    try:
        measured = measure(observer, "cat", str(module), str(shared), "/proc/self/status")
    finally:
        shared.unlink()
    assert {str(module), str(shared), "/proc/PID/status"} <= set(measured.surface["filesystem_paths"])


@every_observer
def test_a_file_that_is_there_only_later_is_told_with_both_results(
    measure: Measure, observer: str, tmp_path: Path
) -> None:
    """The tool behind the contract drops repeated calls before their results are known."""
    late = tmp_path / "late"
    measured = measure(observer, "sh", "-c", f"cat {late}; echo x >{late}; cat {late}")
    opened = [
        row
        for row, line in zip(measured.rows, measured.kernel, strict=True)
        if line["event_type"] == 1 and line["value"] == str(late)
    ]
    assert len(opened) == 3
    assert opened[0].get("exists") is False or opened[0].get("result") == -errno.ENOENT
    assert str(late) in measured.surface["steno"]["files"]["read"]


@every_observer
def test_a_descendant_that_outlives_the_command_is_recorded_or_declared(
    measure: Measure, observer: str, tmp_path: Path
) -> None:
    (tmp_path / "known").write_text("x")
    daemon = "(setsid sh -c 'read line <gate; cat known' >/dev/null 2>&1 &) ; (exec 9>gate; echo go >&9) &"
    os.mkfifo(tmp_path / "gate")
    measured = measure(observer, "sh", "-c", daemon, cwd=tmp_path)
    seen = str(tmp_path / "known") in measured.surface["filesystem_paths"]
    assert seen or measured.status == "incomplete"


@every_observer
def test_a_forged_surface_with_matching_digests_is_invalid(
    measure: Measure, steno: Steno, observer: str, tmp_path: Path
) -> None:
    """Its verifier compares digests only."""
    measured = measure(observer, "cat", "/etc/hostname")

    def forget(data: bytes) -> bytes:
        surface = canonical.decode(data)
        surface["filesystem_paths"].remove("/etc/hostname")
        surface["steno"]["files"]["read"].remove("/etc/hostname")
        return canonical.encode(surface)

    bad = forged(measured.path, tmp_path / "forged.tar.gz", assay_manifest.SURFACE, forget)
    assert verdict_of(bad).status is Status.INVALID
    done = steno("verify", bad)
    assert done.returncode == 1
    assert b"capability-surface.json: is not what the lines give" in done.stdout


@every_observer
def test_a_forged_health_with_matching_digests_is_invalid(
    measure: Measure, observer: str, tmp_path: Path
) -> None:
    measured = measure(observer, "true")

    def praise(data: bytes) -> bytes:
        health = canonical.decode(data)
        return canonical.encode({**health, "notes": []})

    bad = forged(measured.path, tmp_path / "forged.tar.gz", assay_manifest.HEALTH, praise)
    assert verdict_of(bad).status is Status.INVALID


def test_a_run_without_an_observer_is_never_valid(measure: Measure) -> None:
    measured = measure("none", "true")
    assert measured.health["kernel_layer"] == "absent"
    assert lines_in(measured.files[assay_manifest.KERNEL_LINES]) == []
    assert measured.status == "incomplete"


@every_observer
def test_no_secret_of_the_command_is_in_the_archive(measure: Measure, observer: str) -> None:
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    measured = measure(observer, "sh", "-c", f"echo {token}; cat /nonexistent/{token}")
    assert not [path for path, data in measured.files.items() if token.encode() in data]
