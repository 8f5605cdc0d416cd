"""Where the proxy listens and what it stands before; who may speak to it; which process listens there."""

from __future__ import annotations

import os
import socket

import pytest

from steno.capture import procfs
from steno.errors import BadRequestError
from steno.mcp.http import headers


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("localhost:0", ("127.0.0.1", 0)),
        ("[::1]:9", ("::1", 9)),
        ("127.1.2.3:1", ("127.1.2.3", 1)),
    ],
)
def test_loopback_is_listened_on(text: str, address: tuple[str, int]) -> None:
    assert headers.listen_address(text) == address


@pytest.mark.parametrize(
    "text", ["0.0.0.0:80", "[::]:80", "example.org:80", "8080", ":80", "127.0.0.1:x", "127.0.0.1:65536", ""]
)
def test_nothing_else_is_listened_on(text: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        headers.listen_address(text)
    assert "127.0.0.1:0" in caught.value.hint


def test_an_upstream_is_one_url() -> None:
    assert headers.upstream_endpoint("http://127.0.0.1:8000/mcp") == (
        False,
        "127.0.0.1",
        8000,
        "/mcp",
        "/mcp",
    )
    assert headers.upstream_endpoint("https://example.org") == (True, "example.org", 443, "/", "/")
    assert headers.upstream_endpoint("http://[::1]:1/a?key=b") == (False, "::1", 1, "/a", "/a?key=b")


def test_the_host_that_the_upstream_is_told() -> None:
    assert headers.upstream_endpoint("http://[::1]:1/a").authority == b"[::1]:1"
    assert headers.upstream_endpoint("https://example.org/a").authority == b"example.org"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:80",
        "ftp://a/b",
        "http://",
        "http://a:x/",
        "http://a:0/",
        "http://a/\n",
        "http://a/#b",
        "http://[a/",
    ],
)
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(BadRequestError):
        headers.upstream_endpoint(text)


def test_a_user_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(BadRequestError) as caught:
        headers.upstream_endpoint("http://ada:hunter2@example.org/mcp?token=hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", [b"127.0.0.1", b"127.0.0.1:80", b"localhost:9", b"LOCALHOST", b"[::1]:7"])
def test_names_of_loopback_are_ours(value: bytes) -> None:
    assert headers.is_own_host(value)
    assert headers.is_own_origin(b"http://" + value)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"example.org",
        b"localhost.example.org",
        b"127.0.0.1.example.org",
        b"a@localhost",
        b"localhost/x",
        b"localhost:x",
        b"10.0.0.1",
        b"\xff",
        b"[::1",
        b"0.0.0.0",
        b"localhost?",
        b"localhost\\.example.org",
    ],
)
def test_other_names_are_foreign(value: bytes) -> None:
    assert not headers.is_own_host(value)
    assert not headers.is_own_origin(b"http://" + value)


@pytest.mark.parametrize(
    "value", [b"null", b"", b"localhost", b"file://localhost", b"http://localhost, http://localhost"]
)
def test_other_origins_are_foreign(value: bytes) -> None:
    assert not headers.is_own_origin(value)


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_process_that_listens_is_found(family: socket.AddressFamily, host: str) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.bind((host, 0))
        port = sock.getsockname()[1]
        assert procfs.listener(host, port) is None
        sock.listen()
        for name in (host, "localhost"):
            found = procfs.listener(name, port)
            assert found is not None
            assert found.pid == os.getpid()
        assert procfs.listener("192.0.2.1", port) is None
