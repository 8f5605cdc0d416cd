"""Frames as steno-trace writes them, made by hand: `FakeFrames().process().event("open", "/x").write(spool)`.

Paths, arguments and link targets are bytes or str; times go on by themselves, a microsecond an event.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from steno.evidence import wire

KEY = bytes(range(32))
NONCE = bytes(range(100, 116))
STEP_NS = 1000
OP_CODES = {op.name: op.code for op in wire.OPS.values()}


class Absent:
    """Nothing was found under the name."""


class Found(NamedTuple):
    """What lstat showed. `content` is a name of `wire.CONTENT`, `blob` a number from `FakeFrames.blob`."""

    mode: int = stat.S_IFREG | 0o644
    size: int = 0
    mtime_ns: int = 1_700_000_000_000_000_000
    ctime_ns: int = 1_700_000_000_000_000_000
    dev: int = 1
    ino: int = 1
    uid: int = 1000
    gid: int = 1000
    nlink: int = 1
    target: bytes | str = b""
    blob: int = 0
    content: str = "not_kept"
    rdev: int = 0


class _SamePath:
    """The resolved path is the requested one."""


ABSENT = Absent()
DIRECTORY = Found(mode=stat.S_IFDIR | 0o755, size=4096)
_SAME = _SamePath()


class FakeFrames:
    def __init__(self, *, key: bytes = KEY, nonce: bytes = NONCE) -> None:
        self.key = key
        self.nonce = nonce
        self.events: list[wire.Event] = []
        self.states: list[wire.State] = []
        self.strings: dict[bytes, int] = {}
        self.blobs: list[bytes] = []
        self.header_changes: dict[str, Any] = {"closed": 1}
        self.counted: dict[int, int] = {}
        self._now = 0
        self._processes = 0

    def process(self, pid: int | None = None, *, parent: int = 0, start_ticks: int = 7) -> Self:
        """The next process appears; its number is how many there are now."""
        self._processes += 1
        number = self._processes
        pid = 1000 + number if pid is None else pid
        return self.event("process", process=number, arg=pid | parent << 32, arg2=start_ticks, result=0)

    def event(
        self,
        op: str,
        path: bytes | str = b"",
        *,
        resolved: bytes | str | _SamePath = _SAME,
        extra: bytes | str = b"",
        state: Found | Absent | None = None,
        result: int | None = None,
        process: int = 1,
        tid: int | None = None,
        call: int = 0,
        notes: Iterable[str] = (),
        arg: int = 0,
        arg2: int = 0,
        at: int | None = None,
    ) -> Self:
        """`result` is 0, -errno, or None: not known. `state` is None when nobody looked."""
        self._now = self._now + STEP_NS if at is None else at
        self.events.append(
            wire.Event(
                mono_ns=self._now,
                process=process,
                tid=1000 + process if tid is None else tid,
                op=OP_CODES[op],
                call=call,
                notes=sum(wire.NOTES[note] for note in notes),
                result=wire.RESULT_UNKNOWN if result is None else result,
                path=self.string(path),
                resolved=self.string(path if isinstance(resolved, _SamePath) else resolved),
                extra=self.string(extra),
                state=self._state(state),
                arg=arg,
                arg2=arg2,
            )
        )
        return self

    def exec(self, path: bytes | str, argv: Sequence[bytes | str], **more: Any) -> Self:
        words = b"".join(_bytes(word) + b"\0" for word in argv)
        return self.event("exec", path, extra=words, arg=len(argv), **more)

    def exit(self, process: int = 1, *, status: int = 0, told: bool = True) -> Self:
        return self.event("exit", process=process, arg=status, arg2=int(told), result=0)

    def header(self, **changes: Any) -> Self:
        """Other values for fields of the header: `closed=0`, `lost_events=3`, `features=16`…"""
        self.header_changes |= changes
        return self

    def count(self, call: int, times: int) -> Self:
        """A call that is counted, not decoded: an x86_64 number, or 1024 and an i386 one."""
        self.counted[call] = times
        return self

    def string(self, value: bytes | str) -> int:
        data = _bytes(value)
        return self.strings.setdefault(data, len(self.strings) + 1) if data else 0

    def blob(self, content: bytes) -> int:
        self.blobs.append(content)
        return len(self.blobs)

    def write(self, spool: Path) -> Self:
        """Write `<spool>/kernel/`, as a helper that ended whole, or as the header's changes say."""
        kernel = spool / "kernel"
        kernel.mkdir(mode=0o700, parents=True)
        for name, data in self.files().items():
            (kernel / name).write_bytes(data)
        return self

    def files(self) -> dict[str, bytes]:
        events = b"".join(wire.EVENT.pack(*event) for event in self.events)
        states = b"".join(wire.STATE.pack(*state) for state in self.states)
        clear = b"".join(len(text).to_bytes(4, "little") + text for text in self.strings)
        blobs = {
            f"{wire.BLOB_FILE}{number}": encrypted(
                self.key, self.nonce[:8] + number.to_bytes(4, "little"), content
            )
            for number, content in enumerate(self.blobs, 1)
        }
        return {
            wire.HEADER_FILE: self._header(len(events), len(states), len(clear)),
            wire.EVENTS_FILE: events,
            wire.STATES_FILE: states,
            wire.STRINGS_FILE: encrypted(self.key, self.nonce[:12], clear),
            **blobs,
        }

    def _header(self, events: int, states: int, strings: int) -> bytes:
        fields: dict[str, Any] = dict.fromkeys(wire.Header._fields, 0)
        fields |= {
            "magic": wire.MAGIC,
            "version": wire.VERSION,
            "events": events,
            "states": states,
            "strings": strings,
            "blobs": len(self.blobs),
            "nonce": self.nonce,
            "counted": tuple(self.counted.get(number, 0) for number in range(2048)),
        }
        header = wire.Header(**(fields | self.header_changes))
        return wire.HEADER.pack(*header[:-1], *header.counted)

    def _state(self, found: Found | Absent | None) -> int:
        if found is None:
            return wire.STATE_NONE
        if isinstance(found, Absent):
            return wire.STATE_ABSENT
        fields = found._asdict()
        fields |= {"target": self.string(found.target), "content": wire.CONTENT[found.content]}
        if found.mtime_ns >= 1 << 63:  # the kernel's number has no bit for it, and goes on below zero
            fields["mtime_ns"] -= 1 << 64
        self.states.append(wire.State(**fields))
        return len(self.states) - 1 + wire.STATE_FIRST


def encrypted(key: bytes, nonce: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    return Cipher(algorithms.ChaCha20(key, bytes(4) + nonce), mode=None).encryptor().update(data)


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value
