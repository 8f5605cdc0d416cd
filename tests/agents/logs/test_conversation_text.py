"""The Markdown for people: hostile text stays in its code, and nothing is left out in silence."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from steno.launch.translate import MAX_LINES, MAX_WIDTH, conversation
from support.agent_streams import attempt, recorded

TEXTS = st.text(st.sampled_from("`~#<>&[]()!*_|- \t\n\r\x1b\\ab:") | st.characters(), max_size=40)


def said(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"type": "agent_message", "text": text}}


def written(*records: dict[str, Any], raw: bytes = b"") -> str:
    return "".join(conversation(attempt("\n".join(map(json.dumps, records)).encode() + b"\n" + raw)))


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").parse(text)


def headings(text: str) -> list[str]:
    found = tokens(text)
    return [inner.content for opened, inner in pairwise(found) if opened.type == "heading_open"]


@given(TEXTS)
@example("```\n# broken out\n```")
@example("~~~\n</details><script>")
@example("`````````\n")
def test_what_the_assistant_says_stays_in_its_fence(text: str) -> None:
    fences = [token for token in tokens(written(said(text + "|"))) if token.type == "fence"]
    assert [fence.info for fence in fences] == ["text"]
    assert fences[0].content.rstrip("\n").endswith("|")


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=3), st.binary(max_size=40))
def test_hostile_text_makes_no_heading_no_link_and_no_html(
    calls: list[tuple[str, str, str]], raw: bytes
) -> None:
    records = [
        item
        for identity, name, text in calls
        for item in (
            said(text),
            {
                "type": "item.completed",
                "item": {
                    "id": identity,
                    "type": "mcp_tool_call",
                    "server": name,
                    "aggregated_output": text,
                    "arguments": {name: text},
                },
            },
        )
    ]
    found = tokens(written(*records, raw=raw))
    flat = [inner for token in found for inner in (token, *(token.children or ()))]
    assert not {token.type for token in flat} & {"html_block", "html_inline", "link_open", "image", "hr"}
    titles = [token.tag for token in found if token.type == "heading_open"]
    assert titles.count("h1") == 1
    assert len(titles) <= 2 + 2 * len(calls) + 1


def test_escapes_of_a_terminal_are_spelled_out() -> None:
    text = written(said("a\x1b[2Jb\x07\u202ec\tend"))
    assert "a\\x1b[2Jb\\x07\\u202ec\tend" in text
    assert "\x1b" not in text


def test_long_output_is_cut_and_its_place_is_said() -> None:
    lines = "".join(f"line {number}\n" for number in range(MAX_LINES + 5)).encode()
    text = written(raw=lines)
    assert f"line {MAX_LINES - 1}\n" in text
    assert f"line {MAX_LINES}\n" not in text
    assert f"5 more lines: bytes 1 to {len(lines)} of stdout." in text


def test_a_long_line_is_cut_and_its_place_is_said() -> None:
    text = written(raw=b"x" * (MAX_WIDTH + 1))
    assert "x" * MAX_WIDTH + "…" in text
    assert "x" * (MAX_WIDTH + 1) not in text
    assert "all of it: bytes 1 to 2002 of stdout." in text


def test_an_answer_is_never_cut() -> None:
    answer = "\n".join(["word " * 1000] * (MAX_LINES * 2))
    assert answer in written(said(answer))


def test_what_only_repeats_the_assistant_is_left_out_and_said() -> None:
    text = "".join(conversation(recorded("codex-echo")))
    assert text.count("Nothing else was changed.") == 1
    assert "only repeats the assistant: 6 lines, bytes 1029 to 1110 of stdout." in text


def test_calls_results_and_the_end_are_told_in_order() -> None:
    text = "".join(conversation(recorded("claude-success")))
    assert headings(text) == [
        "`claude`, attempt 1",
        "Call `toolu_1` of `Write`",
        "Call `toolu_2` of `Bash`",
        "Assistant",
        "End",
    ]
    assert "`toolu_2` went well." in text
    assert text.endswith("`completed` (`DONE_MARKER_FOUND`), exit code 0.\n")
