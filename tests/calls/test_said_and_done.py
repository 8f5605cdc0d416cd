"""Said versus done: every rule confirms, contradicts, or leaves open, and never more than was seen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.judge.calls import claimed
from support.calls_judged import (
    BETWEEN,
    CREATE,
    PARTIAL,
    WRITE,
    child,
    hooked,
    of_agent,
    of_server,
    result,
    served,
)
from support.calls_made import calls_of, said
from support.frames_made import ABSENT, FakeFrames, Found

# --- read_only_tool_wrote --------------------------------------------------------------------------------


def test_a_tool_that_says_it_only_reads_and_writes_is_contradicted() -> None:
    made = served().event("open", "/hidden", process=2, arg=CREATE, result=0, state=ABSENT, at=BETWEEN)
    call = of_server(made, "look", {}, read_only=True)
    assert (call["verdict"], result(call, "read_only_tool_wrote")) == ("contradicted", "contradicted")
    assert "/hidden" in call["rules"][-1]["says"]


@pytest.mark.parametrize("tool", ["read_file", "Read", "Grep", "list_directory"])
def test_a_tool_that_is_known_to_only_read_is_contradicted_by_a_write(tool: str) -> None:
    made = served().event("unlink", "/gone", process=2, result=0, state=Found(), at=BETWEEN)
    assert of_server(made, tool, {})["verdict"] == "contradicted"


def test_what_a_reading_tool_tried_contradicts_it_only_if_it_is_known_to_have_worked() -> None:
    def tried(*lines: Any, **more: Any) -> str | None:
        made = served().event("unlink", "/gone", process=2, state=Found(), at=BETWEEN, **more)
        return result(of_server(made, "look", {}, read_only=True, lines=lines), "read_only_tool_wrote")

    gone = {"path": "/gone", "after": {"exists": False}}
    was = Found()
    there = {"exists": True, "type": "file", "mode": was.mode, "size": 0, "mtime_ns": str(was.mtime_ns)}
    assert tried() == "unobserved"
    assert tried(result=-13) == "confirmed"
    assert tried(gone) == "contradicted"
    assert tried({"path": "/gone", "after": there}) == "unobserved"


def test_what_another_found_afterwards_tells_that_a_reading_tool_changed_a_file() -> None:
    made = served().event("open", "/made", process=2, arg=CREATE, state=ABSENT, at=BETWEEN)
    made.event("unlink", "/made", process=1, state=Found(), at=60_000)
    call = of_server(made, "look", {}, read_only=True)
    assert result(call, "read_only_tool_wrote") == "contradicted"


def test_what_another_changed_meanwhile_does_not_stand_against_a_reading_tool() -> None:
    made = served().event("open", "/made", process=1, arg=CREATE, state=ABSENT, at=BETWEEN)
    made.event("open", "/made", process=2, arg=WRITE, state=Found(), at=BETWEEN + 1)
    call = of_server(made, "look", {}, read_only=True)
    assert result(call, "read_only_tool_wrote") == "unobserved"


def test_the_servers_own_word_counts_before_the_name_of_the_tool() -> None:
    made = served().event("unlink", "/gone", process=2, state=Found(), at=BETWEEN)
    assert result(of_server(made, "read_file", {}, read_only=False), "read_only_tool_wrote") is None


def test_no_write_confirms_only_where_the_kernel_layer_is_complete() -> None:
    made = served().event("open", "/in", process=2, at=BETWEEN)
    assert of_server(made, "look", {}, read_only=True)["verdict"] == "confirmed"
    call = of_server(made, "look", {}, read_only=True, observed=PARTIAL)
    assert (call["verdict"], result(call, "read_only_tool_wrote")) == ("unobserved", "unobserved")


@pytest.mark.parametrize(
    "path",
    [
        "/dev/null",
        "/dev/tty",
        "/dev/ptmx",
        "/dev/pts/ptmx",
        "/dev/pts/4",
        "/dev/tty1",
        "/dev/ttyS0",
        "/dev/hvc0",
        "/dev/console",
        "/dev/urandom",
        "/proc/12/task/13/comm",
    ],
)
def test_a_sink_or_a_terminal_is_no_file(path: str) -> None:
    made = served().event("open", path, process=2, arg=WRITE, result=0, at=BETWEEN)
    assert result(of_server(made, "look", {}, read_only=True), "read_only_tool_wrote") == "confirmed"


def test_a_child_of_the_agent_and_a_server_have_no_state_of_their_own() -> None:
    made = child(hooked()).event("open", "/tmp/x", process=4, arg=CREATE, result=0, at=BETWEEN)
    assert of_agent(made, "Glob", {})["verdict"] == "contradicted"
    made = served().event("open", "/tmp/x", process=2, arg=CREATE, result=0, at=BETWEEN)
    assert of_server(made, "look", {}, read_only=True)["verdict"] == "contradicted"


# --- write_claimed, read_claimed -------------------------------------------------------------------------


def test_a_write_that_was_seen_is_confirmed() -> None:
    made = served().event("open", "/a/b", process=2, arg=CREATE, result=0, state=ABSENT, at=BETWEEN)
    assert of_server(made, "write_file", {"path": "/a/./b"})["verdict"] == "confirmed"


def test_a_write_by_way_of_a_rename_or_a_link_is_seen_under_both_names() -> None:
    made = served().event("rename_to", "/a/b", process=2, result=0, state=Found(), at=BETWEEN)
    assert of_server(made, "Write", {"file_path": "/a/b"})["verdict"] == "confirmed"
    made = served().event("open", "/link/b", resolved="/real/b", process=2, arg=WRITE, result=0, at=BETWEEN)
    assert of_server(made, "Write", {"file_path": "/link/b"})["verdict"] == "confirmed"


def test_a_write_that_was_not_made_is_contradicted() -> None:
    made = served().event("open", "/a/b", process=2, at=BETWEEN)
    call = of_server(made, "write_file", {"path": "/a/b"})
    assert (call["verdict"], result(call, "write_claimed")) == ("contradicted", "contradicted")


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/a/b", {"observed": PARTIAL}),
        ("/a/b", {"outcome": "tool_error"}),
        ("/a/[REDACTED:token:9]", {}),
        ("a/b", {}),
        ("/elsewhere/c", {}),
    ],
)
def test_a_write_that_may_have_been_is_left_open(path: str, more: dict[str, Any]) -> None:
    made = served().event("open", "/real/c", process=2, arg=CREATE, result=0, at=BETWEEN)
    call = of_server(made, "write_file", {"path": path}, **more)
    assert (call["verdict"], result(call, "write_claimed")) == ("unobserved", "unobserved")


def test_a_path_that_is_masked_where_the_kernel_saw_it_leaves_the_write_open() -> None:
    made = served().event("open", "/a/******", process=2, arg=CREATE, result=0, at=BETWEEN)
    assert result(of_server(made, "write_file", {"path": "/a/b"}), "write_claimed") == "unobserved"


def test_a_write_by_way_of_a_link_is_borne_out_by_the_file_behind_it() -> None:
    made = served().event(
        "open", "/link/b", resolved="/real/b", process=2, arg=WRITE, state=Found(), at=BETWEEN
    )
    after = {"exists": True, "type": "file", "mode": Found().mode, "size": 5, "mtime_ns": 1}
    lines = [{"path": "/real/b", "after": after}]
    assert result(of_server(made, "Edit", {"path": "/link/b"}, lines=lines), "write_claimed") == "confirmed"
    assert result(of_server(made, "Edit", {"path": "/link/b"}), "write_claimed") == "unobserved"


def test_a_relative_path_begins_where_the_run_began() -> None:
    made = served().event("open", "/work/b", process=2, arg=CREATE, result=0, at=BETWEEN)
    assert of_server(made, "write_file", {"path": "b"})["verdict"] == "confirmed"


def test_every_file_of_a_patch_must_be_written() -> None:
    patch = "*** Begin Patch\n*** Update File: /a\n@@\n*** Add File: /b\n+x\n*** End Patch"
    made = served().event("open", "/a", process=2, arg=WRITE, result=0, at=BETWEEN)
    assert of_server(made, "apply_patch", {"input": patch})["verdict"] == "contradicted"
    made.event("open", "/b", process=2, arg=CREATE, result=0, at=BETWEEN)
    assert of_server(made, "apply_patch", {"input": patch})["verdict"] == "confirmed"


def test_a_read_is_confirmed_when_the_file_was_opened_and_never_contradicted() -> None:
    made = served().event("open", "/a", process=2, at=BETWEEN)
    assert of_server(made, "read_file", {"path": "/a"})["verdict"] == "confirmed"
    call = of_server(made, "read_file", {"path": "/other"})
    assert (call["verdict"], result(call, "read_claimed")) == ("unobserved", "unobserved")


# --- command_claimed, exit_status_claimed ----------------------------------------------------------------


def test_a_command_that_nobody_ran_is_contradicted() -> None:
    made = child(hooked()).exec("/usr/bin/echo", ["echo", "make test"], process=4, at=BETWEEN)
    assert of_agent(made, "Bash", {"command": "make test"})["verdict"] == "contradicted"


def test_a_command_that_failed_to_start_was_not_run() -> None:
    made = child(hooked()).exec("/usr/bin/make", ["make"], process=4, result=-2, at=BETWEEN)
    made.event("open", "/x", process=4, at=BETWEEN)
    assert of_agent(made, "Bash", {"command": "make"})["verdict"] == "contradicted"


def test_a_command_that_may_have_been_run_is_left_open() -> None:
    def judged(made: FakeFrames, command: str = "make test", **more: Any) -> str | None:
        return result(of_agent(made, "Bash", {"command": command}, **more), "command_claimed")

    other = child(hooked()).exec("/usr/bin/ls", ["ls"], process=4, at=BETWEEN)
    assert judged(other) == "contradicted"
    assert judged(other, observed=PARTIAL) == "unobserved"
    assert judged(other, "login [REDACTED:token:9]") == "unobserved"
    assert judged(other, answer={"is_error": True}) == "unobserved"
    masked = child(hooked()).exec("/bin/sh", ["sh", "-c", "x [REDACTED:token:9]"], process=4, at=BETWEEN)
    assert judged(masked) == "unobserved"
    cut = child(hooked()).exec("/bin/sh", ["sh", "-c"], notes=["argv_cut"], process=4, at=BETWEEN)
    assert judged(cut) == "unobserved"
    told = child(hooked(), at=1_000).exec("/bin/bash", ["bash"], process=4, at=2_000)
    assert judged(told.event("open", "/x", process=4, at=BETWEEN)) == "unobserved"


@pytest.mark.parametrize(
    ("answer", "status", "expected"),
    [
        ({"exit_code": 0}, 0, "confirmed"),
        ({"exit_code": 0}, 1 << 8, "contradicted"),
        ({"metadata": {"exitCode": 3}}, 3 << 8, "confirmed"),
        ('{"output":"x","metadata":{"exit_code":1}}', 0, "contradicted"),
        ("Chunk ID: 1\nProcess exited with code 2\nOutput:\n", 2 << 8, "confirmed"),
        ("Exit code: 0\nOutput:\nExit code: 1", 0, "confirmed"),
        ("Output:\nExit code: 1", 0, None),
        ({"is_error": False}, 1 << 8, "contradicted"),
        ({"isError": True}, 9, "confirmed"),
        ({"error": "Exit code 3\nboom"}, 3 << 8, "confirmed"),
        ({"error": "Exit code 3\nboom"}, 0, "contradicted"),
        ({"steno_cut": 99999, "first": "Exit code: 0"}, 1 << 8, "contradicted"),
        ({"exit_code": 137}, 9, "confirmed"),
        ({"exit_code": -9}, 9, "confirmed"),
        ({"stdout": "fine"}, 0, None),
        ({"exit_code": True}, 0, None),
    ],
)
def test_an_exit_status_is_held_against_that_of_the_process(
    answer: Any, status: int, expected: str | None
) -> None:
    made = child(hooked()).exec("/bin/sh", ["sh", "-c", "make test"], process=4, at=BETWEEN)
    made.event("exit", process=4, arg=status, arg2=1, result=0, at=BETWEEN + 1)
    call = of_agent(made, "Bash", {"command": "make test"}, answer)
    assert result(call, "exit_status_claimed") == expected
    assert call["verdict"] == ("contradicted" if expected == "contradicted" else "confirmed")


def test_an_exit_status_is_left_open_when_processes_ended_differently_or_none_was_seen_to() -> None:
    made = child(hooked()).exec("/bin/sh", ["sh", "-c", "make test"], process=4, at=BETWEEN)
    call = of_agent(made, "Bash", {"command": "make test"}, {"exit_code": 0})
    assert result(call, "exit_status_claimed") == "unobserved"
    child(made, 5).exec("/bin/sh", ["sh", "-c", "make test"], process=5, at=BETWEEN)
    made.event("exit", process=4, arg2=1, at=31_000).event("exit", process=5, arg=1 << 8, arg2=1, at=31_000)
    call = of_agent(made, "Bash", {"command": "make test"}, {"exit_code": 0})
    assert result(call, "exit_status_claimed") == "unobserved"


# --- tests_claimed ---------------------------------------------------------------------------------------


def at_the_end(made: FakeFrames | None, message: str, **more: Any) -> str | None:
    line = said("run_finished", None, None, source="claude", message=message)
    (claim,) = calls_of(made, [], [line], **more)["claims"]
    return claim["rules"][0]["result"] if claim["rules"] else None


def after_tests(status: int) -> FakeFrames:
    made = FakeFrames().process().process(parent=1).exec("/bin/pytest", ["pytest", "-q"], process=2)
    return made.exit(2, status=status)


@pytest.mark.parametrize(
    "message",
    [
        "All tests pass.",
        "I fixed it, and tests pass",
        "The tests pass, no failures.",
        "Done: all 12 tests passed!",
        "The test suite passes",
        "Tests are now passing",
        "**All tests pass**\n\nSummary: one fix.",
        "All tests pass \u2705",
        "All tests passed in 0.5s (12 passed)",
        "The full test suite passes, and lint is clean.",
    ],
)
def test_tests_that_pass_are_confirmed_and_those_that_do_not_contradict(message: str) -> None:
    assert at_the_end(after_tests(0), message) == "confirmed"
    assert at_the_end(after_tests(1 << 8), message) == "contradicted"
    assert at_the_end(FakeFrames().process(), message) == "contradicted"


def test_tests_are_left_open_where_not_everything_was_seen() -> None:
    assert at_the_end(FakeFrames().process(), "All tests pass.", observed=PARTIAL) == "unobserved"
    assert at_the_end(None, "All tests pass.") == "unobserved"
    running = FakeFrames().process().exec("/bin/pytest", ["pytest"])
    assert at_the_end(running, "All tests pass.") == "unobserved"


@pytest.mark.parametrize(
    "message",
    [
        "Not all tests pass.",
        "The tests don't pass.",
        "If the tests pass, merge it.",
        "I could not make the tests pass.",
        "Run pytest to verify that all tests pass",
        "Once all tests pass we are done",
        "The tests fail.",
        "8 tests passed and 2 tests failed",
        "All tests pass except test_foo",
        "Most tests pass.",
        "8 of the tests passed.",
        "All tests pass. Well, test_foo still fails.",
        "Unit tests pass.",
        "8 tests passed",
        "Do all tests pass?",
        "All tests passed before my change.",
        "All the tests passed last week.",
        "Previously the tests passed.",
        "Run `npm test` and check all tests pass.",
        "I believe all tests pass.",
        "Assuming all tests pass, we can merge.",
        'The issue says "all tests pass".',
        "All tests pass in theory.",
        "All tests pass on CI.",
        "all tests passed: false",
        "All tests passed: 8 of 10",
        "All tests pass 90% of the time.",
        "All tests pass the flag to the server.",
        "For all tests pass `-v` to pytest.",
        "",
    ],
)
def test_other_words_about_tests_are_no_claim(message: str) -> None:
    assert at_the_end(after_tests(1 << 8), message) is None


def test_the_last_tests_count_and_of_nested_ones_the_outermost() -> None:
    made = after_tests(1 << 8).process(parent=1).exec("/bin/npm", ["npm", "test"], process=3)
    made.process(parent=3).exec("/bin/node", ["node", "/x/jest.js"], process=4).exit(4, status=1 << 8).exit(3)
    assert at_the_end(made, "All tests pass.") == "confirmed"


def test_a_runner_is_known_by_the_name_it_was_asked_for_and_by_what_was_found_there() -> None:
    cli = "/usr/lib/node_modules/npm/bin/npm-cli.js"
    made = FakeFrames().process().process(parent=1)
    made.exec("/usr/bin/npm", ["npm", "test"], process=2, resolved=cli).exit(2)
    assert at_the_end(made, "All tests pass.") == "confirmed"
    made = FakeFrames().process().process(parent=1)
    made.exec("/usr/bin/pytest", ["pytest"], process=2, resolved="/opt/tools/everything").exit(2)
    assert at_the_end(made, "All tests pass.") == "confirmed"


def test_a_script_of_the_project_may_have_run_tests_so_nobody_is_accused() -> None:
    made = FakeFrames().process().process(parent=1).exec("/bin/bash", ["bash", "ci.sh"], process=2).exit(2)
    assert at_the_end(made, "All tests pass.") == "unobserved"
    lied = FakeFrames().process().process(parent=1).exec("/bin/ls", ["ls", "-l"], process=2).exit(2)
    assert at_the_end(lied, "All tests pass.") == "contradicted"


def test_a_list_of_words_is_the_text_of_a_shell_only_behind_its_option() -> None:
    assert claimed.command("shell", {"command": ["bash", "script.sh", "arg"]}) == "bash script.sh arg"
    assert claimed.command("shell", {"command": ["bash", "-lc", "ls | wc", "name"]}) == "ls | wc"


# --- foreign words ---------------------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_keys = st.sampled_from(["command", "cmd", "path", "paths", "file_path", "exit_code", "is_error", "output"])


@given(
    st.sampled_from(["Bash", "Write", "Read", "apply_patch", "other"]), st.dictionaries(_keys, _json), _json
)
def test_whatever_a_tool_is_given_and_answers_is_read_or_passed_over(
    tool: str, given_: dict[str, Any], answer: Any
) -> None:
    paths = [*claimed.written_paths(tool, given_), *claimed.read_paths(tool, given_)]
    assert all(isinstance(path, str) for path in paths)
    command = claimed.command(tool, given_)
    assert command is None or command.strip()
    if command is not None:
        claimed.first_program(command)
    assert claimed.exit_claim([answer, given_]) is None or isinstance(
        claimed.exit_claim([answer, given_]), claimed.ExitClaim
    )


@pytest.mark.timeout(20)
def test_long_hostile_words_are_read_at_once() -> None:
    blanks = "*** Begin Patch\n*** Add File: " + " " * 60_000 + "x"
    assert claimed.written_paths("apply_patch", {"input": blanks}) == ["x"]
    assert claimed.says_tests_pass("not if the tests pass " * 3_000) is None


@given(st.text(max_size=80))
def test_any_last_words_are_read(message: str) -> None:
    claimed.says_tests_pass(message)


def test_a_tool_that_takes_files_or_commands_in_a_list_claims_what_stands_there() -> None:
    files = {"files": [{"path": "/a", "start_line": None}, {"path": "/b"}, {"path": 7}, "c"]}
    assert claimed.read_paths("read_files", files) == ["/a", "/b"]
    assert claimed.command("run_commands", {"commands": ["make test"]}) == "make test"
    assert claimed.command("run_commands", {"commands": ["make", "make test"]}) is None, "nobody says which"
