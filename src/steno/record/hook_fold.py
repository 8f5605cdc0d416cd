"""What an agent's hooks told, as lines of the SDK layer.

In: the bytes of the hook log, which may be hostile, and the id of the run. Out: the lines in the order of
time, how much could not be taken, the words of hooks that did not understand what they were given, and which
processes told something. A call without an id gets one, and it is said to be inferred. Never raises for what
it reads.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, cast

from steno.evidence import intake
from steno.evidence.claims import ProcessKey, SdkDetail, SdkEventType, SdkLine
from steno.evidence.intake import HookTold
from steno.judge.inferred_ids import with_ids
from steno.record.policy_fold import is_process
from steno.record.sdk_contract import is_call_id
from steno.record.told_lines import Damage, DamagedError, take_lines

UNKNOWN = "unknown"


class HookFold(NamedTuple):
    lines: list[SdkLine]
    damage: Damage
    problems: Counter[str]  # how many hooks, by their word for what is wrong
    processes: frozenset[ProcessKey]  # all that told something


def fold_hooks(data: bytes, run_id: str, latest_ns: int) -> HookFold:
    """Times after `latest_ns` have not been yet."""
    found: list[HookTold] = []
    problems: Counter[str] = Counter()
    processes: set[ProcessKey] = set()

    def take(raw: bytes) -> None:
        told = intake.hook_told(raw)
        if told.run_id != run_id or not 0 <= told.at_ns <= latest_ns or not _is_sane(told):
            raise DamagedError
        processes.add(told.process)
        if told.event_type is None:
            problems[(told.problem or UNKNOWN)[: intake.MAX_NAME]] += 1
        else:
            found.append(told)

    damage = take_lines(data, take)
    found.sort(key=lambda told: told.at_ns)
    lines = [_line(told, call, run_id) for told, call in with_ids(found)]
    return HookFold(lines, damage, problems, frozenset(processes))


def _is_sane(told: HookTold) -> bool:
    names = (told.agent, told.sdk_version, told.tool, told.server)
    short = all(name is None or 0 < len(name) <= intake.MAX_NAME for name in names)
    known = told.tool_call_id is None or is_call_id(told.tool_call_id)
    return short and known and is_process(told.process) and is_process(told.parent)


def _line(told: HookTold, call: str | None, run_id: str) -> SdkLine:
    return SdkLine(
        schema="assay.runner.sdk_event.v0",
        run_id=run_id,
        seq=0,
        event_type=cast("SdkEventType", told.event_type),
        source=told.agent,
        sdk_name=told.agent,
        sdk_version=told.sdk_version,
        tool_call_id=call,
        tool=told.tool,
        steno=SdkDetail(
            id_from="hook" if call == told.tool_call_id else "inferred",
            at_ns=told.at_ns,
            process=told.process,
            parent=told.parent,
            server=told.server,
            input=told.input,
            output=told.output,
            message=told.message,
            cut=told.cut,
        ),
    )
