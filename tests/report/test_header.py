"""The head of a report: the verdict first, then what a reader asks, in HTML that needs no script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.lock import KERNEL
from steno.evidence import kinds, layout
from steno.evidence.claims import PolicyLine
from steno.report.overview import headline, subject_of
from steno.report.page import header, title
from support.calls_made import decision
from support.exported_calls import run_with_calls
from support.making import FINISHED, make_run, start
from support.reading import opened
from support.run_builder import RunBuilder

HOSTILE = "</script><img src=x onerror=alert(1)>\x1b]0;x\x07\u202e"
WRITTEN = [(layout.STDOUT, 5, b"true")]
GAP = kinds.Gap(reason="stream_lost", detail=HOSTILE, lost_bytes=7)


def head(run: Path) -> str:
    with opened(run) as folder:
        return header(subject_of(folder))


def facts(html: str) -> dict[str, list[str]]:
    """Each answer by its label, as text."""
    found = re.findall(r'<div class="fact[^"]*"><dt>([^<]*)</dt>(.*?)</div>', html)
    return {label: re.findall(r"<dd>(.*?)</dd>", lines) for label, lines in found}


def test_a_valid_record_says_so_and_answers_three_questions(tmp_path: Path) -> None:
    html = head(make_run(tmp_path, start("make", "test"), *FINISHED))
    assert '<strong id="verdict-word">Not checked here</strong>' in html
    assert (
        "has not checked anything yet. When this page was made, <code>steno verify</code> said: valid."
        in html
    )
    assert 'class="verdict verdict-valid verdict-is-good verdict-unchecked"' in html
    assert re.findall(r"<h2>(.*?)</h2>", html) == ["What did it do?", "Is it true?", "Should I worry?"]
    assert "<code>make test</code>" in html
    told = facts(html)
    assert told["Result"] == ["exit code 0"]
    assert told["Gaps"] == ["none declared"]
    assert told["Verification"][0] == "valid, when this was made"
    assert told["Signature"] == ["not signed: who made this record is not proven"]
    assert told["Redactions"] == ["no secret was found"]
    assert told["Kernel"] == ["what it did was not observed: processes, files, network"]
    assert 'id="digest-check"' in told["In this browser"][0]


def test_the_name_that_the_user_gave_stands_beside_that_of_the_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(name="nightly <b>"), *FINISHED)
    assert f'<p class="verdict-run">Steno {run.name}: nightly &lt;b&gt;</p>' in head(run)


def test_times_are_utc_whatever_the_reader_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    here = head(run)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert head(run) == here
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for ", here)


def test_what_the_kernel_saw_is_told(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").wrote("/b").connected("inet:198.51.100.7:443", result=None)
    run.process("rm", parent=1).deleted("/a")
    told = facts(head(run.seal(tmp_path)))
    assert told["Processes"] == ["2 processes"]
    assert told["Files"] == ["2 files changed (1 created, 1 deleted), 0 read"]
    assert told["Network"] == ["1 endpoint: 198.51.100.7:443 (attempted, outcome not seen)"]
    assert told["Attempted"] == ["1 endpoint elsewhere, attempted, outcome not seen: 198.51.100.7:443"]
    assert "Reached" not in told
    assert told["Deleted"] == ["1 file"]


@pytest.mark.parametrize(
    ("events", "sealed", "line", "result"),
    [
        ((start(), *FINISHED[:2], GAP, FINISHED[2]), True, "Record incomplete", "exit code 0"),
        (
            (start(), FINISHED[0]),
            False,
            "Not sealed · end not seen",
            "not known: the end was not seen",
        ),
        (
            (
                start(),
                FINISHED[0],
                kinds.CommandFinished(137, signal="SIGKILL"),
                kinds.RunFinish(137, completed=True),
            ),
            True,
            "Record valid · ended by a signal",
            "ended by SIGKILL (exit code 137)",
        ),
    ],
)
def test_the_headline_and_the_result_are_those_of_the_record(
    tmp_path: Path, events: tuple[kinds.EventData, ...], sealed: bool, line: str, result: str
) -> None:
    run = make_run(tmp_path, *events, sealed=sealed)
    with opened(run) as folder:
        found = subject_of(folder)
    assert headline(found).line == line
    html = header(found)
    word, *troubles = line.split(" · ")
    assert f">{'Not checked here' if sealed else word}</strong>" in html
    assert f'<span id="verdict-troubles">{"".join(f" · {one}" for one in troubles)}</span>' in html
    assert facts(html)["Result"] == [result]


WINDOW = (10_000_000, 20_000_000)
DENIED = [decision(one, "act", at=(30_000_000, 40_000_000), decision="deny") for one in "bc"]


def read() -> RunBuilder:
    line = decision("a", "read_file", at=WINDOW, arguments={"path": "/in"})
    return run_with_calls([line]).by(2).call("open", "/in", result=0, at=15_000_000)


def said_to_read_and_wrote(*denied: PolicyLine, **started: Any) -> RunBuilder:
    line = decision("a", "count", at=WINDOW, read_only=True)
    return run_with_calls([line, *denied], **started).by(2).wrote("/w/a.txt", at=15_000_000)


@pytest.mark.parametrize(
    ("run", "verdict", "line", "role"),
    [
        (read(), "confirmed", "Record valid", "good"),
        (run_with_calls(DENIED), "denied", "Record valid · 2 calls denied", "warning"),
        (
            said_to_read_and_wrote(DENIED[0]),
            "contradicted",
            "Record valid · 1 call contradicted · 1 call denied",
            "bad",
        ),
    ],
)
def test_a_sound_record_of_something_bad_is_not_headed_as_good(
    tmp_path: Path, run: RunBuilder, verdict: str, line: str, role: str
) -> None:
    with opened(run.seal(tmp_path)) as folder:
        found = subject_of(folder)
    assert found.summary
    assert verdict in found.summary["calls"]["verdicts"]
    first = headline(found)
    assert (first.line, first.role) == (line, role)
    assert f'class="verdict verdict-valid verdict-is-{role} verdict-unchecked"' in header(found)


def test_names_are_told_from_where_the_command_ran_unless_that_is_the_root(tmp_path: Path) -> None:
    for cwd, said in (("/w/", "a.txt"), ("/", "/w/a.txt")):
        run = said_to_read_and_wrote(cwd=cwd).seal(tmp_path / f"at{len(cwd)}")
        assert facts(head(run))["Contradicted"] == [f"fs.count: only reads, it is said; it changed {said}"]


def test_a_command_that_failed_makes_the_whole_bad_and_is_in_the_title(tmp_path: Path) -> None:
    failed = (kinds.CommandFinished(3), kinds.RunFinish(3, completed=True))
    with opened(make_run(tmp_path, start("make"), FINISHED[0], *failed)) as folder:
        found = subject_of(folder)
    assert headline(found)[2:] == (["exit code 3"], "bad")
    assert title(found) == "Not checked here · exit code 3: make"


def test_a_layer_that_nobody_asked_for_is_not_called_good(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    told = facts(head(run))["Observed"]
    assert told[:2] == ["kernel layer absent", "policy layer absent, sdk layer absent"]


def test_a_gap_is_told_with_its_reason_and_what_was_lost(tmp_path: Path) -> None:
    html = head(make_run(tmp_path, start(), *FINISHED[:2], GAP, FINISHED[2]))
    assert facts(html)["Gaps"][0].startswith("stream_lost: &lt;/script&gt;")
    assert facts(html)["Gaps"][0].endswith("(7 B lost)")


def test_a_tampered_record_is_called_invalid_above_all_else(tmp_path: Path) -> None:
    run = make_run(tmp_path, tapes=WRITTEN)
    (run / layout.STDOUT).write_bytes(b"forged")
    html = head(run)
    assert html.index(">Invalid</strong>") < html.index(layout.STDOUT) < html.index("<h1")
    assert 'class="verdict verdict-invalid verdict-is-bad"' in html
    assert "data-checked" not in html
    assert 'class="fact fact-bad"><dt>Verification' in html


def test_a_record_that_cannot_be_read_has_a_head_all_the_same(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.MANIFEST).unlink()
    html = head(run)
    assert ">Unverified</strong>" in html
    assert "<code>make test</code>" in html
    assert "This is what the first event says. Nothing vouches for it." in html
    assert facts(html)["Verification"] == ["unverified: there was nothing that could be"]


def test_a_command_that_cannot_be_read_is_told_as_that(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.MANIFEST).unlink()
    (run / layout.EVENTS).write_bytes(b"{}\n")
    assert "What the command was cannot be read" in head(run)


def test_nothing_of_the_record_becomes_markup(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(HOSTILE, cwd=HOSTILE, name=HOSTILE), *FINISHED[:2], GAP, FINISHED[2])
    html = head(run)
    assert "<img" not in html
    assert "</script" not in html
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", html)


def test_long_text_is_cut_and_shows_that_it_was(tmp_path: Path) -> None:
    run = make_run(tmp_path, start("x" * 1_000_000), *FINISHED)
    html = head(run)
    assert len(html) < 10_000
    assert "x…</code>" in html


def test_many_problems_are_counted(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for number in range(20):
        (run / f"added-{number:02d}").touch()
    html = head(run)
    assert "added-10: not in the manifest" in html
    assert "added-11: not" not in html
    assert "<li>and 9 more</li>" in html


def test_the_title_begins_with_what_is_known_before_any_check(tmp_path: Path) -> None:
    run = make_run(tmp_path, start("make", "x" * 200), *FINISHED, tapes=WRITTEN)
    with opened(run) as folder:
        found = title(subject_of(folder))
    assert found.startswith("Not checked here: make xxx")
    assert len(found) < 110
    (run / layout.STDOUT).write_bytes(b"forged")
    with opened(run) as folder:
        assert title(subject_of(folder)).startswith("Invalid: make")


@pytest.mark.parametrize("harm", ["tampered", "unsealed"])
def test_a_record_that_is_not_sound_has_no_green_fact(tmp_path: Path, harm: str) -> None:
    run = make_run(tmp_path, sealed=harm != "unsealed", tapes=WRITTEN)
    if harm == "tampered":
        (run / layout.STDOUT).write_bytes(b"forged")
    html = head(run)
    assert "fact-good" not in html
    assert facts(html)["Result"] == ["exit code 0"]
    assert "fact-good" in head(make_run(tmp_path / "sound"))


def test_a_run_that_is_watched_is_not_called_unobserved_before_it_is_sealed(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), FINISHED[0], sealed=False)
    assert facts(head(run))["Kernel"][0].startswith("what it did was not observed")
    (run / layout.SPOOL / KERNEL).mkdir()
    (run / layout.SPOOL / KERNEL / "events-0").write_bytes(b"frames")
    told = facts(head(run))
    assert told["Kernel"] == ["watched so far: processes, files and network are told when it is sealed"]
    assert told["Observed"][0] == "kernel layer so far"
    assert told["Gaps"] == ["unsealed: its recorder is gone, and nothing is sealed yet"]


def test_an_end_that_only_the_kernel_saw_is_told_as_that(tmp_path: Path) -> None:
    run = RunBuilder().never_ended().gap("recorder_killed", "the recorder ended")
    run.process("sh", code=None).exit(signal=15)
    assert facts(head(run.seal(tmp_path)))["Result"] == [
        "not seen by the recorder; the kernel saw the command end by SIGTERM"
    ]
