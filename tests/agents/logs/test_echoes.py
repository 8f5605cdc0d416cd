"""Echoes: three lines or more, in a row, of one stream, and nothing else is suppressed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steno.agents.events import AssistantText, Event, Span
from steno.agents.json_lines import MAX_RAW, lines
from steno.launch.translate import Raw, raw_of

SAID = AssistantText((), "one\n\n  two\nthree\nfour")


def raw(stdout: bytes, stderr: bytes = b"") -> Raw:
    events: list[Event] = [SAID, *(line.other() for line in lines(stdout, "stdout"))]
    return raw_of([*events, *(line.other() for line in lines(stderr, "stderr"))])


def test_three_lines_of_the_assistant_are_an_echo() -> None:
    assert raw(b"one\ntwo\nthree\n") == Raw([], [Span("stdout", 0, 13)], 3)


def test_two_lines_are_none() -> None:
    assert len(raw(b"one\ntwo\n").kept) == 2


def test_a_line_of_its_own_parts_an_echo() -> None:
    found = raw(b"one\ntwo\nbut\nthree\nfour\n")
    assert (len(found.kept), found.echoes) == (5, [])


def test_two_streams_do_not_make_an_echo_together() -> None:
    assert raw(b"one\ntwo\n", b"three\n").echoes == []


def test_blank_lines_spaces_and_colours_do_not_hide_an_echo() -> None:
    assert raw(b"\x1b[1mone\x1b[0m\r\n\r\n two\t\r\n\x1b[32mthree\x1b[0m\r\n").echoed_lines == 3


def test_each_block_has_its_own_place() -> None:
    found = raw(b"one\ntwo\nthree\nelse\ntwo\nthree\nfour\n")
    assert found.echoes == [Span("stdout", 0, 13), Span("stdout", 19, 33)]
    assert [line.raw for line in found.kept] == ["else"]


def test_a_line_of_which_only_the_beginning_is_known_is_no_echo() -> None:
    long = b"x" * MAX_RAW
    events: list[Event] = [AssistantText((), long.decode())]
    events += [line.other() for line in lines(b"\n".join([long + b"y"] * 3), "stdout")]
    assert raw_of(events).echoes == []


def test_without_the_assistant_there_is_no_echo() -> None:
    assert raw_of([line.other() for line in lines(b"a\na\na\n", "stdout")]).echoes == []


@given(st.lists(st.sampled_from([b"one", b"two", b"three", b"else"])))
def test_a_line_is_kept_or_counted_and_never_both(written: list[bytes]) -> None:
    found = raw(b"\n".join(written))
    assert len(found.kept) + found.echoed_lines == len(written)
    assert sum(line.raw == "else" for line in found.kept) == written.count(b"else")
