"""What is concluded of tool calls, one type for each fact, which are the rows of a run's tables too."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from steno.errors import BadRequestError
from steno.evidence import canonical
from steno.judge.surface_names import is_file
from steno.judge.types import Json, Names, Row, Small


class Effects(Row, frozen=True, kw_only=True):
    """What the kernel saw in the window of one call, of one of several, or in that of none."""

    COLUMNS = (
        *("call", "candidates", "server", "n_events", "files_created", "files_written", "files_deleted"),
        *("files_changed", "files_read", "files_tried", "endpoints", "sockets", "programs", "own_state"),
    )
    call: Small | None = None
    candidates: list[str] = msgspec.field(default_factory=list)  # the ids of calls of which one did it
    server: str | None = None  # what this server did of what is in the window of no call
    n_events: Small
    names: Names
    own_state: list[str] = msgspec.field(default_factory=list)  # of the agent

    @property
    def files_created(self) -> list[str]:
        return self.names.files.created

    @property
    def files_written(self) -> list[str]:
        """Written, but for those that were created."""
        return sorted({*self.names.files.written} - {*self.files_created})

    @property
    def files_deleted(self) -> list[str]:
        return self.names.files.deleted

    @property
    def files_changed(self) -> list[str]:
        """Created, written or deleted. Terminals, sinks and the logs of the run itself are no files."""
        files = self.names.files
        return sorted(filter(is_file, {*files.written, *files.created, *files.deleted}))

    @property
    def files_read(self) -> list[str]:
        return self.names.files.read

    @property
    def files_tried(self) -> list[str]:
        return self.names.files.attempted

    @property
    def endpoints(self) -> list[str]:
        """What it connected to or sent to; whether a connect succeeded is not always known."""
        return sorted({*self.names.endpoints.connected, *self.names.endpoints.sent})

    @property
    def sockets(self) -> list[str]:
        return self.names.unix_sockets.connected

    @property
    def programs(self) -> list[str]:
        return self.names.execs.ran


class Check(Row, frozen=True):
    """What an agent said held against what was seen: of one call, or of its last words."""

    COLUMNS = ("call", "claim", "rule", "result", "detail")
    rule: str
    result: str
    detail: str
    call: Small | None = None
    claim: Small | None = None


class SaidEvent(msgspec.Struct, frozen=True):
    event_type: str
    seq: int
    corroboration: str
    rule: str | None


class Said(msgspec.Struct, frozen=True):
    """A call as the agent or its framework told of it."""

    source: str
    sdk_name: str | None
    sdk_version: str | None
    tool: str | None
    id_from: str
    events: list[SaidEvent]
    input: Any
    corroboration: str
    rule: str | None


class Decided(msgspec.Struct, frozen=True):
    """A call as policy let it through or not."""

    decision: str
    reason: str
    policy: str | None
    dry_run: bool
    outcome: str | None
    source: str
    connection: str
    request_id: str | None
    id_from: str
    method: str
    read_only: bool | None
    arguments: Any
    arguments_cut: bool


class Window(msgspec.Struct, frozen=True):
    """From `start_ns` until before `end_ns`, on a process and all that come of it."""

    start_ns: int
    end_ns: int
    ended_by: str  # "answer", "hook", who left, or what stands in for an end that was not told
    told_by: str  # "policy" or "hooks"
    process: int | None  # None: it was not seen


class Call(Row, frozen=True, kw_only=True):
    """A tool call, as an agent told of it or a proxy let it through, and what the kernel saw of it."""

    COLUMNS = (
        *("call", "tool_call_id", "tool", "server", "verdict", "told_by", "corroboration"),
        *("corroborated_by", "decision", "reason", "dry_run", "decision_outcome", "started_ns", "ended_ns"),
        *("window_told_by", "window_ended_by", "process", "n_events", "files_changed", "files_read"),
        *("programs", "endpoints", "input", "arguments"),
    )
    call: Small
    tool_call_id: str
    tool: str
    server: str | None
    verdict: str
    said: Said | None
    decided: Decided | None
    window: Window | None
    seen: Effects | None
    checks: list[Check]

    @property
    def name(self) -> str:
        return self.tool if self.server is None else f"{self.server}.{self.tool}"

    @property
    def contradictions(self) -> list[Check]:
        return [check for check in self.checks if check.result == "contradicted"]

    @property
    def told_by(self) -> str | None:
        """The agent or its framework; None where none said it."""
        return self.said.source if self.said else None

    @property
    def corroboration(self) -> str | None:
        return self.said.corroboration if self.said else None

    @property
    def corroborated_by(self) -> str | None:
        return self.said.rule if self.said else None

    @property
    def decision(self) -> str | None:
        return self.decided.decision if self.decided else None

    @property
    def reason(self) -> str | None:
        return self.decided.reason if self.decided else None

    @property
    def dry_run(self) -> bool:
        """Whether what policy decided was not enforced."""
        return self.decided is not None and self.decided.dry_run

    @property
    def decision_outcome(self) -> str | None:
        """How the call ended, as its proxy told it."""
        return self.decided.outcome if self.decided else None

    @property
    def started_ns(self) -> int | None:
        return self.window.start_ns if self.window else None

    @property
    def ended_ns(self) -> int | None:
        return self.window.end_ns if self.window else None

    @property
    def window_told_by(self) -> str | None:
        return self.window.told_by if self.window else None

    @property
    def window_ended_by(self) -> str | None:
        return self.window.ended_by if self.window else None

    @property
    def process(self) -> Small | None:
        return self.window.process if self.window else None

    @property
    def n_events(self) -> Small | None:
        """None where nobody could see."""
        return self.seen.n_events if self.seen else None

    @property
    def files_changed(self) -> list[str]:
        return self.seen.files_changed if self.seen else []

    @property
    def files_read(self) -> list[str]:
        return self.seen.files_read if self.seen else []

    @property
    def programs(self) -> list[str]:
        return self.seen.programs if self.seen else []

    @property
    def endpoints(self) -> list[str]:
        return self.seen.endpoints if self.seen else []

    @property
    def input(self) -> Json | None:
        """As the agent said, else as policy saw it."""
        is_told = self.said is not None and self.said.input is not None
        return _json(self.said.input) if self.said is not None and is_told else self.arguments

    @property
    def arguments(self) -> Json | None:
        """As policy saw them."""
        return _json(self.decided.arguments) if self.decided else None


class Claim(Row, frozen=True, kw_only=True):
    """What an agent said at the end, of all that it did."""

    COLUMNS = ("claim", "source", "kind", "corroboration")
    claim: Small
    source: str
    kind: str
    seq: int
    corroboration: str
    rule: str | None  # that bears it out
    checks: list[Check]


class Correlation(msgspec.Struct, frozen=True):
    """How well the layers of a run are tied to each other."""

    schema: str
    run_id: str
    status: str
    bindings: list[Binding]
    ambiguities: list[str]


class Binding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decision of policy, and how many events of its server lie in its window."""

    tool_call_id: str
    policy_decision: str
    kernel_event_count: int
    window: WallWindow
    cgroup_id: int | None = None


