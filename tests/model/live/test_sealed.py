"""The last happenings of runs that are over, and the words for all of them."""

from __future__ import annotations

from pathlib import Path

from steno.bundle.folder import Folder
from steno.bundle.store import RunState
from steno.claims.folder import open_left
from steno.claims.layers import Heard, keep_claims
from steno.evidence import intake, kinds
from steno.evidence.ignore_rules import IgnoreRules
from steno.judge.activity import CALL, FILE, NET, PROCESS, RUN, Happening
from steno.model.live.ending import End, end_of
from steno.model.live.following import following
from steno.model.live.sealed import last_happenings
from steno.model.record import open_record
from steno.record.kernel import keep_kernel_layer
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from steno.text.style import Paint
from steno.views import tail
from support.claims_told import hook
from support.live_runs import LiveRun

PLAIN = Paint()


def sealed_run(tmp_path: Path) -> tuple[LiveRun, list[Happening]]:
    """A run, and what somebody saw who followed it."""
    run = LiveRun(tmp_path)
    run.saw("unlink", "/w/a")
    run.saw("connect", "inet:10.0.0.1:443")
    run.told(intake.HOOKS, hook(at_ns=5000))
    redactor = Redactor(findings=Findings())
    with Folder(run.path) as folder, following(folder, run.store) as watch, folder.sub("spool") as spool:
        seen = watch.look(100).happenings
        run.write_frames(closed=1)
        rules = IgnoreRules(())
        kept = keep_kernel_layer(
            spool, run.store, redactor, Findings(), rules, max_blob=1, looked=False, key=run.key
        )
        assert kept.event is not None
        run.event(kept.event)
        run.event(kinds.Gap("after_unknown", "nobody looked"))
        left = open_left(run.intake, "memory", folder.path.stat().st_uid)
        for event in keep_claims(spool, left, redactor, Heard(run.path.name, "auto", 1 << 50)):
            run.event(event)
        run.finish()
        seen += watch.look(100).happenings
    return run, seen


def test_a_sealed_run_is_told_as_whoever_followed_it_saw_it(tmp_path: Path) -> None:
    run, seen = sealed_run(tmp_path)
    with Folder(run.path) as folder, open_record(folder) as record:
        found = last_happenings(record, 100)
    assert found.passed_over == 0
    assert [(one.what, one.word, one.subject, one.program) for one in found.happenings] == [
        (one.what, one.word, one.subject, one.program) for one in seen
    ]
    assert {PROCESS, FILE, NET, CALL, RUN} == {one.what for one in seen}


def test_only_the_last_are_told_and_the_others_counted(tmp_path: Path) -> None:
    run, seen = sealed_run(tmp_path)
    with Folder(run.path) as folder, open_record(folder) as record:
        found = last_happenings(record, 2)
        assert [one.word for one in found.happenings] == [one.word for one in seen[-2:]]
        assert found.passed_over == len(seen) - 2
        assert last_happenings(record, 0).happenings == []


def test_the_end_is_what_the_record_says(tmp_path: Path) -> None:
    run, _ = sealed_run(tmp_path)
    with Folder(run.path) as folder:
        end = end_of(folder, RunState.SEALED)
    assert end.exit_code == 0
    assert "after_unknown" in end.gaps
    assert tail.ending(end, PLAIN).startswith("sealed, INCOMPLETE: ")
    (run.path / "manifest.json").write_bytes(b"junk")
    with Folder(run.path) as folder:
        assert end_of(folder, RunState.SEALED).state is RunState.DAMAGED


def test_every_end_has_its_words() -> None:
    def said(**end: object) -> str:
        return tail.ending(End(**{"run_id": "r", "state": RunState.SEALED, **end}), PLAIN)  # type: ignore[arg-type]

    assert said(exit_code=0, duration_ns=10**9, complete=True) == "sealed, complete; exit 0 after 1.00s"
    assert said(exit_code=137, signal="SIGKILL", complete=True) == "sealed, complete; exit 137 (SIGKILL)"
    assert "how it ended is not known" in said()
    assert "steno recover r" in said(state=RunState.UNSEALED)
    assert "DAMAGED" in said(state=RunState.DAMAGED)


def test_a_line_fits_its_terminal_and_shows_no_control_character() -> None:
    hostile = Happening(
        1, FILE, "written", "/w/\x1b]0;owned\x07\n" + "漢" * 200, process=1, program="\x1b[2J"
    )
    for width in (20, 40, 59, 60, 200):
        line = tail.line(hostile, PLAIN, width=width)
        assert "\x1b" not in line
        assert "\n" not in line
        assert sum(2 if letter == "漢" else 1 for letter in line) <= width
    assert "?[2]" in tail.line(Happening(1, FILE, "written", "/w", process=2), PLAIN, width=None)


def test_a_narrow_terminal_leaves_out_numbers_and_never_what() -> None:
    one = Happening(1_500_000_000, FILE, "written", "/w/a", process=1, program="sh", times=3)
    assert tail.line(one, PLAIN, width=40) == "    1.500 sh written /w/a 3 times"
    assert tail.line(one, PLAIN, width=80) == "    1.500 sh[1] written /w/a 3 times"
    assert tail.line(one._replace(word="started", subject="sh -c x"), PLAIN, width=40).split()[1] == "started"
    assert len(tail.passed_over(5, before=True, width=30)) == 30


def test_what_is_bad_is_painted() -> None:
    assert "\x1b[31" in tail.line(Happening(1, FILE, "w", bad=True), Paint(colour=True), width=80)


def test_a_gap_is_never_dropped() -> None:
    from steno.model.live.run_events import of_event

    event = kinds.Event(0, 0, 7, "r", kinds.Gap("torn_stream", "it was", lost_bytes=3))
    told = of_event(event)
    assert told is not None
    assert (told.subject, told.bad) == ("torn_stream: it was (3 bytes lost)", True)
