"""Who is asked for an approval: a command, bounded in time, whose exit status is the answer."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from steno.mcp import approval
from steno.mcp.approval import MAX_AT_ONCE, ApprovalQueue, is_approved
from steno.mcp.policy.policy import Approval, Call, Decision
from steno.mcp.session import Answer, ApprovalRequest

DECISION = Decision("ask", "approval_required", "It needs an approval.")


def answer(command: list[str], arguments: Any = None, seconds: float = 30) -> bool:
    request = ApprovalRequest(Call("fs", "write", arguments), DECISION, lambda _: Answer(None))
    return is_approved(Approval(command, seconds), request)


@pytest.mark.process
def test_exit_status_0_approves_and_nothing_else_does() -> None:
    assert answer(["true"])
    assert not answer(["false"])
    assert not answer(["sh", "-c", "kill -9 $$"])


@pytest.mark.process
def test_the_command_gets_the_call_as_json(tmp_path: Path) -> None:
    arguments = {"path": "/x", "text": "é\n"}
    assert answer(["sh", "-c", 'cat > "$0"', str(tmp_path / "asked")], arguments)
    assert json.loads((tmp_path / "asked").read_bytes()) == {
        "server": "fs",
        "tool": "write",
        "arguments": arguments,
        "reason": "approval_required",
        "says": "It needs an approval.",
    }


@pytest.mark.process
def test_a_command_that_reads_nothing_may_approve_a_large_call() -> None:
    assert answer(["true"], {"text": "x" * (1 << 20)})


@pytest.mark.process
def test_who_does_not_answer_in_time_refuses() -> None:
    assert not answer(["sleep", "60"], seconds=0.05)
    assert not answer(["sleep", "60"], {"text": "x" * (1 << 20)}, seconds=0.05)


@pytest.mark.process
@pytest.mark.parametrize("command", [["/nonexistent"], ["a\0b"], [""], ["/"]])
def test_a_command_that_cannot_be_started_refuses(command: list[str]) -> None:
    assert not answer(command)


def test_one_question_too_many_is_refused_until_another_has_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decided = threading.Event()
    monkeypatch.setattr(approval, "is_approved", lambda *_: decided.wait(60))
    questions, answers = ApprovalQueue(Approval(["true"], 60)), SimpleQueue[bool]()
    request = ApprovalRequest(Call("fs", "write", {}), DECISION, lambda _: Answer(None))
    for _ in range(MAX_AT_ONCE):
        questions.ask(request, answers.put)
    assert answers.empty()
    questions.ask(request, answers.put)
    assert answers.get_nowait() is False
    decided.set()
    assert all(answers.get(timeout=60) for _ in range(MAX_AT_ONCE))
    questions.ask(request, answers.put)
    assert answers.get(timeout=60)


@pytest.mark.process
def test_what_the_command_prints_does_not_reach_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    assert answer([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr)"])
    told = capfd.readouterr()
    assert told.out == ""
    assert "err" in told.err
