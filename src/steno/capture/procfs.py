"""Processes as /proc describes them: who started them, when, with what, and where they listen."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from steno.evidence.claims import ProcessKey

MAX_ANCESTORS = 256
_STATE, _PARENT, _START_TICKS = 0, 1, 19  # of the fields of /proc/PID/stat behind the name of the program
_ENDED = (b"Z", b"X")
_PLACE = 5  # fields before the optional ones of a line of mountinfo
_LISTENING = "0A"
_LOCAL, _TCP_STATE, _INODE = 1, 3, 9  # columns of /proc/net/tcp


def stat_fields(pid: int) -> list[bytes]:
    """None at all when there is no such process any more."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def start_ticks(pid: int) -> int | None:
    """When a process began: with its number, this is its key."""
    fields = stat_fields(pid)
    return int(fields[_START_TICKS]) if fields else None


def process_key(pid: int) -> ProcessKey | None:
    from steno.evidence.claims import ProcessKey  # late: hooks, which have a start-up budget, need no keys

    ticks = start_ticks(pid)
    return None if ticks is None else ProcessKey(pid, ticks)


class Mount(NamedTuple):
    device: int
    root: bytes  # of what is mounted, in its file system
    place: bytes
    kind: bytes


def mounts(mountinfo: bytes) -> Iterator[Mount]:
    """The lines of `/proc/self/mountinfo`, as proc(5) promises them. One that is none is passed over."""
    for line in mountinfo.split(b"\n"):
        where, dash, what = line.partition(b" - ")
        fields = where.split(b" ")
        with contextlib.suppress(ValueError, IndexError, OverflowError):
            device = os.makedev(*map(int, fields[2].split(b":")))
            if dash and len(fields) > _PLACE:
                yield Mount(device, _unescaped(fields[3]), _unescaped(fields[4]), what.split(b" ")[0])


def _unescaped(field: bytes) -> bytes:
    """Blanks, newlines and backslashes are in octal, with a byte that fits."""
    first, *rest = field.split(b"\\")
    return first + b"".join(bytes([int(part[:3], 8) & 0xFF]) + part[3:] for part in rest)


def is_running(process: ProcessKey) -> bool:
    """Not that it has ended, and its parent does not know yet."""
    fields = stat_fields(process.pid)
    return bool(fields) and fields[_STATE] not in _ENDED and int(fields[_START_TICKS]) == process.start_ticks


def parent(pid: int) -> int:
    """0: it has none, or has ended."""
    fields = stat_fields(pid)
    return int(fields[_PARENT]) if fields else 0


def ancestors(pid: int) -> Iterator[int]:
    """The nearest first."""
    for _ in range(MAX_ANCESTORS):
        if (pid := parent(pid)) <= 0:
            return
        yield pid


def environ(pid: int, names: Iterable[str]) -> dict[str, str]:
    """Of what it was started with only these; nothing of a process of another user."""
    entries = (os.fsdecode(entry).partition("=") for entry in _read(f"/proc/{pid}/environ").split(b"\0"))
    return {name: value for name, _, value in entries if name in names}


def listener(host: str, port: int) -> ProcessKey | None:
    """The process that listens at an address of this machine; of a server with workers, who started them.

    None: not on loopback, nobody listens, we may not look, or several unrelated processes hold the socket.
    """
    if not _is_loopback(host):
        return None
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _listening(table, host, port)}
    holders = [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if _holds(pid, sockets)]
    eldest = [pid for pid in holders if all(pid in {other, *ancestors(other)} for other in holders)]
    return process_key(eldest[0]) if eldest else None


def _listening(table: str, host: str, port: int) -> Iterator[str]:
    """Inodes of the sockets that answer there."""
    for fields in map(str.split, _read(f"/proc/net/{table}").decode("ascii").splitlines()[1:]):
        address, _, local_port = fields[_LOCAL].partition(":")
        if fields[_TCP_STATE] == _LISTENING and int(local_port, 16) == port and _answers(address, host):
            yield fields[_INODE]


def _answers(written: str, host: str) -> bool:
    from ipaddress import ip_address

    address = _address(written)
    if address.is_unspecified:
        return True
    return address.is_loopback if host.lower() == "localhost" else address == ip_address(host)


def _address(written: str) -> IPv4Address | IPv6Address:
    """The kernel writes words of 32 bits in the order of the machine."""
    import sys
    from ipaddress import IPv6Address, ip_address

    words = [int(written[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(written), 8)]
    address = ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _holds(pid: int, sockets: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder) if sockets else ():
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{name}") in sockets:  # noqa: PTH115 - thousands of them
                    return True
    return False


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - hooks have a start-up budget
            return file.read()
    except OSError:
        return b""
