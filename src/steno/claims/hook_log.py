"""The log of the hooks: which of its lines a hook of ours wrote.

In: the bytes of the log, which may be hostile, and the id of the run. Out: what each hook told with the
number of its line, how much could not be taken, and the words of hooks that did not understand what they were
given. Never raises for what it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from steno.claims.sdk_contract import is_call_id
from steno.claims.told_lines import Damage, take_lines
from steno.evidence import intake
from steno.evidence.intake import BadIntakeError, HookTold, is_process

UNKNOWN = "unknown"


class HookLog(NamedTuple):
    told: list[HookTold]  # all of them, also those that could not be kept
    damage: Damage
    problems: Counter[str]  # how many hooks, by their word for what is wrong


def take_hooks(data: bytes, run_id: str, latest_ns: int, keep: Callable[[int, HookTold], None]) -> HookLog:
    """Times after `latest_ns` have not been yet. `keep` raises `BadIntakeError` for what cannot be kept."""
    found: list[HookTold] = []
    problems: Counter[str] = Counter()

    def take(number: int, raw: bytes) -> None:
        from steno.agents.hook_payload import interpreted  # late: most runs have no hooks

        told = intake.hook_told(raw)
        if told.run_id != run_id or not 0 <= told.at_ns <= latest_ns or not _is_sane(told):
            raise BadIntakeError("of another run, of a time that has not been, or with a name that is none")
        found.append(told)
        read = interpreted(told)
        if read is not None and read.event_type is None:
            problems[(read.problem or UNKNOWN)[: intake.MAX_NAME]] += 1
        keep(number, told)

    damage = take_lines(data, take)
    return HookLog(found, damage, problems)


def _is_sane(told: HookTold) -> bool:
    names = (told.agent, told.sdk_version, told.tool, told.server)
    short = all(name is None or 0 < len(name) <= intake.MAX_NAME for name in names)
    known = told.tool_call_id is None or is_call_id(told.tool_call_id)
    return short and known and is_process(told.process) and is_process(told.parent)
