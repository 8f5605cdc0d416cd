"""What a policy says about a call of a tool: let it through, refuse it, or ask.

In: a call, and the time on a monotonic clock. Out: a `Ruling` with a fixed word for its reason. The first
rule whose globs fit the server and the tool decides; a call that breaks a constraint of that rule is refused
and no later rule is asked. May be asked from several threads. Looks at the file system only where a rule
names directories. Never forwards, writes or logs anything.
"""

from __future__ import annotations

import threading
from typing import Any, Literal, NamedTuple

from steno.mcp.constraints import Constraint, quoted
from steno.mcp.globs import Globs
from steno.mcp.limits import RateLimit
from steno.mcp.pins import Pins

Action = Literal["allow", "deny", "ask"]
MAX_REMEMBERED = 4096
APPROVAL_SECONDS = 60  # unless the policy says otherwise

# Methods that no policy refuses: without them there is no connection, and nothing to choose from.
ALWAYS_PASS = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "roots/list",
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        "notifications/subscriptions/acknowledged",
        "notifications/tasks/status",
        "notifications/tools/list_changed",
    }
)
# The other methods of the protocol, in both eras: they pass unless the policy denies them.
KNOWN = frozenset(
    {
        "completion/complete",
        "elicitation/create",
        "logging/setLevel",
        "prompts/get",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "sampling/createMessage",
        "subscriptions/listen",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
    }
)
TOOL_CALL = "tools/call"


class Call(NamedTuple):
    server: str  # its label
    tool: str
    arguments: Any  # as parsed from JSON; None: there were none


class Ruling(NamedTuple):
    decision: Action
    reason: str  # a fixed word; docs/policy.md lists them
    says: str  # one sentence for the model that asked


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
        approval: list[str] | None = None,
        approval_seconds: int = APPROVAL_SECONDS,
        pins: Pins | None = None,
    ) -> None:
        self.digest = digest  # SHA-256 of the bytes of the file
        self.default = default
        self.rules = rules
        self.methods = methods
        self.hide_denied = hide_denied
        self.dry_run = dry_run
        self.approval = approval  # a command
        self.approval_seconds = approval_seconds
        self.pins = pins
        self._first: dict[tuple[str, str], Rule | None] = {}
        self._lock = threading.Lock()

    def decide(self, call: Call, now_ns: int) -> Ruling:
        """`now_ns` is monotonic and for rate limits only, which count what this lets through or asks for."""
        rule = self._rule(call.server, call.tool)
        action = self.default if rule is None else rule.action
        by = "by_default" if rule is None else "by_rule"
        if action == "deny":
            return Ruling("deny", f"denied_{by}", f"The policy does not allow the tool {quoted(call.tool)}.")
        if (refusal := self.refusal(call)) is not None:
            return refusal
        if rule is not None and rule.limit is not None and not rule.limit.take(now_ns):
            return Ruling("deny", "rate_limited", f"Too many calls: the policy allows {rule.limit.says()}.")
        if action == "ask":
            return Ruling("ask", "approval_required", f"The tool {quoted(call.tool)} needs an approval.")
        return Ruling("allow", f"allowed_{by}", f"The policy allows the tool {quoted(call.tool)}.")

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
        if method == TOOL_CALL or self.methods.deny.fits(method):
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

    def refusal(self, call: Call) -> Ruling | None:
        """By pins and constraints of a call that a rule lets through or asks about; they may change."""
        rule = self._rule(call.server, call.tool)
        if self.pins is not None and (unpinned := self.pins.refusal(call.server, call.tool)):
            return Ruling("deny", unpinned.reason, unpinned.says)
        if call.arguments is not None and not isinstance(call.arguments, dict):
            return Ruling("deny", "arguments_invalid", "The arguments of a call are an object.")
        arguments = call.arguments or {}
        for constraint in () if rule is None else rule.constraints:
            if (why := constraint.breach(arguments)) is not None:
                return Ruling("deny", constraint.reason, why)
        if (self.default if rule is None else rule.action) == "ask" and self.approval is None:
            return Ruling(
                "deny", "approval_unavailable", f"Nobody can approve the tool {quoted(call.tool)} here."
            )
        return None
