"""The small JSON files: pure, canonical, and never better than the evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import EventData, LeftProcess
from support.documents import documents
from support.kernel_tables import OBSERVED
from support.spools import FINISH, HOST, RUN_ID, START, MemoryLayers, numbered, start, tape_files

BEFORE = kinds.RepoSnapshotBefore(root="/work", head="a" * 40)
AFTER = kinds.RepoSnapshotAfter(root="/work", head="b" * 40, changed=1)


def layers_of(*data: EventData, files: Mapping[str, bytes] | None = None) -> MemoryLayers:
    return MemoryLayers(numbered(data), files)


def read(layers: MemoryLayers, path: str) -> Any:
    return canonical.decode(b"".join(documents(layers).read(path)))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_run_json_tells_the_run() -> None:
    finished = kinds.CommandFinished(exit_code=3, user_us=10, system_us=20, max_rss_kib=30)
    run = read(
        layers_of(
            start(name="nightly"),
            kinds.CommandStarted(7),
            kinds.TerminalHeld("terminal/stdout"),
            finished,
            kinds.StdinUnread(4, given_back=False),
            kinds.ToolVersions({"git": "2.39"}),
            kinds.RunFinish(exit_code=3, completed=True),
        ),
        layout.RUN,
    )
    assert (run["run_id"], run["name"], run["pid"], run["exit_code"]) == (RUN_ID, "nightly", 7, 3)
    assert run["command"] == START.cmd_redacted
    assert run["usage"] == {"user_us": 10, "system_us": 20, "max_rss_kib": 30}
    assert run["terminal"]["held_by_others"] == ["terminal/stdout"]
    assert run["terminal"]["stdin_unread_bytes"] == 4
    assert run["host"]["name"] == HOST.name
    assert run["env"] == {"EDITOR": "ed", "HOME": "/home/ada", "SECRET_NAME": None}
    assert run["completed"] is True
    assert run["duration_ns"] == 6_000_000
    assert (run["kernel"], run["probe"], run["gaps"]) == (None, None, [])


def test_run_json_holds_what_the_events_say_of_observer_scope_probe_and_gaps() -> None:
    run = read(
        layers_of(
            START,
            kinds.CgroupScope(hierarchy="unified", path="/a/steno-x", cgroup_id=12),
            kinds.ProbeState("no_btf", "no such file"),
            kinds.CgroupEnded(empty=False, removed=False, left=[LeftProcess(9, "sleep")], left_count=1),
            OBSERVED,
            kinds.Gap("stream_lost", "no room", 5),
            FINISH,
        ),
        layout.RUN,
    )
    assert run["cgroup"]["scope"] == {"hierarchy": "unified", "path": "/a/steno-x", "cgroup_id": 12}
    assert run["cgroup"]["end"]["left"] == [{"pid": 9, "name": "sleep"}]
    assert run["probe"] == {"state": "no_btf", "detail": "no such file"}
    assert run["gaps"] == [{"reason": "stream_lost", "detail": "no room", "lost_bytes": 5}]
    assert run["kernel"]["observer"] == "notify"


def test_a_run_that_was_not_seen_to_its_end_does_not_claim_one() -> None:
    run = read(layers_of(START), layout.RUN)
    assert (run["completed"], run["exit_code"], run["usage"], run["pid"]) == (False, None, None, None)


def test_the_redaction_report_is_the_last_tally_or_an_empty_one() -> None:
    assert read(layers_of(START, FINISH), layout.REDACTION_REPORT)["total"] == 0
    tally = {"total": 2, "counts": {"url-password": 2}, "redacted_fields": ["x"], "examples": []}
    told = kinds.RedactionTally(msgspec.convert(tally, kinds.Tally))
    report = read(layers_of(START, told, FINISH), layout.REDACTION_REPORT)
    left_off = {"redacted_fields_left_off_at_most": 0}
    assert report == {"schema": "steno.redaction-report.v1", "run_id": RUN_ID, **tally, **left_off}


def test_the_snapshots_are_those_of_the_events_with_the_hash_of_what_was_uncommitted() -> None:
    files = {layout.WORKTREE_BEFORE: b"was there", layout.WORKTREE_DIFF: b"is there"}
    layers = layers_of(START, BEFORE, AFTER, FINISH, files=files)
    before = read(layers, layout.REPO_BEFORE)
    assert (before["head"], before["diff_hash"]) == ("a" * 40, sha256(b"was there"))
    assert read(layers, layout.REPO_AFTER) == {
        "schema": "steno.repo-snapshot.v1",
        "run_id": RUN_ID,
        "root": "/work",
        "head": "b" * 40,
        "changed": 1,
        "diff_hash": sha256(b"is there"),
    }


def test_a_clean_work_tree_has_the_hash_of_an_empty_patch() -> None:
    layers = layers_of(START, BEFORE, AFTER, FINISH)
    for path in (layout.REPO_BEFORE, layout.REPO_AFTER):
        assert read(layers, path)["diff_hash"] == sha256(b"")


def test_the_hash_that_an_older_event_tells_is_kept_for_it_has_no_patch_of_its_own() -> None:
    told = kinds.RepoSnapshotBefore(root="/work", head="a" * 40, diff_hash="0" * 64)
    assert read(layers_of(START, told, FINISH), layout.REPO_BEFORE)["diff_hash"] == "0" * 64


@pytest.mark.parametrize("skip", [kinds.RepoSnapshotBefore(reason="NOT_A_GIT_REPO"), None])
def test_a_repository_that_was_not_looked_at_has_no_files(skip: EventData | None) -> None:
    found = documents(layers_of(START, *([skip] if skip else []), FINISH)).names
    assert layout.REPO_BEFORE not in found
    assert layout.REPO_AFTER not in found


def test_the_kernel_layer_is_present_and_empty_rather_than_missing() -> None:
    layers = layers_of(START, FINISH)
    assert b"".join(documents(layers).read(layout.KERNEL_LINES)) == b""


def test_the_same_layers_give_the_same_bytes() -> None:
    files = tape_files(layout.STDOUT, [(1, b"a\n"), (2, b"b\n")])
    one, other = (
        layers_of(START, BEFORE, AFTER, FINISH, files=files),
        MemoryLayers(numbered([START, BEFORE, AFTER, FINISH]), files, block=1),
    )
    for path in documents(one).names:
        assert b"".join(documents(one).read(path)) == b"".join(documents(other).read(path)), path
