"""Which requests are answered: only ours."""

from __future__ import annotations

from email.message import Message
from http import HTTPStatus

import pytest

from steno.site.messages import HttpError, Request, check

PORT, TOKEN = 8765, "T0ken"
HOST = ("Host", f"127.0.0.1:{PORT}")


def ask(target: str, *headers: tuple[str, str], method: str = "GET") -> Request:
    found = Message()
    for name, value in headers or [HOST]:
        found[name] = value
    return check(method, target, found, port=PORT, token=TOKEN)


def refused(target: str, *headers: tuple[str, str], method: str = "GET") -> HTTPStatus:
    with pytest.raises(HttpError) as caught:
        ask(target, *headers, method=method)
    return caught.value.status


def test_the_parts_of_a_path_come_after_the_token() -> None:
    assert ask("/T0ken/run/a/file/layers/x.json?a=1&b=%20") == Request(
        ("run", "a", "file", "layers", "x.json"), as_folder=False, last="x.json", query={"a": "1", "b": " "}
    )
    assert ask("/T0ken/").parts == ()
    assert ask("/T0ken/").as_folder
    assert not ask("/T0ken").as_folder


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_this_machine_is_known_by_three_names(host: str) -> None:
    assert ask("/T0ken/", ("Host", host)).parts == ()
    assert ask("/T0ken/", ("Host", host), ("Origin", f"http://{host}")).parts == ()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8765.evil.example",
        "evil.example",
        "0.0.0.0:8765",
        "127.0.0.2:8765",
        "",
    ],
)
def test_a_name_that_was_made_to_lead_here_is_refused(host: str) -> None:
    assert refused("/T0ken/", ("Host", host)) == HTTPStatus.MISDIRECTED_REQUEST


def test_a_request_with_no_host_or_two_is_refused() -> None:
    assert refused("/T0ken/", ("Accept", "*/*")) == HTTPStatus.MISDIRECTED_REQUEST
    assert refused("/T0ken/", HOST, ("Host", "evil.example")) == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:8765",
        "http://127.0.0.1:9",
        "http://127.0.0.1:8765/",
        "",
    ],
)
def test_a_page_of_another_site_is_refused_also_with_the_token(origin: str) -> None:
    assert refused("/T0ken/", HOST, ("Origin", origin)) == HTTPStatus.FORBIDDEN


def test_a_page_of_another_site_may_link_to_us_and_nothing_else() -> None:
    fetched = ("Sec-Fetch-Site", "cross-site")
    visit = (("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"))
    framed = (("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe"))
    assert ask("/T0ken/", HOST, fetched, *visit).parts == ()
    assert refused("/T0ken/", HOST, fetched) == HTTPStatus.FORBIDDEN
    assert refused("/T0ken/", HOST, fetched, *framed) == HTTPStatus.FORBIDDEN
    assert refused("/T0ken/", HOST, ("Sec-Fetch-Site", "same-site")) == HTTPStatus.FORBIDDEN
    assert ask("/T0ken/", HOST, ("Sec-Fetch-Site", "same-origin")).parts == ()


@pytest.mark.parametrize(
    "target", ["/", "/x", "/T0ke", "/T0ken2/", "/t0ken/", "/%54oken/", "/?T0ken", "/x/T0ken/"]
)
def test_without_the_token_nothing_is_answered(target: str) -> None:
    assert refused(target) == HTTPStatus.FORBIDDEN


def test_a_letter_of_the_token_may_be_written_in_another_way() -> None:
    assert ask("/%540ken/").parts == ()


@pytest.mark.parametrize(
    "target",
    [
        "/T0ken/..",
        "/T0ken/../x",
        "/T0ken/%2e%2e/x",
        "/T0ken/%2E%2e/%2e%2e/etc/passwd",
        "/T0ken/run/a/file/%2fetc%2fpasswd",
        "/T0ken//etc/passwd",
        "/T0ken/run//x",
        "/T0ken/a%00b",
        "/T0ken/a%5c..%5cb",
        "/T0ken/./x",
        "/T0ken/%0d%0aSet-Cookie:x",
        "/T0ken/%zz",
        "/T0ken/%",
        "/T0ken/%ff",
        "/T0ken/caf\u00e9",
        "http://127.0.0.1:8765/T0ken/",
        "T0ken/",
        "*",
        "",
        "/T0ken/" + "a/" * 20,
        "/T0ken/" + "a" * 3000,
        "/T0ken/?a",
        "/T0ken/?" + "&".join(f"a{number}=1" for number in range(50)),
        "/T0ken/?a=%ff",
    ],
)
def test_a_path_that_could_mean_something_else_is_refused(target: str) -> None:
    assert refused(target) == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH", "get", ""]
)
def test_there_is_nothing_to_do_here_but_read(method: str) -> None:
    assert refused("/T0ken/", method=method) == HTTPStatus.METHOD_NOT_ALLOWED


def test_a_request_to_read_has_no_body() -> None:
    assert refused("/T0ken/", HOST, ("Content-Length", "5")) == HTTPStatus.BAD_REQUEST
    assert refused("/T0ken/", HOST, ("Transfer-Encoding", "chunked")) == HTTPStatus.BAD_REQUEST
    assert (
        refused("/T0ken/", HOST, ("Content-Length", "0"), ("Content-Length", "9")) == HTTPStatus.BAD_REQUEST
    )
    assert ask("/T0ken/", HOST, ("Content-Length", "0")).parts == ()
