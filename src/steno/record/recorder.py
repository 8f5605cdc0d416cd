"""Writes into the spool what the loop sees; a failing disk never reaches the command.

What cannot be written is counted, and told as gaps at the end. What is typed while the terminal does not
echo is masked here, because only here is it known how it was typed. The cgroup of the run and the probe
that watches it are told of here too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from steno.bundle.spool import Spool
from steno.bundle.stream_writer import StreamWriter
from steno.capture.cgroup import (
    DescendantWait,
    ReapedChildren,
    Refusal,
    Scope,
    make_scope,
    process_names,
    sweep_beside,
)
from steno.capture.git.types import Skip
from steno.capture.launcher import ChildStatus, EventKind, Launcher
from steno.capture.observer import READY, InScope, Observer, fit_to_scope, start_probe, state_of
from steno.capture.streams import Wiring
from steno.capture.terminal import InputMode, Size
from steno.evidence import kinds, layout
from steno.evidence.kinds import EventData, LeftProcess, Split
from steno.evidence.linux_numbers import signal_name
from steno.record.gaps import EVENTS_LOST, OUTLIVED, split_hole
from steno.redact.findings import Findings

CANNOT_EXECUTE, NOT_FOUND, SIGNAL_BASE = 126, 127, 128
TYPED_WITHOUT_ECHO = "typed-without-echo"
TYPED_KEY_BY_KEY = "typed-key-by-key"
# Control keys stay: they are not what a password is made of, and they keep the record readable.
_CONTROL_KEYS = {*range(0x20), 0x7F}
_MASKED_KEYS = bytes(byte if byte in _CONTROL_KEYS else ord("*") for byte in range(256))
_NORMAL_SKIPS = {"NOT_A_GIT_REPO", "BARE_REPOSITORY", "GIT_MISSING"}


class Recorder:
    def __init__(
        self, spool: Spool, wiring: Wiring, findings: Findings, learn: Callable[[bytes], None]
    ) -> None:
        """`learn` is told each secret that shows itself as one by how it is typed."""
        self._spool = spool
        self._learn = learn
        self._findings = findings
        self._tapes = {tape: spool.stream(tape) for tape in wiring.recorded}
        self._told_bytes = {layout.STDOUT: 0, layout.STDERR: 0} if wiring.split is not None else {}
        self._split: Split | None = None
        self._beside = _beside(self._tapes, set(self._told_bytes))
        self._hidden = b""  # what was typed since the last line and not shown
        self._told_total = 0
        self._next_tally_ns = 0
        self._lost_events = 0
        self.gaps: list[kinds.Gap] = []
        self.exit_code: int | None = None
        self.ended = False
        self.started = False
        self.not_started: str | None = None
        self.probe: str | None = None  # its state, where one was wanted
        self.swallowed_input = 0
        self.unwritten: dict[str, str] = {}  # a tape whose bytes did not reach the user, and why

    # --- what the loop tells -----------------------------------------------------------------------

    def output(self, tape: str, data: bytes) -> None:
        self._append(tape, self._spool.now(), data)

    def told(self, tape: str, mono_ns: int, data: bytes) -> None:
        """What a program wrote on the terminal, and when; the terminal itself is another tape."""
        self._told_bytes[tape] += len(data)
        self._append(tape, mono_ns, data)

    def input(self, data: bytes, mode: InputMode) -> None:
        if mode is not InputMode.SHOWN:
            self._note_hidden(data, TYPED_WITHOUT_ECHO if mode is InputMode.HIDDEN_LINE else TYPED_KEY_BY_KEY)
            data = data.translate(_MASKED_KEYS)
        self._append(layout.STDIN, self._spool.now(), data)

    def _append(self, tape: str, mono_ns: int, data: bytes) -> None:
        for other in self._beside[tape]:
            other.end_moment()
        self._tapes[tape].append(mono_ns, data)

    def status(self, record: ChildStatus) -> None:
        match record.what:
            case EventKind.STARTED:
                self.started = True
                self.event(kinds.CommandStarted(record.value, self._spool.moment(record.at_ns)))
            case EventKind.NOT_STARTED:
                self._on_not_started(record.value)
            case EventKind.STOPPED:
                self.event(kinds.CommandStopped(signal_name(record.value)))
            case EventKind.CONTINUED:
                self.event(kinds.CommandContinued())
            case EventKind.ENDED:
                self._on_ended(record)
            case EventKind.OBSERVED:
                if record.value:
                    self.gap("observer_failed", f"the kernel refused the filter: {os.strerror(record.value)}")
            case EventKind.PROBE:
                self.probe = state_of(record.value)
                self.event(kinds.ProbeState(self.probe))
            case EventKind.RELEASED:
                """The launcher has let go; whoever released it counts what is left."""

    def resized(self, size: Size) -> None:
        self.event(kinds.TerminalResized(size.cols, size.rows))

    def signalled(self, number: int, *, forwarded: bool) -> None:
        self.event(kinds.RecorderSignalled(signal_name(number), forwarded))

    def sink_closed(self, tape: str, error: OSError) -> None:
        reason = error.strerror or str(error)
        self.event(kinds.StreamClosed(layout.shown(tape), reason))
        if reason not in kinds.READER_LEFT:
            self.unwritten[tape] = reason

    def held(self, tape: str) -> None:
        self.event(kinds.TerminalHeld(layout.shown(tape)))
        self.gap(
            "terminal_held",
            f"{layout.shown(tape)}: another process held it when the command ended; "
            "what it writes later is not recorded",
        )

    def stdin_unread(self, count: int, *, given_back: bool) -> None:
        self.event(kinds.StdinUnread(count, given_back))
        if not given_back:
            self.swallowed_input = count

    def quiet(self) -> None:
        for tape in self._tapes.values():
            tape.flush()

    def idle(self) -> None:
        self._spool.settle()

    def tick(self) -> None:
        """Rarer as the run grows older, so that a run that masks all day does not fill its events."""
        if self._spool.now() >= self._next_tally_ns:
            self._next_tally_ns = 2 * self._spool.now()
            self.tally()

    # --- what the recorder tells -------------------------------------------------------------------

    def event(self, data: EventData) -> None:
        if isinstance(data, kinds.KernelObserved):
            self._split = data.split
        try:
            self._spool.event(data)
        except OSError:
            self._lost_events += 1

    def gap(self, reason: str, detail: str, lost_bytes: int | None = None) -> None:
        gap = kinds.Gap(reason, detail, lost_bytes)
        self.gaps.append(gap)
        self.event(gap)

    @property
    def refused_by_probe(self) -> str | None:
        """The state of a probe without which the command was not to be started."""
        given_up = not self.started and self.not_started is None and self.probe != READY
        return self.probe if given_up else None

    def note_skip(self, skip: Skip) -> None:
        if skip.reason not in _NORMAL_SKIPS:
            self.gap("repo_before_unknown", f"{skip.reason}: {skip.detail}")

    @contextmanager
    def tolerating_losses(self) -> Iterator[None]:
        """The command has run or is about to: a file of ours that cannot be written is a gap."""
        try:
            yield
        except OSError as error:
            self.gap("repo_not_kept", f"{error.strerror}")

    def tally(self) -> None:
        """Keep what has been masked so far; a run that is killed has at least this."""
        if self._findings.total != self._told_total:
            self._told_total = self._findings.total
            self.event(kinds.RedactionTally(msgspec.convert(self._findings.snapshot(), kinds.Tally)))

    def close_tapes(self) -> None:
        if self._hidden:
            self._tell_hidden(TYPED_KEY_BY_KEY)
        for tape in self._tapes.values():
            tape.close()

    def declare_losses(self) -> None:
        for tape in self._tapes.values():
            if tape.failure is not None:
                self.gap(
                    "stream_lost", f"{layout.shown(tape.name)}: {tape.failure.strerror}", tape.lost_bytes
                )
            elif tape.was_changed:
                self.gap(
                    "stream_lost",
                    f"{layout.shown(tape.name)}: somebody else changed its file",
                    tape.lost_bytes,
                )
        self._compare_split()
        if self._spool.clock_went_back:
            self.gap("clock_disturbed", "the clock of the recorder went back: times are not to be relied on")
        if self._lost_events:
            self.gap(EVENTS_LOST.reason, EVENTS_LOST.says(self._lost_events))
        if not self.ended:
            self.gap("exit_status_unknown", "the process that waited for the command was killed")

    # --- details -----------------------------------------------------------------------------------

    def _on_not_started(self, number: int) -> None:
        self.not_started = os.strerror(number)
        self.event(kinds.CommandNotStarted(number, self.not_started))
        self._finish(kinds.CommandFinished(NOT_FOUND if number == errno.ENOENT else CANNOT_EXECUTE))

    def _on_ended(self, record: ChildStatus) -> None:
        state = record.value
        signalled = os.WIFSIGNALED(state)
        self._finish(
            kinds.CommandFinished(
                exit_code=SIGNAL_BASE + os.WTERMSIG(state) if signalled else os.WEXITSTATUS(state),
                signal=signal_name(os.WTERMSIG(state)) if signalled else None,
                core_dumped=signalled and os.WCOREDUMP(state),
                user_us=record.user_us,
                system_us=record.system_us,
                max_rss_kib=record.max_rss_kib or None,
                at_ns=self._spool.moment(record.at_ns),
            )
        )

    def _finish(self, finished: kinds.CommandFinished) -> None:
        self.ended = True
        self.exit_code = finished.exit_code
        self.event(finished)

    def _compare_split(self) -> None:
        """What the observer wrote on the terminal is what it told us, or stdout and stderr have a hole."""
        if not self._told_bytes:
            return
        if self._split is None:
            self.gap("streams_not_split", "no observer told which stream the terminal's bytes belong to")
            return
        written = {layout.STDOUT: self._split.stdout + self._split.tty, layout.STDERR: self._split.stderr}
        missing = sum(written.values()) - sum(self._told_bytes.values())
        if written != self._told_bytes:
            self.gap("split_incomplete", "not every byte of stdout and stderr was told", max(missing, 0))
        if self._split.unwatched or self._split.unattributed:
            self.gap("split_incomplete", split_hole(self._split.unwatched, self._split.unattributed))

    def _note_hidden(self, data: bytes, rule: str) -> None:
        """One finding a line. A line at a password prompt is a secret wherever it shows up again."""
        self._hidden += data
        if b"\r" in data or b"\n" in data:
            if rule == TYPED_WITHOUT_ECHO:
                self._learn(self._hidden.strip(b"\r\n"))
            self._tell_hidden(rule)

    def _tell_hidden(self, rule: str) -> None:
        self._findings.add(layout.shown(layout.STDIN), rule, self._hidden.strip(b"\r\n"))
        self._hidden = b""


def _beside(tapes: Mapping[str, StreamWriter], told: set[str]) -> dict[str, list[StreamWriter]]:
    """By tape, those of the same timeline: what the observer told apart is another than what was shown."""
    return {
        name: [tape for other, tape in tapes.items() if other != name and (other in told) == (name in told)]
        for name in tapes
    }


MAX_TOLD, SHOWN = 100, 5


class RunScope:
    def __init__(self, run_id: str, observer: Observer, environ: Mapping[str, str]) -> None:
        """Make the cgroup, and start the probe if one is wanted. An error when one is insisted on."""
        sweep_beside()
        self._made = make_scope(run_id)
        self._channel: int | None = None
        self._children: ReapedChildren | None = None
        try:
            self.observer = fit_to_scope(observer, self._made)
            if self.observer.probe is not None and isinstance(self._made, Scope):
                self._channel = start_probe(self.observer.probe, self._made.fd, environ)
        except BaseException:
            self.close()
            raise

    def event(self) -> kinds.CgroupScope:
        match self._made:
            case Refusal(reason, detail):
                return kinds.CgroupScope(reason=reason, detail=detail)
            case made:
                return kinds.CgroupScope(hierarchy=made.kind, path=made.path, cgroup_id=made.cgroup_id)

    def for_launch(self) -> InScope:
        return InScope(self._made.fd if isinstance(self._made, Scope) else None, self._channel)

    def launched(self) -> None:
        """steno-trace has the probe's socket; as long as we held it too, it would not see its end."""
        if self._channel is not None:
            os.close(self._channel)
            self._channel = None

    def awaited(self, launcher: Launcher, seconds: float) -> DescendantWait:
        if isinstance(self._made, Scope):
            return DescendantWait(self._made, seconds)
        self._children = ReapedChildren(launcher.pid)
        return DescendantWait(self._children, seconds)

    def end(self, recorder: Recorder) -> None:
        """Tell who is left. A cgroup that cannot be removed is not taken for empty."""
        if isinstance(self._made, Refusal):
            return
        left = self._made.end()
        named = [LeftProcess(pid, name) for pid, name in process_names(left.processes[:MAX_TOLD])]
        recorder.event(
            kinds.CgroupEnded(
                empty=left.removed and not left.processes,
                removed=left.removed,
                left=named,
                left_count=len(left.processes),
            )
        )
        if left.processes or not left.removed:
            who = ", ".join(f"{one.name} ({one.pid})" for one in named[:SHOWN])
            more = " …" if len(left.processes) > SHOWN else ""
            count = OUTLIVED.says(len(left.processes))
            recorder.gap(OUTLIVED.reason, f"{count}: {who}{more}" if who else count)

    def close(self) -> None:
        """Leaves nothing behind, also when the run never began."""
        self.launched()
        if self._children is not None:
            self._children.close()
            self._children = None
        if isinstance(self._made, Scope):
            self._made.end()
            self._made.close()
            self._made = Refusal("failed", "it was closed")
