"""An HTTP server that does nothing: says its port, and answers every POST with an empty result.

Usage: http_upstream.py [events]. With `events` the answer comes as an event stream in chunks, as most servers
send it. Each connection has a thread; a request must have a Content-Length.
"""

from __future__ import annotations

import re
import socket
import sys
import threading

_ID = re.compile(rb'"id": ?(\d+)')
_LENGTH = re.compile(rb"\r\ncontent-length: ?(\d+)\r\n", re.IGNORECASE)
_PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
_EVENTS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
)


def main() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    while True:
        client, _ = server.accept()
        threading.Thread(target=serve, args=(client, "events" in sys.argv[1:]), daemon=True).start()


def serve(client: socket.socket, events: bool) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with client:
        held = b""
        while piece := client.recv(1 << 18):
            held += piece
            head, end, body = held.partition(b"\r\n\r\n")
            length = _LENGTH.search(head + b"\r\n")
            if end and length and len(body) >= int(length[1]):
                client.sendall(answer(body, events=events))
                held = body[int(length[1]) :]


def answer(request: bytes, *, events: bool) -> bytes:
    asked = _ID.search(request)
    reply = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}' % (asked[1] if asked else b"0")
    if not events:
        return _PLAIN % (len(reply), reply)
    event = b"event: message\r\ndata: " + reply + b"\r\n\r\n"
    return _EVENTS % (len(event), event)


if __name__ == "__main__":
    main()
