"""One JSON-RPC message, read in the only way that all servers and clients share.

A policy is worth nothing when somebody reads something else in the bytes than we do, so whatever readers
are known to differ about gets a fixed word: keys that come twice or differ in case only, line ends of
another alphabet, numbers that not everyone holds, several messages in one. Nothing is raised for what is in
the bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeGuard

import msgspec

from steno.evidence.claims import Outcome
from steno.mcp.protocol import INVALID_REQUEST, PARSE_ERROR, RequestId

Kind = Literal["request", "notification", "response", "blank", "refused"]
MAX_DEPTH = 128
MAX_ID = 1024
MAX_BATCH_SHOWN = 100  # messages of a refused batch that are looked at
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


class ClientMessage(NamedTuple):
    kind: Kind
    method: str | None = None
    id: RequestId | None = None
    params: Any = None
    problem: str | None = None  # why it is refused, a fixed word
    code: int = INVALID_REQUEST
    ids: tuple[RequestId, ...] = ()  # of a refused message: the requests in it, as far as that is certain
    requests: tuple[tuple[str, Any], ...] = ()  # likewise: method and params as most would read them


class Reading(NamedTuple):
    """What a message says, the first thing in it about which readers differ, and every object with such
    keys."""

    value: Any
    problem: str | None
    code: int = INVALID_REQUEST
    ambiguous: tuple[dict[str, Any], ...] = ()

    def is_ambiguous(self, part: Any) -> bool:
        return any(part is one for one in self.ambiguous)


def classify(data: bytes) -> ClientMessage:
    """`data` is one message, with or without its line end."""
    if not data or data.isspace():
        is_plain = not data.removesuffix(b"\r\n").strip(b" \t\n")
        return ClientMessage("blank") if is_plain else _refused("not_json", PARSE_ERROR)
    value, problem, code, _ = read(data, portable_values=True)
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
    return Reading(value, reader.problem, ambiguous=tuple(reader.ambiguous))


class _Reader:
    """Remembers the first problem instead of stopping there: a refusal can then name its request."""

    def __init__(self, *, refuses_nul_in_keys: bool) -> None:
        self.problem: str | None = None
        self.ambiguous: list[dict[str, Any]] = []
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
        if (problem := self._key_problem(pairs, made)) is not None:
            self._note(problem)
            self.ambiguous.append(made)
        if len(made) != len(pairs) and sum(key == "id" for key, _ in pairs) > 1:
            made["id"] = None  # which of them counts is not certain
        return made

    def _key_problem(self, pairs: list[tuple[str, Any]], made: dict[str, Any]) -> str | None:
        if len(made) != len(pairs):
            return "duplicate_key"
        if len({key.casefold() for key in made}) != len(made):
            return "keys_differ_in_case"
        return "nul_in_key" if self._refuses_nul and any("\0" in key for key in made) else None

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


def _message(value: dict[str, Any]) -> ClientMessage:
    if (problem := _envelope_problem(value)) is not None:
        return _refused(problem, INVALID_REQUEST, [value])
    method, params = value.get("method"), value.get("params")
    if method is None:
        return ClientMessage("response", id=value["id"])
    if "id" not in value:
        return ClientMessage("notification", method, None, params)
    return ClientMessage("request", method, value["id"], params)


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


def _refused(problem: str, code: int = INVALID_REQUEST, messages: list[Any] | None = None) -> ClientMessage:
    read_as = [one for one in (messages or [])[:MAX_BATCH_SHOWN] if isinstance(one, dict)]
    asked = [one for one in read_as if isinstance(one.get("method"), str)]
    return ClientMessage(
        "refused",
        problem=problem,
        code=code,
        ids=tuple(one["id"] for one in asked if _is_certain_id(one, code)),
        requests=tuple((one["method"], one.get("params")) for one in asked),
    )


def _is_certain_id(message: dict[str, Any], code: int) -> bool:
    value = message.get("id")
    if not is_id(value) or sum(key.casefold() == "id" for key in message) > 1:
        return False
    return code != PARSE_ERROR or isinstance(value, int) or value.isascii()


# --- what a server says: as much as is needed to know which request it answers, and how ---------------

POLICY_KEYS = ("tools", "method", "inputRequests")
_ABSENT = msgspec.Raw(b"")
_SPACE = rb"(?:\s|\\[rntfb])*"  # around a key: nobody is known to overlook it, and nobody needs it
_FOLDED_TO = {"s": "\u017f", "k": "\u212a"}  # letters that some readers take for these


class ServerMessage(msgspec.Struct, frozen=True):
    id: Any = None
    method: Any = None
    params: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT

    @property
    def kind(self) -> Literal["request", "notification", "response"]:
        if isinstance(self.method, str):
            return "notification" if self.id is None else "request"
        return "response"

    @property
    def is_error_to_nothing(self) -> bool:
        """What a server says when it could not read a request."""
        return self.id is None and self.result is _ABSENT and self.error is not _ABSENT


class _Result(msgspec.Struct, frozen=True):
    isError: Any = False  # noqa: N815 - its name in the protocol
    resultType: Any = None  # noqa: N815 - likewise


class _Cancelled(msgspec.Struct, frozen=True):
    requestId: Any = None  # noqa: N815 - likewise


_server_message = msgspec.json.Decoder(ServerMessage)
_batch = msgspec.json.Decoder(list[msgspec.Raw])  # one version of the protocol had them
_result = msgspec.json.Decoder(_Result)
_cancelled = msgspec.json.Decoder(_Cancelled)
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def _any_writing(key: str) -> bytes:
    """A pattern for a key in any case, with any of its letters escaped."""
    letters = []
    for letter in key.lower():
        same = {letter, _FOLDED_TO.get(letter, letter)}
        codes = sorted({ord(one) for one in same} | {ord(letter.upper())})
        ways = [re.escape(one.encode()) for one in sorted(same)] + [rb"\\u%04x" % code for code in codes]
        letters.append(b"(?:" + b"|".join(ways) + b")")
    return b"".join(letters)


_KEYS = re.compile(  # how a key may begin is looked at first: most of the quotes in a text begin none
    b'"(?=[\\s\\\\tmi])%s(?:%s)%s(?:\\\\u0000[^"]*)?"[ \\t\\r\\n]*:'
    % (_SPACE, b"|".join(b"(%s)" % _any_writing(key) for key in POLICY_KEYS), _SPACE),
    re.IGNORECASE,
)


def policy_keys(data: bytes) -> set[str]:
    """Those that some reader may find in it, at any depth; all of them where that is not certain."""
    if b"\0" in data:
        return set(POLICY_KEYS)
    first = _KEYS.search(data)
    if first is None:
        return set()
    return {POLICY_KEYS[(found.lastindex or 1) - 1] for found in _KEYS.finditer(data, first.start())}


def read_server_message(data: bytes) -> ServerMessage | None:
    """The one message in it; None: it is something else."""
    try:
        return _server_message.decode(data)
    except _BROKEN:
        return None


def parts_of_batch(data: bytes) -> list[bytes]:
    """Byte for byte; none if it is no batch."""
    try:
        return [bytes(part) for part in _batch.decode(data)]
    except _BROKEN:
        return []


def outcome(message: ServerMessage) -> Outcome:
    """How the call of a tool ended, by the answer to it."""
    if message.result is _ABSENT:
        return "protocol_error"
    try:
        result = _result.decode(message.result)
    except _BROKEN:
        return "protocol_error"
    if result.resultType == "input_required":
        return "input_required"
    return "tool_error" if result.isError is True else "result"


def cancelled_id(message: ServerMessage) -> Any:
    try:
        return _cancelled.decode(message.params).requestId
    except _BROKEN:
        return None


def without_tools(data: bytes, stays: Callable[[str], bool]) -> bytes:
    """The answer to a listing, without the tools that are not to be seen; the others byte for byte."""
    message = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    result = msgspec.json.decode(message["result"], type=dict[str, msgspec.Raw])
    tools = msgspec.json.decode(result["tools"], type=list[msgspec.Raw])
    kept = [tool for tool in tools if stays(msgspec.json.decode(tool)["name"])]
    if len(kept) == len(tools):
        return data
    edited = msgspec.json.encode({**message, "result": {**result, "tools": kept}})
    return edited + data[len(data.rstrip(b"\r\n")) :]
