"""Which process listens at an address of this machine.

In: a host and a port. Out: the key of the process whose listening socket it is, or None: not on loopback,
nobody listens, we may not look, or several processes hold the socket and none of them is above all others.
Of a server with workers it is the process that started them. Never opens a connection.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import sys
from pathlib import Path

from steno.capture.telling import process_key
from steno.evidence.claims import ProcessKey

_LISTENING = "0A"
_PROC = Path("/proc")
_TABLES = ("tcp", "tcp6")
_LOCAL, _STATE, _INODE = 1, 3, 9  # columns of /proc/net/tcp
_STATE_OF_PROCESS, _PARENT = 0, 1  # of the fields behind the name of the program
_ENDED = (b"Z", b"X")
_NOBODY = [b"X", b"0"]


def listener(host: str, port: int) -> ProcessKey | None:
    if host.lower() != "localhost" and not _is_loopback(host):
        return None
    sockets = {f"socket:[{inode}]" for table in _TABLES for inode in _listening(table, host, port)}
    holders = [pid for pid in _pids() if sockets and _holds(pid, sockets)]
    eldest = [pid for pid in holders if all(pid in _line_of(other) for other in holders)]
    return process_key(eldest[0]) if eldest else None


def runs(process: ProcessKey) -> bool:
    """Not that it has ended, and its parent does not know yet."""
    fields = _fields(process.pid)
    return bool(fields) and fields[_STATE_OF_PROCESS] not in _ENDED and process_key(process.pid) == process


def _listening(table: str, host: str, port: int) -> list[str]:
    """Inodes of the sockets that answer there."""
    try:
        lines = (_PROC / "net" / table).read_text("ascii").splitlines()[1:]
    except OSError:
        return []
    found = []
    for fields in (line.split() for line in lines):
        address, _, local_port = fields[_LOCAL].partition(":")
        if fields[_STATE] == _LISTENING and int(local_port, 16) == port and _answers(address, host):
            found.append(fields[_INODE])
    return found


def _answers(written: str, host: str) -> bool:
    address = _address(written)
    if address.is_unspecified:
        return True
    if host.lower() == "localhost":
        return address.is_loopback
    return address == ipaddress.ip_address(host)


def _address(written: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The kernel writes words of 32 bits in the order of the machine."""
    words = [int(written[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(written), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _pids() -> list[int]:
    return [int(name) for name in os.listdir(_PROC) if name.isdecimal()]


def _holds(pid: int, sockets: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{name}") in sockets:  # noqa: PTH115 - thousands of them
                    return True
    return False


def _line_of(pid: int) -> list[int]:
    """The process and those above it."""
    line: list[int] = []
    while pid > 0 and pid not in line:
        line.append(pid)
        pid = int((_fields(pid) or _NOBODY)[_PARENT])
    return line


def _fields(pid: int) -> list[bytes]:
    """Of /proc/PID/stat, behind the name of the program; none when there is no such process."""
    try:
        return (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
