"""A comparison as text, Markdown and SARIF, and a surface in words: complete, safe, and cut honestly."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from steno.compare import ignore
from steno.compare.comparison import Comparison
from steno.evidence import canonical
from steno.export import sarif
from steno.text import markdown as comment
from steno.text.style import Paint
from steno.views import diff, surface
from support.capabilities_made import RUN_A, RUN_B, compared, evidence

HOSTILE = "/x`y``\n<img src=x> @everyone \x1b[2J ](http://evil.example) | \u202e"
DEGRADED = {"complete": False, "gaps": ["kernel_events_lost"]}


def text(found: Comparison) -> str:
    return "\n".join(diff.lines(found, Paint(), width=None))


def everything() -> Comparison:
    """A comparison with something of every sort."""
    a = evidence(
        files_read=["/etc/hosts", "/gone", "/usr/old"],
        files_attempted=["/x"],
        endpoints_connected=["192.0.2.7:1"],
        names={"192.0.2.7": ["old.example"]},
    )
    b = evidence(
        RUN_B,
        of={"observer": "both", **DEGRADED},
        files_read=["/etc/hosts", "/srv/a/in tree", "/x", "/usr/new"],
        execs_ran=["/bin/sh"],
        endpoints_connected=["[2001:db8::1]:443"],
        endpoints_attempted=["192.0.2.9:9"],
        mcp_tools=["fs.read"],
        names={"2001:db8::1": ["new.example"]},
    )
    return compared(a, b, ignore.parse(b"prefixes:\n- /usr\n"))


def test_the_text_has_every_sort_of_entry() -> None:
    said = text(everything())
    for expected in (
        f"A  {RUN_A}",
        "Files read  +2 -1, 1 unchanged",
        "  + $RUN_CWD/in tree",
        "  + /x  (the other side tried it, and failed)",
        "  - /gone",
        "  + [2001:db8::1]:443  (new.example)",
        "  - 192.0.2.7:1  (old.example)",
        "Endpoints that could not be reached  +1 -0, 0 unchanged",
        "Ignored (2)",
        "  + /usr/new  [prefixes: /usr (line 2)]",
        "note: A was observed by notify, B by both",
        f"degraded evidence, B: {RUN_B} incomplete:kernel_events_lost",
        "added: B did 5 things that A did not (5 added, 2 removed, 1 unchanged, 2 ignored)",
    ):
        assert expected in said


def test_no_entry_changes_the_terminal() -> None:
    said = text(compared(evidence(), evidence(RUN_B, files_read=[HOSTILE])))
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert said.count("+ /x") == 1


def test_a_removal_is_told_in_words() -> None:
    assert "and left out 1 thing" in text(compared(evidence(files_read=["/x"]), evidence(RUN_B)))


def test_many_attempts_are_cut_and_counted_and_additions_never_are() -> None:
    many = [f"/{number:03d}" for number in range(100)]
    said = text(compared(evidence(), evidence(RUN_B, files_read=many, execs_attempted=many)))
    assert said.count("\n  + /") == 100 + 10
    assert "  and 90 more; --json has them all" in said


def rendered_code(found: str) -> list[str]:
    """What a Markdown reader shows in code spans."""
    tokens = MarkdownIt("commonmark").parse(found)
    return [
        child.content for token in tokens for child in token.children or [] if child.type == "code_inline"
    ]


def test_the_markdown_has_additions_first_and_folds_the_rest() -> None:
    said = diff.text(everything())
    assert said.startswith("### \u274c Capability diff: added\n")
    assert said.index("#### Files read: 2 added") < said.index("<details>")
    assert "- + `[2001:db8::1]:443` (`new.example`)" in said
    assert said.count("<details>") == said.count("</details>") == 5
    assert "kernel_events_lost" in said
    assert "B did 5 things that A did not" in said


@given(st.text(min_size=1, max_size=40) | st.text(alphabet="`< >@\n", min_size=1, max_size=12))
def test_any_entry_stays_inside_its_code_span(entry: str) -> None:
    said = diff.text(compared(evidence(), evidence(RUN_B, mcp_tools=[entry])))
    codes = rendered_code(said)
    assert len(codes) == 3  # A, B and the entry
    assert "<img" not in re.sub("`+.*?`+", "", said)


def test_hostile_markup_is_only_text() -> None:
    said = diff.text(compared(evidence(), evidence(RUN_B, files_read=[HOSTILE])))
    html = MarkdownIt("commonmark").render(said)
    assert "<img" not in html
    assert "<a " not in html


def test_markdown_that_would_be_too_long_is_cut_and_says_how_much() -> None:
    many = [f"/some/rather/long/directory/of/the/work/tree/{number:06d}" for number in range(3000)]
    removed = evidence(files_read=[f"/old/{number}" for number in range(3000)])
    said = diff.text(compared(removed, evidence(RUN_B, files_written=many)))
    assert 60_000 < len(said) <= comment.MAX_CHARACTERS
    left_out = int(re.findall(r"\*\*(\d+) more lines did not fit", said)[0])
    assert said.count("\n- + ") + said.count("\n- - ") + left_out == 6000
    assert "3000 added, 3000 removed" in said
    assert said.count("<details>") == said.count("</details>")


def test_one_long_entry_is_cut_with_an_ellipsis() -> None:
    said = diff.text(compared(evidence(), evidence(RUN_B, files_read=["/" + "x" * 4000])))
    assert len(said) < 2000
    assert "x\u2026`" in said


def results(found: Comparison) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = sarif.to_json(found)["runs"][0]["results"]
    return listed


def test_sarif_has_one_result_for_each_addition_attempt_and_reason() -> None:
    found = [(one["ruleId"], one["level"], "suppressions" in one) for one in results(everything())]
    assert sorted(found) == [
        ("degraded-evidence", "warning", False),
        ("endpoints-attempted", "note", False),
        ("endpoints-connected", "error", False),
        ("execs-ran", "error", False),
        ("files-read", "error", False),
        ("files-read", "error", False),
        ("files-read", "error", True),
        ("mcp-tools", "error", False),
    ]


def test_every_result_points_to_its_rule_a_file_and_a_stable_fingerprint() -> None:
    log = sarif.to_json(everything())
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert log["version"] == "2.1.0"
    assert len(set(rules)) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch("[0-9a-f]{64}", result["partialFingerprints"]["stenoCapability/v1"])
    assert run["invocations"][0]["exitCode"] == 1


def test_a_file_of_the_work_tree_is_told_relative_to_it() -> None:
    places = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in results(everything())]
    assert {"uri": "in%20tree", "uriBaseId": "SRCROOT"} in places
    assert {"uri": "file:///bin/sh"} in places


def test_equal_comparisons_give_equal_sarif() -> None:
    assert canonical.encode(sarif.to_json(everything())) == canonical.encode(sarif.to_json(everything()))


@pytest.mark.parametrize("everything_asked", [False, True])
def test_a_surface_in_words_counts_everything_and_says_what_it_leaves_out(everything_asked: bool) -> None:
    files = [f"/usr/lib/{number}" for number in range(50)] + ["/etc/hosts"]
    execs = [f"/bin/{number:02d}" for number in range(20)]
    found = evidence(
        files_read=files,
        execs_ran=execs,
        endpoints_connected=["192.0.2.1:443"],
        names={"192.0.2.1": ["a.example"]},
    ).capabilities(projected=False)
    said = list(surface.lines(found, Paint(), everything=everything_asked, width=None))
    assert "Files read  51" in said
    assert "  192.0.2.1:443  (a.example)" in said
    if everything_asked:
        assert "  /usr/lib/49" in said
        assert "  /bin/19" in said
    else:
        assert "  /usr/lib/  50" in said
        assert "  and 8 more; --all lists them" in said
        assert len(said) < 25


def test_many_directories_are_cut_and_counted() -> None:
    files = [f"/{number:03d}/x" for number in range(100)]
    found = evidence(files_read=files).capabilities(projected=False)
    said = list(surface.lines(found, Paint(), everything=False, width=None))
    rest = 100 - surface.MOST_SHOWN
    assert said[-1] == f"  and {rest} more in {rest} directories; --all lists them"
