"""`steno mcp wrap`: a server on stdin and stdout, started by us, with a policy before it.

Who does not read is waited for, and then the other side is not read any further: memory stays bounded, and
what would not stand still without us does not with us. Nothing is printed to stdout: it belongs to the
protocol.
"""

from __future__ import annotations

import os
import secrets
import select
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue

from steno.capture.signals import FORWARDED, SignalPipe
from steno.lines import MAX_LINE, LineSplitter, LineTooLongError
from steno.mcp.approval import ApprovalQueue
from steno.mcp.decision_log import DecisionLog
from steno.mcp.messages import ClientMessage
from steno.mcp.policy.policy import Approval, Policy
from steno.mcp.protocol import INVALID_REQUEST
from steno.mcp.session import Answer, ApprovalRequest, Forward, Session
from steno.mcp.stdio.pipes import NonBlockingWriter
from steno.mcp.stdio.server_process import ExitStatus, ServerProcess

SOURCE = "steno.mcp.wrap"
ENOUGH = 1 << 20  # so much may wait for a reader before its writer has to wait
SILENCE = 1.0  # of a server that has ended, while somebody else still holds its output
_BLOCK = 1 << 16  # what a pipe holds
_TOO_LARGE = ClientMessage("refused", problem="message_too_large", code=INVALID_REQUEST)
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


def run(
    policy: Policy, words: Sequence[str], *, label: str, log: DecisionLog, environ: Mapping[str, str]
) -> int:
    """The server's exit status. Whatever happens here, the server does not outlive it, and the log says how
    the connection closed."""
    server = ServerProcess(words, environ)
    try:
        session = Session(
            policy,
            log,
            label=label,
            source=SOURCE,
            connection=secrets.token_hex(8),
            server_process=server.key,
        )
        try:
            relay = Relay(session, server, policy.approval)
            ended = relay.run()
            if relay.client_left_first:
                session.client_gone(ended.code, ended.signal)
            else:
                session.server_gone(ended.code, ended.signal)
            return ended.status
        finally:
            session.close("proxy_failed")
    finally:
        server.close()


