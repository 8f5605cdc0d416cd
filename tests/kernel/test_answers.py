"""What is recorded of a call is what the kernel did, whatever the program was told and wherever."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from steno.evidence import wire
from support.cgroups import needs_scope
from support.observers import PROBING, observers, working
from support.program import Steno
from support.programs import compiled
from support.recorded import Recorded, only_run
from support.tracees import rows

pytestmark = [
    pytest.mark.skipif("both" not in working(), reason="no probe here; `steno doctor` says why"),
    needs_scope,
]


def _record(steno: Steno, store: Path, observer: str, *command: str | Path) -> Recorded:
    done = steno("run", "--no-git", "--observer", observer, "--", *command)
    assert done.returncode == 0, done.stderr
    return only_run(store)


def _health(run: Recorded) -> dict[str, Any]:
    found = run.json("observation-health.json")
    assert isinstance(found, dict)
    return found


# --- answers that are not the kernel's --------------------------------------------------------------------


@pytest.fixture
def pretended(steno: Steno, store: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Recorded:
    (tmp_path / "kept").write_text("kept\n")
    command: list[str | Path] = [compiled("pretending"), tmp_path / "kept", tmp_path / "never", "/bin/true"]
    run = _record(steno, store, request.param, *command)
    assert run.stream("stdout").split() == [b"0"] * 5
    assert (tmp_path / "kept").exists()
    assert not (tmp_path / "never").exists()
    return run


by_probes = pytest.mark.parametrize("pretended", observers(PROBING), indirect=True)


@by_probes
def test_a_call_that_a_programs_own_filter_answered_was_refused_though_it_was_told_success(
    pretended: Recorded, tmp_path: Path
) -> None:
    refused = [row for row in rows(pretended) if row.notes & wire.NOTES["refused"]]
    assert [row.text for row in refused] == [
        "connect inet:192.0.2.77:443",
        f"open read {tmp_path}/kept",
        f"open write {tmp_path}/never",
        f"unlink {tmp_path}/kept",
        f"exec {Path('/bin/true').resolve()}",
    ]
    assert {row.result for row in refused} == {wire.RESULT_FAILED}
    assert _health(pretended)["steno"]["witness_disagreements"]["count"] == 0
    assert pretended.is_valid


@by_probes
def test_what_a_programs_own_filter_answered_is_attempted_and_never_done(
    pretended: Recorded, tmp_path: Path
) -> None:
    kept, never, program = f"{tmp_path}/kept", f"{tmp_path}/never", str(Path("/bin/true").resolve())
    surface = pretended.json("capability-surface.json")
    assert surface["network_endpoints"] == []
    assert not {kept, never} & set(surface["filesystem_paths"])
    assert program not in surface["process_execs"]
    own = surface["steno"]
    assert own["endpoints"] == {"connected": [], "sent": [], "bound": [], "attempted": ["192.0.2.77:443"]}
    for done in ("read", "written", "created", "deleted"):
        assert not {kept, never} & set(own["files"][done])
    assert {kept, never} <= set(own["files"]["attempted"])
    assert own["execs"]["attempted"] == [program]


# --- answers that are written over the path ---------------------------------------------------------------

PATHS = {"readlink": "link", "stat": "file", "statx": "file", "statfs": "file"}
# How many bytes after the path the answer begins. That of readlink is as long as the target of the link.
UPON = {
    "readlink": [-8, 0, 2],
    "stat": [-143, -48, 0, 2],
    "statx": [-255, -112, 0, 2],
    "statfs": [-119, -64, 0, 2],
}
BESIDE = {"readlink": [-64, 5], "stat": [-144, 5], "statx": [-256, 5], "statfs": [-120, 5]}


def _looked(
    steno: Steno, store: Path, room: Path, observer: str, call: str, distances: list[int]
) -> tuple[Recorded, list[str]]:
    """The run, and where every such call of it looked."""
    (room / "file").write_text("content\n")
    (room / "link").symlink_to("a-target-that-is-longer-than-the-path")
    words = [call, PATHS[call], *map(str, distances)]
    run = _record(steno, store, observer, compiled("overlapping"), *words)
    op = "stat" if call == "statx" else call
    return run, [row.where for row in rows(run) if row.op == op]


@pytest.mark.parametrize("observer", observers(PROBING))
@pytest.mark.parametrize("call", UPON)
def test_a_path_that_its_own_answer_was_written_over_is_a_gap_and_no_other_path(
    steno: Steno, store: Path, tmp_path: Path, observer: str, call: str
) -> None:
    run, places = _looked(steno, store, tmp_path, observer, call, UPON[call])
    assert places == ["?"] * len(UPON[call])
    assert run.verdict().gaps == ["kernel_calls_unreadable"]
    assert run.event("kernel_observed")["probe_unread"] == len(UPON[call])


@pytest.mark.parametrize("call", UPON)
def test_a_filter_reads_the_path_before_its_answer_is_written_over_it(
    steno: Steno, store: Path, tmp_path: Path, call: str
) -> None:
    run, places = _looked(steno, store, tmp_path, "notify", call, UPON[call])
    assert places == [str(tmp_path / PATHS[call])] * len(UPON[call])
    assert run.is_valid


@pytest.mark.parametrize("observer", observers(PROBING))
@pytest.mark.parametrize("call", BESIDE)
def test_a_path_beside_its_answer_is_read_as_any_other(
    steno: Steno, store: Path, tmp_path: Path, observer: str, call: str
) -> None:
    run, places = _looked(steno, store, tmp_path, observer, call, BESIDE[call])
    assert places == [str(tmp_path / PATHS[call])] * len(BESIDE[call])
    assert run.is_valid


# --- answers in great number, and those that name a place -------------------------------------------------

EXECUTIONS = 500


@pytest.mark.parametrize("observer", observers(PROBING))
def test_every_program_that_was_not_found_is_told_with_its_error(
    steno: Steno, store: Path, observer: str
) -> None:
    run = _record(steno, store, observer, compiled("vain_execs"), str(EXECUTIONS), "/nowhere/at-all")
    tried = [row for row in rows(run) if row.op == "exec" and row.path == b"/nowhere/at-all"]
    assert [row.result for row in tried] == [-errno.ENOENT] * EXECUTIONS
    if observer == "both":
        assert all(row.notes & wire.NOTES["confirmed"] for row in tried)
    assert _health(run)["steno"]["witness_disagreements"]["count"] == 0
    assert run.is_valid


@pytest.mark.parametrize("observer", observers())
def test_a_directory_that_is_gone_to_by_a_relative_path_is_there_under_its_name(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    script = "import os\nfor step in ('outer', 'inner', '..', '../outer/inner'): os.chdir(step)"
    run = _record(steno, store, observer, sys.executable, "-S", "-c", script)
    went = [(row.where, row.exists) for row in rows(run) if row.op == "chdir"]
    outer, inner = str(tmp_path / "outer"), str(tmp_path / "outer" / "inner")
    assert went == [(outer, True), (inner, True), (outer, True), (inner, True)]
