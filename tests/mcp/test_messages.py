"""A message is read in the one way that all servers share, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.mcp.messages import MAX_DEPTH, classify
from steno.mcp.protocol import INVALID_REQUEST, PARSE_ERROR
from support.mcp_wrapped import message, tool_call

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'


def call_with(arguments: bytes) -> bytes:
    return CALL.replace(b'{"name":"a"}', b'{"name":"a","arguments":' + arguments + b"}")


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_request_is_read(end: bytes) -> None:
    frame = classify(CALL + end)
    assert (frame.kind, frame.method, frame.id, frame.params) == ("request", "tools/call", 1, {"name": "a"})


def test_a_notification_has_no_id() -> None:
    assert classify(message(method="notifications/initialized")).kind == "notification"


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": 1, "message": "no"}}])
def test_a_response_has_an_id_and_one_answer(answer: dict[str, Any]) -> None:
    frame = classify(message(id="x", **answer))
    assert (frame.kind, frame.id) == ("response", "x")


def test_an_answer_may_hold_what_a_request_may_not() -> None:
    assert classify(b'{"jsonrpc":"2.0","id":1,"result":{"n":123456789012345678901,"t":"\\ud800"}}').kind == (
        "response"
    )


def test_escapes_in_keys_are_only_another_way_to_write_them() -> None:
    assert classify(CALL.replace(b'"method"', b'"m\\u0065thod"')).method == "tools/call"


@pytest.mark.parametrize("blank", [b"", b"\n", b"\r\n", b" \t\n"])
def test_an_empty_line_says_nothing(blank: bytes) -> None:
    assert classify(blank).kind == "blank"


TWICE = CALL.replace(b'"id":1', b'"id":1,"method":"ping"')
REFUSED = {
    "a key twice": (TWICE, "duplicate_key"),
    "a key twice, once escaped": (
        CALL.replace(b'"id":1', b'"id":1,"m\\u0065thod":"ping"'),
        "duplicate_key",
    ),
    "an argument twice": (call_with(b'{"path":"a","path":"b"}'), "duplicate_key"),
    "an argument in two cases": (call_with(b'{"path":"a","Path":"b"}'), "keys_differ_in_case"),
    "an argument in two cases, deeper": (call_with(b'{"x":[{"a":1,"A":2}]}'), "keys_differ_in_case"),
    "a key in another case": (CALL.replace(b'"method"', b'"Method"'), "keys_differ_in_case"),
    "a key with a long s": (CALL.replace(b'"params"', b'"param\xc5\xbf"'), "keys_differ_in_case"),
    "a name in another case": (CALL.replace(b'"name"', b'"NAME"'), "keys_differ_in_case"),
    "a key with a NUL": (CALL.replace(b'"id":1', b'"id":1,"method\\u0000":"x"'), "nul_in_key"),
    "a NUL": (CALL + b"\0", "nul"),
    "a byte order mark": (b"\xef\xbb\xbf" + CALL, "byte_order_mark"),
    "a carriage return": (b"{\r" + CALL[1:], "carriage_return"),
    "a carriage return before the end": (CALL + b"\r\r\n", "carriage_return"),
    "a message behind a line separator": (call_with(b'"\xe2\x80\xa8{}"'), "line_separator"),
    "a message behind a next line": (call_with(b'"\xc2\x85  [1]"'), "line_separator"),
    "not UTF-8": (call_with(b'"\xff"'), "not_utf8"),
    "an overlong form": (call_with(b'"\xc0\xaf"'), "not_utf8"),
    "half of a surrogate pair": (call_with(b'"\\ud83d"'), "lone_surrogate"),
    "a number that is none": (call_with(b'{"n":NaN}'), "not_a_number"),
    "an infinite number": (call_with(b'{"n":-Infinity}'), "not_a_number"),
    "an integer that JavaScript rounds": (call_with(b'{"n":9007199254740993}'), "number_not_portable"),
    "an integer of 5000 digits": (call_with(b"1" * 5000), "number_not_portable"),
    "a number that overflows": (call_with(b'{"n":1e999}'), "number_not_portable"),
    "a number that vanishes": (call_with(b'{"n":1e-999}'), "number_not_portable"),
    "a number with many digits": (call_with(b"0." + b"1" * 70), "number_not_portable"),
    "a comment": (CALL[:-1] + b"/* */}", "not_json"),
    "a comma too many": (CALL[:-1] + b",}", "not_json"),
    "single quotes": (CALL.replace(b'"', b"'"), "not_json"),
    "a control character in a string": (call_with(b'"\x0b"'), "not_json"),
    "two values": (CALL + b" " + CALL, "not_json"),
    "half a message": (CALL[:-1], "not_json"),
    "a vertical tab alone": (b"\x0b\n", "not_json"),
    "a string": (b'"tools/call"', "not_an_object"),
    "a batch": (b"[" + CALL + b"]", "batch"),
    "an empty batch": (b"[]", "batch"),
    "too deep": (call_with(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH), "too_deep"),
    "far too deep": (call_with(b"[" * 100_000 + b"]" * 100_000), "too_deep"),
    "another version": (CALL.replace(b"2.0", b"1.0"), "jsonrpc_version"),
    "an id that is null": (CALL.replace(b'"id":1', b'"id":null'), "id_invalid"),
    "an id that is true": (CALL.replace(b'"id":1', b'"id":true'), "id_invalid"),
    "an id that is a fraction": (CALL.replace(b'"id":1', b'"id":1.0'), "id_invalid"),
    "an id that is a list": (CALL.replace(b'"id":1', b'"id":[1]'), "id_invalid"),
    "an id with a line break": (CALL.replace(b'"id":1', b'"id":"a\\nb"'), "id_invalid"),
    "an id that is long": (CALL.replace(b'"id":1', b'"id":"' + b"a" * 2000 + b'"'), "id_invalid"),
    "a request that is also an answer": (
        CALL.replace(b'"id":1', b'"id":1,"result":{}'),
        "neither_request_nor_response",
    ),
    "an answer to nothing": (b'{"jsonrpc":"2.0","result":{}}', "neither_request_nor_response"),
    "two answers": (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "neither_request_nor_response"),
    "a method that is a number": (CALL.replace(b'"tools/call"', b"1"), "neither_request_nor_response"),
    "params by position": (CALL.replace(b'{"name":"a"}', b'["a"]'), "params_invalid"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_readers_differ_about_is_refused(name: str) -> None:
    data, problem = REFUSED[name]
    frame = classify(data)
    assert (frame.kind, frame.problem) == ("refused", problem)
    assert frame.code in {PARSE_ERROR, INVALID_REQUEST}


def test_the_page_has_every_word_of_a_refusal() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()
    assert not {problem for _, problem in REFUSED.values() if f"`{problem}`" not in page}


def test_a_refusal_names_the_request_if_its_id_is_certain() -> None:
    assert classify(TWICE).ids == (1,)
    assert classify(CALL.replace(b'"id":1', b'"id":1,"id":2')).ids == ()
    assert classify(CALL.replace(b'"id":1', b'"id":1,"ID":2')).ids == ()
    assert classify(b"[" + CALL + b"," + CALL.replace(b":1,", b":2,") + b"]").ids == (1, 2)
    assert classify(b"nonsense").ids == ()
    assert classify(b"[" + CALL.replace(b'"id":1', b'"id":1,"id":2') + b"]").ids == ()


def test_a_line_separator_inside_of_a_text_is_only_text() -> None:
    assert classify(call_with('"first\u2028second"'.encode())).kind == "request"


@pytest.mark.parametrize("number", [b"9007199254740992", b"-1.5e10", b"0", b"0e-999", b"0.1"])
def test_numbers_that_everyone_holds_pass(number: bytes) -> None:
    assert classify(call_with(number)).kind == "request"


def test_a_large_message_is_looked_through_as_a_small_one() -> None:
    text = json.dumps("x" * 100_000).encode()
    assert classify(call_with(text)).kind == "request"
    assert classify(call_with(b"[" + text + b",9007199254740993]")).problem == "number_not_portable"


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    assert classify(data).kind in {"blank", "refused"}


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
KEYS = st.text("abcdefg_", max_size=8)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


@given(JSON, st.booleans())
def test_ordinary_json_is_read_as_it_was_written(arguments: Any, ascii_only: bool) -> None:
    written = json.dumps(json.loads(tool_call(1, arguments=arguments)), ensure_ascii=ascii_only).encode()
    frame = classify(written)
    if frame.problem != "line_separator":
        assert frame.params["arguments"] == arguments
