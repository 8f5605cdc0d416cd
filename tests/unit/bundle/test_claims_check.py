"""A bundle's claims are those that its events tell of, or it is not valid."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from claims_told import PROXY, SERVER, policy_line, sdk_line
from spools import FINISH, START, MemoryLayers, numbered
from steno.bundle.claims_check import claim_problems
from steno.evidence import kinds, layout
from steno.evidence.claims import ProxyLog
from steno.evidence.kinds import EventData
from steno.judge.facts import RunFacts

CONNECTION = kinds.McpConnection(
    connection="c1",
    source="steno.mcp.wrap",
    server="files",
    policy="0" * 64,
    dry_run=False,
    server_process=SERVER,
    proxy_process=PROXY,
    opened_ns=1,
    calls=1,
)
SAID = kinds.SdkIntake(shim="openai-agents", lines=1, hooks=0)
DISTURBED = kinds.Gap("intake_disturbed", "gone")


def problems(*events: EventData, policy: bytes = policy_line(0), sdk: bytes = sdk_line(0)) -> list[str]:
    files = {layout.POLICY_LINES: policy, layout.SDK_LINES: sdk}
    layers = MemoryLayers(numbered([START, *events, FINISH]), files)
    return list(claim_problems(layers, RunFacts.of(layers)))


def changed(**fields: Any) -> kinds.McpConnection:
    return msgspec.structs.replace(CONNECTION, **fields)


def test_layers_that_the_events_tell_of_have_no_problem() -> None:
    assert problems(CONNECTION, SAID) == []
    assert problems(policy=b"", sdk=b"") == []
    assert problems(changed(calls=0), policy=b"", sdk=b"") == []


def test_layers_that_are_not_there_are_empty() -> None:
    layers = MemoryLayers(numbered([START, CONNECTION, SAID, FINISH]))
    assert len(list(claim_problems(layers, RunFacts.of(layers)))) == 2


@pytest.mark.parametrize(
    "connections",
    [[], [changed(calls=2)], [changed(connection="c2")], [CONNECTION, changed(connection="c2", calls=1)]],
)
def test_calls_that_no_connection_tells_of_are_a_problem(connections: list[EventData]) -> None:
    assert "its calls are not those" in problems(*connections, SAID)[0]


@pytest.mark.parametrize(
    "fields",
    [{"server": "other"}, {"source": "x"}, {"policy": "1" * 64}, {"dry_run": True}, {"server_process": None}],
)
def test_a_call_that_says_something_else_of_its_connection_is_a_problem(fields: dict[str, Any]) -> None:
    assert "that no event tells of" in problems(changed(**fields), SAID)[0]


@pytest.mark.parametrize(
    "said", [[], [msgspec.structs.replace(SAID, lines=0)], [msgspec.structs.replace(SAID, hooks=1)]]
)
def test_another_number_of_sdk_lines_is_a_problem(said: list[EventData]) -> None:
    assert "evidence/sdk.ndjson: 1 lines" in problems(CONNECTION, *said)[0]


def test_where_the_intake_was_disturbed_the_events_may_tell_less() -> None:
    assert problems(DISTURBED) == []
    with pytest.raises(ValueError, match="line 0"):
        problems(DISTURBED, policy=b"x\n")


def test_a_connection_of_a_proxy_that_has_no_log_is_a_problem() -> None:
    own, others = (kinds.IntakeLogs(policy=[ProxyLog(process)]) for process in (PROXY, SERVER))
    assert problems(CONNECTION, own, SAID) == []
    assert problems(CONNECTION, others, SAID) == [
        "the events tell of a connection, and of no log of its proxy"
    ]
    assert problems(CONNECTION, msgspec.structs.replace(others, policy_left_off=1), SAID) == []
