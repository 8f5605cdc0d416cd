"""What all connections of the proxy share: what one of them has listed counts for the others."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from steno.capture import procfs
from steno.evidence.claims import ProcessKey
from steno.mcp import approval
from steno.mcp.approval import MAX_AT_ONCE
from steno.mcp.decision_log import DecisionLog
from steno.mcp.http import headers
from steno.mcp.http.proxy import Proxy
from steno.mcp.pins import Pins, of_listing
from steno.mcp.policy.policy import Approval, Call, Policy
from steno.mcp.session import ApprovalRequest

TOOL = {"name": "read", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("process", "runs", "reason"),
    [
        (ProcessKey(7, 8), False, "not_listed"),
        (ProcessKey(7, 8), True, "allowed_by_default"),
        (None, False, "allowed_by_default"),  # elsewhere: a connection that failed says nothing about it
    ],
)
def test_a_listing_counts_until_the_process_of_the_server_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: ProcessKey | None, runs: bool, reason: str
) -> None:
    monkeypatch.setattr(procfs, "listener", lambda *_: process)
    monkeypatch.setattr(procfs, "is_running", lambda _: runs)
    pins = Pins({"l": of_listing([TOOL])})
    policy = Policy(digest="0" * 64, default="allow", pins=pins)
    journal = DecisionLog.open({}, str(tmp_path / "log"))
    proxy = Proxy(policy, journal, headers.upstream_endpoint("http://127.0.0.1:9/mcp"), "l")
    proxy.server_process()
    policy.check_listing("l", [TOOL])
    proxy.upstream_failed(None, "it does not answer")
    assert policy.decide(Call("l", "read", {}), 0).reason == reason


def _proxy() -> Proxy:
    policy = Policy(digest="0" * 64, default="allow", approval=Approval(["ask"], 60))
    return Proxy(policy, DecisionLog.open({}), headers.upstream_endpoint("http://127.0.0.1:9/mcp"), "l")


def test_questions_whose_client_has_left_still_count_and_one_too_many_is_answered_with_no(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered, asked = threading.Event(), []

    def think(*_: Any) -> bool:
        asked.append(1)
        return answered.wait(60)

    monkeypatch.setattr(approval, "is_approved", think)
    question = cast("ApprovalRequest", type("Question", (), {"call": None, "ruling": None}))

    async def leave_and_ask_again() -> bool:
        proxy = _proxy()
        waiting = [asyncio.create_task(proxy.approved(question)) for _ in range(MAX_AT_ONCE)]
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        return await proxy.approved(question)

    try:
        assert not asyncio.run(leave_and_ask_again())
    finally:
        answered.set()
    assert len(asked) <= MAX_AT_ONCE


def test_a_stderr_that_is_closed_keeps_nobody_from_being_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with (tmp_path / "closed").open("w") as closed:
        pass
    for stderr in (closed, None):
        monkeypatch.setattr(sys, "stderr", stderr)
        _proxy().upstream_failed(None, "it does not answer")
    assert capsys.readouterr().out == ""
