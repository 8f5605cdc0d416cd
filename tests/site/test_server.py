"""The site's own faults: an answer for whoever asked, and a line for whoever serves."""

from __future__ import annotations

from contextlib import closing
from email.message import Message
from http import HTTPStatus

import pytest

from steno.site.messages import Request, Response
from steno.site.server import Server


def failing(_: Request) -> Response:
    raise ValueError("the store \x1b[31m is odd")


def test_a_fault_of_ours_is_answered_and_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Server(failing, 0)) as serving:
        headers = Message()
        headers["Host"] = f"127.0.0.1:{serving.port}"
        answer = serving.answer("GET", f"/{serving.token}/", headers)
    assert answer.status == HTTPStatus.INTERNAL_SERVER_ERROR
    assert capsys.readouterr().err == (
        "steno: the site failed at this: ValueError: the store \\x1b[31m is odd\n"
    )
