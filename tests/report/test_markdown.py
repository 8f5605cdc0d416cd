"""The report as a comment: the verdict first, short enough, and nothing of the record works in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from steno.evidence import kinds, layout
from steno.report.markdown import MARKER, markdown
from steno.report.overview import subject_of
from steno.text import markdown as comment
from support.making import FINISHED, make_run, start
from support.reading import opened
from support.run_builder import RunBuilder

HOSTILE = (
    "@ada #1 [x](javascript:alert(1)) <img src=x onerror=alert(1)> `` ``` https://x.example GH-1 | \n# y\x1b"
)


def said(run: Path) -> str:
    with opened(run) as folder:
        return markdown(folder, subject_of(folder))


def outside_of_code(text: str) -> str:
    """What a Markdown reader shows that is not code."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    shown = [child.content for token in tokens for child in token.children or [] if child.type == "text"]
    html = [token.content for token in tokens if token.type == "html_block"]
    inline = [c.content for token in tokens for c in token.children or [] if c.type == "html_inline"]
    return "\n".join([*shown, *html, *inline])


def test_it_begins_with_the_marker_and_the_verdict(tmp_path: Path) -> None:
    text = said(make_run(tmp_path))
    assert text.startswith(f"{MARKER}\n### ✅ Steno: Record valid\n")
    for question in ("What did it do?", "Is it true?", "Should I worry?"):
        assert f"\n**{question}**\n" in text
    assert "- Result: `exit code 0`" in text
    assert "`make test`" in text


def test_a_command_that_failed_is_not_headed_by_a_good_sign(tmp_path: Path) -> None:
    failed = (kinds.CommandFinished(1), kinds.RunFinish(1, completed=True))
    text = said(make_run(tmp_path, start(), FINISHED[0], *failed))
    assert text.startswith(f"{MARKER}\n### ❌ Steno: Record valid · exit code 1\n")


def test_it_lists_files_endpoints_and_the_patch_folded(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").wrote("/w/made.txt").read("/w/read.txt")
    run.connected("inet:198.51.100.7:443", result=None)
    text = said(run.file(layout.DIFF, b"--- a/x\n+++ b/x\n+\tnew ``` line\n").seal(tmp_path))
    assert "<details><summary>Files: 1 changed</summary>" in text
    assert "/w/made.txt`" in text
    assert "read.txt" not in text
    assert "<details><summary>Network: 1 endpoint</summary>" in text
    assert "\n````diff\n--- a/x\n+++ b/x\n+\tnew ``` line\n````\n" in text
    assert text.count("<details>") == text.count("</details>") == 3


def test_a_tampered_record_is_called_invalid_first(tmp_path: Path) -> None:
    run = make_run(tmp_path, tapes=[(layout.STDOUT, 5, b"true")])
    (run / layout.STDOUT).write_bytes(b"forged")
    text = said(run)
    assert text.startswith(f"{MARKER}\n### ❌ Steno: Invalid\n")
    assert text.index(layout.STDOUT) < text.index("What did it do?")


def test_a_record_that_cannot_be_read_still_gets_a_comment(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.MANIFEST).unlink()
    text = said(run)
    assert "### ❌ Steno: Unverified" in text
    assert "What it did cannot be listed" in text
    assert str(tmp_path) not in text


def test_an_unsealed_run_says_that_it_is_not_sealed(tmp_path: Path) -> None:
    assert "### ❌ Steno: Not sealed" in said(make_run(tmp_path, start(), FINISHED[0], sealed=False))


def test_no_mention_no_link_and_no_html_comes_from_the_record(tmp_path: Path) -> None:
    run = RunBuilder(HOSTILE, cwd=f"/{HOSTILE}", name=HOSTILE).process(HOSTILE)
    run.wrote(f"/{HOSTILE}").deleted(b"/\xff<b>@x").connected(f"inet:{HOSTILE}", result=None)
    text = said(run.file(layout.DIFF, f"+{HOSTILE}\n```\n@ada\n".encode() * 3).seal(tmp_path))
    shown = outside_of_code(text)
    assert not re.search(r"@|#\d|javascript|<img|<b>|https?:|GH-1|\x1b", shown)
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    assert "<a " not in html
    assert "<img" not in html


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.text(min_size=1, max_size=60) | st.text(alphabet="`~< >@\n\\", min_size=1, max_size=12))
def test_any_command_stays_in_its_code_span(tmp_path_factory: pytest.TempPathFactory, word: str) -> None:
    base = tmp_path_factory.mktemp("run")
    try:
        run = make_run(base, start(word), *FINISHED)
    except UnicodeEncodeError:  # a lone surrogate: the recorder spells those out
        return
    assert "@" not in outside_of_code(said(run))


def test_what_does_not_fit_is_counted_and_everything_is_closed(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").file(layout.DIFF, b"+x\n" * 100)
    for number in range(3000):
        run.wrote(f"/some/rather/long/directory/of/the/tree/{number:06d}")
    text = said(run.seal(tmp_path))
    assert 60_000 < len(text) <= comment.MAX_CHARACTERS
    assert text.count("<details>") == text.count("</details>")
    assert len(re.findall("^```", text, re.MULTILINE)) % 2 == 0
    left_out = int(re.findall(r"\*\*(\d+) more lines did not fit here", text)[0])
    assert text.count("/some/rather") + text.count("\n+x") + left_out == 3100


def test_a_patch_that_is_cut_is_closed(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").file(layout.DIFF, b"+ a line of the patch\n" * 10_000)
    text = said(run.seal(tmp_path))
    assert len(text) <= comment.MAX_CHARACTERS
    assert "\n```\n\n</details>\n" in text
    assert "more lines did not fit here" in text.rpartition("</details>")[2]


@pytest.mark.parametrize(
    ("patch", "total"),
    [
        (b"+ a line of the patch\n" * 240_200, 240_200),
        (b"+ a line\n" * 17 + b"+" + b"A" * (3 << 20) + b"\n" + b"+ more\n" * 20, 38),
        (b"+" + b"A" * (3 << 20) + b"\n+ more\n+ last", 3),
        (b"+ one\n+ two\n+ three", 3),
    ],
)
def test_every_line_of_a_patch_is_shown_or_counted(tmp_path: Path, patch: bytes, total: int) -> None:
    text = said(RunBuilder().file(layout.DIFF, patch).seal(tmp_path))
    shown = sum(one.startswith("+") for one in text.splitlines())
    counted = re.search(r"\*\*(\d+) more lines? did not fit here", text)
    assert shown + (int(counted[1]) if counted else 0) == total
    assert text.count("```") % 2 == 0


def test_a_comment_can_leave_room_for_something_else(tmp_path: Path) -> None:
    run = RunBuilder().file(layout.DIFF, b"+ a line of the patch\n" * 10_000).seal(tmp_path)
    with opened(run) as folder:
        text = markdown(folder, subject_of(folder), 20_000)
    assert 15_000 < len(text) <= 20_000
