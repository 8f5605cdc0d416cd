"""Which `Session` an HTTP request belongs to.

In: the `Mcp-Session-Id` of a request. Out: its `Session`. Legacy clients speak in one session over many
connections; everybody else has one session for each connection, because request ids are unique only there.
The ids of sessions are secrets of client and server: they are compared, and never told. Never forgets to
end a session.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from steno.mcp.session import Session

MOST_NAMED = 4096  # a client that leaves without a word leaves its session behind


class Sessions:
    def __init__(self, make: Callable[[], Session], most: int = MOST_NAMED) -> None:
        self._make = make
        self._most = most
        self._open: set[Session] = set()
        self._named: OrderedDict[bytes, Session] = OrderedDict()

    def new(self) -> Session:
        session = self._make()
        self._open.add(session)
        return session

    def is_open(self, session: Session) -> bool:
        return session in self._open

    def named(self, name: bytes) -> Session:
        """One that the server does not know is ended when it says so."""
        if name not in self._named:
            self.adopt(name, self.new())
        self._named.move_to_end(name)
        return self._named[name]

    def adopt(self, name: bytes, session: Session) -> None:
        """The server has given a session its name."""
        self.end_named(name)
        self._named[name] = session
        if len(self._named) > self._most:
            self.end_named(next(iter(self._named)))

    def end_named(self, name: bytes) -> None:
        session = self._named.pop(name, None)
        if session is not None:
            self.end(session)

    def end(self, session: Session) -> None:
        if session in self._open:
            self._open.remove(session)
            session.client_gone()

    def end_without_server(self, session: Session) -> None:
        """Unless other requests in it still wait: each learns by itself what became of it."""
        if session in self._open and not session.is_waiting:
            self._open.remove(session)
            self._named = OrderedDict((name, one) for name, one in self._named.items() if one is not session)
            session.server_gone()

    def end_all(self) -> None:
        self._named.clear()
        for session in list(self._open):
            self.end(session)
