"""The HTTP server of the site: on loopback only, for pages that came from it."""

from __future__ import annotations

import secrets
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any

from steno.errors import StoreError
from steno.site import messages
from steno.site.messages import METHODS, HttpError, Request, Response, check
from steno.text.safe import visible

MOST_CONNECTIONS = 64
LONGEST_HEAD = 16 << 10
HEAD_SECONDS = 10.0
SEND_SECONDS = 30.0
_ROOM_SECONDS = 1.0  # until one that was let go has gone
_ADDRESSES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_END_OF_HEAD = b"\r\n\r\n"
_TOKEN_BYTES = 24
_VERSION = "HTTP/1.1"
_WITHOUT_HEAD = "HTTP/0.9"  # what cannot be read is taken for that, and would get no status

Answering = Callable[[Request], Response]


class Server:
    """The site, listening until it is closed."""

    def __init__(self, answering: Answering, port: int) -> None:
        self._answering = answering
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._lock = threading.Lock()
        self._awaited: dict[socket.socket, None] = {}  # connections without a whole request, oldest first
        self._servers = list(self._listening(port))
        self._over, self._wake = socket.socketpair()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def port(self) -> int:
        found: int = self._servers[0].server_address[1]
        return found

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def close(self) -> None:
        self._wake.close()
        self._accepting.join()
        for server in self._servers:
            server.server_close()
        self._over.close()

    def answer(self, method: str, target: str, headers: Any) -> Response:
        try:
            return self._answering(check(method, target, headers, port=self.port, token=self.token))
        except HttpError as refused:
            return messages.plain(refused.status, str(refused))
        except Exception as error:  # noqa: BLE001 - a fault of ours is an answer, too
            says = f"the site failed at this: {type(error).__name__}"
            print(f"steno: {visible(f'{says}: {error}')}", file=sys.stderr)
            return messages.plain(HTTPStatus.INTERNAL_SERVER_ERROR, says)

    @contextmanager
    def asking(self, connection: socket.socket) -> Iterator[None]:
        """While its request is awaited."""
        with self._lock:
            self._awaited[connection] = None
        try:
            yield
        finally:
            with self._lock:
                self._awaited.pop(connection, None)

    def let_one_go(self) -> None:
        """Whoever has waited longest without a whole request makes room for the next."""
        with self._lock:
            oldest = next(iter(self._awaited), None)
            if oldest is not None:
                del self._awaited[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._over, selectors.EVENT_READ)
            for server in self._servers:
                ready.register(server, selectors.EVENT_READ, server)
            while True:
                for key, _ in ready.select():
                    if key.data is None:
                        return
                    key.data.handle_request()

    def _listening(self, port: int) -> Iterator[_HttpServer]:
        for family, address in _ADDRESSES:
            try:
                server = _HttpServer(self, self._room, family, (address, port))
            except OSError as error:
                if (
                    family == socket.AF_INET6
                ):  # not every machine has it, and the printed address is the other one
                    continue
                raise StoreError(
                    f"cannot listen on {address} port {port}: {error.strerror}",
                    hint="choose another port with --port N, or leave it to us",
                ) from error
            port = server.server_address[1]
            yield server


class _HttpServer(ThreadingHTTPServer):
    timeout = 0  # somebody may have gone before we come to accept them
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(
        self, serving: Server, room: threading.BoundedSemaphore, family: int, address: tuple[str, int]
    ) -> None:
        self.address_family = family
        self.serving = serving
        self._room = room
        super().__init__(address, _Connection)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.serving.let_one_go()
            if not self._room.acquire(timeout=_ROOM_SECONDS):
                self.shutdown_request(request)
                return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's concern; what we did wrong is told by the answer."""


class _Connection(BaseHTTPRequestHandler):
    server: _HttpServer
    protocol_version = _VERSION

    def handle(self) -> None:
        self.close_connection = True
        self.command, self.requestline, self.request_version = "", "", _VERSION  # until it is known
        with self.server.serving.asking(self.connection):
            head = _read_head(self.connection)
        self.connection.settimeout(SEND_SECONDS)
        if head is None:
            self._send(
                messages.plain(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "no request came, or too long a one"
                )
            )
            return
        self.rfile = BytesIO(head)
        self.raw_requestline = self.rfile.readline(LONGEST_HEAD)
        if self.parse_request():
            self._send(self.server.serving.answer(self.command, self.path, self.headers))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002 - as it is called
        self._send(messages.plain(HTTPStatus(code), HTTPStatus(code).phrase))

    def version_string(self) -> str:
        return "steno"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called
        """The address in the log would have the token."""

    def _send(self, answer: Response) -> None:
        if self.request_version == _WITHOUT_HEAD:
            self.request_version = _VERSION
        try:
            self._send_head(answer)
            if self.command != "HEAD":
                self._send_blocks(answer)
        finally:
            if isinstance(answer.blocks, Generator):  # it may be in the middle of something
                answer.blocks.close()
            answer.release()

    def _is_chunked(self, answer: Response) -> bool:
        return answer.length is None and self.request_version == _VERSION

    def _send_head(self, answer: Response) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", ", ".join(METHODS))
        if answer.length is not None:
            self.send_header("Content-Length", str(answer.length))
        elif self._is_chunked(answer):
            self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()

    def _send_blocks(self, answer: Response) -> None:
        """A transfer that breaks off does not get its end, so that nobody takes half for the whole."""
        left, chunked = answer.length, self._is_chunked(answer)
        for block in answer.blocks:
            data = block if left is None else block[:left]
            left = None if left is None else left - len(data)
            if data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")


def _read_head(connection: socket.socket) -> bytes | None:
    """Up to the empty line; None when it does not come in time, or is too long."""
    deadline = time.monotonic() + HEAD_SECONDS
    head = b""
    while _END_OF_HEAD not in head:
        left = deadline - time.monotonic()
        if left <= 0 or len(head) > LONGEST_HEAD:
            return None
        connection.settimeout(left)
        try:
            block = connection.recv(LONGEST_HEAD)
        except OSError:
            return None
        if not block:
            return None
        head += block
    whole = head[: head.index(_END_OF_HEAD) + len(_END_OF_HEAD)]
    return whole if len(whole) <= LONGEST_HEAD else None
