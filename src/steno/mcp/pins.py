"""Pins: the definitions of a server's tools as somebody once saw and accepted them, as digests.

What has no meaning for whoever calls the tool makes no difference (docs/policy.md has the list), because
who is warned at every change stops reading. A tool that the server has not listed yet is refused: nobody
has compared it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from steno.evidence import canonical
from steno.mcp.policy.constraints import quoted

MAX_TITLE = 80
OnChange = Literal["block", "warn"]
_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
_KNOWN = frozenset(
    {"name", "title", "description", "annotations", "inputSchema", "outputSchema", "icons", "_meta"}
    | {"execution"}
)
_ABSENT = object()
_DATA = frozenset({"const", "default", "enum", "examples"})
_MAPS_OF_SCHEMAS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_SETS = frozenset({"enum", "required", "type"})
_NO_MEANING = frozenset({"$schema"})


class BadPinsError(ValueError):
    """The bytes are not a pin file."""


class PinViolation(NamedTuple):
    reason: str
    message: str


class ToolPin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """A digest of each part of a definition that has a meaning; empty for other parts: there are none."""

    annotations: str
    description: str
    input_schema: str
    output_schema: str
    other_fields: str = ""


ServerPins = dict[str, ToolPin]


class _PinFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["steno.mcp_pins.v1"]
    servers: dict[str, ServerPins]


class Pins:
    """What is pinned, and what was since listed and found to differ. May be used from several threads."""

    def __init__(self, servers: Mapping[str, ServerPins], on_change: OnChange = "block") -> None:
        self.servers = servers
        self.on_change = on_change
        self._listed: set[tuple[str, str]] = set()  # pinned ones only, so that no server can fill it
        self._changed: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def check_listing(self, server: str, tools: list[dict[str, Any]]) -> list[tuple[str, str]]:
        """A tool that once differed stays refused: the model may still have the words that it came with."""
        found: list[tuple[str, str]] = []
        pinned = self.servers.get(server, {})
        for name, pin in _listed(tools):
            if name not in pinned:
                found.append((name, "not pinned"))
                continue
            what = "unreadable" if pin is None else differences(pinned[name], pin)
            with self._lock:
                self._listed.add((server, name))
                if what:
                    self._changed[server, name] = what
            if what:
                found.append((name, what))
        return found

    def forget_listings(self, server: str) -> None:
        """Another process may answer for it from now on. What differed once stays refused."""
        with self._lock:
            self._listed = {one for one in self._listed if one[0] != server}

    def refusal(self, server: str, tool: str) -> PinViolation | None:
        if self.on_change == "warn":
            return None
        if tool not in self.servers.get(server, {}):
            return PinViolation("not_pinned", f"The tool {quoted(tool)} is not among those that were pinned.")
        with self._lock:
            is_listed = (server, tool) in self._listed
            what = self._changed.get((server, tool))
        if what is not None:
            return PinViolation(
                "pin_mismatch", f"The definition of the tool {quoted(tool)} is not the pinned one: {what}."
            )
        if not is_listed:
            return PinViolation(
                "not_listed",
                f"The server has not listed the tool {quoted(tool)} yet, so it was not compared with "
                "its pin: list the tools first.",
            )
        return None


def read(data: bytes) -> dict[str, ServerPins]:
    """Somebody may have put the file in order by hand, so it need not be canonical."""
    try:
        return msgspec.json.decode(data, type=_PinFile).servers
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadPinsError(str(error)) from None


def write(servers: Mapping[str, ServerPins]) -> bytes:
    return canonical.encode_line(msgspec.to_builtins(_PinFile("steno.mcp_pins.v1", dict(servers))))


def of_listing(tools: list[dict[str, Any]]) -> ServerPins:
    pinned: ServerPins = {}
    for name, pin in _listed(tools):
        if pin is None or pinned.setdefault(name, pin) != pin:
            raise BadPinsError(f"the tool {name!r} is listed twice, or cannot be read")
    return pinned


def differences(before: ToolPin, after: ToolPin) -> str:
    """The parts that differ; empty: none does."""
    fields = msgspec.structs.fields(ToolPin)
    return ", ".join(
        field.encode_name for field in fields if getattr(before, field.name) != getattr(after, field.name)
    )


def _listed(tools: Any) -> list[tuple[str, ToolPin | None]]:
    entries = tools if isinstance(tools, list) else []
    return [
        (tool["name"], _pin(tool))
        for tool in entries
        if isinstance(tool, dict) and isinstance(tool.get("name"), str)
    ]


def _pin(tool: dict[str, Any]) -> ToolPin | None:
    """None: there is something in it that two readers would not read alike."""
    try:
        return ToolPin(
            annotations=_digest(_annotations(tool.get("annotations"))),
            description=_digest([_words(tool.get("description") or ""), *_long_titles(tool.get("title"))]),
            input_schema=_digest(_meaning(tool.get("inputSchema"))),
            output_schema=_digest(_meaning(tool.get("outputSchema"))),
            other_fields=_digest(others) if (others := _other_fields(tool)) else "",
        )
    except (ValueError, RecursionError):  # canonical writers refuse with errors of this kind
        return None


def _other_fields(tool: dict[str, Any]) -> dict[str, Any]:
    """What we do not know may mean anything to whoever does."""
    return {name: value for name, value in tool.items() if name not in _KNOWN}


def _annotations(annotations: Any) -> Any:
    """A hint that is not there is the same as the protocol's default for it."""
    if not isinstance(annotations, dict):
        return [] if annotations is None else annotations
    told = {name: value for name, value in annotations.items() if _HINTS.get(name, _ABSENT) is not value}
    title = told.pop("title", None)
    return [*_long_titles(title), *([told] if told else [])]


def _meaning(schema: Any, depth: int = 0) -> Any:
    """A schema without what has no meaning: order, white space in descriptions, names for display."""
    if depth > canonical.MAX_DEPTH:
        raise canonical.NotCanonicalError("nested too deep")
    if isinstance(schema, list):
        return [_meaning(item, depth + 1) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: _keyword(name, value, depth + 1) for name, value in schema.items() if name not in _NO_MEANING
    }
    if not _long_titles(schema.get("title")):
        kept.pop("title", None)
    return kept


def _keyword(name: str, value: Any, depth: int) -> Any:
    if name == "description":
        return _words(value)
    if name in _SETS and isinstance(value, list):
        return sorted(value, key=canonical.encode)
    if name in _DATA:
        return value
    if name in _MAPS_OF_SCHEMAS and isinstance(value, dict):
        return {key: _meaning(item, depth) for key, item in value.items()}
    return _meaning(value, depth)


def _long_titles(title: Any) -> list[Any]:
    """A title is a name for display. What is longer than a name is words to the model, and counts."""
    if title is None or (isinstance(title, str) and len(title) <= MAX_TITLE and title.isprintable()):
        return []
    return [_words(title)]


def _words(text: Any) -> Any:
    return " ".join(text.split()) if isinstance(text, str) else text


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical.encode(value)).hexdigest()
