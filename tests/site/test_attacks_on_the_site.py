"""Attacks on the site from this machine: other sites in the browser, wrong words, slow and many clients."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any

import pytest

from steno.site import server
from support.served import SECONDS, Client, read_all, served
from support.spools import RUN_ID, sealed
from support.waiting import until


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("attacked") / "runs"
    path.mkdir()
    sealed(path / RUN_ID)
    return path


@pytest.fixture
def client(store: Path) -> Iterator[Client]:
    with served(store) as found:
        yield found


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def request(client: Client, *, host: str | None = None, path: str = "", more: str = "") -> bytes:
    named = host or f"127.0.0.1:{client.port}"
    return f"GET {client.path(path)} HTTP/1.1\r\nHost: {named}\r\n{more}\r\n".encode()


def test_a_name_that_was_rebound_to_this_machine_gets_nothing(client: Client) -> None:
    answer = client.raw(request(client, host=f"attacker.example:{client.port}"))
    assert status(answer) == 421
    assert b"steno-page" not in answer


def test_a_script_of_another_site_gets_nothing_and_no_leave_to_read(client: Client) -> None:
    for origin in ("http://attacker.example", "null", f"http://127.0.0.1:{client.port + 1}"):
        answer = client.raw(request(client, path="runs.json", more=f"Origin: {origin}\r\n"))
        assert status(answer) == 403
        assert b"Access-Control" not in answer
        assert RUN_ID.encode() not in answer


def test_a_wrong_token_tells_nothing_about_what_is_there(client: Client) -> None:
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n\r\n"
    answers = {
        client.raw(f"GET /{token}/{path} {head}".encode()).partition(b"\r\n\r\n")[2]
        for token in (
            "",
            "x",
            client.serving.token[:-1],
            client.serving.token + "x",
            client.serving.token.swapcase(),
        )
        for path in (f"run/{RUN_ID}/", "nothing", "runs.json")
        if token
    }
    assert len(answers) == 1
    assert client.serving.token not in answers.pop().decode()


@pytest.mark.parametrize(
    "target",
    [
        "{run}/file/%2e%2e/%2e%2e/.judged",
        "{run}/file/..%2f..%2fetc%2fpasswd",
        "{run}/file//etc/passwd",
        "{run}/file/run.json%00.html",
        "../../../../etc/passwd",
        "{run}/file/evidence/terminal/../events.ndjson",
        "{run}/file/%252e%252e/run.json",
    ],
)
def test_no_path_leads_out_of_a_run(client: Client, target: str) -> None:
    answer = client.raw(request(client, path=target.format(run=f"run/{RUN_ID}")))
    assert status(answer) in {400, 403, 404}
    assert b"root:" not in answer


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
def test_other_methods_are_refused_and_told_so(client: Client, method: str) -> None:
    answer = client.raw(request(client).replace(b"GET", method.encode(), 1))
    assert status(answer) == 405
    assert b"Allow: GET, HEAD" in answer


@pytest.mark.parametrize(
    "data",
    [
        b"junk\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"GET /" + b"a" * 12000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_what_is_no_request_does_not_harm(client: Client, data: bytes) -> None:
    answer = client.raw(data)
    assert answer == b"" or status(answer) >= 400
    assert client.get("runs.json").status == 200


def test_an_endless_head_is_not_read_to_its_end(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        sent = 0
        try:
            while sent < 100 << 20:
                sent += connection.send(b"X-Filler: " + b"x" * 4000 + b"\r\n")
        except OSError:
            pass
        assert sent < 20 << 20
    assert client.get("runs.json").status == 200


def test_a_client_that_says_nothing_is_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS) as connection:
        assert status(read_all(connection)) == 431


def test_a_client_that_speaks_one_letter_after_the_other_is_let_go(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)

    def is_let_go(connection: socket.socket) -> bool:
        try:
            connection.sendall(b"x")
        except OSError:
            return True
        return False

    with socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS) as connection:
        until(lambda: is_let_go(connection))


def test_a_client_that_does_not_read_is_let_go(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SEND_SECONDS", 0.2)
    served_to_the_end = threading.Event()
    serve = ThreadingMixIn.process_request_thread

    def noticed(self: Any, *connected: Any) -> None:
        serve(self, *connected)
        served_to_the_end.set()

    monkeypatch.setattr(ThreadingMixIn, "process_request_thread", noticed)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.connect(("127.0.0.1", client.port))
        connection.sendall(request(client, path=f"run/{RUN_ID}/report"))
        assert served_to_the_end.wait(SECONDS)


def test_the_site_answers_beside_more_half_open_connections_than_there_is_room_for(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        server, "HEAD_SECONDS", 10 * SECONDS
    )  # or those that are held would be let go meanwhile
    with ExitStack() as held:
        for _ in range(server.MOST_CONNECTIONS + 20):
            held.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=SECONDS))
        until(lambda: _answers(client))
        assert _answers(client)


def _answers(client: Client) -> bool:
    try:
        return client.get("runs.json").status == 200
    except OSError:
        return False


def test_it_listens_on_loopback_only(client: Client) -> None:
    listening = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]
    ]
    addresses = {
        row[1].split(":")[0]
        for row in listening
        if int(row[1].split(":")[1], 16) == client.port and row[3] == "0A"
    }
    assert addresses <= {"0100007F", "00000000000000000000000001000000"}
    assert "0100007F" in addresses


def test_every_start_has_a_token_of_its_own_that_cannot_be_guessed(store: Path) -> None:
    with served(store) as one, served(store) as other:
        assert one.serving.token != other.serving.token
        assert len(one.serving.token) >= 32
