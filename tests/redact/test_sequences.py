"""Secrets in coloured output: escape sequences neither hide a secret nor are they lost."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.redact import RULES, Findings, Redactor
from steno.redact import stream as stream_module
from steno.redact.decoding import View, Views
from steno.redact.rules import Example
from steno.redact.text import mask_around_sequences, strip_sequences
from support.cases import cases

TOKEN = b"EXAMPLEexample0123456789EXAMPLEexample"
COLOURED_KEY = (
    b"-----BEGIN \x1b[1mPRIVATE KEY\x1b[m-----\x1b[m\n\x1b[32m+RVhBTVBMRUVYQU1QTEVFWEFNUExF\x1b[m\n"
    b"-----END \x1b[1mPRIVATE KEY\x1b[m-----"
)
PRINTED = [
    (b"\x1b[32m+\x1b[m\x1b[32mpassword: hunter2secretvalue\x1b[m", b"hunter2secretvalue"),
    (b"\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K" + TOKEN, TOKEN),
    (b'{"\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K": "hunter2secretvalue"}', b"hunter2secretvalue"),
    (b"password: \x1b[1mhunter2secretvalue\x1b[0m", b"hunter2secretvalue"),
    (b"https://\x1b[31muser:hunter2pw@\x1b[0mhost", b"user:hunter2pw"),
    (b"\x1b(B\x1b[mghp_EXAM\x1b(B\x1b[m" + TOKEN[4:], TOKEN),
    (b"run --\x1b[1mtoken\x1b[m \x1b[4mabc\x1b[24mdef\x1b[m -v", b"abcdef"),
    (b"\x1b]8;;https://h/\x1b\\password\x1b]8;;\x1b\\: hunter2secretvalue\x1b[m", b"hunter2secretvalue"),
    (b"\x1b[?25lAuthori\x1b[7mzation\x1b[27m: Bearer \x1b[2mabc\x1b[22m", b"abc"),
    (b"known-\x1b[01;31m\x1b[Ksecret\x1b[m\x1b[K-value", b"known-secret-value"),
    (COLOURED_KEY, b"RVhBTVBMRUVYQU1QTEVFWEFNUExF"),
]
EXAMPLES = [example for rule in RULES for example in rule.examples]
SEQUENCES = [
    b"\x1b[m",
    b"\x1b[01;31m\x1b[K",
    b"\x1b[38;2;1;2;3m",
    b"\x1b[4:3m",
    b"\x1b(B\x1b[m",
    b"\x1b[m\x0f",
    b"\x1b]8;;\x07",
    b"\x1b]8;;\x1b\\",
    b"\x1b]8;;https://example.test/\x07",
]
LITERALS = (b"known-secret-value",)
INSERTIONS = st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(SEQUENCES)), max_size=6)


def _with_sequences(line: bytes, insertions: list[tuple[int, bytes]]) -> bytes:
    places = sorted(((place % (len(line) + 1), sequence) for place, sequence in insertions), reverse=True)
    for at, sequence in places:
        line = line[:at] + sequence + line[at:]
    return line


def _masked_in_pieces(redactor: Redactor, data: bytes, size: int) -> bytes:
    stream = redactor.stream("output")
    result = b""
    for position in range(0, len(data), size):
        result += stream.feed(data[position : position + size])
        result += stream.settle()
    return result + stream.close()


def _stripped(data: bytes) -> View:
    return next((view for view in Views(View(data)) if view.text == strip_sequences(data)), View(data))


def _assert_gone(example: Example, data: bytes, result: bytes) -> None:
    """Where the secret stood in the text without sequences, there are asterisks now."""
    assert len(result) == len(data)
    start = example.line.index(example.secret)
    copy = _stripped(data)
    places = range(start, start + len(example.secret))
    left = bytes(result[copy.start(place)] for place in places)
    assert left.translate(None, b"*\r\n") == b""


@pytest.mark.parametrize(("data", "secret"), PRINTED)
def test_a_secret_in_colour_is_masked_once(data: bytes, secret: bytes) -> None:
    with cases() as case:
        for ending, size in itertools.product((b"", b"\n", b"\r\n"), (1, 2, 5, 1000)):
            with case((ending, size)):
                findings = Findings()
                redactor = Redactor(findings=findings, literals=LITERALS)
                result = _masked_in_pieces(redactor, data + ending, size)
                _assert_gone(Example(strip_sequences(data), secret), data + ending, result)
                assert findings.total == 1
                assert redactor.find(result) == []


@pytest.mark.parametrize(("data", "secret"), PRINTED)
def test_a_secret_in_colour_becomes_one_placeholder(data: bytes, secret: bytes) -> None:
    redactor = Redactor(findings=Findings(), literals=LITERALS)
    text = redactor.text(data.decode(), "field")
    assert text.count("[REDACTED:") == 1
    assert secret.decode() not in strip_sequences(text.encode()).decode()
    assert redactor.text(text, "field") == text


def test_the_length_in_a_placeholder_is_that_of_the_value_without_sequences() -> None:
    redactor = Redactor(findings=Findings())
    text = redactor.text("password: 'hun\x1b[1mter2\x1b[0m'", "field")
    assert text == "password: '[REDACTED:secret-pair:7]'"


def test_colours_around_and_inside_a_secret_stay() -> None:
    redactor = Redactor(findings=Findings())
    data = b"password: \x1b[1mhun\x1b[31mter2\x1b[0m\n"
    assert redactor.mask(data, "output") == b"password: \x1b[1m***\x1b[31m****\x1b[0m\n"


@given(example=st.sampled_from(EXAMPLES), insertions=INSERTIONS, size=st.integers(1, 40))
def test_sequences_in_any_place_hide_no_secret(
    example: Example, insertions: list[tuple[int, bytes]], size: int
) -> None:
    if strip_sequences(example.line) != example.line:
        return
    data = _with_sequences(example.line, insertions) + b"\n"
    findings, whole = Findings(), Findings()
    redactor = Redactor(findings=findings)
    result = _masked_in_pieces(redactor, data, size)
    _assert_gone(example, data, result)
    assert result == Redactor(findings=whole).mask(data, "output")
    assert findings.snapshot()["counts"] == whole.snapshot()["counts"]
    assert redactor.find(result) == []


@given(insertions=INSERTIONS, size=st.integers(20, 300), lead=st.integers(0, 300))
def test_sequences_on_a_line_longer_than_a_window_hide_no_secret(
    insertions: list[tuple[int, bytes]], size: int, lead: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "WINDOW", 1024)
        patch.setattr(stream_module, "CONTEXT", 384)
        patch.setattr(stream_module, "PROGRESS", 256)
        before = b"a b " * (150 + lead)
        data = before + _with_sequences(b"ghp_" + TOKEN, insertions) + b" c d" * 100
        redactor = Redactor(findings=Findings())
        result = _masked_in_pieces(redactor, data, size)
        assert result == redactor.mask(data, "output")
        _assert_gone(Example(strip_sequences(data), TOKEN), data, result)


@given(pieces=st.lists(st.sampled_from([*SEQUENCES, b"\x1b", b"[", b"1", b"m", b"]8;", b";", b"x", b"\n"])))
def test_the_copy_of_a_beginning_is_a_beginning_of_the_copy(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    copy = _stripped(data)
    assert bytes(data[copy.start(place)] for place in range(len(copy.text))) == copy.text
    assert all(copy.text.startswith(strip_sequences(data[:end])) for end in range(len(data)))
    assert len(mask_around_sequences(data)) == len(data)
