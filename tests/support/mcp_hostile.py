"""What the attacks on MCP messages share: how bytes are made hostile, how lenient readers read."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

LINE_ENDS = re.compile("[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
DENIED, GOOD = "write_file", "read_file"


class Pairs(list[tuple[str, Any]]):
    """An object with all of its keys, as often as they come."""

    def values(self, name: str) -> list[Any]:
        return [value for key, value in self if key.partition("\0")[0].strip().casefold() == name]


def values_in(text: str) -> Iterator[Any]:
    """One value after the other, as far as they can be read."""
    decoder = json.JSONDecoder(object_pairs_hook=Pairs, strict=False)
    position = 0
    while True:
        begin = re.compile(r"[\[{]").search(text, position)
        if begin is None:
            return
        try:
            value, position = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            return
        yield value


Mutation = Callable[[random.Random, bytes], bytes]


def insert(chance: random.Random, data: bytes, what: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + what + data[at:]


def doubled_key(chance: random.Random, data: bytes) -> bytes:
    keys = [
        b'"method":"ping",',
        b'"name":"read_file",',
        b'"id":7,',
        b'"params":{"name":"read_file"},',
        b'"x":1,',
    ]
    key = chance.choice(keys)
    if chance.random() < 0.5:
        key = key.replace(b"e", b"\\u0065", 1)
    begins = [found.end() for found in re.finditer(rb"\{", data)]
    at = chance.choice(begins) if begins else 0
    return data[:at] + key + data[at:]


def other_case(chance: random.Random, data: bytes) -> bytes:
    key = chance.choice([b"method", b"params", b"name", b"id", b"jsonrpc", b"arguments"])
    return data.replace(b'"' + key + b'"', b'"' + chance.choice([key.upper(), key.title()]) + b'"')


def stray_bytes(chance: random.Random, data: bytes) -> bytes:
    strays = [
        *(b"\r", b"\0", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85", b"\xff", b"\xc0\xaf", b"\x0b"),
        *(b"\\u0000", b"\\ud800", b"/**/", b",", b"}", b"NaN", b"1e999", b" ", b"\t", b"\n"),
    ]
    return insert(chance, data, chance.choice(strays))


def nested(chance: random.Random, data: bytes) -> bytes:
    around = chance.choice(
        [
            b"[%s]",
            b"%s%s",
            b"%s %s",
            b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":\r%s\r}}',
            b'{"jsonrpc":"2.0","id":6,"method":"ping","params":%s}',
            b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\xe2\x80\xa9%s\xe2\x80\xa9"}}',
            b"Content-Length: 9\r\n\r\n%s",
            b"\x1e%s",
        ]
    )
    return around.replace(b"%s", data)


def damaged(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([chance.randrange(256)]) + data[at + chance.randrange(3) :]


def escaped(chance: random.Random, data: bytes) -> bytes:
    letter = chance.choice(b"etamnw")
    return data.replace(bytes([letter]), b"\\u%04x" % letter, chance.randrange(1, 4))


def cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data)) + 1]


MUTATIONS: list[Mutation] = [doubled_key, other_case, stray_bytes, nested, damaged, escaped, cut]


def calls_in(data: bytes) -> Iterator[str]:
    """Every name of a tool that some server may take these bytes to call."""
    for encoding, errors in (("utf-8-sig", "replace"), ("utf-8", "ignore"), ("latin-1", "strict")):
        text = data.decode(encoding, errors)
        for piece in {
            text,
            *LINE_ENDS.split(text),
            text.replace("\0", ""),
            *text.split("\r"),
            *text.split("\0"),
        }:
            for value in values_in(piece):
                yield from calls_of(value)


def calls_of(value: Any) -> Iterator[str]:
    if not isinstance(value, Pairs):
        for one in value if isinstance(value, list) else ():
            yield from calls_of(one)
        return
    if not any(is_call(method) for method in value.values("method")):
        return
    for params in value.values("params"):
        if isinstance(params, Pairs):
            yield from (name for name in params.values("name") if isinstance(name, str))


def is_call(method: Any) -> bool:
    return isinstance(method, str) and method.partition("\0")[0].strip().casefold() == "tools/call"


def is_denied(name: str) -> bool:
    return name.partition("\0")[0] == DENIED


def carries_a_denied_call(data: bytes) -> bool:
    return any(map(is_denied, calls_in(data)))


def seed_frame(chance: random.Random) -> bytes:
    number = chance.randrange(10**9)
    request_id: Any = chance.choice([number] * 8 + [f"id-{number}"] * 4 + [None, 1.5, True, [], ""])
    method = chance.choice(["tools/call"] * 6 + ["ping", "tools/list", "initialize", "Tools/Call", "x/y", ""])
    name = chance.choice([DENIED, GOOD, GOOD, "Write_File", "write_file ", "read_file\0", 7, None])
    params: Any = {
        "name": name,
        "arguments": {"path": "/a", "n": chance.choice([1, 1, 1, 2**60, 0.5, "\u2028"])},
    }
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if chance.random() < 0.9:
        message["id"] = request_id
    if chance.random() < 0.1:
        message = {"jsonrpc": "2.0", "id": request_id, "result": {"tools": []}}
    items = list(message.items())
    chance.shuffle(items)
    return json.dumps(dict(items), ensure_ascii=chance.random() < 0.5).encode()


def hostile_frame(chance: random.Random) -> bytes:
    data = seed_frame(chance)
    for _ in range(chance.choice([0, 0, 1, 1, 1, 2, 3])):
        data = chance.choice(MUTATIONS)(chance, data) if data else data
    return data + chance.choice([b"\n", b"\n", b"\r\n"])