class WallWindow(msgspec.Struct, frozen=True):
    start: str
    end: str


class Calls(msgspec.Struct, frozen=True):
    """Every call that was told, in order of time, and what was seen beside them."""

    run_id: str
    calls: list[Call]
    ambiguous: list[Effects]
    unattributed: Effects | None  # None: nobody could see
    by_servers: list[Effects]  # of what is unattributed
    claims: list[Claim]
    cwd: str = ""  # where the run was
    correlation: Correlation | None = None  # None: it is not told here
    has_rest: bool = True  # not only some calls of it

    @property
    def verdicts(self) -> dict[str, int]:
        return dict(Counter(call.verdict for call in self.calls))

    def only(self, tool_call_id: str) -> Calls:
        """The calls with this id, and nothing beside."""
        kept = [call for call in self.calls if call.tool_call_id == tool_call_id]
        if not kept:
            raise BadRequestError(
                f"the run has no call {tool_call_id!r}", hint=f"`steno calls {self.run_id}` lists them"
            )
        return Calls(self.run_id, kept, [], None, [], [], cwd=self.cwd, has_rest=False)

    @property
    def checks(self) -> list[Check]:
        found = [msgspec.structs.replace(one, call=call.call) for call in self.calls for one in call.checks]
        for claim in self.claims:
            found += (msgspec.structs.replace(one, claim=claim.claim) for one in claim.checks)
        return found

    @property
    def effects(self) -> list[Effects]:
        found = [call.seen for call in self.calls if call.seen is not None]
        found += self.ambiguous
        return found + ([] if self.unattributed is None else [self.unattributed, *self.by_servers])


def _json(value: Any) -> str | None:
    return None if value is None else canonical.encode(value).decode()
