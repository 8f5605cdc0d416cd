"""One message of a client, read in the only way that all servers share, or refused.

In: the bytes of a message, which may be hostile. Out: a `Frame`. A policy is worth nothing when a server
reads something else in the bytes than we do, so whatever readers are known to differ about is refused with a
fixed word: keys that come twice or differ in case only, line ends of another alphabet, numbers that not
everyone holds, several messages in one. Never raises for what is in the bytes, and never changes them.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple, TypeGuard

Kind = Literal["request", "notification", "response", "blank", "refused"]
RequestId = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
MAX_DEPTH = 128
MAX_ID = 1024
MAX_BATCH_TOLD = 100  # messages of a refused batch that are looked at
MAX_PORTABLE_INTEGER = 1 << 53
_MOST_DIGITS = 64

_ENVELOPE = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
_PARAMETERS = frozenset({"name", "arguments", "_meta", "requestId", "uri", "ref", "cursor", "task"})
_FOLDED = {
    key.casefold(): key for key in _ENVELOPE | _PARAMETERS
}  # readers in Go take any case for the right one
# Some readers of lines end one here; what follows would then be a message of its own.
_OTHER_LINE = re.compile("[\x85\u2028\u2029][^!-~]*[\\[{]")
_OF_VALUES = frozenset({"number_not_portable", "lone_surrogate"})
_BOM = b"\xef\xbb\xbf"


class Frame(NamedTuple):
    kind: Kind
    method: str | None = None
    id: RequestId | None = None
    params: Any = None
    problem: str | None = None  # of a refused frame: a fixed word
    code: int = INVALID_REQUEST
    ids: tuple[RequestId, ...] = ()  # of a refused frame: the requests in it, as far as that is certain
    told: tuple[tuple[str, Any], ...] = ()  # of a refused frame: method and params as most would read them


class Reading(NamedTuple):
    """What a message says, and the first thing in it about which readers differ."""

    value: Any
    problem: str | None
    code: int = INVALID_REQUEST


def classify(data: bytes) -> Frame:
    """`data` is one message, with or without its line end."""
    if not data or data.isspace():
        is_plain = not data.removesuffix(b"\r\n").strip(b" \t\n")
        return Frame("blank") if is_plain else _refused("not_json", PARSE_ERROR)
    value, problem, code = read(data, portable_values=True)
    if isinstance(value, list):
        return _refused("batch", INVALID_REQUEST, value)
    if not isinstance(value, dict):
        return _refused(problem or "not_an_object", code)
    if problem in _OF_VALUES and _is_response(value):
        problem = None  # no policy looks into an answer
    return _message(value) if problem is None else _refused(problem, code, [value])


def read(data: bytes, *, portable_values: bool) -> Reading:
    """Strictly; with `portable_values` also about the values that differ from reader to reader."""
    text, problem = _text(data)
    if problem is not None:
        return Reading(_leniently(data), problem, PARSE_ERROR)
    has_escapes = b"\\" in data  # to look for one letter is far faster than to look for two
    reader = _Reader(refuses_nul_in_keys=has_escapes and b"\\u0000" in data)
    try:
        value = reader.read(text, numbers=portable_values)
        if data.count(b"{") + data.count(b"[") > MAX_DEPTH and _is_deep(value):
            return Reading(None, "too_deep", PARSE_ERROR)
    except RecursionError:
        return Reading(None, "too_deep", PARSE_ERROR)
    except ValueError:
        return Reading(None, "not_json", PARSE_ERROR)
    if reader.problem is None and portable_values and has_escapes and _has_lone_surrogate(data, value):
        reader.problem = "lone_surrogate"
    return Reading(value, reader.problem)


class _Reader:
    """Remembers the first problem instead of stopping there: a refusal can then name its request."""

    def __init__(self, *, refuses_nul_in_keys: bool) -> None:
        self.problem: str | None = None
        self._refuses_nul = refuses_nul_in_keys

    def read(self, text: str, *, numbers: bool) -> Any:
        return json.loads(
            text,
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_int=self._integer if numbers else None,
            parse_float=self._float if numbers else None,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._note("duplicate_key")
            if sum(key == "id" for key, _ in pairs) > 1:
                made["id"] = None  # which of them counts is not certain
        elif len({key.casefold() for key in made}) != len(made):
            self._note("keys_differ_in_case")
        if self._refuses_nul and any("\0" in key for key in made):
            self._note("nul_in_key")
        return made

    def _note(self, problem: str) -> None:
        self.problem = self.problem or problem

    def _constant(self, token: str) -> float:
        self._note("not_a_number")
        return float(token)

    def _integer(self, token: str) -> int:
        value = int(token[:_MOST_DIGITS])
        if len(token) > _MOST_DIGITS or abs(value) > MAX_PORTABLE_INTEGER:
            self._note("number_not_portable")
        return value

    def _float(self, token: str) -> float:
        value = float(token)
        is_zero_as_written = not token.lower().partition("e")[0].strip("-0.")
        if (
            len(token) > _MOST_DIGITS
            or value in {float("inf"), float("-inf")}
            or (not value and not is_zero_as_written)
        ):
            self._note("number_not_portable")
        return value


def _text(data: bytes) -> tuple[str, str | None]:
    """The text, or what is foreign in its bytes."""
    if data.startswith(_BOM):
        return "", "byte_order_mark"
    if b"\0" in data:
        return "", "nul"
    at = data.find(b"\r")
    if at >= 0 and data[at:] != b"\r\n":
        return "", "carriage_return"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "", "not_utf8"
    has_other_lines = not text.isascii() and _OTHER_LINE.search(text)
    return text, "line_separator" if has_other_lines else None


def _has_lone_surrogate(data: bytes, value: Any) -> bool:
    if b"\\ud" not in data and b"\\uD" not in data:
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        depth += 1
        inner = [
            part for one in level for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, dict | list)
        ]  # fmt: skip
        level = inner
        if depth > MAX_DEPTH:
            return True
    return False


def _leniently(data: bytes) -> Any:
    """For the record only: what the message would have been taken for. None: for nothing."""
    try:
        return json.loads(data.decode("utf-8", "replace").lstrip("\ufeff").replace("\0", ""), strict=False)
    except (ValueError, RecursionError):
        return None


def _message(value: dict[str, Any]) -> Frame:
    if (problem := _envelope_problem(value)) is not None:
        return _refused(problem, INVALID_REQUEST, [value])
    method, params = value.get("method"), value.get("params")
    if method is None:
        return Frame("response", id=value["id"])
    if "id" not in value:
        return Frame("notification", method, None, params)
    return Frame("request", method, value["id"], params)


def _envelope_problem(value: dict[str, Any]) -> str | None:
    if any(_is_other_case(key, _ENVELOPE) for key in value):
        return "keys_differ_in_case"
    if value.get("jsonrpc") != "2.0":
        return "jsonrpc_version"
    if "id" in value and not is_id(value["id"]):
        return "id_invalid"
    answers = ("result" in value) + ("error" in value)
    if "method" in value:
        is_one_thing = not answers and isinstance(value["method"], str)
    else:
        is_one_thing = answers == 1 and "id" in value
    return _params_problem(value.get("params")) if is_one_thing else "neither_request_nor_response"


def _params_problem(params: Any) -> str | None:
    if params is None:
        return None
    if not isinstance(params, dict):
        return "params_invalid"
    return "keys_differ_in_case" if any(_is_other_case(key, _PARAMETERS) for key in params) else None


def _is_response(value: dict[str, Any]) -> bool:
    return _envelope_problem(value) is None and "method" not in value


def _is_other_case(key: str, known: frozenset[str]) -> bool:
    return key not in known and _FOLDED.get(key.casefold()) in known


def is_id(value: Any) -> TypeGuard[RequestId]:
    if isinstance(value, str):
        return len(value) <= MAX_ID and value.isprintable()
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_PORTABLE_INTEGER


def _refused(problem: str, code: int = INVALID_REQUEST, messages: list[Any] | None = None) -> Frame:
    read_as = [one for one in (messages or [])[:MAX_BATCH_TOLD] if isinstance(one, dict)]
    asked = [one for one in read_as if isinstance(one.get("method"), str)]
    return Frame(
        "refused",
        problem=problem,
        code=code,
        ids=tuple(one["id"] for one in asked if _is_certain_id(one, code)),
        told=tuple((one["method"], one.get("params")) for one in asked),
    )


def _is_certain_id(message: dict[str, Any], code: int) -> bool:
    value = message.get("id")
    if not is_id(value) or sum(key.casefold() == "id" for key in message) > 1:
        return False
    return code != PARSE_ERROR or isinstance(value, int) or value.isascii()
