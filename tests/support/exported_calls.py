"""A recording with tool calls, for what is exported of calls: an agent, its server and a shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steno.evidence.claims import PolicyLine, SdkLine
from support.calls_made import EMPTY, SCOPE, TICKS
from support.run_builder import RunBuilder


def run_with_calls(
    policy: Sequence[PolicyLine] = (), sdk: Sequence[SdkLine] = (), **started: Any
) -> RunBuilder:
    run = RunBuilder(**started).event(SCOPE, EMPTY).kernel(features=["cgroup"])
    run.process("agent", start_ticks=TICKS).process("server", parent=1, start_ticks=TICKS)
    return run.process("shell", parent=1, start_ticks=TICKS).decided(*policy).said(*sdk)
