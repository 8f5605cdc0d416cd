"""`capability-surface.json`: sorted sets of names, what worked apart from what only ever failed."""

from __future__ import annotations

import errno
import os
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steno.evidence import canonical, compat, syscalls, wire
from support.claims_told import policy_line
from support.documents import surface
from support.frames_made import ABSENT, DIRECTORY, FakeFrames, Found
from support.kernel_tables import OBSERVED, kernel_layers
from support.spools import FINISH, RUN_ID, START, MemoryLayers, numbered, start

READ, CREATE = os.O_RDONLY, os.O_WRONLY | os.O_CREAT
Surface = dict[str, Any]


def told(made: FakeFrames) -> Surface:
    found: Surface = canonical.decode(b"".join(surface(kernel_layers(made, (), OBSERVED))))
    return found


def own(made: FakeFrames) -> Surface:
    found: Surface = told(made)["steno"]
    return found


def test_a_run_without_an_observer_has_an_empty_surface_that_says_so() -> None:
    layers = MemoryLayers(numbered([START, FINISH]))
    assert canonical.decode(b"".join(surface(layers))) == {
        "schema": "steno.capability-surface.v1",
        "run_id": RUN_ID,
        "filesystem_prefixes": [],
        "filesystem_paths": [],
        "network_endpoints": [],
        "process_execs": [],
        "mcp_tools": [],
        "policy_decisions": [],
        "steno": {
            "schema": "steno.surface.v1",
            "files": {"read": [], "written": [], "created": [], "deleted": [], "attempted": []},
            "endpoints": {"connected": [], "sent": [], "bound": [], "attempted": []},
            "unix_sockets": {"connected": [], "bound": [], "attempted": []},
            "execs": {"ran": [], "attempted": []},
            "names": {},
            "roots": {"cwd": "/work", "home": "/home/ada", "tmp": "/tmp"},
            "kernel_layer": "absent",
        },
    }


def test_the_roots_are_those_of_the_environment() -> None:
    layers = MemoryLayers(numbered([start(env={"TMPDIR": "/var/tmp", "HOME": None}), FINISH]))
    found = canonical.decode(b"".join(surface(layers)))
    assert found["steno"]["roots"] == {"cwd": "/work", "home": None, "tmp": "/var/tmp"}


def test_files_are_told_by_what_was_done_to_them() -> None:
    made = FakeFrames().process().event("open", "/z/read", state=Found(), arg=READ)
    made.event("open", "/a/made", state=ABSENT, arg=CREATE).event("unlink", "/a/gone", state=Found())
    made.event("open", "/a/absent", state=ABSENT, arg=READ, result=-2).event("stat", "/a/seen", state=Found())
    made.event("list", "/dir", state=DIRECTORY).event("chmod", "/a/mode", state=Found())
    found = told(made)
    assert found["steno"]["files"] == {
        "read": ["/dir", "/z/read"],
        "written": ["/a/made", "/a/mode"],
        "created": ["/a/made"],
        "deleted": ["/a/gone"],
        "attempted": ["/a/absent"],
    }
    assert found["filesystem_paths"] == ["/a/gone", "/a/made", "/a/mode", "/dir", "/z/read"]
    assert found["filesystem_prefixes"] == ["/", "/a/", "/z/"]
    assert found["steno"]["kernel_layer"] == "complete"


def test_what_succeeded_once_is_no_attempt() -> None:
    made = FakeFrames().event("open", "/a", arg=READ, result=-errno.EACCES)
    made.event("open", "/a", arg=READ, result=0).event("open", "/b", arg=READ, result=wire.RESULT_FAILED)
    files = own(made)["files"]
    assert (files["read"], files["attempted"]) == (["/a"], ["/b"])


def test_an_unknown_result_counts_as_done() -> None:
    assert own(FakeFrames().event("open", "/a", arg=READ, state=Found()))["files"]["read"] == ["/a"]


def test_numbers_that_differ_between_runs_become_words_and_names_become_one() -> None:
    made = FakeFrames().event("open", "/proc/12/stat", arg=READ).event("open", "/proc/34/stat", arg=READ)
    assert own(made)["files"]["read"] == ["/proc/PID/stat"]


