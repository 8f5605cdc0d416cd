"""What policy, agents and the kernel tell of the calls of a run, together, and who wrote the logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from steno.evidence import intake_names
from steno.evidence.claims import PolicyLine, ProcessKey, SdkLine
from steno.evidence.kinds import NO_SHIM
from steno.evidence.layers import Layers
from steno.judge.calls.attribution import Mounts
from steno.judge.calls.log_writers import HOOK, PROXY, LogsNamed, LogWatch
from steno.judge.calls.processes import Processes
from steno.judge.calls.stream_calls import stream_calls
from steno.judge.calls.tool_calls import ToldCall, told_calls
from steno.judge.calls.windows import Windows, windows
from steno.judge.claims import claims_of
from steno.judge.facts import RunFacts
from steno.judge.health import COMPLETE, kernel_health
from steno.judge.processes import Told
from steno.judge.scan import Reading, Scan


class Joined(NamedTuple):
    facts: RunFacts
    kernel: str  # how whole the kernel layer is
    policy: Sequence[PolicyLine]
    sdk: Sequence[SdkLine]
    calls: Sequence[ToldCall]
    processes: Processes
    windows: Windows
    log_faults: tuple[str, ...]  # what is wrong with who wrote the logs, in fixed strings

    @property
    def is_complete(self) -> bool:
        return self.kernel == COMPLETE

    @property
    def policy_is_trusted(self) -> bool:
        return not is_of_policy(self.log_faults)


def scans(reading: Reading) -> list[type[Scan]]:
    """What a first pass has to read; a second one follows where somebody told of a call."""
    if not _is_told(reading):
        return [LogsNamed]
    return [Told, LogWatch, *([Mounts] if reading.once(_calls) else [])]


def join(layers: Layers) -> Joined:
    reading = Reading.of(layers)
    reading.expect(scans(reading))
    facts, claims = reading.once(RunFacts.of), reading.once(claims_of)
    policy, is_heard = claims.policy, facts.shim != NO_SHIM
    sdk, calls = _sdk(reading), reading.once(_calls)
    # What is told may be lost: then a program of the run was seen at a log.
    is_told = _is_told(reading) or reading.scanned(LogsNamed).any
    found = Processes.of_run(reading) if is_told else Processes()
    proxies, hooks = _proxies(facts, policy, found), _hooks(facts, claims.hooks if is_heard else (), found)
    ends = {one.connection: one.closed_ns for one in facts.connections if one.closed_ns is not None}
    return Joined(
        facts,
        kernel_health(facts).layer,
        policy,
        sdk,
        calls,
        found,
        windows(
            calls,
            found,
            ends,
            proxies | _seen_as_hooks(hooks, found),
            _servers(facts, policy, found),
            facts.end_ns,
        ),
        log_faults(facts, found, hooks),
    )


def _is_told(reading: Reading) -> bool:
    """Whether anybody told anything that came to the recorder."""
    lines = reading.once(claims_of).policy or _sdk(reading)
    return bool(lines) or reading.once(RunFacts.of).intake_logs is not None or bool(reading.once(_calls))


def _sdk(reading: Reading) -> Sequence[SdkLine]:
    return reading.once(claims_of).sdk if reading.once(RunFacts.of).shim != NO_SHIM else []


def _calls(layers: Layers) -> Sequence[ToldCall]:
    reading = Reading.of(layers)
    return told_calls(reading.once(claims_of).policy, _sdk(reading)) or told_calls(
        [], reading.once(stream_calls)
    )


def _proxies(facts: RunFacts, policy: Sequence[PolicyLine], found: Processes) -> frozenset[int]:
    """Processes that say they are proxies, and are not seen to be another program."""
    told = [
        *((one.proxy_process, one.opened_ns) for one in facts.connections),
        *((one.steno.proxy_process, one.steno.start_ns) for one in policy),
    ]
    return frozenset(
        process.process
        for key, at_ns in told
        if (process := found.of(key)) is not None and not found.ran_another(process.process, at_ns, PROXY)
    )


def _servers(facts: RunFacts, policy: Sequence[PolicyLine], found: Processes) -> dict[int, str]:
    told = [
        *((one.server_process, one.server) for one in facts.connections),
        *((one.steno.server_process, one.steno.server) for one in policy),
    ]
    return {process.process: label for key, label in told if (process := found.of(key)) is not None}


def _seen_as_hooks(hooks: frozenset[int], found: Processes) -> frozenset[int]:
    """What else calls itself a hook is part of what the agent does."""
    told = found.writers[intake_names.HOOKS]
    return frozenset(one for one in hooks if not found.ran_another(one, told[one], HOOK))


def _hooks(facts: RunFacts, told: Iterable[ProcessKey], found: Processes) -> frozenset[int]:
    """Processes that say they are hooks, and that were seen to open the log of the hooks."""
    keys = {*told, *(facts.intake_logs.hook_processes if facts.intake_logs else ())}
    processes = map(found.of, keys)
    writers = found.writers[intake_names.HOOKS]
    return frozenset(one.process for one in processes if one is not None and one.process in writers)


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
        if owner is not None and not use.writers.keys() <= {owner.process}:
            yield _BY_ANOTHER
        if use.emptied or max(use.openings.values(), default=0) > 1:
            yield _REWRITTEN
        if is_made and name not in there and not (logs and logs.policy_left_off):
            yield _LOST


def _of_programs(facts: RunFacts, found: Processes) -> Iterator[str]:
    for one in facts.connections:
        proxy = found.of(one.proxy_process)
        use = found.logs.uses.get(_name(one.proxy_process))
        made_ns = None if proxy is None or use is None else use.made_at.get(proxy.process)
        at_ns = one.opened_ns if made_ns is None else made_ns
        if proxy is not None and found.ran_another(proxy.process, at_ns, PROXY):
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