class Relay:
    def __init__(self, session: Session, server: ServerProcess, approval: Approval | None) -> None:
        self._session = session
        self._server = server
        self._approvals = _Approvals(approval)
        self._client_in = 0
        self._to_client = NonBlockingWriter(1)
        self._to_server = NonBlockingWriter(server.stdin, own=True)
        self._from_client, self._from_server = LineSplitter(), LineSplitter()
        self._client_done = self._stdin_closed = self._server_done = False
        self._server_line_ended = True
        self._silent_at: float | None = None
        self._signals = SignalPipe()
        self._watcher = select.poll()
        self._watched: dict[int, int] = {}
        self._handlers: dict[int, Callable[[int], None]] = {
            self._client_in: self._read_client,
            self._to_client.fd: self._client_reads,
            server.stdout: self._read_server,
            server.stdin: self._server_reads,
            server.ended: self._server_ended,
            self._signals.fd: self._pass_signals_on,
            self._approvals.ready: self._take_approvals,
        }

    def run(self) -> ExitStatus:
        """Until the server has ended and the client has what is for it, or has gone."""
        try:
            while True:
                self._progress()
                if self._server_done and self._server.exit and not self._to_client.waiting:
                    return self._server.exit
                self._watch()
                for fd, events in self._watcher.poll(self._patience()):
                    if fd in self._watched:  # not closed by what was handled before it
                        self._handlers[fd](events)
        finally:
            self._signals.close()
            self._to_client.close()

    @property
    def client_left_first(self) -> bool:
        return self._client_done

    # --- what is waited for ----------------------------------------------------------------------------

    def _watch(self) -> None:
        reads_client = (
            not self._client_done
            and not self._server_done
            and self._to_server.waiting < ENOUGH
            and self._to_client.waiting < MAX_LINE
        )
        wanted = {
            self._client_in: select.POLLIN if reads_client else None,
            self._server.stdout: (
                select.POLLIN if not self._server_done and self._to_client.waiting < ENOUGH else None
            ),
            self._to_client.fd: (
                None if self._to_client.is_broken else select.POLLOUT if self._to_client.waiting else 0
            ),
            self._server.ended: select.POLLIN if self._server.exit is None else None,
            self._signals.fd: select.POLLIN,
            self._approvals.ready: select.POLLIN,
        }
        if not self._stdin_closed:
            wanted[self._to_server.fd] = select.POLLOUT if self._to_server.waiting else None
        for fd, events in wanted.items():
            self._watch_one(fd, events)

    def _watch_one(self, fd: int, events: int | None) -> None:
        if events is None:
            if self._watched.pop(fd, None) is not None:
                self._watcher.unregister(fd)
        elif self._watched.get(fd) != events:
            self._watcher.register(fd, events)
            self._watched[fd] = events

    def _patience(self) -> float | None:
        """In milliseconds, as poll(2) wants it."""
        deadlines = [at for at in (self._server.next_signal_at, self._silent_at) if at is not None]
        return max(0.0, min(deadlines) - time.monotonic()) * 1000 + 1 if deadlines else None

    def _progress(self) -> None:
        """What follows from the state of things, whatever changed it."""
        if self._to_client.is_broken:
            self._client_done = True
        if self._to_server.is_broken:  # it does not listen any more, so it is of no use
            self._server.terminate()
        if self._client_done and not self._to_server.waiting and not self._session.awaits_approval:
            self._close_stdin()
            if not self._session.is_waiting or self._to_client.is_broken:
                self._server.terminate()
        self._server.send_due_signal()
        if self._silent_at is not None and time.monotonic() >= self._silent_at:
            self._end_silence()

    # --- handlers --------------------------------------------------------------------------------------

    def _read_client(self, _events: int) -> None:
        block = _read(self._client_in)
        if block is None:
            return
        for line in self._from_client.feed(block):
            self._handle_client(line)
        if not block:
            if rest := self._from_client.rest():
                self._handle_client(rest)
            self._client_done = True

    def _handle_client(self, line: bytes | LineTooLongError) -> None:
        if isinstance(line, LineTooLongError):
            self._act(self._session.refuse(_TOO_LARGE, "message_too_large", INVALID_REQUEST, str(line)))
        else:
            self._act(self._session.from_client(line))

    def _act(self, step: Forward | Answer | ApprovalRequest) -> None:
        if isinstance(step, Forward):
            self._tell_server(step.data, partial(self._session.given, step.call))
        elif isinstance(step, ApprovalRequest):
            self._approvals.ask(step)
        elif step.data is not None:
            self._to_client.push(step.data)

    def _tell_server(self, line: bytes, on_write: Callable[[], None] | None = None) -> None:
        """What was approved late may come after the client's last line, which needs no end of its own."""
        self._to_server.push(line if self._server_line_ended else b"\n" + line, on_write)
        self._server_line_ended = line.endswith(b"\n")

    def _client_reads(self, events: int) -> None:
        if events & _GONE:
            self._to_client.give_up()
        else:
            self._to_client.flush()

    def _server_reads(self, _events: int) -> None:
        self._to_server.flush()

    def _read_server(self, _events: int) -> None:
        block = _read(self._server.stdout)
        if block is None:
            return
        if self._silent_at is not None:
            self._silent_at = time.monotonic() + SILENCE
        for line in self._from_server.feed(block):
            if isinstance(line, LineTooLongError):
                self._session.noticed("server_frame_too_large", str(line))
                self._server.kill()
                self._finish_server()
                return
            self._handle_server(line)
        if not block:
            self._finish_server()

    def _handle_server(self, line: bytes) -> None:
        self._to_client.push(self._session.from_server(line))
        for answer in self._session.for_server():
            self._tell_server(answer)

    def _end_silence(self) -> None:
        """It was silent, or nobody listened: the client does not read, or we were kept from reading."""
        if self._to_client.waiting >= ENOUGH:
            self._silent_at = time.monotonic() + SILENCE
        elif select.select([self._server.stdout], [], [], 0)[0]:
            self._read_server(select.POLLIN)
        else:
            self._finish_server()

    def _finish_server(self) -> None:
        """Nothing more comes from it."""
        self._silent_at = None
        self._server_done = True
        if rest := self._from_server.rest():
            self._handle_server(rest)
        for error in self._session.unanswered("client_gone" if self._client_done else "server_gone"):
            self._to_client.push(error)
        self._close_stdin()
        self._server.terminate()

    def _server_ended(self, _events: int) -> None:
        if self._server.poll() is not None and not self._server_done:
            self._silent_at = time.monotonic() + SILENCE

    def _pass_signals_on(self, _events: int) -> None:
        for number in self._signals.read():
            if number in FORWARDED:
                self._server.send(number)

    def _take_approvals(self, _events: int) -> None:
        for step in self._approvals.take():
            self._act(step)

    def _close_stdin(self) -> None:
        if not self._stdin_closed:
            self._stdin_closed = True
            self._watch_one(self._to_server.fd, None)
            self._to_server.give_up()
            self._server.close_stdin()


class _Approvals:
    """Questions whose answers wake the loop, so that other messages pass while somebody thinks."""

    def __init__(self, approval: Approval | None) -> None:
        self._queue = ApprovalQueue(approval)
        self._answers: SimpleQueue[tuple[ApprovalRequest, bool]] = SimpleQueue()
        self.ready, self._wake = os.pipe()

    def ask(self, request: ApprovalRequest) -> None:
        self._queue.ask(request, partial(self._answered, request))

    def take(self) -> list[Forward | Answer]:
        """What follows from the answers that have come."""
        os.read(self.ready, 4096)
        taken: list[Forward | Answer] = []
        while True:
            try:
                request, approved = self._answers.get_nowait()
            except Empty:
                return taken
            taken.append(request.then(approved))

    def _answered(self, request: ApprovalRequest, approved: bool) -> None:
        self._answers.put((request, approved))
        os.write(self._wake, b".")


def _read(fd: int) -> bytes | None:
    """None: nothing after all. What cannot be read any more has ended."""
    try:
        return os.read(fd, _BLOCK)
    except BlockingIOError:
        return None
    except OSError:
        return b""