def test_a_name_of_another_root_says_so_and_one_that_is_gone_is_no_name() -> None:
    made = FakeFrames().event("open", "/a", arg=READ, notes=["other_root"]).event("open", "/a", arg=READ)
    made.event("open", "/b (deleted)", arg=READ, notes=["deleted"])
    assert own(made)["files"]["read"] == ["/a", "other-root:/a"]


def test_a_path_that_was_not_resolved_counts_when_it_is_absolute() -> None:
    made = FakeFrames()
    for name in ("/etc/one", "/etc/two", "relative"):
        made.event("open", name, resolved="", arg=READ, result=-errno.EACCES)
    assert own(made)["files"]["attempted"] == ["/etc/one", "/etc/two"]


def test_bytes_that_are_no_text_are_spelled() -> None:
    assert own(FakeFrames().event("open", b"/\xff", arg=READ))["files"]["read"] == ["/\\xff"]


def test_endpoints_are_told_by_family_and_act() -> None:
    made = FakeFrames()
    for op, address, result in (
        ("connect", "inet:127.0.0.1:80", 0),
        ("connect", "inet6:[::1]:80", -errno.EINPROGRESS),
        ("connect", "inet:10.0.0.1:81", -errno.ECONNREFUSED),
        ("send", "inet:10.0.0.2:53", None),
        ("send", "inet6:[fe80::1]:53", 0),
        ("bind", "inet:0.0.0.0:8080", 0),
        ("connect", "netlink:", 0),
        ("connect", "family:0", 0),
        ("connect", "family:40", 0),
        ("connect", "unix:@abstract", 0),
        ("connect", "unix:", 0),
    ):
        made.event(op, address, resolved="", result=result)
    made.event("connect", "unix:s", resolved="/run/s", result=0).event(
        "bind", "unix:/run/b", resolved="/run/b"
    )
    made.event("connect", "unix:/none", resolved="/none", result=-errno.ENOENT)
    found = told(made)
    assert found["network_endpoints"] == ["10.0.0.2:53", "127.0.0.1:80", "[::1]:80", "[fe80::1]:53"]
    assert found["steno"]["endpoints"] == {
        "connected": ["127.0.0.1:80", "[::1]:80", "family:40"],
        "sent": ["10.0.0.2:53", "[fe80::1]:53"],
        "bound": ["0.0.0.0:8080"],
        "attempted": ["10.0.0.1:81"],
    }
    assert found["steno"]["unix_sockets"] == {
        "connected": ["/run/s", "@abstract"],
        "bound": ["/run/b"],
        "attempted": ["/none"],
    }


def test_answers_name_the_addresses_that_were_used() -> None:
    made = FakeFrames().event("connect", "inet:1.2.3.4:443", resolved="", result=0)
    made.event("connect", "inet6:[::1]:443", resolved="", result=-errno.ECONNREFUSED)
    for name, address in (
        ("Example.org.", "1.2.3.4"),
        ("example.org", "::ffff:1.2.3.4"),
        ("a.org", "1.2.3.4"),
        ("local.org", "::1"),
        ("unused.org", "9.9.9.9"),
    ):
        made.event("answer", name, resolved="", extra=address, result=0)
    assert own(made)["names"] == {"1.2.3.4": ["a.org", "example.org"], "::1": ["local.org"]}


def test_programs_are_those_that_ran_and_those_that_were_looked_for() -> None:
    made = FakeFrames().process().exec("/usr/local/bin/env", ["env"], result=-errno.ENOENT)
    made.exec("env", ["env"], resolved="/usr/bin/env", result=0)
    made.exec("/home/ada/script", ["script"]).event("interpreter", "/bin/sh", resolved="/usr/bin/dash")
    made.exec("/home/ada/refused", ["refused"], result=-errno.EACCES)
    made.event("interpreter", "/usr/bin/never")
    found = told(made)
    assert found["process_execs"] == ["/home/ada/script", "/usr/bin/dash", "/usr/bin/env"]
    assert found["steno"]["execs"] == {
        "ran": ["/home/ada/script", "/usr/bin/dash", "/usr/bin/env"],
        "attempted": ["/home/ada/refused", "/usr/local/bin/env"],
    }


