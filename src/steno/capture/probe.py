"""The eBPF probe: steno-probe, which loads it and hands it to steno-trace, and goes.

In: the program, the run's cgroup, and the size of the ring. Out: the descriptor that steno-trace is to be
given, and what the states mean that it tells. It is started early and works beside us. Never waits for it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steno.capture.native_program import find_program, spawn
from steno.errors import CaptureError

PROGRAM = "steno-probe"
RING_VARIABLE = "STENO_RING_BYTES"
RING_BYTES, SMALLEST_RING = 16 << 20, 4096
READY, NOT_BUILT, UNKNOWN = "ready", "not_built", "unknown"
_CAPABILITIES = Path("/proc/self/status")
_SYS_ADMIN, _PERFMON, _BPF = 1 << 21, 1 << 38, 1 << 39
_CHECK_SECONDS = 10.0

# The numbers of the status record, and what would help.
STATES = {
    0: READY,
    1: "no_libbpf",
    2: "no_btf",
    3: "not_permitted",
    4: "load_failed",
    5: "attach_failed",
    6: "gone",
    7: "no_cgroup",
    8: "no_object",
}
_HINTS = {
    "no_libbpf": "apt install libbpf1, dnf install libbpf or apk add libbpf",
    "no_btf": "a kernel with CONFIG_DEBUG_INFO_BTF has /sys/kernel/btf/vmlinux",
    "not_permitted": "run as root, or with the capabilities BPF, PERFMON and NET_ADMIN",
    "no_cgroup": "`steno doctor` tells why the run can have no cgroup",
    "no_object": "install Steno again, so that its eBPF program is there (in a checkout: make bpf)",
    NOT_BUILT: "install Steno again, so that it is built for this machine (from a checkout: pip install .)",
}
_OTHER_HINT = "record with `--observer notify`, which needs no eBPF; `steno doctor` tells more"


class Probe(NamedTuple):
    """What is needed to start it."""

    program: Path
    ring_bytes: int


def find_probe(environ: Mapping[str, str]) -> Probe:
    return Probe(find_program(PROGRAM, environ), ring_bytes(environ))


def ring_bytes(environ: Mapping[str, str]) -> int:
    """How much of what it sees may wait to be read. The variable is for tests: a small one loses events."""
    wish = environ.get(RING_VARIABLE)
    if not wish:
        return RING_BYTES
    size = int(wish) if wish.isascii() and wish.isdigit() else 0
    if size < SMALLEST_RING or size & (size - 1) or size > 1 << 30:
        raise CaptureError(
            f"{RING_VARIABLE}={wish!r} is no size of a ring",
            hint=f"a power of two from {SMALLEST_RING} to {1 << 30}, or leave it unset",
        )
    return size


def may_load() -> bool:
    """Whether we have the capabilities that loading needs."""
    try:
        text = _CAPABILITIES.read_text()
    except OSError:
        return False
    held = next((int(line.split()[1], 16) for line in text.splitlines() if line.startswith("CapEff:")), 0)
    return bool(held & _SYS_ADMIN) or held & (_BPF | _PERFMON) == _BPF | _PERFMON


def start_probe(probe: Probe, cgroup: int, environ: Mapping[str, str]) -> int:
    """Start steno-probe for the cgroup of this descriptor; returns the other end of its socket."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = ["--to", str(its.fileno()), "--cgroup", str(cgroup), "--ring-bytes", str(probe.ring_bytes)]
    with its, suppress(OSError):  # then steno-trace finds nobody at the other end, and tells
        pid = spawn(probe.program, [PROGRAM, *words], environ, [its.fileno(), cgroup])
        # Unless somebody waits for its end it stays a zombie for the whole run.
        threading.Thread(target=os.waitpid, args=(pid, 0), name="steno-probe-end", daemon=True).start()
    return ours.detach()


def state_of(number: int) -> str:
    return STATES.get(number, UNKNOWN)


def hint_of(state: str) -> str:
    return _HINTS.get(state, _OTHER_HINT)


def check_probe(environ: Mapping[str, str]) -> tuple[str, str]:
    """Try it, and say its state and the words for people."""
    try:
        program = find_program(PROGRAM, environ)
    except CaptureError as error:
        return NOT_BUILT, str(error)
    try:
        tried = subprocess.run(
            [program, "--check"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return UNKNOWN, f"{program} does not tell what it can do ({error})"
    if tried.returncode == 0:
        return READY, ""
    word, _, text = tried.stdout.decode("utf-8", "replace").strip().partition(": ")
    return (word, text) if word in STATES.values() else (UNKNOWN, f"{program} failed without a reason")
