"""What a server says: what of it reaches the client, and what is said instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steno.mcp.pins import Pins, of_listing
from steno.mcp.policy.globs import Globs
from steno.mcp.policy.policy import Methods
from steno.mcp.session import Answer, Forward
from support.mcp_wrapped import CURRENT, Wrapped, make_policy, message, result, tool_call

ALLOWED, LIST = tool_call(1), message(id=1, method="tools/list")


@pytest.fixture
def session(tmp_path: Path) -> Wrapped:
    return Wrapped(tmp_path)


@pytest.fixture
def pinned(tmp_path: Path) -> Wrapped:
    """One tool is pinned; calls of everything are allowed."""
    return Wrapped(tmp_path, make_policy("allow", pins=Pins({"files": of_listing([PINNED])})))


PINNED = {"name": "read_file", "description": "Reads a file.", "inputSchema": {"type": "object"}}
CHANGED = {**PINNED, "description": "RUGPULLED"}


class TestAChangedDefinition:
    """`on_change: block`: the model does not get to read it, in whatever way it comes."""

    @pytest.mark.parametrize("written", ["1", '"1"', "1.0", "1e0", "10e-1"])
    def test_does_not_pass_with_any_writing_of_the_id(self, pinned: Wrapped, written: str) -> None:
        pinned.from_client(LIST)
        listing = result(1, tools=[CHANGED, {"name": "new"}]).replace(b'"id": 1', f'"id": {written}'.encode())
        answer = json.loads(pinned.from_server(listing))
        assert answer["result"]["tools"] == []
        assert pinned.notices == ["tool_not_as_pinned"] * 2
        assert not pinned.is_waiting
        pinned.from_client(tool_call(2))
        assert pinned.decided[-1].reason == "pin_mismatch"

    @pytest.mark.parametrize("asked", [message(id=1, method="ping"), tool_call(1)])
    def test_does_not_pass_whatever_was_asked(self, pinned: Wrapped, asked: bytes) -> None:
        pinned.policy.check_listing("files", [PINNED])
        assert isinstance(pinned.from_client(asked), Forward)
        assert b"RUGPULLED" not in pinned.from_server(result(1, tools=[CHANGED]))

    @pytest.mark.parametrize(
        "listing",
        [
            b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{"tools":[TOOL]}}\n',
            b'{"jsonrpc":"2.0","id":1,"error":{},"result":{"tools":[TOOL]}}\n',
            b'{"jsonrpc":"2.0","id":1,"Result":{"tools":[TOOL]}}\n',
            b'{"jsonrpc":"2.0","id":1,"result":{"\\u0074ool\xc5\xbf":[TOOL]}}\n',
            b'{"jsonrpc":"2.0","id":1,"result":{"TOOLS":[TOOL]}}\n',
            b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file","Description":"RUGPULLED"}]}}\n',
            b'{"x":\r{"jsonrpc":"2.0","id":1,"result":{"tools":[TOOL]}}\r}\n',
            b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"result":{"tools":[TOOL]}}\n',
        ],
    )
    def test_does_not_pass_in_a_message_that_two_clients_read_differently(
        self, pinned: Wrapped, listing: bytes
    ) -> None:
        pinned.from_client(LIST)
        passed = pinned.from_server(listing.replace(b"TOOL]", json.dumps(CHANGED).encode() + b"]"))
        assert b"RUGPULLED" not in passed
        assert json.loads(passed)["error"]["data"]["reason"] == "listing_unreadable"

    def test_counts_also_when_nobody_asked_for_it(self, pinned: Wrapped) -> None:
        assert pinned.from_server(result(9, tools=[CHANGED])) == b""
        assert pinned.notices == ["tool_not_as_pinned", "response_unasked"]
        assert isinstance(pinned.from_client(ALLOWED), Answer)

    def test_passes_when_the_policy_only_warns(self, tmp_path: Path) -> None:
        pins = Pins({"files": of_listing([PINNED])}, "warn")
        session = Wrapped(tmp_path, make_policy("allow", pins=pins))
        session.from_client(LIST)
        assert b"RUGPULLED" in session.from_server(result(1, tools=[CHANGED]))

    def test_is_one_for_all_connections(self, tmp_path: Path, pinned: Wrapped) -> None:
        """What one connection has seen, the policy knows on the next."""
        (tmp_path / "other").mkdir()
        other = Wrapped(tmp_path / "other", pinned.policy)
        pinned.from_client(LIST)
        pinned.from_server(result(1, tools=[CHANGED]))
        assert isinstance(other.from_client(ALLOWED), Answer)


class TestACallBeforeTheFirstListing:
    """A client that has a listing of before needs none: its tools may be other ones by now."""

    @pytest.mark.parametrize("era", [{}, {"_meta": CURRENT}])
    def test_of_a_pinned_tool_is_refused_until_it_was_listed(
        self, pinned: Wrapped, era: dict[str, Any]
    ) -> None:
        assert isinstance(pinned.from_client(tool_call(1, **era)), Answer)
        assert [line.reason for line in pinned.decided] == ["not_listed"]
        pinned.from_client(message(id=2, method="tools/list"))
        assert isinstance(pinned.from_client(tool_call(3, **era)), Answer)
        pinned.from_server(result(2, tools=[PINNED]))
        assert isinstance(pinned.from_client(tool_call(4, **era)), Forward)

    def test_is_let_through_where_another_connection_has_listed(
        self, tmp_path: Path, pinned: Wrapped
    ) -> None:
        (tmp_path / "other").mkdir()
        other = Wrapped(tmp_path / "other", pinned.policy)
        pinned.from_client(LIST)
        pinned.from_server(result(1, tools=[PINNED]))
        assert isinstance(other.from_client(ALLOWED), Forward)

    def test_is_only_told_of_in_a_dry_run(self, tmp_path: Path) -> None:
        pins = Pins({"files": of_listing([PINNED])})
        session = Wrapped(tmp_path, make_policy("allow", pins=pins, dry_run=True))
        assert isinstance(session.from_client(ALLOWED), Forward)
        assert [(line.decision, line.reason) for line in session.decided] == [("deny", "not_listed")]


class TestAnAnswerThatNobodyAskedFor:
    @pytest.mark.parametrize(
        "answer",
        [
            result(2),
            result("x", tools=[]),
            message(id=True, result={}),
            message(id=None, result={}),
            message(id=2, error={"code": 1, "message": ""}),
        ],
    )
    def test_does_not_pass_and_is_noticed(self, session: Wrapped, answer: bytes) -> None:
        session.from_client(ALLOWED)
        assert session.from_server(answer) == b""
        assert session.notices == ["response_unasked"]
        assert session.is_waiting

    def test_is_cut_out_of_a_batch(self, session: Wrapped) -> None:
        session.from_client(ALLOWED)
        batch = b"[" + result(2).strip() + b", " + result(1).strip() + b"]\n"
        assert session.from_server(batch) == b"[" + result(1).strip() + b"]\n"

    def test_is_not_one_that_comes_late_or_again(self, session: Wrapped) -> None:
        session.from_client(ALLOWED)
        session.from_client(message(method="notifications/cancelled", params={"requestId": "1"}))
        assert session.from_server(result(1)) == session.from_server(result(1)) == result(1)
        assert session.outcomes == [(1, "cancelled")]

    def test_is_not_an_error_about_something_unreadable(self, session: Wrapped) -> None:
        error = message(id=None, error={"code": -32700, "message": ""})
        assert session.from_server(error) == error


SAMPLING = message(id=5, method="sampling/createMessage", params={})


class TestARequestOfTheServer:
    @pytest.fixture
    def strict(self, tmp_path: Path) -> Wrapped:
        return Wrapped(tmp_path, make_policy(methods=Methods(deny=Globs(("sampling/*",)))))

    def test_that_the_policy_denies_is_answered_in_the_clients_place(self, strict: Wrapped) -> None:
        assert strict.from_server(SAMPLING) == b""
        (answer,) = strict.for_server()
        assert json.loads(answer)["id"] == 5
        assert json.loads(answer)["error"]["data"]["reason"] == "method_refused"
        assert strict.for_server() == []
        assert strict.notices == ["method_refused"]
        assert strict.from_client(message(id=5, result={})) == Answer(None)

    def test_passes_otherwise(self, strict: Wrapped, session: Wrapped) -> None:
        roots = message(id=6, method="roots/list")
        assert (session.from_server(SAMPLING), strict.from_server(roots)) == (SAMPLING, roots)
        assert isinstance(strict.from_client(message(id="6", result={})), Forward)

    def test_does_not_pass_with_an_id_that_is_none(self, strict: Wrapped) -> None:
        assert strict.from_server(SAMPLING.replace(b'"id": 5', b'"id": null')) == b""
        assert strict.for_server() == []

    def test_is_not_what_a_notification_of_the_servers_own_is(self, strict: Wrapped) -> None:
        own = message(method="notifications/of-its-own")
        assert strict.from_server(own) == own

    def test_passes_in_a_dry_run_and_is_noticed(self, tmp_path: Path) -> None:
        methods = Methods(deny=Globs(("sampling/*",)))
        session = Wrapped(tmp_path, make_policy(methods=methods, dry_run=True))
        assert session.from_server(SAMPLING) == SAMPLING
        assert session.notices == ["method_refused"]

    def test_is_held_to_the_policy_also_inside_of_a_result(self, strict: Wrapped) -> None:
        strict.from_client(ALLOWED)
        asked = {"a": {"method": "sampling/createMessage", "params": {}}}
        answer = strict.from_server(result(1, resultType="input_required", inputRequests=asked))
        assert json.loads(answer)["error"]["data"]["reason"] == "method_refused"
        assert strict.outcomes == [(1, "protocol_error")]

    @pytest.mark.parametrize(
        "smuggled",
        [
            SAMPLING.replace(b'"method"', b'"method":"ping","method"'),
            SAMPLING.replace(b'"method"', b'"Method"'),
            SAMPLING.replace(b'"method"', b'"method":"ping","\\u004dethod"'),
        ],
    )
    def test_that_two_clients_read_differently_does_not_pass(self, strict: Wrapped, smuggled: bytes) -> None:
        assert strict.from_server(smuggled) == b""
        assert strict.notices == ["server_frame_ambiguous"]


def test_a_line_of_a_log_passes_unless_there_is_something_like_a_message_in_it(session: Wrapped) -> None:
    session.from_client(LIST)
    assert session.from_server(b"7 tools: ready\n") == b"7 tools: ready\n"
    assert session.from_server(b'\x1e{"id":1,"result":{"tools":[]}}\n') == b""
    assert session.is_waiting


def test_what_is_deep_in_a_result_is_its_own_affair(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    answer = (
        b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"method":"GET","Method":1,"a":1,"a":2}}}\n'
    )
    assert session.from_server(answer) == answer
