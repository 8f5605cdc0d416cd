"""What was told is what the events tell of, or the bundle is not valid."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steno.bundle.verify import claim_problems
from steno.evidence import compat, intake, kinds, layout
from steno.evidence.claims import ProxyLog
from steno.evidence.kinds import EventData
from steno.judge.facts import RunFacts
from support.claims_told import POLICY as LOG
from support.claims_told import PROXY, SERVER, closed, decided, noticed, opened, policy_line, sdk, sdk_line
from support.spools import FINISH, START, MemoryLayers, numbered
from support.told import claims_file

FOLDED = kinds.McpConnection(
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
CONNECTION = msgspec.structs.replace(FOLDED, closed_ns=30, end="client_closed", noticed_count=1)
SAID = kinds.SdkIntake(shim="openai-agents", lines=1, hooks=0)
DISTURBED = kinds.Gap("intake_disturbed", "gone")
TOLD = claims_file({LOG: [opened(), decided(), noticed("x"), closed()], intake.SDK: [sdk(0)]})
OWN, OTHERS = (kinds.IntakeLogs(policy=[ProxyLog(process)]) for process in (PROXY, SERVER))


def problems(*events: EventData, told: bytes = TOLD) -> list[str]:
    return _problems(events, {layout.CLAIMS: told})


def problems_of_first(
    *events: EventData, policy: bytes = policy_line(0), sdk: bytes = sdk_line(0)
) -> list[str]:
    return _problems(events, {compat.FOLDED_POLICY: policy, compat.FOLDED_SDK: sdk})


def _problems(events: tuple[EventData, ...], files: dict[str, bytes]) -> list[str]:
    layers = MemoryLayers(numbered([START, *events, FINISH]), files)
    return list(claim_problems(layers, RunFacts.of(layers)))


def changed(**fields: Any) -> kinds.McpConnection:
    return msgspec.structs.replace(CONNECTION, **fields)


def test_claims_that_the_events_tell_of_have_no_problem() -> None:
    assert problems(CONNECTION, SAID) == []
    assert problems(CONNECTION, OWN, SAID) == []
    assert problems(told=b"") == []


def test_claims_that_are_not_there_are_missed() -> None:
    layers = MemoryLayers(numbered([START, CONNECTION, SAID, FINISH]))
    assert len(list(claim_problems(layers, RunFacts.of(layers)))) == 2


OTHERWISE = [
    *({"connection": "c2"}, {"server": "other"}, {"source": "x"}, {"policy": "1" * 64}, {"dry_run": True}),
    *({"server_process": None}, {"proxy_process": SERVER}, {"opened_ns": 2}, {"closed_ns": None}),
    *({"end": "proxy_failed"}, {"exit_code": 1}, {"calls": 0}, {"noticed_count": 0}),
]


@pytest.mark.parametrize("fields", OTHERWISE, ids=str)
def test_a_connection_that_its_proxy_told_otherwise_is_a_problem(fields: dict[str, Any]) -> None:
    assert "its connections are not those" in problems(changed(**fields), SAID)[0]


@pytest.mark.parametrize("connections", [[], [CONNECTION, changed(connection="c2")], [CONNECTION] * 2])
def test_a_connection_that_is_told_by_one_side_only_is_a_problem(connections: list[EventData]) -> None:
    assert "its connections are not those" in problems(*connections, SAID)[0]


@pytest.mark.parametrize(
    "said", [[], [msgspec.structs.replace(SAID, lines=0)], [msgspec.structs.replace(SAID, hooks=1)]]
)
def test_another_number_of_lines_of_agents_is_a_problem(said: list[EventData]) -> None:
    assert "evidence/claims.ndjson: 1 lines of agents" in problems(CONNECTION, *said)[0]
    assert "layers/sdk.ndjson: 1 lines of agents" in problems_of_first(FOLDED, *said)[0]


def test_where_the_intake_was_disturbed_the_events_may_tell_less() -> None:
    assert problems(DISTURBED) == []
    with pytest.raises(ValueError, match="line 0"):
        problems(DISTURBED, told=b"x\n")


def test_a_connection_of_a_proxy_that_has_no_log_is_a_problem() -> None:
    nobodys = "the events tell of a connection, and of no log of its proxy"
    assert problems(CONNECTION, OTHERS, SAID) == [nobodys]
    assert problems(CONNECTION, msgspec.structs.replace(OTHERS, policy_left_off=1), SAID) == []
    assert problems_of_first(FOLDED, OTHERS, SAID) == [nobodys]


def test_lines_of_format_1_that_the_events_tell_of_have_no_problem() -> None:
    assert problems_of_first(FOLDED, OWN, SAID) == []
    assert problems_of_first(policy=b"", sdk=b"") == []
    assert problems_of_first(msgspec.structs.replace(FOLDED, calls=0), policy=b"", sdk=b"") == []


@pytest.mark.parametrize(
    "connections",
    [
        [],
        [msgspec.structs.replace(FOLDED, calls=2)],
        [msgspec.structs.replace(FOLDED, connection="c2")],
        [FOLDED, msgspec.structs.replace(FOLDED, connection="c2")],
    ],
)
def test_calls_of_format_1_that_no_connection_tells_of_are_a_problem(connections: list[EventData]) -> None:
    assert "its calls are not those" in problems_of_first(*connections, SAID)[0]


@pytest.mark.parametrize(
    "fields",
    [{"server": "other"}, {"source": "x"}, {"policy": "1" * 64}, {"dry_run": True}, {"server_process": None}],
)
def test_a_call_of_format_1_that_says_something_else_of_its_connection_is_a_problem(
    fields: dict[str, Any],
) -> None:
    assert "that no event tells of" in problems_of_first(msgspec.structs.replace(FOLDED, **fields), SAID)[0]
