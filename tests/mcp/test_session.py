"""One connection: what passes, what is said instead, and what the journal is told of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from steno.errors import StenoError
from steno.evidence import intake
from steno.evidence.claims import Outcome, ProcessKey
from steno.mcp.session import Answer, Forward
from support.mcp_wrapped import CURRENT, Wrapped, make_policy, message, result, said, tool_call

ALLOWED, DENIED = tool_call(1), tool_call(2, "write_file")


@pytest.fixture
def session(tmp_path: Path) -> Wrapped:
    return Wrapped(tmp_path)


def test_the_journal_begins_with_who_stands_between_whom(session: Wrapped) -> None:
    (opened,) = session.told
    assert isinstance(opened, intake.Opened)
    assert (opened.source, opened.server, opened.policy) == ("steno.mcp.wrap", "files", "0" * 64)
    assert opened.server_process == ProcessKey(7, 8)
    assert opened.proxy_process.pid == os.getpid()


def test_an_allowed_call_passes_byte_for_byte_and_is_told_first(session: Wrapped) -> None:
    odd_but_good = (
        b' {"params": {"name":"read_\\u0066ile"} ,"method":"tools/call","id":1,"jsonrpc":"2.0"}\r\n'
    )
    assert session.from_client(odd_but_good) == Forward(odd_but_good, call=1)
    (decided,) = session.decided
    assert (decided.tool, decided.decision, decided.reason) == ("read_file", "allow", "allowed_by_rule")
    assert session.outcomes == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (result(1, content=[]), "result"),
        (result(1, content=[], isError=True), "tool_error"),
        (result(1, resultType="input_required"), "input_required"),
        (message(id=1, error={"code": -1, "message": "no"}), "protocol_error"),
        (b'{"jsonrpc":"2.0","id":1,"result":7}\n', "protocol_error"),
    ],
)
def test_the_answer_ends_the_call(session: Wrapped, answer: bytes, outcome: str) -> None:
    session.from_client(ALLOWED)
    assert session.from_server(answer) == answer
    assert session.outcomes == [(1, outcome)]


def test_a_denied_call_is_answered_so_that_a_model_can_read_it(session: Wrapped) -> None:
    answer = said(session.from_client(tool_call(2, "write_file", _meta=CURRENT)))
    assert answer["id"] == 2
    assert answer["result"]["isError"] is True
    assert answer["result"]["resultType"] == "complete"
    assert "does not allow the tool 'write_file'" in answer["result"]["content"][0]["text"]
    assert [(line.decision, line.reason) for line in session.decided] == [("deny", "denied_by_default")]
    assert session.outcomes == [(1, "denied")]


def test_the_legacy_era_has_no_result_type(session: Wrapped) -> None:
    session.from_client(message(id=0, method="initialize", params={}))
    assert "resultType" not in said(session.from_client(DENIED))["result"]
    assert "resultType" in said(session.from_client(tool_call(3, "write_file", _meta=CURRENT)))["result"]


@pytest.mark.parametrize(
    ("meta", "tool_call_id", "id_from"),
    [
        ({"callId": "b", "claudecode/toolUseId": "a"}, "a", "_meta.claudecode/toolUseId"),
        ({"callId": "b", "steno/toolCallId": "c"}, "b", "_meta.callId"),
        ({"steno/toolCallId": "c"}, "c", "_meta.steno/toolCallId"),
        ({"callId": 7, "steno/toolCallId": "c"}, "c", "_meta.steno/toolCallId"),
        ({"callId": "line\nbreak"}, "request:c1:1", "request"),
        ({"callId": ""}, "request:c1:1", "request"),
        ({"callId": "x" * 257}, "request:c1:1", "request"),
        ([], "request:c1:1", "request"),
    ],
)
def test_the_id_of_a_call_is_the_agents_own(
    session: Wrapped, meta: Any, tool_call_id: str, id_from: str
) -> None:
    session.from_client(tool_call(1, _meta=meta, arguments={"callId": "never from here"}))
    (decided,) = session.decided
    assert (decided.tool_call_id, decided.id_from) == (tool_call_id, id_from)
    assert decided.request_id == "1"


@pytest.mark.parametrize(
    ("meta", "tool_call_id", "id_from"),
    [
        ({"tool_call_id": "tc_1"}, "tc_1", "arguments._meta.tool_call_id"),
        ({"tool_call_id": ""}, "request:c1:1", "request"),
        ({"callId": "never from here"}, "request:c1:1", "request"),
    ],
)
def test_the_arguments_may_tell_the_id_as_assay_runner_has_it(
    session: Wrapped, meta: Any, tool_call_id: str, id_from: str
) -> None:
    session.from_client(tool_call(1, arguments={"_meta": meta}))
    (decided,) = session.decided
    assert (decided.tool_call_id, decided.id_from) == (tool_call_id, id_from)


def test_ids_that_a_client_takes_for_the_same_are_the_same(session: Wrapped) -> None:
    assert isinstance(session.from_client(tool_call(1)), Forward)
    assert said(session.from_client(tool_call("1")))["error"]["data"]["reason"] == "request_id_in_use"
    assert isinstance(session.from_client(tool_call("01")), Forward)
    assert [line.tool_call_id for line in session.decided][::2] == ["request:c1:1", 'request:c1:"01"']


def test_an_id_is_generated_when_there_is_none_to_use(session: Wrapped) -> None:
    session.from_client(tool_call("x" * 300))
    assert session.decided[0].tool_call_id == "generated:c1:1"


def test_the_id_of_an_open_request_is_not_taken_twice(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    again = said(session.from_client(ALLOWED))
    assert again["id"] is None  # an error with this id would be taken for the answer to the first
    assert again["error"]["data"]["reason"] == "request_id_in_use"
    assert [(line.decision, line.reason) for line in session.decided][1] == ("error", "request_id_in_use")
    session.from_server(result(1))
    assert session.from_client(ALLOWED) == Forward(ALLOWED, call=3)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (None, "tool_name_invalid"),
        ({}, "tool_name_invalid"),
        ({"name": 7}, "tool_name_invalid"),
        ({"name": ""}, "tool_name_invalid"),
        ({"name": "read_file\0"}, "tool_name_invalid"),
        ({"name": "read_\u200bfile"}, "tool_name_invalid"),
        ({"name": "r" * 300}, "tool_name_invalid"),
        (["read_file"], "params_invalid"),
    ],
)
def test_a_call_of_odd_form_is_an_error(session: Wrapped, params: Any, reason: str) -> None:
    answer = said(session.from_client(message(id=4, method="tools/call", params=params)))
    assert (answer["id"], answer["error"]["data"]["reason"]) == (4, reason)
    assert [(line.decision, line.reason, line.tool) for line in session.decided] == [("error", reason, "")]


def test_a_call_that_wants_no_answer_is_not_made(session: Wrapped) -> None:
    assert session.from_client(message(method="tools/call", params={"name": "read_file"})) == Answer(None)
    assert [(line.decision, line.reason) for line in session.decided] == [("error", "call_without_id")]


def test_every_call_of_a_batch_is_told_and_answered(session: Wrapped) -> None:
    batch = b"[" + ALLOWED.strip() + b"," + DENIED.strip() + b"]"
    answers = said(session.from_client(batch))
    assert [(one["id"], one["error"]["code"]) for one in answers] == [(1, -32600), (2, -32600)]
    assert [(line.tool, line.reason) for line in session.decided] == [
        ("read_file", "batch"),
        ("write_file", "batch"),
    ]


def test_a_refused_frame_that_is_no_call_is_noticed(session: Wrapped) -> None:
    assert said(session.from_client(b"what?\n"))["error"]["code"] == -32700
    assert session.notices == ["frame_refused"]


def test_methods_of_the_protocol_pass_and_others_do_not(session: Wrapped) -> None:
    for number, method in enumerate(("initialize", "ping", "prompts/get", "server/discover")):
        data = message(id=number, method=method)
        assert session.from_client(data) == Forward(data)
    assert said(session.from_client(message(id=9, method="Tools/Call")))["error"]["code"] == -32601
    assert session.from_client(message(method="tools/call ")) == Answer(None)
    assert session.notices == ["method_refused", "method_refused"]


def test_the_client_answers_only_what_the_server_asked(session: Wrapped) -> None:
    answer = message(id=5, result={"roots": []})
    assert session.from_client(answer) == Answer(None)
    asked = message(id=5, method="roots/list")
    assert session.from_server(asked) == asked
    assert session.from_client(answer) == Forward(answer)
    assert session.from_client(answer) == Answer(None)
    assert session.notices == ["response_unasked", "response_unasked"]


def test_what_the_server_has_cancelled_needs_no_answer(session: Wrapped) -> None:
    session.from_server(message(id=5, method="roots/list"))
    session.from_server(message(method="notifications/cancelled", params={"requestId": 5}))
    assert session.from_client(message(id=5, result={})) == Answer(None)


def test_a_cancelled_call_has_ended(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    cancel = message(method="notifications/cancelled", params={"requestId": 1})
    assert session.from_client(cancel) == Forward(cancel)
    late = result(1)
    assert session.from_server(late) == late
    assert session.outcomes == [(1, "cancelled")]


def test_dry_run_tells_what_it_would_deny_and_lets_it_through(tmp_path: Path) -> None:
    session = Wrapped(tmp_path, make_policy(dry_run=True))
    assert session.from_client(DENIED) == Forward(DENIED, call=1)
    unknown = message(id=3, method="made/up")
    assert session.from_client(unknown) == Forward(unknown)
    session.from_server(result(2))
    assert [(line.decision, line.reason) for line in session.decided] == [("deny", "denied_by_default")]
    assert session.outcomes == [(1, "result")]
    assert isinstance(session.told[0], intake.Opened)
    assert session.told[0].dry_run


def test_dry_run_is_about_policy_and_not_about_form(tmp_path: Path) -> None:
    session = Wrapped(tmp_path, make_policy(dry_run=True))
    assert isinstance(session.from_client(b"[" + ALLOWED.strip() + b"]"), Answer)


class TestAnUnwritableJournal:
    @pytest.fixture
    def full(self, session: Wrapped, monkeypatch: pytest.MonkeyPatch) -> Wrapped:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("steno.claims.client.Log.append", fail)
        return session

    def test_no_call_passes(self, full: Wrapped) -> None:
        answer = said(full.from_client(ALLOWED))
        assert answer["result"]["isError"] is True
        assert "decision_log_unwritable" in answer["result"]["content"][0]["text"]
        assert not full.is_waiting

    def test_everything_else_goes_on(self, full: Wrapped) -> None:
        ping = message(id=8, method="ping")
        assert full.from_client(ping) == Forward(ping)
        assert isinstance(full.from_client(DENIED), Answer)
        assert isinstance(full.from_client(b"?"), Answer)
        assert len(full.server_gone(1, None)) == 1

    def test_calls_pass_again_when_it_is_writable_again(
        self, full: Wrapped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        full.from_client(ALLOWED)
        monkeypatch.undo()
        assert full.from_client(ALLOWED) == Forward(ALLOWED, call=2)


def test_every_request_gets_an_error_when_the_server_is_gone(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    session.from_client(message(id="p", method="ping"))
    errors = [json.loads(error) for error in session.server_gone(3, None)]
    assert [(one["id"], one["error"]["code"]) for one in errors] == [(1, -32603), ("p", -32603)]
    assert session.outcomes == [(1, "server_gone")]
    assert session.server_gone() == []
    closed = session.told[-1]
    assert isinstance(closed, intake.Closed)
    assert (closed.reason, closed.exit_code) == ("server_exited", 3)


def test_a_client_that_goes_ends_its_calls_once(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    session.client_gone(0, None)
    session.client_gone()
    session.close("proxy_failed")
    assert session.outcomes == [(1, "client_gone")]
    assert [line.reason for line in session.told if isinstance(line, intake.Closed)] == ["client_closed"]


@pytest.mark.parametrize(
    ("outcome", "why", "says"),
    [
        ("server_gone", None, "the server ended without one"),
        ("client_gone", None, "the client closed its side, and then the server ended without one"),
        ("server_gone", "it is switched off", "it is switched off"),
    ],
)
def test_who_gets_no_answer_is_told_why(
    session: Wrapped, outcome: Outcome, why: str | None, says: str
) -> None:
    session.from_client(ALLOWED)
    ticket = session.pending(1)
    assert ticket is not None
    answer = json.loads(session.lost(ticket, outcome, why) or b"")
    assert answer["error"]["message"] == f"steno: tools/call gets no answer: {says}"


def test_one_request_can_be_lost_alone(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    session.from_client(tool_call(2))
    ticket = session.pending(1)
    assert ticket is not None
    assert session.lost(ticket, "server_gone") is not None
    assert session.lost(ticket, "server_gone") is None
    assert session.outcomes == [(1, "server_gone")]


def test_a_request_is_not_ended_by_what_comes_to_an_earlier_one_with_its_id(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    first = session.pending(1)
    assert first is not None
    session.from_client(message(method="notifications/cancelled", params={"requestId": 1}))
    session.from_client(ALLOWED)
    assert session.from_server(result(1), first) == result(1)
    assert session.lost(first, "client_gone") is None
    assert session.outcomes == [(1, "cancelled")]
    session.from_server(result(1), session.pending(1))
    assert session.outcomes == [(1, "cancelled"), (2, "result")]


SECRET = "ghp_EXAMPLEexample0123456789EXAMPLEexample"


def test_nothing_foreign_is_told_with_a_secret_in_it(tmp_path: Path) -> None:
    session = Wrapped(tmp_path, label=SECRET)
    session.from_client(tool_call(SECRET, SECRET, _meta={"callId": SECRET}))
    session.from_client(tool_call(SECRET + "1"))
    session.from_client(message(id=3, method=SECRET))
    assert SECRET.encode()[4:] not in session.log.read_bytes()
    assert session.decided[1].id_from == "generated"


def test_ids_without_a_secret_in_them_are_told_as_they_are(session: Wrapped) -> None:
    ids = ["toolu_01A09q90qw90lq917835lq9", "call_Xk2lDxJ8a9PqLmN3bVcZ1yTr"]
    for number, one in enumerate(ids):
        session.from_client(tool_call(number, _meta={"callId": one}))
    assert [line.tool_call_id for line in session.decided] == ids


def test_arguments_are_told_masked(session: Wrapped) -> None:
    session.from_client(tool_call(1, arguments={"path": "/tmp/a", "password": "hunter2hunter2"}))
    kept = session.decided[0].arguments
    assert kept["path"] == "/tmp/a"
    assert "hunter2" not in kept["password"]


def test_of_large_arguments_the_short_ones_are_told(session: Wrapped) -> None:
    session.from_client(tool_call(1, arguments={"path": "/tmp/a", "content": "x" * 1_000_000}))
    (decided,) = session.decided
    assert decided.arguments_cut
    assert decided.arguments["path"] == "/tmp/a"
    assert len(decided.arguments["content"]) == 1024


def test_arguments_of_too_many_parts_are_left_out(session: Wrapped) -> None:
    session.from_client(tool_call(1, arguments={"all": list(range(100_000))}))
    assert (session.decided[0].arguments, session.decided[0].arguments_cut) == (None, True)


def test_a_batch_of_answers_ends_every_call_in_it(session: Wrapped) -> None:
    session.from_client(ALLOWED)
    session.from_client(tool_call(2))
    batch = b"[" + result(2).strip() + b"," + result(1, isError=True).strip() + b"]\n"
    assert session.from_server(batch) == batch
    assert session.outcomes == [(2, "result"), (1, "tool_error")]


def test_what_a_server_says_outside_of_the_protocol_passes_and_is_noticed(session: Wrapped) -> None:
    assert session.from_server(b"Starting up ...\n") == b"Starting up ...\n"
    assert session.notices == ["server_frame_unreadable"]


def test_a_journal_that_cannot_be_opened_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(StenoError, match="cannot write decisions") as caught:
        Wrapped(tmp_path / "missing")
    assert "--log-optional" in caught.value.hint
