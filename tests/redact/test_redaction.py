"""Streams cut in every way, hostile bytes, endless lines: no secret comes out, and nothing else is lost."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steno.redact import RULES, Findings, Redactor
from steno.redact import stream as stream_module
from steno.redact.stream import WINDOW
from support.cases import cases

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = [example for rule in RULES for example in rule.examples]
LINES = [example.line for example in EXAMPLES]
LINES += [line for rule in RULES for line in rule.counterexamples]
PIECES = [
    b"password",
    b"token",
    b"--token",
    b" ",
    b"=",
    b": ",
    b'"',
    b"'",
    b"\\",
    b'\\"',
    b"\n",
    b"\r\n",
    b"\x1b[0m",
    b"\x1b[01;31m\x1b[K",
    b"\x1b]8;;https://u:p@h\x07",
    b"\x1b]8;;\x1b\\",
    b"\x1b(B",
    b"\x1b",
    b"\x1b[3",
    b"x",
    b"hunter2",
    b"*",
    b"****",
    b"[REDACTED:jwt:12]",
    b"<token>",
    b"token: |\n",
    b"name: DB_PASSWORD\n",
    b"value: ",
    b"a1b2c3",
    b"%0A",
    b"%3Ctoken%3E",
    b"\\n",
    b"+",
    b"7:",
    b"https://",
    b"@",
    b"a:b",
    b"ghp_",
    b"EXAMPLEexample0123456789EXAMPLEexample",
    b"eyJhbGciOiJub25l",
    b".",
    b"Authorization: ",
    b"Bearer ",
    b"-----BEGIN PRIVATE KEY-----",
    b"-----END PRIVATE KEY-----",
    b"RVhBTVBMRUVYQU1QTEVFWEFNUExF",
    b"\x00",
    b"\xff\xfe",
    b",",
    b";",
    b"(",
    b")",
    b"&",
    b"?",
    b"$",
    b"{}",
    b"%s",
    b"KEY",
    b"key",
    b"cookie",
    b"#",
    b"known-secret-value",
    b"known-sec",
]
TEXTS = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join),
    st.lists(st.one_of(st.sampled_from(LINES), st.sampled_from(PIECES)), max_size=5).map(b"".join),
)
LITERALS = (b"known-secret-value",)


def _redactor() -> Redactor:
    return Redactor(findings=Findings(), literals=LITERALS)


def _cut(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return (data[start:end] for start, end in itertools.pairwise(edges))


@given(data=TEXTS, cuts=st.lists(st.integers(0, 10_000), max_size=8))
def test_the_result_does_not_depend_on_how_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    whole, cut = Findings(), Findings()
    expected = Redactor(findings=whole, literals=LITERALS).mask(data, "output")
    stream = Redactor(findings=cut, literals=LITERALS).stream("output")
    result = b"".join(stream.feed(chunk) for chunk in _cut(data, cuts)) + stream.close()
    assert result == expected
    assert len(result) == len(data)
    assert whole.snapshot()["counts"] == cut.snapshot()["counts"]


@given(data=TEXTS)
def test_masking_what_is_masked_finds_nothing(data: bytes) -> None:
    redactor = _redactor()
    masked = redactor.mask(data, "output")
    assert redactor.find(masked) == []
    assert redactor.mask(masked, "output") == masked


@given(data=TEXTS)
def test_replacing_what_is_replaced_changes_nothing(data: bytes) -> None:
    redactor = _redactor()
    text = redactor.text(data.decode("utf-8", "surrogateescape"), "field")
    assert redactor.text(text, "field") == text


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=TEXTS)
def test_settling_after_every_byte_gives_the_same_bytes(data: bytes) -> None:
    settled, expected = Findings(), Findings()
    stream = Redactor(findings=settled, literals=LITERALS).stream("output")
    result = b""
    for byte in data:
        result += stream.feed(bytes([byte]))
        result += stream.settle()
    result += stream.close()
    assert result == Redactor(findings=expected, literals=LITERALS).mask(data, "output")
    assert settled.snapshot()["counts"] == expected.snapshot()["counts"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_planted_secret_does_not_come_out_in_chunks_of_any_size(size: int) -> None:
    with cases() as case:
        for example in EXAMPLES:
            data = b"before\n" + example.line + b"\nafter\n"
            start = data.index(example.secret)
            findings = Findings()
            stream = Redactor(findings=findings).stream("output")
            result = b""
            for position in range(0, len(data), size):
                result += stream.feed(data[position : position + size])
                result += stream.settle()
            result += stream.close()
            with case(example):
                assert len(result) == len(data)
                masked = result[start : start + len(example.secret)]
                assert masked.translate(None, b"*\r\n \t") == b""
                assert findings.total == 1


def test_a_secret_split_across_two_chunks_is_masked() -> None:
    stream = _redactor().stream("output")
    result = stream.feed(b"token: abc") + stream.settle() + stream.feed(b"def\n") + stream.close()
    assert result == b"token: ******\n"


def test_a_prompt_comes_out_when_the_stream_is_idle() -> None:
    stream = _redactor().stream("output")
    assert stream.feed(b"Password: ") + stream.settle() == b"Password: "
    assert stream.feed(b"hunter2") + stream.settle() == b""
    assert stream.feed(b"\n") == b"*******\n"


@pytest.mark.parametrize("offset", [-70, -40, -10, 0, 3, 10])
@pytest.mark.parametrize("boundary", [WINDOW - 4096, WINDOW, 2 * WINDOW - 4096, 2 * WINDOW])
def test_a_secret_at_the_edge_of_a_window_of_a_long_line_is_masked(boundary: int, offset: int) -> None:
    secret = b"EXAMPLEexample0123456789EXAMPLEexample"
    data = b"a b " * ((boundary + offset) // 4) + b"ghp_" + secret + b" c d" * WINDOW
    masked = _redactor().mask(data, "output")
    assert len(masked) == len(data)
    assert masked == data.replace(secret, b"*" * len(secret))


@pytest.mark.parametrize("size", [1000, 65536, 70000])
def test_a_long_line_gives_the_same_bytes_however_it_is_cut(size: int) -> None:
    line = (
        b'{"key": "value", "password": "hunter2", "url": "https://u:p@h/"}, ' * 1200 + b"\nnext password: x\n"
    )
    expected = _redactor().mask(line, "output")
    assert b"hunter2" not in expected
    stream = _redactor().stream("output")
    chunks = (line[position : position + size] for position in range(0, len(line), size))
    assert b"".join(stream.feed(chunk) for chunk in chunks) + stream.close() == expected


def test_a_value_longer_than_a_window_is_masked_outright() -> None:
    data = b'{"password": "' + b"hunter2 " * WINDOW + b'", "name": "joe"}\n'
    masked = _redactor().mask(data, "output")
    assert b"hunter2" not in masked
    assert masked.endswith(b'", "name": "joe"}\n')
    assert len(masked) == len(data)


def test_a_hundred_megabytes_without_a_line_break_are_held_in_bounded_memory() -> None:
    stream = _redactor().stream("output")
    chunk = b"all is well, nothing to see here; " * 2048
    fed = returned = most = 0
    while fed < 100_000_000:
        returned += len(stream.feed(chunk))
        fed += len(chunk)
        most = max(most, fed - returned)
    returned += len(stream.close())
    assert returned == fed
    assert most <= 200_000


def test_a_block_whose_end_never_comes_is_left_after_the_bound() -> None:
    key = b"-----BEGIN PRIVATE KEY-----\n" + b"RVhBTVBMRUVYQU1QTEVFWEFNUExF\n" * 4000
    masked = _redactor().mask(key + b"plain text\n" * 20, "output")
    assert masked.endswith(b"plain text\n")
    assert masked[28:60_000].translate(None, b"*\n") == b""


def test_binary_bytes_survive() -> None:
    data = bytes(range(256)) * 100
    assert _redactor().mask(data, "output") == data


HOSTILE = {
    "open quotes": b'password="',
    "names": b"key",
    "assignments": b"token=",
    "calls": b"token=f(",
    "escaped quotes": b'"password": "\\"',
    "backslashes": b"password: \\\\\\\\",
    "urls": b"https://",
    "userinfo": b"://a@",
    "web tokens": b"eyJhbGciOiJ.",
    "blocks": b"-----BEGIN PRIVATE KEY-----",
    "block lines": b"-----BEGIN PRIVATE KEY-----\n",
    "programs": b"curl -u mysql -p ",
    "options": b"--token --token, ",
    "headers": b"Authorization: Authorization:",
    "secrets": b"password: hunter2\n",
    "weak strings": b"'key': 'x', ",
    "colours": b"\x1b[0m",
    "coloured secrets": b"password: \x1b[1mhunter2\x1b[0m\n",
    "coloured values": b'password: "\x1b[1m\x1b[0m*',
    "open sequences": b"\x1b[0;0",
    "open links": b"\x1b]8;;token=",
    "coloured blocks": b"-----BEGIN \x1b[mPRIVATE KEY-----\n",
    "literals": b"known-secret-valu",
    "netrc": b"login password ",
    "long names": b"key_" * 5000 + b"=x ",
    "nearly masked": b'password: "' + b"*" * 250 + b'0"\n',
    "nearly prose": b"password: '" + b"a-a\\'" * 50 + b"1'\n",
    "nearly blank keys": b"-----BEGIN PRIVATE KEY-----" + b"\\n" * 200 + b"!\n",
    "openings": b"<token>\n",
    "openings and values": b"<token>\n  a1b2c3\n",
    "yaml blocks": b"password: |\n",
    "names and values": b"name: token\nvalue: ",
    "escapes": b"\\n",
    "escaped quotes of strings in strings": b'\\\\\\"token',
    "percents": b"%2525",
    "percents and backslashes": b"%5Cu0025\\u005c25",
    "nested json": b'{\\"a\\":\\"{\\\\\\"key\\\\\\":',
    "prefixes": b"a/b:7:+ key=",
    "braces": b'token: "' + b"{" * 250 + b'"\n',
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_time_grows_with_the_input_and_not_faster(piece: bytes) -> None:
    small = b"x " + piece * (WINDOW // 8 // len(piece))
    large = b"x " + piece * ((WINDOW - 2) // len(piece))
    assert _least_seconds(large) < _least_seconds(small) * 8 * 5 + 0.1


def _least_seconds(data: bytes) -> float:
    """Of several times: a machine that is shared takes longer now and then, and never less long."""
    return min(_seconds(data) for _ in range(3))


def _seconds(data: bytes) -> float:
    redactor = _redactor()
    begin = time.process_time()
    redactor.mask(data, "output")
    return time.process_time() - begin


@given(
    data=st.lists(st.one_of(st.sampled_from(LINES), TEXTS), max_size=12).map(b" ".join),
    size=st.integers(1, 300),
)
def test_lines_longer_than_a_window_do_not_depend_on_how_they_are_cut(data: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "WINDOW", 256)
        patch.setattr(stream_module, "CONTEXT", 64)
        patch.setattr(stream_module, "PROGRESS", 64)
        findings = Findings()
        redactor = Redactor(findings=findings, literals=LITERALS)
        expected = redactor.mask(data, "output")
        stream = redactor.stream("output")
        result = (
            b"".join(stream.feed(data[at : at + size]) for at in range(0, len(data), size)) + stream.close()
        )
        assert result == expected
        assert len(result) == len(data)
