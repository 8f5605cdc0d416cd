"""One message of a server: as much of it as is needed to know which request it answers, and how.

In: the bytes of a message, which may be hostile. Out: what is `Said` in it, nothing if it is no message;
whether it has a key that a policy looks at, in any writing that some client reads; a listing without some of
its tools. Large results are skipped over, not held. Never changes a byte of a tool that stays in a listing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from steno.evidence.claims import Outcome

CANCELLED = "notifications/cancelled"
DELICATE = ("tools", "method", "inputRequests")
_ABSENT = msgspec.Raw(b"")
_SPACE = rb"(?:\s|\\[rntfb])*"  # around a key: nobody is known to overlook it, and nobody needs it
_FOLDED_TO = {"s": "\u017f", "k": "\u212a"}  # letters that some readers take for these


class Said(msgspec.Struct, frozen=True):
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


_said = msgspec.json.Decoder(Said)
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
    % (_SPACE, b"|".join(b"(%s)" % _any_writing(key) for key in DELICATE), _SPACE),
    re.IGNORECASE,
)


def delicate_keys(data: bytes) -> set[str]:
    """Those that some reader may find in it, at any depth; all of them where that is not certain."""
    if b"\0" in data:
        return set(DELICATE)
    first = _KEYS.search(data)
    if first is None:
        return set()
    return {DELICATE[(found.lastindex or 1) - 1] for found in _KEYS.finditer(data, first.start())}


def has_certain_envelope(data: bytes) -> bool:
    """No key comes twice, in whatever case, in the message or right inside of its result."""
    try:
        pairs = json.loads(data, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return False
    results = [value for key, value in pairs if key == "result"] if isinstance(pairs, _Pairs) else []
    return isinstance(pairs, _Pairs) and all(
        one.are_unlike() for one in [pairs, *results] if isinstance(one, _Pairs)
    )


class _Pairs(list[tuple[str, Any]]):
    def are_unlike(self) -> bool:
        return len({key.partition("\0")[0].casefold() for key, _ in self}) == len(self)


def look(data: bytes) -> Said | None:
    """The one message in it; None: it is something else."""
    try:
        return _said.decode(data)
    except _BROKEN:
        return None


def parts_of_batch(data: bytes) -> list[bytes]:
    """Byte for byte; none if it is no batch."""
    try:
        return [bytes(part) for part in _batch.decode(data)]
    except _BROKEN:
        return []


def outcome(said: Said) -> Outcome:
    """How the call of a tool ended, by the answer to it."""
    if said.result is _ABSENT:
        return "protocol_error"
    try:
        result = _result.decode(said.result)
    except _BROKEN:
        return "protocol_error"
    if result.resultType == "input_required":
        return "input_required"
    return "tool_error" if result.isError is True else "result"


def cancelled_id(said: Said) -> Any:
    try:
        return _cancelled.decode(said.params).requestId
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
