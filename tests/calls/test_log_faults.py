"""Who wrote the logs is a fact of the kernel table: by path, by inode, by the program that ran."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steno.evidence import kinds
from steno.evidence.claims import FileKey, ProxyLog
from steno.judge.calls.log_writers import HOOK, PROXY, our_program
from steno.judge.calls.processes import Processes
from steno.judge.types import Exec, Process
from support.calls_made import (
    BORN,
    EMPTY,
    HOOKS_LOG,
    POLICY_LOG,
    SCOPE,
    calls_of,
    decision,
    key,
    report_of,
    said,
    said_call,
)
from support.frames_made import ABSENT, FakeFrames, Found
from support.spools import RUN_ID

APPEND, EMPTYING = 0o2301, 0o1101  # O_APPEND|O_EXCL|O_CREAT|O_WRONLY; O_TRUNC|O_CREAT|O_WRONLY
IN = (10_000, 20_000)
FILE, LOG = FileKey(27, 500), Found(dev=27, ino=500)
BY_ANOTHER, REWRITTEN = "policy_log_written_by_another_process", "policy_log_rewritten"
WRAP = ["steno", "mcp", "wrap", "--policy", "p.yaml", "--", "server"]
CONNECTION = kinds.McpConnection(
    connection="c1",
    source="steno.mcp.wrap",
    server="fs",
    policy="0" * 64,
    dry_run=False,
    server_process=key(2),
    proxy_process=key(1),
    opened_ns=2_000,
    calls=1,
)
FOUND = kinds.IntakeLogs(policy=[ProxyLog(key(1), FILE)], hooks=FileKey(27, 400))


def served(program: str = "/opt/bin/steno", made: bool = True) -> FakeFrames:
    """1 the proxy, 2 its server, which opens a file in the window of the call, 3 somebody else."""
    frames = FakeFrames().process().process(parent=1).process()
    frames.exec(program, WRAP, process=1, result=0, at=500).event("open", "/in", process=2, at=15_000)
    if made:
        frames.event("open", POLICY_LOG, process=1, arg=APPEND, state=ABSENT, at=1_000)
    return frames


def faults(frames: FakeFrames, logs: kinds.IntakeLogs | None = FOUND, sdk: Any = ()) -> list[str]:
    events = (SCOPE, EMPTY, CONNECTION, *([logs] if logs else []))
    report = report_of(frames, [decision(at=IN, proxy_process=key(1))], sdk, events=events)
    assert report["status"] == ("partial" if report["ambiguities"] else "clean")
    found: list[str] = report["ambiguities"]
    return found


def test_a_log_that_its_proxy_made_and_nobody_touched_is_clean() -> None:
    assert faults(served()) == []
    reader = served().event("open", POLICY_LOG, process=3, state=LOG, at=30_000)
    refused = served().event("open", POLICY_LOG, process=3, arg=EMPTYING, state=LOG, result=-13, at=30_000)
    assert (faults(reader), faults(refused)) == ([], [])


@pytest.mark.parametrize("log", [POLICY_LOG, f"/home/ada/runs/{RUN_ID}/spool/intake/policy.1001-7.ndjson"])
@pytest.mark.parametrize(
    ("op", "arg", "found"),
    [
        ("open", APPEND, [BY_ANOTHER]),
        ("open", EMPTYING, [REWRITTEN, BY_ANOTHER]),
        ("truncate", 0, [REWRITTEN, BY_ANOTHER]),
        *((op, 0, [BY_ANOTHER]) for op in ("unlink", "rename", "rename_to", "link", "link_to", "chmod")),
    ],
)
def test_whoever_else_touches_it_is_told(log: str, op: str, arg: int, found: list[str]) -> None:
    assert faults(served().event(op, log, process=3, arg=arg, at=30_000)) == found


def test_a_hard_link_a_bind_mount_and_another_root_are_no_disguise() -> None:
    for name in ("/dev/shm/h", "/mnt/policy.1001-7.ndjson"):
        made = served().event("open", name, process=3, arg=EMPTYING, state=LOG, at=30_000)
        assert faults(made) == [REWRITTEN, BY_ANOTHER]
    unseen = served().event(
        "open", "/mnt/policy.1001-7.ndjson", process=3, arg=EMPTYING, notes=["other_root"], at=30_000
    )
    assert faults(unseen) == [REWRITTEN, BY_ANOTHER]


def test_another_file_with_the_number_of_the_inode_is_no_log() -> None:
    elsewhere = served().event("open", "/x", process=3, arg=EMPTYING, state=Found(dev=1, ino=500), at=30_000)
    before = FakeFrames().process().process(parent=1).process()
    before.event("open", "/x", process=3, arg=EMPTYING, state=LOG, at=400)
    before.exec("/opt/bin/steno", WRAP, process=1, result=0, at=500)
    before.event("open", POLICY_LOG, process=1, arg=APPEND, state=ABSENT, at=1_000)
    before.event("open", "/in", process=2, at=15_000)
    assert (faults(elsewhere), faults(before)) == ([], [])


def test_a_proxy_opens_its_log_once_and_empties_nothing() -> None:
    for arg in (APPEND, EMPTYING):
        made = served().event("open", POLICY_LOG, process=1, arg=arg, state=LOG, at=30_000)
        assert faults(made) == [REWRITTEN]


def test_a_log_that_nobody_was_seen_to_make_is_somebody_elses() -> None:
    assert faults(served(made=False)) == [BY_ANOTHER]


def test_what_was_not_seen_says_nothing_where_the_kernel_layer_is_not_complete() -> None:
    events = (SCOPE, EMPTY, CONNECTION, FOUND)
    lines = [decision(at=IN, proxy_process=key(1))]
    lost = msgspec.structs.replace(BORN, lost_events=1)
    for frames, layer in ((None, "kernel_layer_absent"), (served(made=False), "kernel_layer_partial")):
        found = report_of(frames, lines, events=events, observed=lost)["ambiguities"]
        assert (layer in found, BY_ANOTHER in found) == (True, False)


def test_a_log_that_is_gone_is_told_also_where_nothing_is_left() -> None:
    assert faults(served(), None) == ["policy_log_lost"]
    assert "policy_log_lost" in report_of(served())["ambiguities"]


def test_a_folder_that_was_moved_or_mounted_elsewhere_is_told() -> None:
    folder = POLICY_LOG.rpartition("/")[0]
    assert faults(served().event("rename", folder, process=3, at=30_000)) == ["intake_moved"]
    assert faults(served().event("mount", "/mnt", extra=folder, process=3, at=30_000)) == ["intake_moved"]


def test_a_proxy_that_is_another_program_is_told_and_corroborates_nothing() -> None:
    frames = served("/usr/bin/forger")
    assert faults(frames) == ["proxy_is_another_program:c1"]
    line = decision(at=IN, proxy_process=key(1))
    found = calls_of(served("/usr/bin/forger"), [line], said_call(), events=(SCOPE, EMPTY, CONNECTION, FOUND))
    assert found["calls"][0]["said"]["corroboration"] == "self_reported"


def executed(at_ns: int, *words: bytes) -> Exec:
    return Exec(
        process=1,
        at_ns=at_ns,
        requested_bytes=words[0],
        executable_bytes=words[0],
        words=list(words),
        n_arguments=len(words),
        arguments_cut=False,
        outcome="done",
        error=None,
        privilege_lost=False,
    )


def test_a_process_runs_what_its_parent_ran_until_it_starts_something() -> None:
    parent = Process(
        process=1,
        pid=1,
        started_ns=0,
        execs=[executed(10, b"sh"), executed(40, b"steno", b"mcp", b"wrap"), executed(60, b"steno", b"hook")],
    )
    child = Process(process=2, pid=2, parent=1, started_ns=50, execs=[executed(80, b"sh")])
    found = Processes([parent, child])
    assert [found.ran_another(1, at_ns, PROXY) for at_ns in (5, 20, 45, 70)] == [False, True, False, True]
    assert [found.ran_another(2, at_ns, PROXY) for at_ns in (70, 90)] == [False, True]


@pytest.mark.parametrize(
    ("program", "words", "ours"),
    [
        ("steno", "steno mcp wrap", PROXY),
        ("steno", "x --verbose mcp proxy --listen y", PROXY),
        ("python3.11", "python3 -X utf8 -I /opt/bin/steno mcp wrap", PROXY),
        ("python3", "python3 -m steno mcp wrap", PROXY),
        ("steno", "steno hook claude", HOOK),
        ("python3", "python3 forge.py steno mcp wrap", ""),
        ("python3", "python3 -c steno", ""),
        ("sh", "steno mcp wrap", ""),
        ("steno", "", ""),
    ],
)
def test_our_program_is_known_by_its_name_and_its_words(program: str, words: str, ours: str) -> None:
    assert our_program(program.encode(), words.encode().split()) == ours


def test_a_hook_log_that_somebody_else_wrote_is_told() -> None:
    lines = [
        said(event, "h", "Bash", source="claude", hook=3)
        for event in ("tool_call_started", "tool_call_completed")
    ]
    hooked = served().event("open", HOOKS_LOG, process=3, arg=0o2101, at=9_000)
    assert faults(hooked, sdk=lines) == []
    hooked.event("open", HOOKS_LOG, process=2, arg=0o2101, at=9_500)
    assert faults(hooked, sdk=lines) == ["hook_log_written_by_another_process"]
    emptied = served().event("open", HOOKS_LOG, process=3, arg=EMPTYING, at=9_000)
    assert faults(emptied, sdk=lines) == ["hook_log_rewritten"]


def test_a_hook_that_is_not_in_the_layer_is_a_hook_all_the_same() -> None:
    hooked = served().event("open", HOOKS_LOG, process=3, arg=0o2101, at=9_000)
    assert faults(hooked) == ["hook_log_written_by_another_process"]
    named = kinds.IntakeLogs(policy=FOUND.policy, hooks=FOUND.hooks, hook_processes=[key(3)])
    assert faults(hooked, named) == []
    more = kinds.IntakeLogs(policy=FOUND.policy, hooks=FOUND.hooks, hook_processes_left_off=1)
    assert faults(hooked, more) == ["hook_processes_not_all_known"]
