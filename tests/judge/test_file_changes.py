"""Files that may still be open: a call that was not seen to write may have written to them."""

from __future__ import annotations

from typing import Any

import pytest

from support.calls_judged import BETWEEN, CREATE, WRITE, child, hooked, of_agent, of_server, result, served
from support.frames_made import FakeFrames, Found
from support.spools import STARTED_AT_MS

BEFORE = 5_000
SECOND_NS = 1_000_000_000


def after(path: str, *, seconds: float, size: int = 1) -> dict[str, Any]:
    """A file that was last written that long after the run began."""
    mtime_ns = STARTED_AT_MS * 1_000_000 + int(seconds * SECOND_NS)
    state = {"exists": True, "gid": 0, "mode": 0o100644, "mtime": mtime_ns // SECOND_NS, "uid": 0}
    return {"path": path, "after": {**state, "mtime_ns": str(mtime_ns), "size": size, "type": "file"}}


def judged(made: FakeFrames, **more: Any) -> str | None:
    call = of_server(made.event("open", "/in", process=2, at=BETWEEN), "look", {}, read_only=True, **more)
    found = result(call, "read_only_tool_wrote")
    assert call["verdict"] == found
    return found


def test_a_file_that_was_opened_to_write_before_the_window_leaves_a_read_open() -> None:
    made = served().event("open", "/db", process=2, arg=CREATE, at=BEFORE)
    call = of_server(made.event("open", "/in", process=2, at=BETWEEN), "look", {}, read_only=True)
    assert (call["verdict"], call["rules"][-1]["result"]) == ("unobserved", "unobserved")
    assert "/db" in call["rules"][-1]["says"]


def test_the_rule_says_no_more_than_was_seen() -> None:
    made = served().event("open", "/in", process=2, at=BETWEEN)
    call = of_server(made, "look", {}, read_only=True)
    assert call["rules"][-1]["says"] == "it opened no file to write, and changed none"


def test_what_cannot_be_written_any_more_is_not_held_against_a_call() -> None:
    assert judged(served().event("open", "/db", process=2, arg=0, at=BEFORE)) == "confirmed"
    assert judged(served().event("open", "/dev/null", process=2, arg=WRITE, at=BEFORE)) == "confirmed"
    assert judged(served().event("open", "/db", process=1, arg=CREATE, at=BEFORE)) == "confirmed"
    gone = served().event("open", "/db", process=2, arg=CREATE, at=BEFORE)
    assert judged(gone.event("unlink", "/db", process=2, result=0, state=Found(), at=BEFORE)) == "confirmed"


def test_a_child_that_ended_holds_nothing_unless_its_own_children_live_on() -> None:
    made = served().process(parent=2).event("open", "/db", process=3, arg=CREATE, at=BEFORE)
    made.event("process", process=4, arg=1004 | 3 << 32, arg2=7, result=0, at=BEFORE)
    made.event("exit", process=3, arg2=1, result=0, at=BEFORE + 1)
    assert judged(made) == "unobserved"
    made = served().process(parent=2).event("open", "/db", process=3, arg=CREATE, at=BEFORE)
    assert judged(made.event("exit", process=3, arg2=1, result=0, at=BEFORE + 1)) == "confirmed"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-1.0, "confirmed"), (1.0, "unobserved"), (0.0, "unobserved")]
)
def test_a_file_that_was_last_written_before_the_window_was_not_written_in_it(
    seconds: float, expected: str
) -> None:
    made = served().event("open", "/db", process=2, arg=CREATE, at=BEFORE)
    assert judged(made, lines=[after("/db", seconds=seconds)]) == expected


def test_a_mapped_file_is_written_without_a_new_time() -> None:
    made = served().event("map", "/db", process=2, at=BEFORE)
    assert judged(made, lines=[after("/db", seconds=-1)]) == "unobserved"


def test_a_file_that_got_another_name_is_held_under_that() -> None:
    made = served().event("open", "/db.tmp", process=2, arg=CREATE, at=BEFORE)
    made.event("rename", "/db.tmp", extra="/db", process=2, result=0, state=Found(), at=BEFORE)
    made.event("rename_to", "/db", process=2, result=0, at=BEFORE)
    assert judged(made, lines=[after("/db", seconds=1)]) == "unobserved"
    made = served().event("open", "/db.tmp", process=2, arg=CREATE, at=BEFORE)
    made.event("rename", "/db.tmp", extra="/db", process=2, result=0, state=Found(), at=BEFORE)
    made.event("rename_to", "/db", process=2, result=0, at=BEFORE)
    assert judged(made, lines=[after("/db", seconds=-1)]) == "confirmed"


def test_an_agent_may_have_its_own_state_open_and_nothing_else() -> None:
    def read(path: str, process: int = 1) -> str | None:
        made = hooked().event("open", path, process=process, arg=CREATE, at=BEFORE)
        made.event("open", "/f", process=1, at=BETWEEN)
        return result(of_agent(made, "Read", {"file_path": "/f"}), "read_only_tool_wrote")

    assert read("/home/ada/.claude/history") == "confirmed"
    assert read("/work/notes") == "unobserved"


# --- after a call ----------------------------------------------------------------------------------------


def test_a_server_that_answers_first_and_writes_then_leaves_the_read_open() -> None:
    made = served().event("open", "/hidden", process=2, arg=CREATE, at=60_000)
    assert judged(made) == "unobserved"
    assert judged(served().event("open", "/dev/null", process=2, arg=CREATE, at=60_000)) == "confirmed"
    assert judged(served().event("open", "/read", process=2, at=60_000)) == "confirmed"
    assert judged(served().event("open", "/by-agent", process=1, arg=CREATE, at=60_000)) == "confirmed"


def test_a_write_that_came_after_the_answer_is_left_open() -> None:
    made = served().event("open", "/in", process=2, at=BETWEEN)
    made.event("open", "/a", process=2, arg=CREATE, at=60_000)
    call = of_server(made, "write_file", {"path": "/a"})
    assert (call["verdict"], call["rules"][-1]["says"]) == ("unobserved", "it was written after its window")


def test_a_child_of_an_agents_tool_that_works_on_leaves_the_read_open() -> None:
    made = child(hooked().event("open", "/f", process=1, at=BETWEEN))
    made.event("open", "/late", process=4, arg=CREATE, at=60_000)
    assert of_agent(made, "Read", {"file_path": "/f"})["verdict"] == "unobserved"
    made = hooked().event("open", "/f", process=1, at=BETWEEN)
    made.event("open", "/late", process=1, arg=CREATE, at=60_000)
    assert of_agent(made, "Read", {"file_path": "/f"})["verdict"] == "confirmed"
