"""stdout and stderr come back from a trace byte for byte, and what a trace does not have is counted."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.contracts.agent_audit.strace_reader import (
    MEANINGS,
    FirstUnoccupied,
    Reconstruction,
    reconstruct,
    trace_file_lines,
    unquoted,
)
from steno.lines import LineTooLongError

PAGE = Path(__file__).parents[3] / "docs" / "agents.md"
TTY = b"</dev/pts/3<char 136:3>>"


HEXADECIMAL = b"".join(b"\\x%02x" % byte for byte in b"/dev/pts/14")  # as strace -xx names a terminal


def rebuilt(*lines: bytes) -> tuple[bytes, bytes, Reconstruction]:
    out, err = io.BytesIO(), io.BytesIO()
    made = reconstruct((line + b"\n" for line in lines), out, err)
    assert (made.stdout_bytes, made.stderr_bytes) == (len(out.getvalue()), len(err.getvalue()))
    return out.getvalue(), err.getvalue(), made


def troubles(made: Reconstruction) -> dict[str, int]:
    return {diagnostic.code: diagnostic.count for diagnostic in made.diagnostics}


def write(fd: int, text: bytes, *, to: bytes = TTY, end: bytes = b"") -> bytes:
    return b'12345 write(%d%s, "%s", %d) = %s' % (fd, to, text, len(text), end or b"%d" % len(text))


@pytest.mark.parametrize(
    ("descriptors", "streams"),
    [
        ((17, 1, 2, 18), ("stdout", "stdout", "stderr", "stdout")),
        ((17, 18, 19), ("stdout", "stderr", "stdout")),
        ((1, 9, 2), ("stdout", "stderr", "stderr")),
    ],
)
def test_a_descriptor_takes_the_first_unoccupied_stream(
    descriptors: tuple[int, ...], streams: tuple[str, ...]
) -> None:
    stream_of = FirstUnoccupied()
    assert tuple(stream_of(fd) for fd in descriptors) == streams
    assert tuple(stream_of(fd) for fd in descriptors) == streams, "and keeps it"


@given(st.lists(st.integers(0, 30)))
def test_a_descriptor_never_changes_its_stream(descriptors: list[int]) -> None:
    stream_of = FirstUnoccupied()
    first: dict[int, str] = {}
    for fd in descriptors:
        assert stream_of(fd) == first.setdefault(fd, stream_of(fd))
        assert {1: "stdout", 2: "stderr"}.get(fd, first[fd]) == first[fd]


def test_the_record_says_by_which_rule_a_stream_was_found() -> None:
    _, _, made = rebuilt(write(17, b"a"), write(1, b"b"), write(2, b"c"), write(18, b"d"))
    assert (made.by_descriptor, made.by_first_unoccupied) == (2, 2)
    assert (made.stdout_chunks, made.stderr_chunks) == (3, 1)


@pytest.mark.parametrize(
    ("destination", "counts"),
    [
        (b"</dev/pts/3<char 136:3>>", True),
        (b"</dev/pts/3>", True),
        (b"</dev/tty<char 5:0>>", True),
        (b"<" + HEXADECIMAL + b"<char 136:14>>", True),
        (b"<" + HEXADECIMAL + b">", True),
        (b"</dev/pts/ptmx<char 5:2>>", False),
        (b"</dev/ptmx<char 5:2>>", False),
        (b"<pipe:[123]>", False),
        (b"<TCP:[127.0.0.1:1->127.0.0.1:2]>", False),
        (rb"</tmp/a\74b\76, c>(deleted)", False),
        (b'<UNIX-STREAM:[1->2,@"x"]>', False),
        (b"</dev/null<char 1:3>>", False),
    ],
)
def test_only_what_goes_to_a_terminal_counts(destination: bytes, counts: bool) -> None:
    out, _, made = rebuilt(write(1, b"text", to=destination))
    assert out == (b"text" if counts else b"")
    assert made.complete


def test_a_terminal_that_is_spelled_in_hexadecimal_is_named_as_it_is() -> None:
    _, _, made = rebuilt(write(1, b"a", to=b"<" + HEXADECIMAL + b"<char 136:14>>"))
    assert made.terminals == ["/dev/pts/14"]


def test_streams_without_a_byte_are_never_left_without_a_word() -> None:
    pipes = rebuilt(write(1, b"a", to=b"<pipe:[1]>"), b"1 +++ exited with 0 +++")[2]
    assert (troubles(pipes), pipes.complete) == ({"NO_TERMINAL": 2}, True)
    foreign = rebuilt(b"hello", b"1 +++ exited with 0 +++", b"\xff\x00")[2]
    assert (troubles(foreign), foreign.complete) == ({"NOT_A_TRACE": 2}, False)
    assert troubles(rebuilt(b"hello", write(1, b"a"))[2]) == {}, "a program may speak in between"
    assert troubles(rebuilt()[2]) == {}, "whoever said nothing has an empty trace"


def test_the_controlling_terminal_counts_and_is_told() -> None:
    out, err, made = rebuilt(write(1, b"a"), write(2, b"b"), write(5, b"c", to=b"</dev/tty<char 5:0>>"))
    assert (out, err) == (b"ac", b"b")
    assert troubles(made) == {"CONTROLLING_TERMINAL": 1}


def test_a_second_terminal_is_told() -> None:
    _, _, made = rebuilt(write(1, b"a"), write(1, b"b", to=b"</dev/pts/4<char 136:4>>"))
    assert made.terminals == ["/dev/pts/3", "/dev/pts/4"]
    assert troubles(made) == {"SEVERAL_TERMINALS": 2}
    assert made.complete


def test_a_trace_without_destinations_is_not_taken_for_one_of_a_terminal() -> None:
    out, _, made = rebuilt(
        write(1, b"a", to=b""), write(99, b"a", to=b"", end=b"-1 EBADF (Bad file descriptor)")
    )
    assert out == b""
    assert troubles(made) == {"DESTINATION_UNKNOWN": 1}


@pytest.mark.parametrize("leader", [b"", b"7 ", b"12345 ", b"[pid     7] ", b"[pid 12345] "])
@pytest.mark.parametrize(
    "time", [b"", b"10:11:12 ", b"10:11:12.123456 ", b"1700000000.123456 ", b"     0.000012 "]
)
def test_a_line_may_name_its_process_and_its_time(leader: bytes, time: bytes) -> None:
    assert rebuilt(leader + time + write(2, b"x").removeprefix(b"12345 "))[1] == b"x"


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        (rb"a\nb\r\t\f\v", b"a\nb\r\t\f\v"),
        (rb"\"q\" \\n", b'"q" \\n'),
        (rb"\33[0m\0001\089", b"\x1b[0m\x001\x0089"),
        (rb"\303\251", "é".encode()),
        (rb"\xc3\xA9\x0a", b"\xc3\xa9\n"),
        (rb"\0\1\01\001", b"\0\1\1\1"),
        (rb"\777", b"\xff"),
        (rb"\q\xzz", b"qxzz"),
        ("é".encode(), "é".encode()),
    ],
)
def test_strings_are_read_as_strace_writes_them(shown: bytes, meant: bytes) -> None:
    line = b'1 write(1%s, "%s", %d) = %d' % (TTY, shown, len(meant), len(meant))
    assert rebuilt(line)[0] == meant


@given(
    st.lists(
        st.sampled_from([b"\\", b"x", b"n", b'"', b"0", b"3", b"7", b"9", b"a", b"\xe9", b"u00e9", b"N{"])
    )
)
def test_the_fast_way_to_read_a_string_is_the_slow_way(fragments: list[bytes]) -> None:
    shown = b"".join(fragments)
    assert unquoted(shown) + b"q" == unquoted(shown + b"\\q") or shown.endswith(b"\\")


def test_a_character_that_two_writes_share_is_whole_again() -> None:
    first, second = rb"\342\202", rb"\254"
    lines = [
        b'1 write(1%s, "%s", %d) = %d' % (TTY, text, len(text) // 4, len(text) // 4)
        for text in (first, second)
    ]
    assert rebuilt(*lines)[0].decode() == "€"


@pytest.mark.parametrize(
    "end",
    [
        b"-1 EAGAIN (Resource temporarily unavailable)",
        b"? ERESTARTSYS (To be restarted if SA_RESTART is set)",
        b"? ERESTART_RESTARTBLOCK (Interrupted by signal)",
        b"-1 EINTR (Interrupted system call)",
    ],
)
def test_a_write_that_failed_wrote_nothing(end: bytes) -> None:
    out, _, made = rebuilt(write(17, b"lost", end=end), write(18, b"kept"))
    assert out == b"kept"
    assert made.stdout_chunks == 1
    assert made.complete


def test_of_a_partial_write_only_the_first_bytes_count() -> None:
    assert rebuilt(write(1, b"abcdef", end=b"2"))[0] == b"ab"
    assert rebuilt(write(1, b"abcdef", end=b"2 <0.000012>"))[0] == b"ab"


def test_an_outcome_that_is_not_known_is_told() -> None:
    out, _, made = rebuilt(write(1, b"abc", end=b"?"))
    assert out == b""
    assert troubles(made) == {"OUTCOME_UNKNOWN": 1}
    assert not made.complete


def test_what_was_cut_is_counted() -> None:
    out, _, made = rebuilt(b'1 write(1%s, "abc"..., 10) = 8' % TTY, write(1, b"next"))
    assert out == b"abcnext"
    assert troubles(made) == {"BYTES_LOST": 5}


def test_what_was_cut_is_taken_from_the_dump_beneath() -> None:
    out, _, made = rebuilt(
        b'1 write(1%s, "zzzz"..., 37) = 36' % TTY,
        b" | 00000  7a 7a 7a 7a 7a 7a 7a 7a  7a 7a 7a 7a 7a 7a 7a 7a  zzzzzzzzzzzzzzzz |",
        b" | 00010  7a 7a 7a 7a 7a 7a 7a 7a  7a 7a 7a 7a 7a 7a 7a 7a  zzzzzzzzzzzzzzzz |",
        b" | 00020  7a 65 6e 64 0a                                    zend.            |",
    )
    assert out == b"z" * 33 + b"end"
    assert made.complete


def test_the_dump_of_another_call_is_not_taken() -> None:
    dump = b" | 00000  61 62 63 64 65 66                                 abcdef           |"
    out, _, made = rebuilt(b'1 write(1%s, "a"..., 6) = 6' % TTY, b'1 read(0, "abcdef", 6) = 6', dump)
    assert out == b"a"
    assert troubles(made) == {"BYTES_LOST": 5}
    assert rebuilt(b'1 write(3<pipe:[1]>, "a"..., 6) = 6', dump)[0] == b""


def test_an_address_in_place_of_the_bytes_is_a_loss_unless_there_is_a_dump() -> None:
    line = b"1 write(1%s, 0x7ffe1234, 3) = 3" % TTY
    assert troubles(rebuilt(line)[2]) == {"BYTES_LOST": 3}
    dump = b" | 00000  61 62 63                                          abc              |"
    assert rebuilt(line, dump)[0] == b"abc"


BUFFERS = b'1 writev(1%s, [{iov_base="yyyy"..., iov_len=6}, {iov_base="two", iov_len=3}, %s], 3) = %d'
LAST = b'{iov_base="ww"..., iov_len=4}'


def test_buffers_are_joined_and_their_dumps_fill_what_was_cut() -> None:
    dumps = [
        b" * 6 bytes in buffer 0",
        b" | 00000  79 79 79 79 79 79                                 yyyyyy           |",
        b" * 3 bytes in buffer 1",
        b" | 00000  74 77 6f                                          two              |",
        b" * 4 bytes in buffer 2",
        b" | 00000  77 77 77 0a                                       www.             |",
    ]
    assert rebuilt(BUFFERS % (TTY, LAST, 13), *dumps)[0] == b"yyyyyytwowww\n"
    assert rebuilt(BUFFERS % (TTY, LAST, 8), *dumps)[0] == b"yyyyyytw"


def test_the_dump_of_a_single_buffer_may_follow_that_of_several() -> None:
    out, _, made = rebuilt(
        b'1 writev(1%s, [{iov_base="a", iov_len=1}, {iov_base="b", iov_len=1}], 2) = 2' % TTY,
        b" * 1 bytes in buffer 0",
        b" | 00000  61                                                a                |",
        b" * 1 bytes in buffer 1",
        b" | 00000  62                                                b                |",
        b'1 write(1%s, "c"..., 2) = 2' % TTY,
        b" | 00000  63 64                                             cd               |",
    )
    assert out == b"abcd"
    assert made.complete


def test_buffers_without_dumps_keep_what_is_shown_and_count_the_rest() -> None:
    out, _, made = rebuilt(BUFFERS % (TTY, LAST, 13))
    assert out == b"yyyytwoww"
    assert troubles(made) == {"BYTES_LOST": 4}
    out, _, made = rebuilt(BUFFERS % (TTY, b"...", 20))
    assert out == b"yyyytwo"
    assert troubles(made) == {"BYTES_LOST": 13}


def test_buffers_of_an_older_strace_are_read() -> None:
    line = b'1 writev(1%s, [{"one ", 4}, {"two", 3}], 2) = 7' % TTY
    assert rebuilt(line)[0] == b"one two"


BEGUN = b'%s write(1%s, "%s", %d <unfinished ...>'


def test_a_call_that_was_begun_is_joined_with_its_end_by_process() -> None:
    out, _, made = rebuilt(
        BEGUN % (b"11", TTY, b"eleven", 6),
        BEGUN % (b"12", TTY, b"twelve", 6),
        b"11 --- SIGWINCH {si_signo=SIGWINCH, si_code=SI_USER} ---",
        b"12 <... write resumed>)           = 6",
        b'13 <... read resumed>, "x", 1) = 1',
        b"11 <... write resumed>)           = 3",
        b"11 +++ exited with 0 +++",
    )
    assert out == b"twelveele"
    assert made.complete


def test_a_process_may_be_named_only_while_there_are_others() -> None:
    assert rebuilt(BEGUN[3:] % (TTY, b"a", 1), b"[pid    11] <... write resumed>) = 1")[0] == b"a"
    assert rebuilt(BEGUN % (b"[pid    11]", TTY, b"a", 1), b"<... write resumed>) = 1")[0] == b"a"


def test_calls_without_beginning_or_end_are_counted() -> None:
    out, _, made = rebuilt(
        b"11 <... write resumed>) = 6",
        BEGUN % (b"12", TTY, b"killed", 6),
        b"12 +++ killed by SIGKILL +++",
        BEGUN % (b"13", TTY, b"forgotten", 9),
        BEGUN % (b"13", TTY, b"at the end", 10),
    )
    assert out == b""
    assert troubles(made) == {"WRITE_NOT_BEGUN": 1, "WRITE_NOT_RESUMED": 3}


def test_what_is_begun_is_held_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steno.contracts.agent_audit.strace_reader.MOST_BEGUN", 10_000)
    out, _, made = rebuilt(
        *(BEGUN % (b"%d" % process, TTY, b"held", 4) for process in range(100)),
        *(b"%d <... write resumed>) = 4" % process for process in range(100)),
    )
    found = troubles(made)
    assert 0 < made.stdout_chunks < 100
    assert len(out) == 4 * made.stdout_chunks
    assert found["WRITE_NOT_RESUMED"] == found["WRITE_NOT_BEGUN"] == 100 - made.stdout_chunks


@pytest.mark.parametrize(
    "line",
    [
        b'1 write(1</dev/pts/3>, "torn',
        b'1 write(1</dev/pts/3>, "torn", 4',
        b'1 write(1</dev/pts/3>, "torn", 4) = ',
        b'1 write(1</dev/pts/3>, "torn\\',
        b"1 write(",
        b"1 writev(1</dev/pts/3>, [{",
        b"1 writev(1</dev/pts/3>, [" + b'{iov_base="", iov_len=0}, ' * 2000 + b"], 2000) = 0",
        b'1 write(99999999999999999999, "a", 1) = 1',
    ],
)
def test_a_line_that_cannot_be_read_is_counted(line: bytes) -> None:
    _, _, made = rebuilt(line)
    assert troubles(made) == {"LINE_UNREADABLE": 1}


def test_numbers_that_do_not_fit_each_other_do_no_harm() -> None:
    assert rebuilt(b'1 write(1%s, "abc", 3) = 99999999999999999999' % TTY)[0] == b"abc"
    assert rebuilt(b'1 write(1%s, "abcdef", 2) = 6' % TTY)[0] == b"ab"


def test_a_line_that_is_too_long_is_counted_and_the_next_one_is_read() -> None:
    out = io.BytesIO()
    made = reconstruct([LineTooLongError(), write(1, b"next")], out, io.BytesIO())
    assert out.getvalue() == b"next"
    assert troubles(made) == {"LINE_TOO_LONG": 1}


_FRAGMENTS = st.sampled_from(
    [
        b"12 ",
        b"[pid 12] ",
        b"write(",
        b"writev(",
        b"1",
        b"</dev/pts/3<char 136:3>>",
        b", ",
        b'"',
        b"\\",
        b"abc",
        b"...",
        b"[{iov_base=",
        b"iov_len=3}",
        b"], 1",
        b", 3) = 3",
        b" <unfinished ...>",
        b"<... write resumed>) = 3",
        b"+++ exited with 0 +++",
        b" | 00000  61 62 63   abc |",
        b" * 3 bytes in buffer 0",
        b"\n",
    ]
)


@given(st.lists(st.one_of(_FRAGMENTS, st.binary(max_size=5)), max_size=60).map(b"".join))
def test_no_trace_makes_it_fail(trace: bytes) -> None:
    rebuilt(*trace.split(b"\n"))


def test_a_hostile_line_costs_no_more_than_its_length() -> None:
    size = 1 << 20
    for line in (
        b'1 write(1</dev/pts/3>, "' + b"\\" * size,
        b"1 write(1<" + b">" * size,
        b"1 writev(1</dev/pts/3>, [" + b"{" * size,
        b"9" * size,
        b"[pid " + b" " * size,
        b" | 00000  " + b"61 " * size,
    ):
        assert rebuilt(line)[0] == b""


def test_the_last_line_of_a_file_needs_no_end(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(write(1, b"a") + b"\n" + write(1, b"b"))
    out = io.BytesIO()
    reconstruct(trace_file_lines(path), out, io.BytesIO())
    assert out.getvalue() == b"ab"


def test_the_page_has_every_diagnostic_of_a_trace() -> None:
    section = PAGE.read_text().split("\n## Streams")[1].split("\n## ")[0]
    assert set(MEANINGS) == set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE))