def test_a_program_in_memory_is_told() -> None:
    made = FakeFrames().exec("", ["x"], resolved="/memfd:code (deleted)", result=0, notes=["deleted"])
    assert told(made)["process_execs"] == ["/memfd:code"]


# --- many calls ------------------------------------------------------------------------------------------

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["open", "unlink", "connect", "exec", "interpreter", "stat", "answer"]),
        st.sampled_from(["/a", "/b/c", "/proc/7/x", "inet:1.1.1.1:1", "unix:@x", ""]),
        st.sampled_from([None, 0, -2, wire.RESULT_FAILED]),
        st.sampled_from([READ, CREATE]),
        st.integers(1, 2),
    ),
    max_size=30,
)


def made_of(calls: list[tuple[str, str, int | None, int, int]], *, times: int = 1) -> FakeFrames:
    made = FakeFrames()
    for op, name, result, arg, process in calls * times:
        made.event(op, name, result=result, arg=arg, process=process, extra="1.1.1.1")
    return made


@given(CALLS, st.integers(1, 8), st.booleans())
def test_neither_batches_nor_the_way_of_grouping_nor_repetition_change_it(
    calls: list[tuple[str, str, int | None, int, int]], batch: int, grouped: bool
) -> None:
    expected = b"".join(surface(kernel_layers(made_of(calls))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syscalls, "BATCH", batch)
        patch.setattr(syscalls, "LARGE", 0 if grouped else 1 << 40)
        assert b"".join(surface(kernel_layers(made_of(calls)))) == expected
    whole = [call for call in calls if call[0] != "interpreter"]  # whose meaning is in what stands before it
    once, twice = (b"".join(surface(kernel_layers(made_of(whole, times=times)))) for times in (1, 2))
    assert once == twice


@given(CALLS)
@settings(max_examples=40)
def test_every_list_is_sorted_and_says_a_thing_once_and_no_attempt_is_a_success(
    calls: list[tuple[str, str, int | None, int, int]],
) -> None:
    found = told(made_of(calls))
    groups = [found["steno"][group] for group in ("files", "endpoints", "unix_sockets", "execs")]
    for names in [names for group in groups for names in group.values()] + [
        value for value in found.values() if isinstance(value, list)
    ]:
        assert names == sorted(set(names), key=str.encode)
    for group in groups:
        done = {name for act, names in group.items() if act != "attempted" for name in names}
        assert not done & set(group["attempted"])


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes_in_the_table_give_a_surface(path: bytes, resolved: bytes, extra: bytes) -> None:
    made = FakeFrames()
    for op in ("open", "connect", "bind", "send", "answer", "exec", "interpreter", "list"):
        made.event(op, path, resolved=resolved, extra=extra)
    assert told(made)["run_id"] == RUN_ID


def test_a_partial_layer_is_told_in_the_surface() -> None:
    lossy = msgspec.structs.replace(OBSERVED, ring_lost=1)
    layers = kernel_layers(FakeFrames(), (), lossy)
    assert canonical.decode(b"".join(surface(layers)))["steno"]["kernel_layer"] == "partial"


def test_tools_that_were_let_through_and_every_decision_are_named_once() -> None:
    lines: list[dict[str, Any]] = [
        {"tool": "read_file"},
        {"tool": "read_file"},
        {"tool": "write_file", "decision": "deny"},
        {"tool": "move", "decision": "error"},
        {"tool": "tried", "decision": "deny", "dry_run": True},
    ]
    policy = b"".join(policy_line(seq, start_ns=10 + seq, **line) for seq, line in enumerate(lines))
    layers = MemoryLayers(numbered([START, FINISH]), {compat.FOLDED_POLICY: policy})
    found = canonical.decode(b"".join(surface(layers)))
    assert found["mcp_tools"] == ["files.read_file", "files.tried"]
    assert found["policy_decisions"] == [
        "allow:files.read_file",
        "deny:files.tried",
        "deny:files.write_file",
        "error:files.move",
    ]
