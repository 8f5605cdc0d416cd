"""What a policy says about a call of a tool: let it through, refuse it, or ask.

The first rule whose globs fit the server and the tool decides; a call that breaks a constraint of that rule
is refused and no later rule is asked. May be asked from several threads.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Literal, NamedTuple

from steno.mcp.pins import Pins
from steno.mcp.policy.constraints import Constraint, quoted
from steno.mcp.policy.globs import Globs
from steno.mcp.protocol import ALWAYS_PASS, CALL_TOOL, KNOWN

Action = Literal["allow", "deny", "ask"]
MAX_REMEMBERED = 4096
_NS = 1_000_000_000


class Call(NamedTuple):
    server: str  # its label
    tool: str
    arguments: Any  # as parsed from JSON; None: there were none


class Decision(NamedTuple):
    action: Action
    reason: str  # a fixed word; docs/policy.md lists them
    message: str  # one sentence for the model that asked


class Approval(NamedTuple):
    """Who answers when the action is ask."""

    command: list[str]
    seconds: float


class RateLimit:
    """At most so many calls in any span of so many seconds. What is refused does not count, and a clock that
    steps back is taken to stand still."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls = calls
        self.seconds = seconds
        self._span_ns = round(seconds * _NS)
        self._taken: deque[int] = deque(maxlen=calls)  # when; the oldest first
        self._lock = threading.Lock()

    def take(self, now_ns: int) -> bool:
        with self._lock:
            if self._taken:
                now_ns = max(now_ns, self._taken[-1])
            if len(self._taken) == self.calls and now_ns - self._taken[0] < self._span_ns:
                return False
            self._taken.append(now_ns)
            return True

    def text(self) -> str:
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{calls} in {self.seconds:g} s"


class Rule(NamedTuple):
    name: str  # for messages
    tools: Globs
    servers: Globs
    action: Action
    constraints: tuple[Constraint, ...] = ()
    limit: RateLimit | None = None

    def fits(self, server: str, tool: str) -> bool:
        return self.tools.fits(tool) and self.servers.fits(server)


class Methods(NamedTuple):
    allow: Globs = Globs(())
    deny: Globs = Globs(())


class Policy:
    def __init__(
        self,
        *,
        digest: str,
        default: Action = "deny",
        rules: tuple[Rule, ...] = (),
        methods: Methods = Methods(),  # noqa: B008 - frozen
        hide_denied: bool = False,
        dry_run: bool = False,
        approval: Approval | None = None,
        pins: Pins | None = None,
    ) -> None:
        self.digest = digest  # SHA-256 of the bytes of the file
        self.default = default
        self.rules = rules
        self.methods = methods
        self.hide_denied = hide_denied
        self.dry_run = dry_run
        self.approval = approval
        self.pins = pins
        self._first: dict[tuple[str, str], Rule | None] = {}
        self._lock = threading.Lock()

    def decide(self, call: Call, now_ns: int) -> Decision:
        """`now_ns` is monotonic and for rate limits only, which count what this lets through or asks for."""
        rule = self._rule(call.server, call.tool)
        action = self.default if rule is None else rule.action
        by = "by_default" if rule is None else "by_rule"
        if action == "deny":
            return Decision(
                "deny", f"denied_{by}", f"The policy does not allow the tool {quoted(call.tool)}."
            )
        if (refusal := self.refusal(call)) is not None:
            return refusal
        if rule is not None and rule.limit is not None and not rule.limit.take(now_ns):
            return Decision("deny", "rate_limited", f"Too many calls: the policy allows {rule.limit.text()}.")
        if action == "ask":
            return Decision("ask", "approval_required", f"The tool {quoted(call.tool)} needs an approval.")
        return Decision("allow", f"allowed_{by}", f"The policy allows the tool {quoted(call.tool)}.")

    def lists(self, server: str, tool: str) -> bool:
        """False: hidden from listings, because no call of it is ever let through."""
        if not self.hides:
            return True
        if self.pins is not None and self.pins.refusal(server, tool) is not None:
            return False
        if not self.hide_denied:
            return True
        rule = self._rule(server, tool)
        action = self.default if rule is None else rule.action
        return not (action == "deny" or (action == "ask" and self.approval is None))

    @property
    def hides(self) -> bool:
        """Whether a tool may have to be left out of a listing."""
        return not self.dry_run and (self.hide_denied or self.pins is not None)

    def passes_method(self, method: str) -> bool:
        """For every method but tools/call, about which `decide` is asked."""
        if method in ALWAYS_PASS:
            return True
        if method == CALL_TOOL or self.methods.deny.fits(method):
            return False
        return method in KNOWN or self.methods.allow.fits(method)

    def passes_from_server(self, method: str) -> bool:
        """Of what a server asks its client. Notifications of its own pass, unless the policy denies them."""
        if method.startswith("notifications/"):
            return method in ALWAYS_PASS or not self.methods.deny.fits(method)
        return self.passes_method(method)

    def check_listing(self, server: str, tools: list[dict[str, Any]]) -> list[tuple[str, str]]:
        """Each tool that is not as it was pinned, with what differs; if it shall, `decide` refuses it now."""
        return [] if self.pins is None else self.pins.check_listing(server, tools)

    def forget_listings(self, server: str) -> None:
        """Its process is gone: what it listed says nothing about the next one."""
        if self.pins is not None:
            self.pins.forget_listings(server)

    def _rule(self, server: str, tool: str) -> Rule | None:
        """The first rule that fits. Remembered, because the same few names come again and again."""
        key = (server, tool)
        with self._lock:
            if key in self._first:
                return self._first[key]
        found = next((rule for rule in self.rules if rule.fits(server, tool)), None)
        with self._lock:
            if len(self._first) >= MAX_REMEMBERED:
                self._first.clear()
            self._first[key] = found
        return found

    def refusal(self, call: Call) -> Decision | None:
        """By pins and constraints of a call that a rule lets through or asks about; they may change."""
        rule = self._rule(call.server, call.tool)
        if self.pins is not None and (violation := self.pins.refusal(call.server, call.tool)):
            return Decision("deny", *violation)
        if call.arguments is not None and not isinstance(call.arguments, dict):
            return Decision("deny", "arguments_invalid", "The arguments of a call are an object.")
        arguments = call.arguments or {}
        for constraint in () if rule is None else rule.constraints:
            if (why := constraint.violation(arguments)) is not None:
                return Decision("deny", constraint.reason, why)
        if (self.default if rule is None else rule.action) == "ask" and self.approval is None:
            return Decision(
                "deny", "approval_unavailable", f"Nobody can approve the tool {quoted(call.tool)} here."
            )
        return None
