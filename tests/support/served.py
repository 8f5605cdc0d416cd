"""The site over a store, in this process, and a client that says exactly what it is told to."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

from steno.site.pages import Site
from steno.site.server import Server

SECONDS = 60.0


class Said(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    def __init__(self, serving: Server) -> None:
        self.serving = serving
        self.port = serving.port

    def path(self, path: str) -> str:
        return f"/{self.serving.token}/{path}"

    def get(self, path: str = "", method: str = "GET", **headers: str) -> Said:
        with self.asked(path, method, **headers) as answer:
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Said(answer.status, found, answer.read())

    @contextmanager
    def asked(self, path: str, method: str = "GET", **headers: str) -> Iterator[HTTPResponse]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, self.path(path), headers=headers)
            with connection.getresponse() as answer:
                yield answer
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """What comes back to these bytes, until the server has had enough."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            connection.sendall(data)
            return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    found = b""
    try:
        while block := connection.recv(1 << 16):
            found += block
    except ConnectionResetError:
        pass
    return found


@contextmanager
def served(store: Path) -> Iterator[Client]:
    site = Site(store)
    serving = Server(site.answer, 0)
    try:
        yield Client(serving)
    finally:
        site.closing.set()
        serving.close()
