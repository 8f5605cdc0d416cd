"""What is wrong with who wrote the logs of a run, in fixed strings.

In: the facts of the run and the kernel's view of its logs. Out: the strings, sorted; docs/calls.md has them
all. A log of a proxy is made once, by the process that it is named after, and is only appended to: whatever
else the kernel saw is told. What was not seen counts only where the kernel layer is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from steno.evidence import intake_names
from steno.evidence.claims import ProcessKey
from steno.judge.call_processes import Processes
from steno.judge.facts import RunFacts
from steno.judge.health import COMPLETE, kernel_health
from steno.judge.log_writers import PROXY

_BY_ANOTHER = "policy_log_written_by_another_process"
_REWRITTEN = "policy_log_rewritten"
_LOST = "policy_log_lost"
_ANOTHER_PROGRAM = "proxy_is_another_program"
_MOVED = "intake_moved"
_HOOKS_BY_ANOTHER = "hook_log_written_by_another_process"
_HOOKS_REWRITTEN = "hook_log_rewritten"
_HOOKS_NOT_KNOWN = "hook_processes_not_all_known"
_OF_HOOKS = frozenset({_HOOKS_BY_ANOTHER, _HOOKS_REWRITTEN, _HOOKS_NOT_KNOWN})


def log_faults(facts: RunFacts, found: Processes, hooks: AbstractSet[int]) -> tuple[str, ...]:
    """`hooks` are the processes that told something as hooks."""
    moved = [_MOVED] if found.logs.folder_moved else []
    told = {*_of_policy(facts, found), *_of_programs(facts, found), *_of_hooks(facts, found, hooks), *moved}
    return tuple(sorted(told))


def is_of_policy(faults: Iterable[str]) -> bool:
    """Whether one of them takes away the ground to believe decisions."""
    return any(fault not in _OF_HOOKS for fault in faults)


def _of_policy(facts: RunFacts, found: Processes) -> Iterator[str]:
    logs = facts.intake_logs
    there = {_name(log.process): log.process for log in logs.policy} if logs else {}
    uses, whole = found.logs.uses, kernel_health(facts).layer == COMPLETE
    for name in {*there, *uses} - {intake_names.HOOKS}:
        owner = found.of(_owner(name))
        use = uses.get(name)
        is_made = use is not None and bool(use.made_at)
        if whole and (owner is None or (name in there and not is_made)):
            yield _BY_ANOTHER  # where nothing is missing, whoever was not seen to make it did not
        if use is None:
            continue
        if owner is not None and not use.writers.keys() <= {owner.number}:
            yield _BY_ANOTHER
        if use.emptied or max(use.openings.values(), default=0) > 1:
            yield _REWRITTEN
        if is_made and name not in there and not (logs and logs.policy_left_off):
            yield _LOST


def _of_programs(facts: RunFacts, found: Processes) -> Iterator[str]:
    for one in facts.connections:
        proxy = found.of(one.proxy_process)
        use = found.logs.uses.get(_name(one.proxy_process))
        made_ns = None if proxy is None or use is None else use.made_at.get(proxy.number)
        at_ns = one.opened_ns if made_ns is None else made_ns
        if proxy is not None and found.ran_another(proxy.number, at_ns, PROXY):
            yield f"{_ANOTHER_PROGRAM}:{one.connection}"


def _of_hooks(facts: RunFacts, found: Processes, hooks: AbstractSet[int]) -> Iterator[str]:
    use, logs = found.logs.uses[intake_names.HOOKS], facts.intake_logs
    if use.emptied:
        yield _HOOKS_REWRITTEN
    if not use.writers.keys() <= hooks:
        yield _HOOKS_NOT_KNOWN if logs and logs.hook_processes_left_off else _HOOKS_BY_ANOTHER


def _name(process: ProcessKey) -> str:
    return intake_names.policy_log(process.pid, process.start_ticks)


def _owner(name: str) -> ProcessKey | None:
    owner = intake_names.policy_log_owner(name)
    return None if owner is None else ProcessKey(*owner)
