"""Ten thousand hostile messages: none breaks the wrap, none carries a denied call past the policy.

The oracle is independent of our reader: it takes every reading of the passed bytes that some server may have,
in any case of the keys, with the first or the last of two equal keys, in lines that end at other characters,
in several encodings, one message after the other. If one of them is a call of the denied tool, the policy
failed.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from steno.lines import LineSplitter
from steno.mcp.policy.globs import Globs
from steno.mcp.policy.policy import Policy, Rule
from steno.mcp.session import Answer, Forward
from support.mcp_hostile import DENIED, carries_a_denied_call, hostile_frame
from support.mcp_wrapped import Wrapped, make_policy

FRAMES = 10_000


CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file"}}'
SMUGGLED = [
    CALL,
    CALL.replace(b'"method"', b'"method":"ping","m\\u0065thod"'),
    CALL.replace(b'"write_file"', b'"write_file","name":"read_file"'),
    CALL.replace(b'"name"', b'"name":"read_file","NAME"'),
    b"[" + CALL + b"]",
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}' + CALL,
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":\r' + CALL + b"\r}",
    b'{"x":"\xe2\x80\xa8' + CALL + b'\xe2\x80\xa8"}',
    b"\xef\xbb\xbf" + CALL,
    CALL.replace(b"write_file", b"write_file\\u0000x"),
]


@pytest.mark.parametrize("data", SMUGGLED)
def test_the_oracle_knows_a_smuggled_call(data: bytes) -> None:
    assert carries_a_denied_call(data)


@pytest.mark.parametrize("data", SMUGGLED)
def test_no_known_way_to_smuggle_a_call_works(tmp_path: Path, data: bytes) -> None:
    assert isinstance(Wrapped(tmp_path).from_client(data + b"\n"), Answer)


# --- the attack ------------------------------------------------------------------------------------------


def attack(session: Wrapped, frames: int, seed: int) -> tuple[list[bytes], int]:
    """What passed, and how many did not."""
    chance, lines = random.Random(seed), LineSplitter()
    passed: list[bytes] = []
    refused = 0
    for _ in range(frames):
        for line in lines.feed(hostile_frame(chance)):
            assert isinstance(line, bytes)
            step = session.from_client(line)
            if isinstance(step, Forward):
                assert step.data == line
                assert not carries_a_denied_call(line), line
                passed.append(line)
            else:
                assert isinstance(step, Answer)
                assert step.data is None or json.loads(step.data)
                refused += 1
        session.from_server(hostile_frame(chance))
    session.client_gone()
    assert not carries_a_denied_call(b"".join(passed))
    return passed, refused


def test_ten_thousand_hostile_frames_pass_no_denied_call(tmp_path: Path) -> None:
    session = Wrapped(tmp_path, make_policy())
    passed, refused = attack(session, FRAMES, 20260728)
    assert len(passed) > FRAMES / 20
    assert refused > FRAMES / 2
    allowed = [line.tool for line in session.decided if line.decision == "allow"]
    assert all(tool.startswith("read_") for tool in allowed)
    assert len(allowed) > FRAMES / 50


def test_a_policy_that_only_denies_one_tool_is_as_hard_to_get_around(tmp_path: Path) -> None:
    rules = (Rule("rules[0]", Globs((DENIED,)), Globs(("*",)), "deny"),)
    session = Wrapped(tmp_path, Policy(digest="0" * 64, default="allow", rules=rules))
    attack(session, FRAMES // 4, 20251125)
    assert DENIED in {line.tool for line in session.decided if line.decision == "deny"}
