"""What is called clean holds no secret, however it is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote_from_bytes

import pytest

from steno.redact import RULES
from steno.redact.scanner import Scanner

WAYS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda line: line,
    "json": lambda line: json.dumps(line.decode("latin-1")).encode(),
    "json in json": lambda line: json.dumps(json.dumps(line.decode("latin-1"))).encode(),
    "glued": lambda line: b'{"text": "done\\n' + json.dumps(line.decode("latin-1"))[1:].encode() + b"}",
    "percent": lambda line: quote_from_bytes(line).encode(),
    "coded": lambda line: b'"' + b"".join(b"\\u%04x" % byte for byte in line) + b'"',
    "coloured": lambda line: b"\x1b[31m" + b"\x1b[0m".join((line[:7], line[7:])),
    "far below": lambda line: b"int main(void);\n" * 500 + line + b"\nprintf(%08x)\n" * 3,
}


@pytest.mark.parametrize("way", WAYS)
def test_lines_in_which_something_is_found_are_not_clean(way: str) -> None:
    scanner, found = Scanner(), 0
    for rule in RULES:
        for example in rule.examples:
            data = WAYS[way](example.line)
            is_clean, spans = scanner.is_clean(data), scanner.spans(data)
            assert not (is_clean and spans), (rule.name, data)
            found += bool(spans)
    assert found > len(RULES) / 2


@pytest.mark.parametrize(
    "data",
    [b"int count = 3; /* %d */\n" * 100, b"#define KEY(x) \\\n  token(x)\n", b"", b"100%\n", b"a \\ b"],
)
def test_what_is_ordinary_is_clean_at_a_look(data: bytes) -> None:
    assert Scanner().is_clean(data)
