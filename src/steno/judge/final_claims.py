"""What an agent says at the end of its run, held against what the kernel saw.

In: the lines that end a run in the SDK layer, and the processes. Out: the claims with their rules, as
`calls.json` has them. One rule: `tests_claimed`. What an agent says in other words is not judged.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from steno.evidence.claims import SdkLine
from steno.judge import claimed
from steno.judge.call_join import Joined
from steno.judge.call_processes import Process, Processes
from steno.judge.health import ABSENT
from steno.judge.said_and_done import CONFIRMED, CONTRADICTED, UNOBSERVED
from steno.judge.types import Check, Claim

_ENDING = frozenset({"run_finished", "run_failed"})
_TESTS = "tests_claimed"
_FIRST = 1  # the process of the run's own command


def final_claims(joined: Joined) -> list[Claim]:
    lines = [line for line in joined.sdk if line.event_type in _ENDING]
    return [_claim(number, line, joined) for number, line in enumerate(lines, 1)]


def _claim(number: int, line: SdkLine, joined: Joined) -> Claim:
    checks = _checks(line, joined)
    confirmed = [check.rule for check in checks if check.result == CONFIRMED]
    return Claim(
        claim=number,
        source=line.source,
        kind=line.event_type,
        seq=line.seq,
        corroboration="corroborated" if confirmed else "self_reported",
        rule=confirmed[0] if confirmed else None,
        checks=checks,
    )


def _checks(line: SdkLine, joined: Joined) -> list[Check]:
    detail = line.steno
    words = claimed.says_tests_pass(detail.message) if detail is not None and detail.message else None
    if detail is None or words is None:
        return []
    if joined.kernel == ABSENT:
        return [Check(_TESTS, UNOBSERVED, "there is no kernel layer")]
    hook = joined.processes.of(detail.process)
    until_ns = joined.facts.end_ns if hook is None else hook.born_ns
    last = _last_tests(joined.processes, until_ns)
    agent = {_FIRST, *(() if hook is None else joined.processes.line(hook.number))}
    if last is None:
        if not joined.is_complete:
            why = "no tests were seen, but the kernel layer is not complete"
        elif _may_have_run_tests(joined.processes, until_ns, agent):
            why = "a program was run that may have run tests"
        else:
            return [Check(_TESTS, CONTRADICTED, f'it says "{words}"; no tests were run')]
        return [Check(_TESTS, UNOBSERVED, why)]
    if last.exit_code is None:
        return [Check(_TESTS, UNOBSERVED, "how the last tests ended was not seen")]
    result = CONTRADICTED if last.exit_code else CONFIRMED
    return [Check(_TESTS, result, f'it says "{words}"; the last tests ended with {last.exit_code}')]


def _may_have_run_tests(processes: Processes, until_ns: int, agent: Container[int]) -> bool:
    """What the agent itself was started with is not meant."""
    return any(test.at_ns < until_ns and test.process not in agent for test in processes.tests)


def _last_tests(processes: Processes, until_ns: int) -> Process | None:
    """The last program that ran tests and was not itself started by one that did."""
    known = {test.process for test in processes.tests if test.sure}
    for test in _latest_first(processes, until_ns):
        ancestors = processes.line(test)
        next(ancestors, None)
        if not any(number in known for number in ancestors):
            return processes.by_number[test]
    return None


def _latest_first(processes: Processes, until_ns: int) -> Iterable[int]:
    started = [(test.at_ns, test.process) for test in processes.tests if test.sure and test.at_ns < until_ns]
    return (number for _, number in sorted(started, reverse=True))
