"""Moves every byte between the user and the command while it runs, and tells what it saw.

It forwards signals, follows window sizes and the job control of the user's shell, and ends when the command
has ended, the processes that it left have too or have had their time, and the streams are drained.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import time
from typing import Protocol

from steno.capture import terminal as terminals
from steno.capture.cgroup import DescendantWait
from steno.capture.launcher import ChildStatus, EventKind, Launcher
from steno.capture.signals import FORWARDED, Command, SignalPipe, default_action, in_foreground
from steno.capture.streams import (
    Channel,
    Inlet,
    Outlet,
    Poller,
    SplitReader,
    Wiring,
    leave_a_drain,
    open_reader,
    return_unread,
)

IDLE_SECONDS = 0.25
TICK_SECONDS = 1.0
# What is moved is written down once it pauses this long, or has gone on so long.
PAUSE_MS = 2
WRITE_DOWN_SECONDS = 0.1
# A program that writes line by line must not cost us a turn for each: that long it may go on alone.
TRICKLE_BYTES, TRICKLE_SECONDS = 512, 0.0005
# How long the streams of an ended command may stay open in other hands before we leave.
GRACE_SECONDS = 0.5
# The same where nobody of the run is left, and only the observer has still to tell of it and to let go.
OBSERVER_SECONDS = 10.0
# What stopped or ended has written no more than its terminal holds; others on it may go on writing.
MOVES_AT_A_STOP = 16

_FROM_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
_END_THE_WAIT = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)


class LoopRecorder(Protocol):
    def output(self, tape: str, data: bytes) -> None: ...
    def told(self, tape: str, mono_ns: int, data: bytes) -> None: ...
    def input(self, data: bytes, mode: terminals.InputMode) -> None: ...
    def status(self, record: ChildStatus) -> None: ...
    def resized(self, size: terminals.Size) -> None: ...
    def signalled(self, number: int, *, forwarded: bool) -> None: ...
    def sink_closed(self, tape: str, error: OSError) -> None: ...
    def held(self, tape: str) -> None: ...
    def stdin_unread(self, count: int, *, given_back: bool) -> None: ...
    def quiet(self) -> None: ...
    def idle(self) -> None: ...
    def tick(self) -> None: ...


class Loop:
    def __init__(
        self,
        launcher: Launcher,
        wiring: Wiring,
        recorder: LoopRecorder,
        awaited: DescendantWait | None = None,
    ) -> None:
        """`awaited`: whom to wait for when the command has ended."""
        self._launcher = launcher
        self._awaited = awaited
        self._leave_at: float | None = None  # the end of their time, once the command has ended
        self._wiring = wiring
        self._recorder = recorder
        self._outlets = {outlet.tape: self._open_outlet(outlet) for outlet in wiring.outlets}
        self._inlets = [self._open_inlet(inlet) for inlet in wiring.inlets]
        self._told = [] if wiring.split is None else [self._open_told(wiring.split)]
        self._command: Command | None = None
        self._closed: set[int] = set()
        self._relay_ends: dict[int, int] = {}  # a relay that was closed at the end of input -> its other end
        self._ended_at: float | None = None
        self._keeper_gone = False
        self._signals = SignalPipe()
        self._early_signals: list[int] = []
        self._poller = Poller()
        self._taken = 0
        self._was_little = False
        self._written_down_at = time.monotonic()
        self._moving: list[tuple[Channel, int, int]] = []  # what this turn of the loop waits for
        for fd in wiring.given_away:
            os.close(fd)

    def run(self) -> None:
        user = self._wiring.user
        try:
            if user is not None:
                user.enter()
            next_tick = time.monotonic() + TICK_SECONDS
            while not self._finished():
                ready = self._poll()
                self._serve(ready)
                self._wait_for_more()
                if not ready:
                    self._recorder.idle()
                    self._launcher.keep_going()
                if time.monotonic() >= next_tick:
                    self._recorder.tick()
                    self._launcher.keep_going()
                    next_tick = time.monotonic() + TICK_SECONDS
            self._report_leftovers()
        finally:
            if user is not None:
                user.leave()
            self._signals.close()
            self._close_everything()

    # --- the loop ----------------------------------------------------------------------------------

    def _poll(self) -> dict[int, int]:
        self._moving = [(channel, *wants) for channel in self._channels() if (wants := channel.wants())]
        watched: dict[int, int] = {}
        for _, fd, event in self._moving:
            watched[fd] = watched.get(fd, 0) | event  # a terminal is read and written on one descriptor
        if not self._keeper_gone:
            watched[self._launcher.status] = select.POLLIN
        watched[self._signals.fd] = select.POLLIN
        if self._awaited is not None and self._leave_at is not None:
            fd, events = self._awaited.descendants.changes
            watched[fd] = events
        ready = self._poller.poll(watched, PAUSE_MS)
        if not ready:
            self._write_down()  # a moment with nothing to move is the moment for it
            ready = self._poller.poll(watched, self._timeout_ms())
        elif time.monotonic() > self._written_down_at + WRITE_DOWN_SECONDS:
            self._write_down()
        return ready

    def _write_down(self) -> None:
        self._recorder.quiet()
        self._written_down_at = time.monotonic()

    def _wait_for_more(self) -> None:
        taken = sum(channel.taken for channel in self._outlets.values())
        little = 0 < taken - self._taken < TRICKLE_BYTES
        self._taken = taken
        if little and self._was_little:
            time.sleep(TRICKLE_SECONDS)
        self._was_little = little

    def _timeout_ms(self) -> float:
        seconds = IDLE_SECONDS
        if self._leave_at is not None:
            seconds = min(seconds, max(self._leave_at - time.monotonic(), 0.0))
        elif self._ended_at is not None:
            seconds = min(seconds, 0.02)
        return seconds * 1000

    def _serve(self, ready: dict[int, int]) -> None:
        if self._signals.fd in ready:
            for number in self._signals.read():
                self._on_signal(number)
        for channel, fd, _ in self._moving:
            if fd in ready:
                channel.move()
                self._notice(channel)
        if self._launcher.status in ready:
            self._read_status()
        user = self._wiring.user
        if user is not None and not user.foreground and self._ended_at is None:
            user.enter()  # `fg` tells nobody when the job was running already

    def _channels(self) -> list[Channel]:
        return [*self._outlets.values(), *self._told, *self._open_inlets()]

    def _open_inlets(self) -> list[Channel]:
        """Keys wait until the command has its terminal, and while another job of the user's has it."""
        user = self._wiring.user
        if self._command is None:
            return []
        pairs = zip(self._inlets, self._wiring.inlets, strict=True)
        return [one for one, inlet in pairs if user is None or inlet.source != user.fd or user.foreground]

    def _notice(self, channel: Channel) -> None:
        if channel.broken is not None:
            error, channel.broken = channel.broken, None
            self._on_broken_sink(channel, error)
        if channel.ended and channel in self._inlets:
            self._on_end_of_input(channel)

    def _finished(self) -> bool:
        if self._ended_at is None:
            return self._keeper_gone
        if self._leave_at is not None and not self._are_waited_out():
            return False
        if all(channel.ended for channel in (*self._outlets.values(), *self._told)):
            return True
        if time.monotonic() > self._ended_at + self._grace() and not self._someone_waits_for_the_end():
            self._move_what_is_there()  # we may have been kept from looking for longer than the grace
            return not any(channel.stalled for channel in self._outlets.values())
        return False

    def _are_waited_out(self) -> bool:
        """What the last of them wrote is still to be read: then the streams have their time from now on."""
        if self._awaited is None or self._leave_at is None:
            return True
        if self._awaited.descendants.populated():
            if time.monotonic() < self._leave_at:
                return False
        else:
            self._ended_at = time.monotonic()
        self._leave_at = None
        return True

    def _grace(self) -> float:
        if self._told and self._awaited is not None and not self._awaited.descendants.populated():
            return OBSERVER_SECONDS
        return GRACE_SECONDS

    def _someone_waits_for_the_end(self) -> bool:
        """A reader of a pipe waits for its end, and would bare as well: so do we."""
        return any(
            channel.sink is not None and not channel.ended and _is_pipe(channel.sink)
            for channel in self._outlets.values()
        )

    # --- what happens ------------------------------------------------------------------------------

    def _read_status(self) -> None:
        records = list(self._launcher.read_records())
        if not records:
            self._keeper_gone = True
        for record in records:
            if record.what == EventKind.STARTED:
                self._command = Command(record.value)
                early, self._early_signals = self._early_signals, []
                for number in early:
                    self._forward(number)
            self._recorder.status(record)
            if record.what == EventKind.STOPPED:
                self._stop_with_the_command()
            if record.what in {EventKind.ENDED, EventKind.NOT_STARTED}:
                self._on_end()

    def _on_end(self) -> None:
        self._ended_at = time.monotonic()
        self._begin_the_wait()
        if self._command is not None:
            self._command.close()
            self._command = None
        if self._wiring.terminal is not None:
            self._close(self._wiring.terminal.slave)  # now it reports its end once nobody else holds it
        for channel in self._inlets:
            channel.stop_reading()

    def _begin_the_wait(self) -> None:
        """The user's keys are the user's again: they are for the shell, and Control-C ends the wait."""
        if self._awaited is None or not self._awaited.seconds or not self._awaited.descendants.populated():
            return
        self._leave_at = time.monotonic() + self._awaited.seconds
        if self._wiring.user is not None:
            self._wiring.user.lend()

    def _on_signal(self, number: int) -> None:
        if number in _END_THE_WAIT and self._leave_at is not None:
            self._leave_at = 0.0
        if number == signal.SIGWINCH:
            self._follow_size()
        elif number == signal.SIGCONT:
            self._continue_with_the_user()
        elif number in FORWARDED:
            self._forward(number)

    def _forward(self, number: int) -> None:
        if self._command is None and self._ended_at is None:
            self._early_signals.append(number)  # it will be there in a moment
            return
        wanted = not self._keyboard_told_the_command(number)
        forwarded = wanted and self._command is not None and self._command.send(number)
        self._recorder.signalled(number, forwarded=forwarded)

    def _keyboard_told_the_command(self, number: int) -> bool:
        """Without a terminal of its own the command is in our group, and the kernel told all of it."""
        if self._wiring.terminal is not None or number not in _FROM_THE_KEYBOARD:
            return False
        return in_foreground()

    def _follow_size(self) -> None:
        user, pty = self._wiring.user, self._wiring.terminal
        if user is None or pty is None:
            return
        size = user.size()
        if size != terminals.size_of(pty.master):
            terminals.set_size(pty.master, size)
            self._recorder.resized(size)

    def _stop_with_the_command(self) -> None:
        """Control-Z stopped the command inside; stop as well, so that the user's shell takes over."""
        user = self._wiring.user
        if user is None or not user.foreground:
            return
        self._move_what_is_there()  # it is not for a terminal that ends lines once more
        user.leave()
        with default_action(signal.SIGTSTP):
            os.killpg(os.getpgrp(), signal.SIGTSTP)
        self._continue_with_the_user()

    def _move_what_is_there(self) -> None:
        for channel in (*self._outlets.values(), *self._told):
            for _ in range(MOVES_AT_A_STOP):
                if channel.stalled or not channel.move():
                    break
            self._notice(channel)

    def _continue_with_the_user(self) -> None:
        user = self._wiring.user
        if user is None or self._ended_at is not None:
            return
        user.enter()
        self._follow_size()
        if self._command is not None:
            self._command.continue_group()

    def _on_broken_sink(self, channel: Channel, error: OSError) -> None:
        if channel in self._inlets:
            channel.stop_reading()  # the command closed its stdin
            return
        self._recorder.sink_closed(channel.name, error)
        if self._wiring.terminal is None and channel.source is not None:
            self._launcher.end_outputs()
            self._close(channel.source)  # the command meets the end of its output itself, as it would bare
            channel.stop_reading()

    def _on_end_of_input(self, channel: Channel) -> None:
        inlet = self._wiring.inlets[self._inlets.index(channel)]
        if channel.sink is None:
            return
        if inlet.is_terminal:
            if self._ended_at is None and self._wiring.user is None:
                channel.push(terminals.end_of_input(inlet.sink))
                channel.move()
            channel.sink = None
        else:
            self._relay_ends[inlet.sink] = open_reader(inlet.sink)
            self._close(inlet.sink)
            channel.sink = None

    def _report_leftovers(self) -> None:
        held = {tape: channel for tape, channel in self._outlets.items() if not channel.ended}
        for tape in held:
            self._recorder.held(tape)
        ways = [(c.source, c.sink) for c in held.values() if c.source is not None and c.sink is not None]
        if ways and self._wiring.terminal is None:
            leave_a_drain(ways)
        for inlet, channel in zip(self._wiring.inlets, self._inlets, strict=True):
            if not inlet.is_terminal:
                relay = self._relay_ends.get(inlet.sink, inlet.sink)
                unread = return_unread(inlet.source, relay, channel.backlog)
                if unread.left:
                    self._recorder.stdin_unread(unread.left, given_back=unread.given_back)

    # --- beginnings and ends -----------------------------------------------------------------------

    def _open_outlet(self, outlet: Outlet) -> Channel:
        return Channel(
            outlet.tape, outlet.source, outlet.sink, lambda data: self._recorder.output(outlet.tape, data)
        )

    def _open_told(self, source: int) -> Channel:
        return Channel("split", source, None, SplitReader(self._recorder.told).feed)

    def _open_inlet(self, inlet: Inlet) -> Channel:
        def observe(data: bytes) -> None:
            mode = terminals.input_mode(inlet.sink) if inlet.is_terminal else terminals.InputMode.SHOWN
            self._recorder.input(data, mode)

        return Channel("stdin", inlet.source, inlet.sink, observe, observe_first=True)

    def _close_everything(self) -> None:
        ours = {outlet.source for outlet in self._wiring.outlets} | {
            inlet.sink for inlet in self._wiring.inlets
        }
        if self._wiring.terminal is not None:
            ours |= set(self._wiring.terminal)
        if self._wiring.split is not None:
            ours.add(self._wiring.split)
        for fd in (ours - self._closed) | set(self._relay_ends.values()):
            self._close(fd)

    def _close(self, fd: int) -> None:
        os.close(fd)
        self._closed.add(fd)


def _is_pipe(fd: int) -> bool:
    kind = os.fstat(fd).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)
