"""What a meta file says, from what is known."""

from __future__ import annotations

import msgspec
import pytest

from steno.agents.stream import Session
from steno.contracts.agent_audit.meta import Ended, TrustGiven, describe, ended
from steno.contracts.agent_audit.streams import PARTS
from steno.evidence import kinds, layout
from steno.evidence.kinds import EventData
from steno.model.recording import RecordedSoFar
from support.attempts_made import COMPLETION, RUN_ID, ended_well, known
from support.spools import FINISH, MemoryLayers, numbered, start, tape_files
from support.spools import RUN_ID as BUNDLE_ID


def of(*data: EventData, gaps: tuple[str, ...] = ()) -> Ended:
    files = tape_files(layout.STDOUT, [(1, b"a"), (2, b"")]) | tape_files(layout.STDERR, [(1, b"b" * 70_000)])
    return ended(RecordedSoFar(MemoryLayers(numbered([start(), *data]), files)), gaps)


STARTED = kinds.CommandStarted(pid=7)


def test_a_meta_file_has_every_field_of_the_schema() -> None:
    told = msgspec.to_builtins(
        describe(
            known(
                2,
                selector="0123abcd",
                trust=TrustGiven("/home/.codex/config.toml", ["projects", "/d"], already_there=False),
                session=Session("thread_id", "t1", "stdout"),
                translate_level=2,
                rules={"parser": "codex"},
            ),
            ended_well(),
        )
    )
    assert told == {
        "schemaVersion": 3,
        "runId": RUN_ID,
        "agentName": "codex",
        "runDirectory": f"/agents/runs/{RUN_ID}",
        "reuse": {"enabled": True, "selector": "0123abcd"},
        "attempt": {"number": 2},
        "launch": {"command": "codex", "args": ["exec", "--json"], "cwd": f"/agents/runs/{RUN_ID}"},
        "startedAt": "2026-01-25T12:00:00.123Z",
        "endedAt": "2026-01-25T12:00:02.123Z",
        "success": True,
        "started": True,
        "exitCode": 0,
        "signal": None,
        "error": None,
        "trustApplied": True,
        "runtime": {
            "mode": "pty",
            "traceSource": "split",
            "splitReconstruction": {"stdoutChunks": 0, "stderrChunks": 0},
        },
        "auditFiles": {
            "meta": ".audit/meta.2.json",
            "stdin": ".audit/stdin.2.log",
            "stdout": ".audit/stdout.2.log",
            "stderr": ".audit/stderr.2.log",
            "ptyOutput": ".audit/pty-output.2.log",
            "ptyTiming": ".audit/pty-timing.2.log",
            "fdTrace": ".audit/fd-trace.2.log",
            "fsBefore": ".audit/fs-before.2.json",
            "fsAfter": ".audit/fs-after.2.json",
            "fsDiff": ".audit/fs-diff.2.json",
        },
        "filesystem": {
            "ignoredPrefixes": [".audit"],
            "diffPath": ".audit/fs-diff.2.json",
            "unreadable": [],
        },
        "protocol": {"schemaVersion": 1, "completion": COMPLETION},
        "interactive": {
            "handle": "0123abcd",
            "session": {"field": "thread_id", "value": "t1", "source": "stdout"},
            "translateLevel": 2,
        },
        "steno": {
            "runId": "2026-01-25T12-00-00-000Z_a1b2c3d4",
            "complete": True,
            "gaps": [],
            "trust": {
                "file": "/home/.codex/config.toml",
                "key": ["projects", "/d"],
                "alreadyThere": False,
            },
            "skills": [],
            "home": None,
            "steps": [],
            "rules": {"parser": "codex"},
            "policy": None,
            "hooks": False,
            "notes": [],
        },
    }


def test_files_that_were_not_written_are_null() -> None:
    files = describe(known(parts=("stdin", "stdout")), ended_well()).audit_files
    assert (files.stdout, files.fs_diff) == (".audit/stdout.1.log", None)
    assert set(PARTS) == {name.replace("_", "-") for name in type(files).__struct_fields__}


def test_the_facts_of_a_recording_become_the_outcome() -> None:
    how = of(STARTED, kinds.CommandFinished(exit_code=0), FINISH)
    assert how.success
    assert (how.launch.command, how.launch.args, how.launch.cwd) == ("sh", ["-c", "echo one two"], "/work")
    assert (how.mode, how.trace_source, tuple(how.chunks)) == ("pipes", "separate", (1, 2))
    assert (how.steno_run_id, how.complete) == (BUNDLE_ID, True)


def test_a_terminal_in_a_word_of_a_newer_steno_tells_no_source_of_the_trace() -> None:
    begun = start()
    terminal = msgspec.structs.replace(begun.terminal, streams="of_a_newer_steno")
    layers = MemoryLayers(numbered([msgspec.structs.replace(begun, terminal=terminal), STARTED, FINISH]), {})
    assert ended(RecordedSoFar(layers), ()).trace_source == "merged"


def test_a_signal_is_named_beside_the_exit_code() -> None:
    killed = kinds.CommandFinished(exit_code=143, signal="SIGTERM")
    how = of(STARTED, killed, kinds.RunFinish(exit_code=143, completed=True))
    assert (how.exit_code, how.signal, how.success) == (143, "SIGTERM", False)


def test_a_command_that_could_not_be_started_is_an_error() -> None:
    how = of(
        kinds.CommandNotStarted(errno=2, message="No such file or directory"),
        kinds.CommandFinished(exit_code=127),
        kinds.RunFinish(exit_code=127, completed=True),
    )
    assert (how.started, how.success, how.error) == (False, False, "No such file or directory")


@pytest.mark.parametrize("end", [[], [kinds.RunFinish(exit_code=None, completed=False, reason="lost")]])
def test_an_end_that_was_not_seen_is_no_success(end: list[EventData]) -> None:
    how = of(STARTED, *end)
    assert not how.success
    assert how.error
    assert not how.complete


def test_gaps_of_the_recording_are_told() -> None:
    how = of(STARTED, kinds.CommandFinished(exit_code=0), FINISH, gaps=("split_incomplete",))
    assert (how.success, how.complete, how.gaps) == (True, False, ("split_incomplete",))
