"""Said versus done: fixed rules that hold what a call claims against what the kernel saw.

Never better than the evidence: what was not seen contradicts a claim only where the kernel layer is complete,
and what was masked is unobserved. Of contents only states are compared (there or not, sizes, times, modes),
and the end only of a file that nobody of the run changed after the call. docs/calls.md names every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

from steno.evidence import canonical
from steno.evidence.claims import SdkLine
from steno.judge.calls import claimed
from steno.judge.calls.attribution import TICK_NS, Exec, Found, OwnState, changed, number
from steno.judge.calls.join import Joined
from steno.judge.calls.processes import Processes
from steno.judge.calls.tool_calls import COMPLETED, STARTED, ToldCall
from steno.judge.calls.types import Check, Claim, Window
from steno.judge.files import After
from steno.judge.health import ABSENT
from steno.judge.operations import CHANGED, READ
from steno.judge.surface import NamesSeen
from steno.judge.surface_names import text
from steno.judge.types import Process

CONFIRMED, CONTRADICTED, UNOBSERVED = "confirmed", "contradicted", "unobserved"
DENIED, AMBIGUOUS = "denied", "ambiguous"
_SHOWN = 3
# Rules that must not be left open in a call that is called confirmed.
_DECIDING = frozenset({"read_only_tool_wrote", "write_claimed", "read_claimed", "command_claimed"})
_BY_KERNEL = _DECIDING | {"call_seen", "exit_status_claimed"}
# Rules that bear out that a call was made, where only the agent tells of it.
CORROBORATING = frozenset({"write_claimed", "read_claimed", "command_claimed"})


class Evidence(NamedTuple):
    """What is known of one call beside what is told."""

    call: int
    window: Window | None
    rows: int
    seen: NamesSeen  # by others than the agent's own process
    own: NamesSeen  # by the agent's own process
    execs: Sequence[Exec]
    processes: Processes
    complete: bool  # nothing is known to be missing from the kernel layer
    ambiguous: bool
    cwd: str
    own_state: OwnState
    late: frozenset[bytes]  # files that its processes changed after its window and before the next
    held: bytes | None  # a file that its processes may have had open to write when its window began
    contents: Contents

    @property
    def observed(self) -> bool:
        return self.window is not None and self.window.process is not None and self.rows > 0

    def names(self, bits: int) -> set[bytes]:
        """The paths with which this was done, as they were asked for and as they were found."""
        return {
            path
            for seen in (self.seen, self.own)
            for path in (
                *(path for (path, _), done in seen.files.done.items() if done & bits),
                *(path for path, done in seen.requested.done.items() if done & bits),
            )
        }

    def changed_by_others(self) -> list[bytes]:
        """By these and the next: the files that were changed, or may have been."""
        return sorted(changed(self.seen))

    def changed_by_agent(self) -> list[bytes]:
        return sorted(changed(self.own))

    def surely_changed(self, path: bytes) -> bool:
        """By the result of the call, where that is known, else by what was found there afterwards."""
        known = path in self.seen.surely_changed or path in self.own.surely_changed
        return known or self.contents.tell_of_change(path, self.call)


def checks_of(call: ToldCall, evidence: Evidence) -> list[Check]:
    if call.denied:
        return [*_tool_claimed(call), *_arguments_claimed(call)]
    found = [*_tool_claimed(call), *_arguments_claimed(call), *_call_seen(call, evidence)]
    judging: tuple[Callable[[ToldCall, Evidence], Iterator[Check]], ...] = (
        _read_only_tool_wrote,
        _write_claimed,
        _read_claimed,
        _command_claimed,
        _exit_status_claimed,
    )
    for judge in judging:
        found += judge(call, evidence)
    return found


def verdict(call: ToldCall, evidence: Evidence, found: Sequence[Check]) -> str:
    results = {one.rule: one.result for one in found}
    if call.denied:
        return DENIED
    if CONTRADICTED in results.values():
        return CONTRADICTED
    if evidence.ambiguous:
        return AMBIGUOUS
    confirmed = {rule for rule, result in results.items() if result == CONFIRMED}
    if confirmed & _BY_KERNEL and not (_DECIDING & results.keys()) - confirmed:
        return CONFIRMED
    return UNOBSERVED


def written_by(call: ToldCall, cwd: str) -> set[bytes]:
    """The paths that it claims to write."""
    paths = claimed.written_paths(claimed.bare(call.tool), _given(call))
    return {claimed.absolute(path, cwd) for path in paths}


def claims_command(call: ToldCall) -> bool:
    return claimed.command(claimed.bare(call.tool), _given(call)) is not None


# --- the rules -------------------------------------------------------------------------------------------


def _tool_claimed(call: ToldCall) -> Iterator[Check]:
    if call.decision is None or call.said_tool is None:
        return
    if call.reused:
        yield Check("tool_claimed", UNOBSERVED, "the id stands for more than one call")
    elif call.tool_agrees:
        yield Check("tool_claimed", CONFIRMED, "the agent names the tool that policy saw")
    else:
        yield Check(
            "tool_claimed",
            CONTRADICTED,
            f"the agent says {call.said_tool}, and policy saw {call.decision.tool}",
        )


def _arguments_claimed(call: ToldCall) -> Iterator[Check]:
    """Only where both are there, and nothing of either was cut or masked."""
    said, decision = _said_input(call), call.decision
    if decision is None or said is None or decision.steno.arguments is None:
        return
    rule, seen = "arguments_claimed", decision.steno.arguments
    if call.reused:
        yield Check(rule, UNOBSERVED, "the id stands for more than one call")
    elif decision.steno.arguments_cut or any(line.steno.cut for line in call.said if line.steno is not None):
        yield Check(rule, UNOBSERVED, "they are not all recorded")
    elif claimed.holds_mask(said) or claimed.holds_mask(seen):
        yield Check(rule, UNOBSERVED, "a part of them is masked")
    elif canonical.encode(said) == canonical.encode(seen):
        yield Check(rule, CONFIRMED, "the agent tells the arguments that policy saw")
    else:
        yield Check(rule, CONTRADICTED, "the agent tells other arguments than policy saw")


def _call_seen(call: ToldCall, evidence: Evidence) -> Iterator[Check]:
    if call.decision is None:
        return
    if evidence.ambiguous:
        yield Check("call_seen", UNOBSERVED, _SHARED)
    elif evidence.window is None or evidence.window.process is None:
        yield Check("call_seen", UNOBSERVED, "the process of its server was not seen")
    elif evidence.rows:
        yield Check("call_seen", CONFIRMED, "its server was seen at work in its window")
    else:
        yield Check("call_seen", UNOBSERVED, "its server was not seen at work in its window")


_SHARED = "what was seen may belong to another call"
_UNSEEN = "nothing was observed in its window"
_INCOMPLETE = "the kernel layer is not complete"
_TRIED = "how that ended was not seen: it tried to"


def _open_question(evidence: Evidence) -> str | None:
    """Why nothing can be said."""
    return _SHARED if evidence.ambiguous else None if evidence.observed else _UNSEEN


def _read_only_tool_wrote(call: ToldCall, evidence: Evidence) -> Iterator[Check]:
    rule = "read_only_tool_wrote"
    if not is_read_only(call):
        return
    if why := _open_question(evidence):
        yield Check(rule, UNOBSERVED, why)
        return
    own, elsewhere, unsure = evidence.own_state.sorted_out(evidence.changed_by_agent())
    tried = [*evidence.changed_by_others(), *elsewhere]
    if wrong := [path for path in tried if evidence.surely_changed(path)]:
        yield Check(rule, CONTRADICTED, f"only reads, it is said; it changed {_listed(wrong)}")
    elif tried:
        yield Check(rule, UNOBSERVED, f"{_TRIED} change {_listed(tried)}")
    elif why := _why_not_only_read(unsure, evidence):
        yield Check(rule, UNOBSERVED, why)
    else:
        beside = f" beside the agent's own state ({len(own)})" if own else ""
        yield Check(rule, CONFIRMED, f"it opened no file to write, and changed none{beside}")


def _why_not_only_read(unsure: Sequence[bytes], evidence: Evidence) -> str | None:
    """Why what was not seen may have been."""
    if not evidence.complete:
        return f"no change was seen, but {_INCOMPLETE}"
    if unsure:
        return f"it may be the agent's own state: {_listed(unsure)}"
    if evidence.held is not None:
        return f"it may have had this file open to write from before: {text(evidence.held)}"
    if evidence.late:
        return f"its processes went on after it, and changed {_listed(sorted(evidence.late))}"
    return None


def _write_claimed(call: ToldCall, evidence: Evidence) -> Iterator[Check]:
    paths = claimed.written_paths(claimed.bare(call.tool), _given(call))
    yield from _path_claimed("write_claimed", paths, CHANGED, call, evidence)


def _read_claimed(call: ToldCall, evidence: Evidence) -> Iterator[Check]:
    paths = claimed.read_paths(claimed.bare(call.tool), _given(call))
    yield from _path_claimed("read_claimed", paths, READ, call, evidence)


def _path_claimed(
    rule: str, paths: Sequence[str], bits: int, call: ToldCall, evidence: Evidence
) -> Iterator[Check]:
    if not paths:
        return
    if why := _open_question(evidence):
        yield Check(rule, UNOBSERVED, why)
        return
    done = evidence.names(bits)
    missing = [path for path in paths if claimed.absolute(path, evidence.cwd) not in done]
    if not missing:
        names = [claimed.absolute(path, evidence.cwd) for path in paths]
        doubt = _doubt(names, call, evidence) if bits == CHANGED else None
        tried = [name for name in names if bits == CHANGED and not evidence.surely_changed(name)]
        if doubt is None and tried:
            yield Check(rule, UNOBSERVED, f"{_TRIED} write {_listed(tried)}")
        elif doubt is None:
            yield Check(rule, CONFIRMED, f"seen: {_listed(names)}")
        else:
            is_sure = doubt.is_sure and evidence.complete and not _has_failed(call)
            yield Check(rule, CONTRADICTED if is_sure else UNOBSERVED, doubt.says)
    elif bits == READ:
        yield Check(rule, UNOBSERVED, f"not seen to be opened: {', '.join(missing[:_SHOWN])}")
    elif why := _why_unsure(missing, done, call, evidence):
        yield Check(rule, UNOBSERVED, why)
    else:
        yield Check(rule, CONTRADICTED, f"not written: {', '.join(missing[:_SHOWN])}")


def _doubt(names: Sequence[bytes], call: ToldCall, evidence: Evidence) -> Doubt | None:
    """Whether one of the files is not as it is claimed."""
    tool, window = claimed.bare(call.tool), evidence.window
    if window is None:
        return None
    claim = WriteClaim(
        claimed.written_bytes(tool, _given(call)), tool in claimed.EDITING, tool not in claimed.REMOVING
    )
    found = (evidence.contents.doubt(name, window, claim) for name in names)
    return next((one for one in found if one is not None), None)


def _why_unsure(missing: Sequence[str], done: set[bytes], call: ToldCall, evidence: Evidence) -> str | None:
    """Why a file that was not seen to be written may have been written, or need not."""
    names = {path.rpartition(b"/")[2] for path in done}
    if any(claimed.absolute(path, evidence.cwd) in evidence.late for path in missing):
        return "it was written after its window"
    if not evidence.complete or _has_failed(call):
        return "the answer says that it failed" if evidence.complete else _INCOMPLETE
    if any(map(claimed.is_masked, missing)) or any(map(claimed.is_masked, done)):
        return "a path is masked"
    if any(not path.startswith("/") for path in missing):
        return "it is not known where a relative path begins"
    if any(claimed.absolute(path, "/").rpartition(b"/")[2] in names for path in missing):
        return "a file of that name was written, under another path"
    return None


def _command_claimed(call: ToldCall, evidence: Evidence) -> Iterator[Check]:
    rule, command = "command_claimed", claimed.command(claimed.bare(call.tool), _given(call))
    if command is None:
        return
    if why := _open_question(evidence):
        yield Check(rule, UNOBSERVED, why)
    elif found := _running(command, evidence):
        yield Check(rule, CONFIRMED, f"seen: {text(found[0].program)}")
    elif claimed.is_masked(command) or any(
        claimed.is_masked(word) for one in evidence.execs for word in one.argv
    ):
        yield Check(rule, UNOBSERVED, "a part of it is masked")
    elif not evidence.complete:
        yield Check(rule, UNOBSERVED, _INCOMPLETE)
    elif any(one.cut for one in evidence.execs):
        yield Check(rule, UNOBSERVED, "the arguments of a program are not all recorded")
    elif _has_failed(call):
        yield Check(rule, UNOBSERVED, "the answer says that it failed")
    elif claimed.resembles(command, evidence.execs):
        yield Check(rule, UNOBSERVED, "what was started is more than it, or another form of it")
    elif _has_old_shell(evidence):
        yield Check(rule, UNOBSERVED, "a shell that was there before may have been told to run it")
    else:
        yield Check(rule, CONTRADICTED, "no such program was started in its window")


def _exit_status_claimed(call: ToldCall, evidence: Evidence) -> Iterator[Check]:
    rule, command = "exit_status_claimed", claimed.command(claimed.bare(call.tool), _given(call))
    said = claimed.exit_claim(_answer(call)) if command is not None else None
    if command is None or said is None:
        return
    if why := _open_question(evidence):
        yield Check(rule, UNOBSERVED, why)
        return
    numbers = {one.process for one in _running(command, evidence)}
    codes = {evidence.processes.by_number[number].shell_code for number in numbers}
    if len(codes) != 1 or None in codes:
        yield Check(rule, UNOBSERVED, "how the command ended was not seen")
        return
    (code,) = codes
    agrees = said.failed == (code != 0) if said.code is None else said.code in {code, _signal_number(code)}
    words = ("failure" if said.failed else "success") if said.code is None else str(said.code)
    yield Check(rule, CONFIRMED if agrees else CONTRADICTED, f"it says {words}; it ended with {code}")


# --- what they ask ---------------------------------------------------------------------------------------


def is_read_only(call: ToldCall) -> bool:
    """By the server's own hint, else by the tool's name."""
    hint = call.decision.steno.read_only if call.decision is not None else None
    if hint is not None:
        return hint
    return claimed.bare(call.tool) in claimed.READING or claimed.bare(call.said_tool or "") in claimed.READING


def _said_input(call: ToldCall) -> Any:
    for line in call.said:
        if line.event_type == STARTED and line.steno is not None and line.steno.input is not None:
            return line.steno.input
    return None


def _given(call: ToldCall) -> Any:
    """What the tool was given, as the agent tells it, else as policy saw it."""
    said = _said_input(call)
    return call.decision.steno.arguments if said is None and call.decision is not None else said


def _answer(call: ToldCall) -> Any:
    for line in call.said:
        if line.event_type == COMPLETED and line.steno is not None:
            return line.steno.output
    return None


def _has_failed(call: ToldCall) -> bool:
    if call.decision is not None and call.decision.steno.outcome not in {None, "result"}:
        return True
    said = claimed.exit_claim(_answer(call))
    return said is not None and said.failed


def _running(command: str, evidence: Evidence) -> list[Exec]:
    root = None if evidence.window is None else evidence.window.process
    return claimed.running(command, evidence.execs, evidence.processes, root)


def _has_old_shell(evidence: Evidence) -> bool:
    window = evidence.window
    if window is None or window.process is None:
        return False
    return evidence.processes.has_shell_below(window.process, window.start_ns)


def _signal_number(code: int | None) -> int | None:
    """Programs say -9 where a shell says 137."""
    return 128 - code if code is not None and code > 128 else None  # noqa: PLR2004 - as shells do


def _listed(paths: Iterable[bytes]) -> str:
    found = [text(path) for path in paths]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


class Doubt(NamedTuple):
    says: str
    is_sure: bool  # it speaks against the claim, not only fails to bear it out


class WriteClaim(NamedTuple):
    """What a call says of each file that it wrote."""

    size: int | None = None  # how many bytes it has now
    is_edit: bool = False  # it is another than before
    stays: bool = False  # it is there


class Contents(NamedTuple):
    witnessed: Mapping[bytes, Sequence[Found]]
    behind: Mapping[bytes, Collection[bytes]]  # where names led that were asked for
    after: Mapping[bytes, After]
    origin_ns: int  # where the run's clock begins, in wall-clock time

    def tell_of_change(self, path: bytes, call: int) -> bool:
        """Whether what was found after a call did something there is not what was found before."""
        for place in {path, *self.behind.get(path, ())}:
            states = [*self.witnessed.get(place, ()), _at_end(self.after.get(place))]
            if any(one.call == call and one.differs(after) for one, after in pairwise(states)):
                return True
        return False

    def doubt(self, path: bytes, window: Window, claim: WriteClaim) -> Doubt | None:
        found = self.witnessed.get(path, ())
        inside = [one for one in found if window.start_ns <= one.at_ns < window.end_ns]
        state = self.after.get(path)
        if not inside or found[-1].at_ns >= window.end_ns or state is None:
            return None
        if state.exists is False:
            return Doubt(f"{text(path)} is not there at the end", is_sure=True) if claim.stays else None
        size = number(state.size)
        if state.kind != "file":
            return None
        if claim.size is not None and size is not None and size != claim.size:
            says = f"{text(path)} has {size} bytes at the end, and {claim.size} are claimed"
            return Doubt(says, is_sure=size == 0)
        if claim.stays and self._is_unchanged(inside[0], size, number(state.mtime_ns), claim):
            return Doubt(f"{text(path)} is the same before and after", is_sure=claim.is_edit)
        return None

    def _is_unchanged(self, before: Found, size: int | None, mtime_ns: int | None, claim: WriteClaim) -> bool:
        if size == 0 and claim.is_edit and (before.exists is False or before.size == 0):
            return True
        if None in {size, mtime_ns, before.size, before.mtime_ns}:
            return False
        was_old = (mtime_ns or 0) < self.origin_ns + before.at_ns - TICK_NS
        return was_old and (before.size, before.mtime_ns) == (size, mtime_ns)


def _at_end(state: After | None) -> Found:
    if state is None or state.exists is None:
        return Found(inf)
    return Found(
        inf,
        exists=state.exists,
        size=number(state.size),
        mtime_ns=number(state.mtime_ns),
        mode=state.mode or 0,
    )


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
    until_ns = joined.facts.end_ns if hook is None else hook.started_ns
    last = _last_tests(joined.processes, until_ns)
    agent = {_FIRST, *(() if hook is None else joined.processes.line(hook.process))}
    if last is None:
        if not joined.is_complete:
            why = "no tests were seen, but the kernel layer is not complete"
        elif _may_have_run_tests(joined.processes, until_ns, agent):
            why = "a program was run that may have run tests"
        else:
            return [Check(_TESTS, CONTRADICTED, f'it says "{words}"; no tests were run')]
        return [Check(_TESTS, UNOBSERVED, why)]
    if last.shell_code is None:
        return [Check(_TESTS, UNOBSERVED, "how the last tests ended was not seen")]
    result = CONTRADICTED if last.shell_code else CONFIRMED
    return [Check(_TESTS, result, f'it says "{words}"; the last tests ended with {last.shell_code}')]


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
