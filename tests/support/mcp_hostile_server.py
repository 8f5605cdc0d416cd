"""What the attacks of a hostile server share: its messages, and whether a client gets to read one of them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

from steno.mcp.pins import Pins, of_listing
from steno.mcp.policy.globs import Globs
from steno.mcp.policy.policy import Methods, Policy, Rule
from support.mcp_hostile import LINE_ENDS, MUTATIONS, Pairs, values_in

PINNED: list[dict[str, Any]] = [
    {"name": "read_file", "description": "Reads a file.", "inputSchema": {"type": "object"}},
    {"name": "plain", "inputSchema": {}},
    {"name": "write_file", "description": "Writes a file."},
]
EVIL, HIDDEN = "RUGPULLED", "write_file"


def tools_in(data: bytes) -> Iterator[Any]:
    """Every definition of a tool that some client may read in these bytes."""
    for encoding, errors in (("utf-8-sig", "replace"), ("latin-1", "strict")):
        text = data.decode(encoding, errors)
        pieces = {text, *LINE_ENDS.split(text), *text.split("\0"), text.replace("\0", "")}
        for piece in pieces:
            for value in values_in(piece):
                yield from tools_of(value)


def tools_of(value: Any) -> Iterator[Any]:
    if isinstance(value, Pairs):
        for found in value.values("result"):
            if isinstance(found, Pairs):
                for tools in found.values("tools"):
                    yield from tools if isinstance(tools, list) else ()
    elif isinstance(value, list):
        for one in value:
            yield from tools_of(one)


def shows_what_it_must_not(data: bytes) -> bool:
    for tool in tools_in(data):
        if isinstance(tool, Pairs) and (
            HIDDEN in tool.values("name") or any(EVIL in str(one) for one in tool.values("description"))
        ):
            return True
    return False


def asks_what_is_denied(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    return any(
        isinstance(value, Pairs) and "sampling/createMessage" in value.values("method")
        for piece in {text, *LINE_ENDS.split(text)}
        for value in values_in(piece)
    )


def hostile_policy() -> Policy:
    rules = (Rule("rules[0]", Globs((HIDDEN,)), Globs(("*",)), "deny"),)
    return Policy(
        digest="0" * 64,
        default="allow",
        rules=rules,
        hide_denied=True,
        pins=Pins({"files": of_listing(PINNED)}),
        methods=Methods(deny=Globs(("sampling/*",))),
    )


def any_id(chance: random.Random, request_id: int) -> Any:
    odd = [
        str(request_id),
        float(request_id),
        request_id + 1,
        None,
        True,
        f"{request_id}.0",
        f" {request_id}",
    ]
    return chance.choice([request_id] * 6 + odd)


def seed_frame(chance: random.Random, request_id: int) -> bytes:
    changed = {**chance.choice(PINNED), "description": f"{EVIL} {chance.random()}"}
    tools = [chance.choice([*PINNED, *PINNED, changed, {"name": "new"}]) for _ in range(3)]
    result: Any = {chance.choice(["tools"] * 9 + ["Tools", "tool\u017f"]): tools}
    said: dict[str, Any] = {"jsonrpc": "2.0", "id": any_id(chance, request_id), "result": result}
    kind = chance.random()
    if kind < 0.1:
        said["method"] = "ping"
    elif kind < 0.2:
        said["error"] = {"code": 1, "message": ""}
    elif kind < 0.35:
        said = {"jsonrpc": "2.0", "id": any_id(chance, request_id), "method": "sampling/createMessage"}
    elif kind < 0.45:
        said["result"] = {"content": [{"type": "text", "text": json.dumps(said)}]}
    items = list(said.items())
    chance.shuffle(items)
    return json.dumps(dict(items), ensure_ascii=chance.random() < 0.5).encode()


def doubled(chance: random.Random, data: bytes) -> bytes:
    keys = [
        b'"tools":[],',
        b'"result":{},',
        b'"name":"plain",',
        b'"Result":{"tools":[]},',
        b'"description":"",',
    ]
    begins = [found.end() for found in re.finditer(rb"\{", data)]
    at = chance.choice(begins) if begins else 0
    return data[:at] + chance.choice(keys) + data[at:]


def hostile_frame(chance: random.Random, request_id: int) -> bytes:
    data = seed_frame(chance, request_id)
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        data = chance.choice([doubled, *MUTATIONS])(chance, data) if data else data
    return data + chance.choice([b"\n", b"\n", b"\r\n"])
