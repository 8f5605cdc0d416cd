"""Asking for approvals beside the relay, so that other messages pass while somebody thinks.

In: calls that a policy wants to have approved. Out: the answers, one by one, and a descriptor that is
readable when there are some. Too many questions at once are answered with no. Never asks twice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from steno.mcp.approval import ask
from steno.mcp.policy import Policy
from steno.mcp.session import Answer, Ask, Forward

MAX_AT_ONCE = 32
_Then = Callable[[bool], Forward | Answer]


class Approvals:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._answers: SimpleQueue[tuple[_Then, bool]] = SimpleQueue()
        self._asked = 0
        self.ready, self._tell = os.pipe()

    def ask(self, question: Ask) -> None:
        self._asked += 1
        if self._asked > MAX_AT_ONCE:
            self._answer(question.then, approved=False)
            return
        # A daemon: when the connection ends, nobody waits for an answer any more.
        threading.Thread(target=self._wait_for_answer, args=(question,), daemon=True).start()

    def take(self) -> list[Forward | Answer]:
        """What follows from the answers that have come."""
        os.read(self.ready, 4096)
        taken: list[Forward | Answer] = []
        while True:
            try:
                then, approved = self._answers.get_nowait()
            except Empty:
                return taken
            self._asked -= 1
            taken.append(then(approved))

    def _wait_for_answer(self, question: Ask) -> None:
        command, seconds = self._policy.approval, self._policy.approval_seconds
        approved = command is not None and ask(command, question.call, question.ruling, seconds)
        self._answer(question.then, approved=approved)

    def _answer(self, then: _Then, *, approved: bool) -> None:
        self._answers.put((then, approved))
        os.write(self._tell, b".")
