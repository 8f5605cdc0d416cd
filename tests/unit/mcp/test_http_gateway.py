"""What all connections of the proxy share: what one of them has listed counts for the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from steno.events.claims import ProcessKey
from steno.mcp import http_address, http_process
from steno.mcp.http_gateway import Gateway
from steno.mcp.journal import Journal
from steno.mcp.pins import Pins, of_listing
from steno.mcp.policy import Call, Policy

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
    monkeypatch.setattr(http_process, "listener", lambda *_: process)
    monkeypatch.setattr(http_process, "runs", lambda _: runs)
    pins = Pins({"l": of_listing([TOOL])})
    policy = Policy(digest="0" * 64, default="allow", pins=pins)
    journal = Journal.open({}, str(tmp_path / "log"))
    gateway = Gateway(policy, journal, http_address.upstream("http://127.0.0.1:9/mcp"), "l")
    gateway.server_process()
    policy.check_listing("l", [TOOL])
    gateway.upstream_failed(None, "it does not answer")
    assert policy.decide(Call("l", "read", {}), 0).reason == reason
