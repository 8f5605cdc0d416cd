"""Writes: a file that is not at the end as the call says does not bear it out."""

from __future__ import annotations

from typing import Any

import pytest

from support.calls_judged import BETWEEN, CREATE, PARTIAL, WRITE, of_server, served
from support.frames_made import ABSENT, Absent, Found
from support.spools import STARTED_AT_MS

LONG_AGO = STARTED_AT_MS * 1_000_000 - 10**12
NOW = STARTED_AT_MS * 1_000_000 + 10**9


GONE: dict[str, Any] = {"path": "/a", "after": {"exists": False}}


def after(size: int, mtime_ns: int = NOW) -> dict[str, Any]:
    state = {"exists": True, "gid": 0, "mode": 0o100644, "mtime": mtime_ns // 10**9, "uid": 0}
    return {"path": "/a", "after": {**state, "mtime_ns": str(mtime_ns), "size": size, "type": "file"}}


def judged(tool: str, given: Any, size: int | None, *, mtime_ns: int = NOW, **more: Any) -> str:
    """`size`: at the end; None: the file is not there."""
    found: Found | Absent = more.pop("found", ABSENT)
    result = more.pop("result", 0)
    made = served().event("open", "/a", process=2, arg=CREATE, result=result, state=found, at=BETWEEN)
    if more.pop("later", False):
        made.event("open", "/a", process=1, arg=WRITE, at=60_000)
    line = GONE if size is None else after(size, mtime_ns)
    verdict = of_server(made, tool, {"path": "/a", **given}, lines=[line], **more)["verdict"]
    assert isinstance(verdict, str)
    return verdict


@pytest.mark.parametrize("tool", ["Write", "write_file"])
def test_a_file_must_be_as_long_as_what_was_written_to_it(tool: str) -> None:
    assert judged(tool, {"content": "äb\n"}, 4) == "confirmed"
    assert judged(tool, {"content": "äb\n"}, 0) == "contradicted"
    assert judged(tool, {"content": "äb\n"}, 5) == "unobserved"
    assert judged(tool, {"content": ""}, 0) == "confirmed"


def test_what_nobody_can_compare_is_not_held_against_a_write() -> None:
    assert judged("write_file", {"content": "a [REDACTED:token:9]"}, 0) == "confirmed"
    assert judged("write_file", {"content": "abc"}, 0, later=True) == "confirmed"
    assert judged("write_file", {"content": "abc"}, 0, observed=PARTIAL) == "unobserved"
    assert judged("write_file", {"content": "abc"}, 0, outcome="tool_error") == "unobserved"


def test_an_edit_that_leaves_the_file_as_it_was_is_contradicted() -> None:
    same = Found(size=7, mtime_ns=LONG_AGO)
    assert judged("edit_file", {}, 7, mtime_ns=LONG_AGO, found=same) == "contradicted"
    assert judged("edit_file", {}, 7, mtime_ns=NOW, found=same) == "confirmed"
    assert judged("edit_file", {}, 7, mtime_ns=LONG_AGO, found=same, later=True) == "confirmed"
    assert judged("edit_file", {}, 7, found=Found(size=7, mtime_ns=NOW)) == "confirmed"


def test_an_edit_that_only_makes_an_empty_file_is_contradicted() -> None:
    assert judged("Edit", {}, 0) == "contradicted"
    assert judged("Edit", {}, 0, found=Found(size=9, mtime_ns=LONG_AGO)) == "confirmed"


@pytest.mark.parametrize("tool", ["Write", "write_file", "Edit"])
def test_a_file_that_is_gone_at_the_end_was_not_written(tool: str) -> None:
    assert judged(tool, {"content": "abc"}, None) == "contradicted"
    assert judged(tool, {"content": "abc"}, None, later=True) == "confirmed"


def test_a_patch_may_remove_a_file() -> None:
    assert judged("apply_patch", {}, None, found=Found(size=7, mtime_ns=LONG_AGO)) == "confirmed"


def test_a_file_that_has_the_time_it_had_is_not_known_to_be_written() -> None:
    same = Found(size=3, mtime_ns=LONG_AGO)
    assert judged("write_file", {"content": "abc"}, 3, mtime_ns=LONG_AGO, found=same) == "unobserved"
    assert judged("write_file", {"content": "abc"}, 3, mtime_ns=NOW, found=same) == "confirmed"


def test_a_write_whose_result_is_not_known_is_borne_out_by_what_it_left() -> None:
    was = Found(size=3, mtime_ns=LONG_AGO)
    assert judged("write_file", {"content": "abc"}, 3, result=None) == "confirmed"
    assert judged("write_file", {}, 3, mtime_ns=NOW, found=was, result=None) == "confirmed"
    assert judged("write_file", {}, 3, mtime_ns=LONG_AGO, found=was, result=None) == "unobserved"
    assert judged("apply_patch", {}, None, result=None) == "unobserved"


def test_a_dry_run_of_an_edit_claims_no_write() -> None:
    made = served().event("open", "/a", process=2, at=BETWEEN)
    call = of_server(made, "edit_file", {"path": "/a", "dryRun": True})
    assert (call["verdict"], [rule["rule"] for rule in call["rules"]]) == ("confirmed", ["call_seen"])
