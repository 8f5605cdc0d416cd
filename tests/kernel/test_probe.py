"""The probe is found, sized and started; what it tells has a word and a hint."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from steno.capture import observer
from steno.capture.observer import Probe, check_probe, hint_of, may_load, ring_bytes, start_probe, state_of
from steno.errors import CaptureError
from support.waiting import SECONDS, until

PATH = {"PATH": os.environ["PATH"]}


def program_that(directory: Path, script: str) -> Path:
    program = directory / "steno-probe"
    program.write_text(f"#!/usr/bin/env bash\n{script}\n")
    program.chmod(0o700)
    return program


@pytest.mark.parametrize("wish", ["4096", "8388608", str(1 << 30)])
def test_a_power_of_two_is_a_size_of_the_ring(wish: str) -> None:
    assert ring_bytes({"STENO_RING_BYTES": wish}) == int(wish)


def test_without_a_wish_the_ring_has_eight_mebibytes() -> None:
    assert ring_bytes({}) == ring_bytes({"STENO_RING_BYTES": ""}) == 16 << 20


@pytest.mark.parametrize("wish", ["2048", "5000", "0", "-4096", "4096.0", "x", "²", str(1 << 31)])
def test_anything_else_is_an_error_with_a_hint(wish: str) -> None:
    with pytest.raises(CaptureError) as caught:
        ring_bytes({"STENO_RING_BYTES": wish})
    assert "power of two" in caught.value.hint


@pytest.mark.parametrize(
    ("held", "enough"),
    [("000001ffffffffff", True), ("0000000000200000", True), ("000000c000000000", True),
     ("0000008000000000", False), ("0000000000000000", False), (None, False)],
)  # fmt: skip
def test_loading_needs_capabilities(
    held: str | None, enough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = tmp_path / "status"
    if held is not None:
        status.write_text(f"Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{held}\n")
    monkeypatch.setattr(observer, "_CAPABILITIES", status)
    assert may_load() is enough


@pytest.mark.process
def test_the_program_gets_its_end_of_the_socket_and_the_cgroup(tmp_path: Path) -> None:
    program = program_that(tmp_path, f'echo "$@" >{tmp_path}/words; readlink /proc/self/fd/$4 >&$2')
    cgroup = os.open(tmp_path, os.O_RDONLY)
    with socket.socket(fileno=start_probe(Probe(program, 4096), cgroup, PATH)) as ours:
        ours.settimeout(SECONDS)
        assert ours.type == socket.SOCK_SEQPACKET
        assert ours.recv(4096) == f"{tmp_path}\n".encode()
        assert ours.recv(4096) == b""  # nobody else holds its end
    words = (tmp_path / "words").read_text().split()
    assert words[::2] == ["--to", "--cgroup", "--ring-bytes"]
    assert words[5] == "4096"
    os.close(cgroup)


@pytest.mark.process
def test_the_program_is_no_zombie_when_it_has_ended(tmp_path: Path) -> None:
    program = program_that(tmp_path, f"echo $$ >{tmp_path}/pid")
    cgroup = os.open(tmp_path, os.O_RDONLY)
    os.close(start_probe(Probe(program, 4096), cgroup, PATH))
    os.close(cgroup)
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    until(lambda: not Path(f"/proc/{int((tmp_path / 'pid').read_text())}").exists())


@pytest.mark.process
def test_a_program_that_cannot_be_started_leaves_nobody_at_the_other_end(tmp_path: Path) -> None:
    program = tmp_path / "steno-probe"
    program.write_bytes(b"\x7fELF nonsense")
    program.chmod(0o700)
    cgroup = os.open(tmp_path, os.O_RDONLY)
    with socket.socket(fileno=start_probe(Probe(program, 4096), cgroup, PATH)) as ours:
        assert ours.recv(4096) == b""
    os.close(cgroup)


def test_every_state_has_a_word_and_a_hint() -> None:
    assert state_of(0) == "ready"
    assert state_of(2) == "no_btf"
    assert state_of(99) == "unknown"
    assert all(hint_of(word) for word in [*observer.STATES.values(), "unknown", "not_built"])


@pytest.mark.process
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 0", ("ready", "")),
        ("echo 'no_btf: the kernel has no types'; exit 1", ("no_btf", "the kernel has no types")),
        ("echo nonsense; exit 1", ("unknown", "failed without a reason")),
        ("exit 1", ("unknown", "failed without a reason")),
    ],
)
def test_the_program_is_asked_what_it_can_do(
    script: str, told: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "_CHECK_SECONDS", SECONDS)
    program = program_that(tmp_path, f'[ "$*" = --check ] || exit 9\n{script}')
    state, says = check_probe({**PATH, "STENO_PROBE": str(program)})
    assert state == told[0]
    assert says.endswith(told[1])


def test_a_program_that_is_not_there_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steno.__file__", str(tmp_path / "steno" / "__init__.py"))
    assert check_probe(PATH)[0] == "not_built"
