"""Watching real runs while they go on: `steno tail` and `steno serve`, as they are installed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.request import urlopen

import pytest

from support.program import PROGRAM, Steno
from support.recorded import only_run
from support.waiting import SECONDS, until

TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
COMMAND = f"echo one > a; echo said; read word < gate; curl -s {TOKEN} file:///dev/null; rm a; exit 3"


class Running:
    """A run that waits at a gate until it is let through."""

    def __init__(self, process: subprocess.Popen[bytes], gate: Path, store: Path) -> None:
        self.process = process
        self._gate = gate
        self.store = store

    def let_through(self) -> None:
        self._gate.write_bytes(b"go\n")

    def ended(self) -> int:
        return self.process.wait(SECONDS)


@pytest.fixture
def running(tmp_path: Path, clean_env: dict[str, str], store: Path) -> Iterator[Running]:
    os.mkfifo(tmp_path / "gate")
    with started(tmp_path, clean_env, "run", "--", "sh", "-c", COMMAND) as process:
        until((tmp_path / "a").exists)
        yield Running(process, tmp_path / "gate", store)


@contextmanager
def started(cwd: Path, env: dict[str, str], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [PROGRAM, *words],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def lines(stream: IO[bytes] | None) -> Iterator[dict[str, Any]]:
    assert stream is not None
    return (json.loads(line) for line in stream)


def test_tail_tells_what_happens_while_it_happens_and_how_it_ended(
    running: Running, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    with started(tmp_path, clean_env, "tail", "--json", "-n", "1000") as tail:
        told = lines(tail.stdout)
        before: list[dict[str, Any]] = []
        while not before or before[-1].get("word") != "created":
            before.append(next(told))
        assert before[-1]["subject"] == str(tmp_path / "a")
        assert running.process.poll() is None
        running.let_through()
        after = list(told)
        assert tail.wait(SECONDS) == 0
    assert running.ended() == 3
    words = [(one["what"], one.get("word")) for one in after]
    assert ("file", "deleted") in words
    assert after[-1]["what"] == "end"
    assert (after[-1]["state"], after[-1]["exit_code"]) == ("sealed", 3)
    everything = json.dumps([before, after])
    assert "curl" in everything
    assert TOKEN not in everything
    assert only_run(running.store).is_valid, "whoever watches changes nothing"


def test_who_stops_watching_does_not_stop_the_run(
    running: Running, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    with started(tmp_path, clean_env, "tail", "--json") as interrupted:
        next(lines(interrupted.stdout))
        interrupted.send_signal(signal.SIGINT)
        assert interrupted.wait(SECONDS) == 130
        assert interrupted.stderr is not None
        assert b"Traceback" not in interrupted.stderr.read()
    with started(tmp_path, clean_env, "tail") as unread:
        assert unread.stdout is not None
        unread.stdout.readline()
        unread.stdout.close()
        assert unread.wait(SECONDS) == 141, "also when nothing happens that could not be written"
    assert running.process.poll() is None
    running.let_through()
    assert running.ended() == 3


def test_a_run_that_is_over_is_told_from_its_record(steno: Steno, store: Path) -> None:
    steno("run", "--", "sh", "-c", "echo one > a; rm a")
    told = steno("tail", "-n", "3").stdout.decode().splitlines()
    assert "left out" in told[0]
    assert told[-1].startswith("sealed, complete; exit 0 after ")
    assert len(told) == 5
    assert any("command finished with 0" in line for line in told)


def test_tail_of_nothing_or_of_ruins_is_an_error_with_a_hint(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    nothing = steno("tail")
    assert (nothing.returncode, b"hint:" in nothing.stderr) == (2, True)
    (store / "2026-01-25T12-00-00-000Z_0123abcd").mkdir(parents=True)
    ruin = steno("tail")
    assert (ruin.returncode, b"neither a manifest nor a spool" in ruin.stderr) == (4, True)


def test_a_run_whose_recorder_was_killed_is_told_as_far_as_it_came(
    running: Running, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    running.process.kill()
    running.process.wait(SECONDS)
    running.let_through()
    with started(tmp_path, clean_env, "tail", "@last") as tail:
        out, _ = tail.communicate(timeout=SECONDS)
    assert b"run started" in out
    assert b"UNSEALED" in out.splitlines()[-1]


def test_serve_prints_an_address_answers_there_and_ends_politely(
    running: Running, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    with started(tmp_path, clean_env, "serve", "--json") as serve:
        url = next(lines(serve.stdout))["url"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", url)
        (run,) = json.load(urlopen(f"{url}runs.json", timeout=SECONDS))["runs"]
        assert run["state"] == "running"
        with urlopen(f"{url}run/{run['run_id']}/live", timeout=SECONDS) as stream:
            assert next(stream) == b"event: step\n"
            running.let_through()
            rest = stream.read()
        assert b"event: end\n" in rest
        assert TOKEN.encode() not in rest
        assert running.ended() == 3
        serve.send_signal(signal.SIGINT)
        assert serve.wait(SECONDS) == 0


def test_a_port_that_is_taken_is_an_error_with_a_hint(steno: Steno) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = steno("serve", "--port", str(other.getsockname()[1]))
    assert taken.returncode == 125
    assert b"Address already in use" in taken.stderr
    assert b"--port" in taken.stderr
