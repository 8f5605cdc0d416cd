"""What the capability diff promises, on real runs of the unprivileged observer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steno.evidence import canonical, layout
from support.program import Steno
from support.recorded import runs

Recorder = Callable[..., str]
SAFE = "cat kept.txt >/dev/null"


@pytest.fixture
def record(steno: Steno, store: Path, repo: Path) -> Recorder:
    """Run a script of a shell in a directory, recorded; its run is named."""

    def run(script: str, *options: str, cwd: Path | None = None, **env: str) -> str:
        steno("run", "--observer", "notify", *options, "--", "sh", "-c", script, cwd=cwd or repo, env=env)
        return runs(store)[-1].path.name

    return run


def diff(steno: Steno, *words: str | Path) -> tuple[int, dict[str, Any]]:
    done = steno("diff", "--json", *words)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def added(found: dict[str, Any], category: str) -> list[str]:
    return [entry["entry"] for entry in found["categories"][category]["added"]]


def test_equal_runs_are_the_same(steno: Steno, record: Recorder) -> None:
    code, found = diff(steno, record(SAFE), record(SAFE))
    assert (code, found["verdict"], found["summary"]["added"], found["summary"]["removed"]) == (
        0,
        "same",
        0,
        0,
    )
    assert "$RUN_CWD/kept.txt" in found["categories"]["files.read"]["unchanged"]


def test_additions_are_told_by_category_and_fail(steno: Steno, record: Recorder, tmp_path: Path) -> None:
    a = record(SAFE)
    b = record(f"{SAFE}; cat other.txt >made; rm made; env true")
    code, found = diff(steno, a, b)
    assert (code, found["verdict"]) == (1, "added")
    assert "$RUN_CWD/other.txt" in added(found, "files.read")
    assert added(found, "files.created") == ["$RUN_CWD/made"]
    assert added(found, "files.deleted") == ["$RUN_CWD/made"]
    assert any(program.endswith("/env") for program in added(found, "execs.ran"))


def test_what_is_only_removed_passes_with_words(steno: Steno, record: Recorder) -> None:
    done = steno("diff", record(f"{SAFE}; cat other.txt >/dev/null"), record(SAFE))
    assert done.returncode == 0
    assert b"  - $RUN_CWD/other.txt\n" in done.stdout
    assert b"\nremoved: B did nothing that A did not, and left out 1 thing" in done.stdout


def test_what_only_failed_is_no_addition(steno: Steno, record: Recorder) -> None:
    code, found = diff(steno, record(SAFE), record(f"{SAFE}; : <no-such-file"))
    assert (code, found["verdict"]) == (0, "same")
    shown = found["attempts"]["files.attempted"]["added"]
    assert [entry["entry"] for entry in shown] == ["$RUN_CWD/no-such-file"]


def test_two_checkouts_compare_as_equal(steno: Steno, record: Recorder, repo: Path) -> None:
    other = repo.with_name("checkout")
    shutil.copytree(repo, other)
    a, b = record(SAFE), record(SAFE, cwd=other)
    assert diff(steno, a, b)[0] == 0
    code, found = diff(steno, a, b, "--no-project")
    assert (code, added(found, "files.read")) == (1, [str(other / "kept.txt")])


def test_a_baseline_of_several_runs_accepts_what_any_of_them_did(
    steno: Steno, record: Recorder, tmp_path: Path
) -> None:
    one, other = record(SAFE), record("cat other.txt >/dev/null")
    lock, again = tmp_path / "capability.lock", tmp_path / "again.lock"
    made = steno("baseline", one, other, "-o", lock)
    assert (made.returncode, made.stdout.decode().strip()) == (0, str(lock)), made.stderr
    assert steno("baseline", other, one).stdout == lock.read_bytes()
    assert canonical.decode_line(lock.read_bytes())["evidence"] == "complete"
    assert diff(steno, lock, one)[0] == 0
    assert diff(steno, lock, record(f"{SAFE}; cat other.txt >/dev/null"))[0] == 0
    assert diff(steno, lock, record(f"{SAFE}; : >made"))[0] == 1
    again.write_text(json.dumps(json.loads(lock.read_bytes()), indent=2))
    assert diff(steno, lock, again)[1]["verdict"] == "same"


def test_a_packed_bundle_is_compared_like_a_run(steno: Steno, record: Recorder, tmp_path: Path) -> None:
    run = record(SAFE)
    packed = tmp_path / "run.tar.gz"
    assert steno("pack", run, "-o", packed).returncode == 0
    code, found = diff(steno, packed, run)
    assert (code, found["verdict"]) == (0, "same")
    assert [note["code"] for note in found["notes"]] == ["same_runs"]


def test_a_run_without_a_kernel_layer_never_passes_as_equal(
    steno: Steno, record: Recorder, repo: Path, store: Path
) -> None:
    good = record(SAFE)
    steno("run", "--observer", "none", "--", "true", cwd=repo)
    blind = runs(store)[-1].path.name
    code, found = diff(steno, good, blind)
    assert (code, found["verdict"]) == (3, "inconclusive")
    assert any("kernel_layer_absent" in why for why in found["b"]["degraded"])
    assert diff(steno, blind, good)[0] == 1


def test_a_baseline_of_degraded_evidence_is_refused_or_says_so(
    steno: Steno, repo: Path, store: Path, tmp_path: Path
) -> None:
    steno("run", "--observer", "none", "--", "true", cwd=repo)
    refused = steno("baseline", "@last")
    assert (refused.returncode, refused.stdout) == (3, b"")
    assert b"--accept-partial" in refused.stderr
    lock = tmp_path / "partial.lock"
    assert steno("baseline", "@last", "--accept-partial", "-o", lock).returncode == 0
    assert json.loads(lock.read_bytes())["evidence"] == "degraded"
    assert diff(steno, lock, "@last")[0] == 3


def test_a_forged_surface_is_unusable_input(steno: Steno, record: Recorder, store: Path) -> None:
    good, forged = record(SAFE), record(f"{SAFE}; : >made")
    table = store / forged / layout.KERNEL_TABLE
    rows = pq.read_table(table)
    told = [row for row in rows.to_pylist() if not (row["resolved"] or b"").endswith(b"/made")]
    assert len(told) < rows.num_rows
    pq.write_table(pa.Table.from_pylist(told, schema=rows.schema), table, compression="zstd")
    done = steno("diff", good, forged)
    assert (done.returncode, done.stdout) == (4, b"")
    assert layout.KERNEL_TABLE.encode() in done.stderr
    assert steno("baseline", forged).returncode == 4


def test_what_is_ignored_is_listed_with_its_rule(steno: Steno, record: Recorder, tmp_path: Path) -> None:
    rules = tmp_path / "ignore.yaml"
    rules.write_text("# files that come and go\npaths:\n  - $RUN_CWD/*.tmp\n")
    a, b = record(SAFE), record(f"{SAFE}; : >x.tmp")
    code, found = diff(steno, a, b, "--ignore", rules)
    assert (code, found["verdict"]) == (0, "same")
    assert {one["entry"] for one in found["ignored"]} == {"$RUN_CWD/x.tmp"}
    assert found["ignored"][0]["rule"] == {"kind": "paths", "text": "$RUN_CWD/*.tmp", "line": 3}
    assert diff(steno, a, record(f"{SAFE}; : >x.tmp; : >y"), "--ignore", rules)[0] == 1


def test_archives_of_the_assay_runner_are_read_like_runs_and_a_damaged_one_is_not(
    steno: Steno, record: Recorder, tmp_path: Path
) -> None:
    a, b = record(SAFE), record(f"{SAFE}; cat other.txt >made")
    exported = [steno("export", run, "--as", "assay-runner", "-o", tmp_path).stdout for run in (a, b)]
    one, other = (Path(path.decode().strip()) for path in exported)
    _, of_runs = diff(steno, a, b)
    for words in ((one, other), (a, other), (one, b)):
        code, found = diff(steno, *words)
        assert (code, found["categories"]) == (1, of_runs["categories"]), words
    lock = steno("baseline", one, other)
    (tmp_path / "capability.lock").write_bytes(lock.stdout)
    assert diff(steno, tmp_path / "capability.lock", b)[0] == 0
    other.write_bytes(other.read_bytes()[:-1])
    damaged = steno("diff", a, other)
    assert (damaged.returncode, b"is unreadable: step 1" in damaged.stderr) == (4, True)
