"""Event kinds: what is written is read back as the same type, and nothing else is accepted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import canonical, kinds
from steno.evidence.claims import FileKey, NoticedByProxy, ProcessKey, ProxyLog
from steno.evidence.kinds import (
    KINDS,
    BadEventError,
    Event,
    EventData,
    LeftProcess,
    Split,
    UnknownKind,
    parse_line,
    to_json,
)
from support.cases import cases
from support.kernel_tables import OBSERVED
from support.spools import HOST, ON_TERMINAL, RUN_ID, START, start

SAMPLES: list[EventData] = [
    START,
    start(terminal=ON_TERMINAL, name="nightly", recorder_pid=1, scratch=["/dev/shm/steno-shadow-x"]),
    kinds.RepoSnapshotBefore(reason="NOT_A_GIT_REPO"),
    kinds.RepoSnapshotBefore(
        root="/work", head="a" * 40, branch="main", status_summary={"modified": 1}, diff_hash="0" * 64
    ),
    kinds.CgroupScope(hierarchy="unified", path="/a.slice/steno-x", cgroup_id=2**40),
    kinds.CgroupScope(reason="not_permitted", detail="/sys/fs/cgroup: Permission denied"),
    kinds.ProbeState(state="no_btf", detail="/sys/kernel/btf/vmlinux"),
    kinds.CommandStarted(pid=7),
    kinds.CommandNotStarted(errno=2, message="No such file or directory"),
    kinds.CommandStopped(signal="SIGTSTP"),
    kinds.CommandContinued(),
    kinds.CommandFinished(
        exit_code=130, signal="SIGINT", core_dumped=True, user_us=1, system_us=2, max_rss_kib=3
    ),
    kinds.CgroupEnded(empty=False, removed=True, left=[LeftProcess(7, "sleep")], left_count=1),
    kinds.TerminalResized(cols=80, rows=24),
    kinds.RecorderSignalled(signal="SIGTERM", forwarded=True),
    kinds.StreamClosed(stream="terminal/stdout", reason="Broken pipe"),
    kinds.TerminalHeld(stream="terminal/output"),
    kinds.StdinUnread(bytes=5, given_back=True),
    kinds.RepoSnapshotAfter(changed=1, added_lines=2, deleted_lines=0, withheld=["a"], unpatched=["b"]),
    msgspec.structs.replace(
        OBSERVED,
        features=["exit_info"],
        counted={"keyctl": 3},
        split=Split(stdout=1, stderr=2, tty=0, unattributed=0, unwatched=0),
    ),
    kinds.ToolVersions({"git": "2.39"}),
    kinds.McpConnection(
        connection="c1",
        source="steno.mcp.wrap",
        server="files",
        policy="0" * 64,
        dry_run=False,
        server_process=ProcessKey(8, 100),
        proxy_process=ProcessKey(7, 99),
        opened_ns=1,
        closed_ns=9,
        end="server_exited",
        exit_code=1,
        signal="SIGTERM",
        calls=2,
        noticed=[NoticedByProxy("pin_mismatch", "read_file", 3)],
        noticed_count=1,
    ),
    kinds.AgentStep(number=6, name="trust", detail="config.toml", done_ms=5, facts={"trust": {"file": "f"}}),
    kinds.IntakeLogs(
        policy=[ProxyLog(ProcessKey(2, 1), FileKey(27, 5)), ProxyLog(ProcessKey(3, 1))],
        policy_left_off=1,
        hooks=FileKey(27, 4),
        hook_processes=[ProcessKey(4, 1)],
        hook_processes_left_off=2,
    ),
    kinds.SdkIntake(shim="openai-agents", lines=2, hooks=1, refused="torn_line", refused_line=2),
    kinds.RedactionTally(kinds.Tally(total=1, counts={"url-password": 1})),
    kinds.Gap(reason="stream_lost", detail="terminal/stdout: No space left on device", lost_bytes=9),
    kinds.RunFinish(exit_code=None, completed=False, reason="recorder_killed"),
]


def line_of(data: EventData) -> bytes:
    return canonical.encode_line(to_json(Event(3, 1, 2, RUN_ID, data)))


def raw_line(**changes: Any) -> bytes:
    raw = {
        "seq": 0,
        "ts_ms": 1,
        "mono_ns": 2,
        "run_id": RUN_ID,
        "type": "command_started",
        "data": {"pid": 7},
    }
    return canonical.encode_line({**raw, **changes})


def test_there_is_a_sample_of_every_kind() -> None:
    assert {sample.type for sample in SAMPLES} == set(KINDS)


def test_every_kind_is_read_back_as_it_was_written() -> None:
    for sample in SAMPLES:
        event = parse_line(line_of(sample))
        assert event == Event(3, 1, 2, RUN_ID, sample)
        assert event.type == sample.type


def test_a_field_that_only_a_newer_steno_knows_is_passed_over() -> None:
    for sample in SAMPLES:
        raw = to_json(Event(3, 1, 2, RUN_ID, sample))
        raw["data"]["added_later"] = 1
        raw["added_later"] = 1
        assert parse_line(canonical.encode_line(raw)) == Event(3, 1, 2, RUN_ID, sample)


def test_an_event_of_a_kind_that_only_a_newer_steno_knows_is_kept_as_it_is() -> None:
    line = raw_line(type="run_paused", data={"why": "lunch"})
    event = parse_line(line)
    assert event.data == UnknownKind("run_paused", {"why": "lunch"})
    assert event.type == "run_paused"
    assert canonical.encode_line(to_json(event)) == line


def test_a_field_of_the_wrong_type_or_a_missing_one_is_refused() -> None:
    with cases() as case:
        for sample in SAMPLES:
            required = {field.encode_name for field in msgspec.structs.fields(sample) if field.required}
            for name in to_json(Event(3, 1, 2, RUN_ID, sample))["data"]:
                with case((sample.type, name)):
                    changed = to_json(Event(3, 1, 2, RUN_ID, sample))
                    changed["data"][name] = 1.5
                    with pytest.raises(BadEventError):
                        parse_line(canonical.encode_line(changed))
                    if name in required:
                        del changed["data"][name]
                        with pytest.raises(BadEventError, match=name):
                            parse_line(canonical.encode_line(changed))


@pytest.mark.parametrize(
    "changes",
    [
        {"type": None},
        {"seq": "0"},
        {"seq": 1.5},
        {"mono_ns": "2"},
        {"mono_ns": None},
        {"data": []},
        {"data": None},
        {"run_id": 5},
    ],
)
def test_a_line_with_a_wrong_frame_is_refused(changes: dict[str, Any]) -> None:
    parse_line(raw_line())
    with pytest.raises(BadEventError):
        parse_line(raw_line(**changes))


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"[]\n", b"null\n", b"{}\n", b"{} \n", raw_line()[:-1], b"\xff\n"]
)
def test_what_is_not_an_event_at_all_is_refused(line: bytes) -> None:
    with pytest.raises(BadEventError):
        parse_line(line)


@given(st.binary(max_size=60))
def test_random_bytes_are_refused_and_raise_nothing_else(data: bytes) -> None:
    with pytest.raises(BadEventError):
        parse_line(data + b"\n")


@given(st.integers(0, 2**64 - 1))
def test_a_clock_of_any_age_is_read_back(mono_ns: int) -> None:
    event = Event(0, 1, mono_ns, RUN_ID, kinds.CommandStarted(7))
    assert parse_line(canonical.encode_line(to_json(event))) == event


def test_defaults_are_left_out_of_the_line() -> None:
    assert to_json(Event(0, 1, 2, RUN_ID, kinds.CommandFinished(exit_code=0)))["data"] == {"exit_code": 0}
    assert "observer" not in to_json(Event(0, 1, 2, RUN_ID, START))["data"]


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        HOST.name = "other"  # type: ignore[misc]
