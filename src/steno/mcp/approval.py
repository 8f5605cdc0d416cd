"""Asking somebody whether a call may be made: a command that the policy names answers with its exit status.

What the command prints goes nowhere, because stdout belongs to the protocol; its stderr is ours, and a
terminal is left to it, so that it can ask a person there.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable

from steno.mcp.policy.policy import Approval
from steno.mcp.session import ApprovalRequest

MAX_AT_ONCE = 32


class ApprovalQueue:
    """Every question has a thread, and counts until its command has ended, also if nobody waits for it."""

    def __init__(self, approval: Approval | None) -> None:
        self._approval = approval
        self._slots = threading.Semaphore(MAX_AT_ONCE)

    def ask(self, request: ApprovalRequest, answer: Callable[[bool], object]) -> None:
        """`answer` may be called from another thread; at once, with no, for one question too many."""

        def think() -> None:
            try:
                approved = self._approval is not None and is_approved(self._approval, request)
            finally:
                self._slots.release()
            answer(approved)

        if self._slots.acquire(blocking=False):
            # A daemon: when the connection ends, nobody waits for an answer any more.
            threading.Thread(target=think, name="approval", daemon=True).start()
        else:
            answer(False)


def is_approved(approval: Approval, request: ApprovalRequest) -> bool:
    """True for exit status 0 in time. Blocks for as long as the policy says."""
    call, decision = request.call, request.decision
    question = {
        "server": call.server,
        "tool": call.tool,
        "arguments": call.arguments,
        "reason": decision.reason,
        "says": decision.message,
    }
    try:
        answered = subprocess.run(
            approval.command,
            input=json.dumps(question).encode() + b"\n",
            stdout=subprocess.DEVNULL,
            timeout=approval.seconds,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    return answered.returncode == 0
