"""What the observer of a run that is going on has seen, as happenings.

Every string is masked as it will be when the run is sealed, and only those that are shown are read at all.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple

from steno.bundle.folder import Folder
from steno.bundle.frame_records import FramesError
from steno.bundle.frames import OP_NAMES
from steno.bundle.kernel_table import mask_arguments, mask_path
from steno.bundle.live_frames import LiveFrames
from steno.bundle.lock import KERNEL
from steno.evidence import wire
from steno.judge.activity import ALWAYS, OPENS, Happening, Row, Teller, gathered
from steno.judge.operations import MEANING_OF_OPEN
from steno.redact.redactor import Redactor

_SIZE = wire.EVENT.size
_OP, _ARG = 16, 40  # where they begin in a record
_IS_ALWAYS = bytes(name in ALWAYS for name in OP_NAMES)
_IS_OPEN = bytes(name in OPENS for name in OP_NAMES)
_LOW = bytes(bool(byte & MEANING_OF_OPEN & 0xFF) for byte in range(256))
_HIGH = bytes(bool(byte & MEANING_OF_OPEN >> 8) for byte in range(256))
_OF_PROCESSES = frozenset({"process", "exec", "exit"})
_MOST_PROCESS, _LATEST_NS = (1 << 31) - 1, (1 << 53) - 1
_RAW = 4  # so many calls are kept for each happening: not every call is one
_KNOWN_STRINGS = 8192
_LARGE_STRING = 4096


class Taken(NamedTuple):
    happenings: list[Happening]
    passed_over: int = 0


class KernelWatch:
    def __init__(self, spool: Folder, key: bytes, redactor: Redactor, ours: Sequence[str]) -> None:
        """Raises OSError or FramesError while nothing is there yet."""
        with spool.sub(KERNEL) as folder:
            self._frames = LiveFrames(folder, key)
        self._redactor = redactor
        self._teller = Teller(ours)
        self._masked: OrderedDict[int, bytes] = OrderedDict()

    def close(self) -> None:
        self._frames.close()

    def take(self, most: int, *, to_the_end: bool = False) -> Taken:
        """The newest `most` happenings of what has come."""
        self._frames.advance(to_the_end=to_the_end)
        waiting: deque[wire.Event] = deque()
        passed_over = 0
        while records := self._frames.take():
            for event in self._in_order(_worth_a_look(records)):
                waiting.append(event)
                if len(waiting) > most * _RAW:
                    passed_over += 1
                    self._learn(waiting.popleft())
        told = gathered(happening for event in waiting if (happening := self._tell(event)) is not None)
        return Taken(told[-most:] if most else [], passed_over + max(len(told) - most, 0))

    def _in_order(self, events: Iterable[wire.Event]) -> Iterable[wire.Event]:
        return sorted(events, key=lambda event: event.mono_ns) if self._frames.by_probe else events

    def _learn(self, event: wire.Event) -> None:
        """Nobody is told of it; who runs what is to be known all the same."""
        if OP_NAMES[event.op] in _OF_PROCESSES:
            self._tell(event._replace(extra=0))

    def _tell(self, event: wire.Event) -> Happening | None:
        texts = [self._text(number) for number in (event.path, event.resolved, event.extra)]
        if None in texts:
            return None
        path, resolved, extra = texts
        row = Row(
            mono_ns=event.mono_ns,
            process=event.process,
            op=OP_NAMES[event.op],
            path=path,
            resolved=resolved,
            extra=extra,
            result=None if event.result == wire.RESULT_UNKNOWN else event.result,
            notes=event.notes,
            arg=event.arg,
            exists=None if event.state == wire.STATE_NONE else event.state != wire.STATE_ABSENT,
            mode=self._frames.mode(event.state),
        )
        return self._teller.tell(row)

    def _text(self, number: int) -> bytes | None:
        known = self._masked.get(number)
        if known is not None:
            self._masked.move_to_end(number)
            return known
        clear = self._frames.text(number)
        if clear is None:
            return None
        mask = mask_arguments if b"\0" in clear else mask_path
        masked = mask(self._redactor, clear)
        if len(masked) <= _LARGE_STRING:
            self._masked[number] = masked
            if len(self._masked) > _KNOWN_STRINGS:
                self._masked.popitem(last=False)
        return masked


def open_kernel_watch(
    spool: Folder, key: bytes, redactor: Redactor, ours: Sequence[str]
) -> KernelWatch | None:
    """None while there are no frames that can be read."""
    try:
        return KernelWatch(spool, key, redactor, ours)
    except (OSError, FramesError):
        return None


def _worth_a_look(records: bytes) -> Iterator[wire.Event]:
    """Most calls only read; whole columns tell which do not."""
    ops = records[_OP::_SIZE]
    always, opens = _number(ops, _IS_ALWAYS), _number(ops, _IS_OPEN)
    not_for_reading = _number(records[_ARG::_SIZE], _LOW) | _number(records[_ARG + 1 :: _SIZE], _HIGH)
    worth = (always | opens & not_for_reading).to_bytes(len(ops), "big")
    for at in compress(range(0, len(records), _SIZE), worth):
        event = wire.Event(*wire.EVENT.unpack_from(records, at))
        if event.op < len(OP_NAMES) and event.process <= _MOST_PROCESS and event.mono_ns <= _LATEST_NS:
            yield event


def _number(column: bytes, table: bytes) -> int:
    """A column of ones and noughts as one number, so that columns are joined at once."""
    return int.from_bytes(column.translate(table), "big")
