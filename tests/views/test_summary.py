"""`show`: the state of the record first, then every fact, none of them able to hurt the reader's terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steno.bundle.folder import Folder
from steno.bundle.lock import holding
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import Host
from steno.text.style import Paint
from steno.views import show
from steno.views.show import summary
from support.making import FINISHED, PTY, RUN_ID, make_run, start
from support.reading import opened
from support.resealing import reseal
from support.run_builder import RunBuilder

STARTED, ENDED, FINISH = FINISHED
CLEAN = {"changed_files": 0, "added": 0, "modified": 0, "deleted": 0, "renamed": 0, "untracked": 0}


def data_of(path: Path) -> dict[str, Any]:
    with opened(path) as record:
        return summary(record, path)


def text_of(path: Path, *, colour: bool = False) -> str:
    return "\n".join(show.lines(data_of(path), Paint(colour)))


def test_a_complete_run_is_told_in_full(tmp_path: Path) -> None:
    path = make_run(
        tmp_path,
        start("make", "test", name="nightly"),
        *FINISHED,
        tapes=[(layout.STDOUT, 5, b"hello"), (layout.STDERR, 6, b"oh")],
    )
    text = text_of(path)
    for expected in (
        RUN_ID,
        "Record      sealed, complete",
        "Command     make test",
        "named nightly",
        "Where       /work",
        "on box (Linux 6.1 x86_64)",
        "Result      exit code 0",
        "0.001s cpu in user mode, 0.002s in the kernel",
        "2.0 MiB of memory at most",
        "pipes; stdout and stderr recorded apart; stdin passed on, not recorded",
        "5 B stdout, 2 B stderr",
        "not looked at (--no-git)",
        "Redacted    nothing",
        "kernel layer absent, policy layer absent, sdk layer absent",
        f"Bundle      {path}",
    ):
        assert expected in text


def test_a_signal_is_named(tmp_path: Path) -> None:
    ended = kinds.CommandFinished(137, signal="SIGKILL")
    path = make_run(tmp_path, start(), STARTED, ended, kinds.RunFinish(137, completed=True))
    assert "ended by SIGKILL (exit code 137)" in text_of(path)


def test_a_gap_is_told_before_anything_else(tmp_path: Path) -> None:
    gap = kinds.Gap("stream_lost", "terminal/stdout: No space left on device", 2048)
    path = make_run(tmp_path, start(), STARTED, ENDED, gap, FINISH)
    lines = text_of(path).splitlines()
    assert lines[1] == "Record      sealed, INCOMPLETE: something that happened is not in the record"
    assert lines[2] == "Gaps        stream_lost: terminal/stdout: No space left on device (2.0 KiB lost)"


def test_an_unsealed_run_shows_its_facts_so_far(tmp_path: Path) -> None:
    path = make_run(tmp_path, start("sleep", "100"), STARTED, sealed=False)
    events = path / layout.SPOOL / layout.EVENTS
    events.write_bytes(events.read_bytes() + b'{"torn')
    text = text_of(path)
    assert "UNSEALED" in text
    assert f"`steno recover {RUN_ID}` seals what was recorded" in text
    assert "Result      not known: the end was not seen" in text
    found = data_of(path)
    assert found["completeness"] == {"complete": False, "completed": False, "gaps": ["unsealed"]}
    assert [gap["reason"] for gap in found["gaps"]] == found["health"]["steno"]["gaps"] == ["unsealed"]


def test_a_running_run_says_so(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(), STARTED, sealed=False)
    with Folder(path / layout.SPOOL) as spool, holding(spool):
        assert "RUNNING: these are the facts so far" in text_of(path)
        assert "still running" in text_of(path)


def test_the_terminal_is_described(tmp_path: Path) -> None:
    path = make_run(
        tmp_path,
        start(terminal=PTY),
        STARTED,
        kinds.TerminalResized(100, 30),
        kinds.TerminalResized(80, 24),
        kinds.StreamClosed("terminal/output", "Broken pipe"),
        kinds.TerminalHeld("terminal/output"),
        kinds.RecorderSignalled("SIGTERM", forwarded=True),
        ENDED,
        FINISH,
        tapes=[(layout.STDIN, 1, b"yes\n"), (layout.OUTPUT, 2, b"out")],
    )
    text = text_of(path)
    assert "a pseudo-terminal (xterm, 80x24, resized 2 times); stdout and stderr merged; typed input" in text
    assert "its reader went away (Broken pipe)" in text
    assert "another process still held it when the command ended" in text
    assert "SIGTERM was sent to the recorder (passed on to the command)" in text
    assert data_of(path)["terminal"]["bytes"]["stdin"] == 4


def test_an_output_that_could_not_be_written_had_no_reader_that_went_away(tmp_path: Path) -> None:
    closed = kinds.StreamClosed("terminal/stdout", "No space left on device")
    text = text_of(make_run(tmp_path, start(), STARTED, closed, ENDED, FINISH))
    assert "terminal/stdout: it could not be written (No space left on device)" in text


def git_run(tmp_path: Path, after: kinds.RepoSnapshotAfter, changes: list[dict[str, Any]]) -> Path:
    before = kinds.RepoSnapshotBefore(head="a" * 40, branch="main", status_summary=CLEAN)
    return make_run(
        tmp_path,
        start(git_enabled=True),
        before,
        STARTED,
        ENDED,
        after,
        FINISH,
        files=[
            (layout.CHANGES, canonical.encode(changes)),
            (layout.DIFF, b""),
            (layout.STATUS_BEFORE, b""),
            (layout.STATUS_AFTER, b""),
            (layout.WORKTREE_DIFF, b""),
        ],
    )


def test_what_git_saw_is_told(tmp_path: Path) -> None:
    after = kinds.RepoSnapshotAfter(
        head="b" * 40,
        branch="main",
        status_summary=CLEAN,
        changed=2,
        added_lines=3,
        deleted_lines=1,
        withheld=["key.p12"],
        unpatched=["huge.bin"],
        omitted=[{"path": "video.mp4", "size": 9, "reason": "TOO_LARGE"}],
        notes=["GIT_DIR was set and ignored"],
    )
    changes: list[dict[str, Any]] = [
        {"path": "src/a.py", "status": "M", "added": 3, "deleted": 1, "binary": False},
        {"path": "new.bin", "status": "A", "added": None, "deleted": None, "binary": True},
    ]
    text = text_of(git_run(tmp_path, after, changes))
    for expected in (
        "main aaaaaaaaaaaa → main bbbbbbbbbbbb",
        "2 files changed, +3 -1",
        "M src/a.py  +3 -1",
        "A new.bin   binary",
        "content withheld, because it held a secret: key.p12",
        "changed, but too large for the patch: huge.bin",
        "content not looked at: video.mp4 (TOO_LARGE)",
        "note: GIT_DIR was set and ignored",
    ):
        assert expected in text


def test_a_long_name_moves_no_other_row(tmp_path: Path) -> None:
    after = kinds.RepoSnapshotAfter(head="a" * 40, branch="main", status_summary=CLEAN, changed=2)
    changes: list[dict[str, Any]] = [
        {"path": path, "status": "A", "added": 1, "deleted": 0, "binary": False} for path in ("x" * 250, "y")
    ]
    rows = [line for line in text_of(git_run(tmp_path, after, changes)).splitlines() if "+1 -0" in line]
    assert rows[0].endswith(f"{'x' * 250}  +1 -0")
    assert len(rows[1]) < 80


def test_the_time_is_that_of_the_command_without_the_recorder(tmp_path: Path) -> None:
    path = RunBuilder().events_at(0, 400, 1400, 1700).seal(tmp_path)
    assert data_of(path)["command_ns"] == 1_000_000_000
    assert ", for 1.00s\n" in text_of(path)
    path = make_run(tmp_path / "unfinished", start(), STARTED, sealed=False)
    assert data_of(path)["command_ns"] is None


def test_many_files_are_counted_not_printed(tmp_path: Path) -> None:
    after = kinds.RepoSnapshotAfter(head="a" * 40, branch="main", status_summary=CLEAN, changed=50)
    changes: list[dict[str, Any]] = [
        {"path": f"f{number}", "status": "M", "added": 1, "deleted": 0, "binary": False}
        for number in range(50)
    ]
    path = git_run(tmp_path, after, changes)
    assert "and 30 more; --json has them all" in text_of(path)
    assert len(data_of(path)["repo"]["changes"]) == 50


def test_no_text_of_the_record_reaches_the_terminal_alive(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\u202e\n"
    after = kinds.RepoSnapshotAfter(
        head=evil,
        branch=evil,
        status_summary=CLEAN,
        withheld=[evil],
        unpatched=[evil],
        omitted=[{"path": evil, "size": 1, "reason": evil}],
        notes=[evil],
    )
    change = {"path": evil, "status": evil, "added": 1, "deleted": 1, "binary": False}
    git_run(tmp_path, after, [change])
    hostile = Host(os=evil, release=evil, machine=evil, platform=evil, name=evil)
    terminal = kinds.Terminal(kind="pty", streams=evil, stdin=evil, term=evil, cols=1, rows=1)
    make_run(
        tmp_path,
        start(evil, name=evil, cwd=evil, host=hostile, terminal=terminal),
        kinds.StreamClosed(evil, evil),
        kinds.TerminalHeld(evil),
        kinds.RecorderSignalled(evil, forwarded=False),
        kinds.CommandFinished(1, signal=evil),
        kinds.RedactionTally(kinds.Tally(redacted_fields=[evil], counts={evil: 1}, total=1)),
        kinds.Gap(evil, evil),
        kinds.RunFinish(1, completed=True),
        run_id="2026-01-25T12-00-01-000Z_a1b2c3d4",
    )
    for path in tmp_path.iterdir():
        text = text_of(path)
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert all(line.strip() for line in text.splitlines())
        assert "owned" in text


@pytest.mark.parametrize("name", [layout.MANIFEST, layout.EVENTS, layout.CHANGES])
def test_a_bundle_that_cannot_be_read_is_an_error_with_a_hint(tmp_path: Path, name: str) -> None:
    path = make_run(tmp_path)
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).write_bytes(b"garbage")
    if name != layout.MANIFEST:
        reseal(path)
    with pytest.raises(UnreadableBundleError) as raised:
        data_of(path)
    assert "steno verify" in raised.value.hint


def test_an_empty_folder_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(UnreadableBundleError):
        data_of(tmp_path)


def test_a_narrow_terminal_gets_folded_lines_and_a_wide_one_lines_to_copy(tmp_path: Path) -> None:
    found = data_of(make_run(tmp_path, start("make", "a" * 30, "b" * 60), *FINISHED))
    narrow = list(show.lines(found, Paint(), width=40))
    assert all(len(line) <= 40 for line in narrow)
    assert "Command     make" in narrow
    assert list(show.lines(found, Paint(), width=80)) == list(show.lines(found, Paint()))
