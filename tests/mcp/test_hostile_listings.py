"""Ten thousand hostile messages of a server: no changed definition and no hidden tool gets past the policy.

The oracle is independent of our reader: it takes every reading of the passed bytes that some client may have,
as in `test_mcp_frames`, and looks into every list of tools that one of them holds, whatever its id.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from steno.lines import LineSplitter
from support.mcp_hostile_server import (
    EVIL,
    HIDDEN,
    asks_what_is_denied,
    hostile_frame,
    hostile_policy,
    shows_what_it_must_not,
)
from support.mcp_wrapped import Wrapped, message, result, tool_call

FRAMES = 10_000
SMUGGLED = [
    result(1, tools=[{"name": HIDDEN}]),
    result("1", tools=[{"name": "plain", "description": EVIL}]),
    b"[" + result(1, tools=[{"name": HIDDEN}]).strip() + b"]",
    b'{"id":1,"result":{"tools":[]},"RESULT":{"Tools":[{"NAME":"write_file"}]}}',
    b'log\r{"id":1,"result":{"tools":[{"name":"write_file"}]}}',
]


@pytest.mark.parametrize("data", SMUGGLED)
def test_the_oracle_knows_a_smuggled_tool(data: bytes) -> None:
    assert shows_what_it_must_not(data)


# --- the attack ------------------------------------------------------------------------------------------


def test_ten_thousand_hostile_answers_show_no_changed_or_hidden_tool(tmp_path: Path) -> None:
    session, chance, lines = Wrapped(tmp_path, hostile_policy()), random.Random(20260728), LineSplitter()
    passed = changed = 0
    for number in range(FRAMES):
        asked = chance.choice([message(id=number, method="tools/list")] * 4 + [tool_call(number, "plain")])
        session.from_client(asked)
        for line in lines.feed(hostile_frame(chance, number)):
            assert isinstance(line, bytes)
            shown = session.from_server(line)
            assert not shows_what_it_must_not(shown), (line, shown)
            assert not asks_what_is_denied(shown), (line, shown)
            passed += shown == line
            changed += shown != line
    session.client_gone()
    assert passed > FRAMES / 20
    assert changed > FRAMES / 4
