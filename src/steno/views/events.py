"""What the kernel saw, one line a call: the lines of `steno events`."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from steno.evidence.linux_numbers import signal_name
from steno.evidence.wire import OPS
from steno.judge.types import NO_ERROR
from steno.model.events import Row, access, has_failed_to_reach, notes_of, result_word
from steno.text.safe import cut, pad, visible
from steno.text.style import Paint

_OP_WIDTH = max(len(op.name) for op in OPS.values())
_OPEN_FLAGS = {0o100: "create", 0o1000: "truncate", 0o2000: "append", 0o200: "exclusive"}  # of Linux
_ARGUMENTS_SHOWN = 50
_SIGNAL_BITS = 0x7F


def line(row: Row, paint: Paint, *, width: int | None) -> str:
    seconds = f"{row['mono_ns'] / 1e9:.6f}"
    head = f"{seconds:>12} {row['process']:>5}  "
    op = pad(row["op"], _OP_WIDTH)
    result = result_word(row["result"])
    failed = has_failed_to_reach(row["op"], row["result"])
    detail = _DETAILS.get(row["op"])
    words = [
        _shown(row["resolved"] or row["path"]),
        detail(row) if detail else "",
        "" if result in NO_ERROR else result,
    ]
    words += [f"[{note}]" for note in notes_of(row["notes"])]
    rest = " ".join(word for word in words if word)
    room = None if width is None else width - len(head) - _OP_WIDTH - 1
    rest = visible(rest) if room is None else cut(visible(rest), max(room, 1))
    return f"{paint('faint', head)}{op} {paint('bad', rest) if failed else rest}"


def _shown(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "backslashreplace")


def _opened(row: Row) -> str:
    flags = row["arg"]
    return ", ".join([access(flags), *(word for bit, word in _OPEN_FLAGS.items() if flags & bit)])


def _arguments(row: Row) -> str:
    words = (row["extra"] or b"").removesuffix(b"\0").split(b"\0")
    more = f" … {row['arg']} in all" if len(words) > _ARGUMENTS_SHOWN else ""
    return shlex.join(map(_shown, words[:_ARGUMENTS_SHOWN])) + more


def _ended(row: Row) -> str:
    status = row["arg"] & 0xFFFF
    number = status & _SIGNAL_BITS
    return f"by {signal_name(number)}" if number else f"code {status >> 8}"


_WHOSE = ("of the run", "outside the run", "of the recorder", "not known whose")  # arg of `reach`
# how the line of an operation goes on after its path
_DETAILS: dict[str, Callable[[Row], str]] = {
    "process": lambda row: f"pid {row['arg'] & 0xFFFFFFFF}, started by {row['arg'] >> 32}",
    "fork": lambda row: f"process {row['arg2']}" if row["arg2"] else "",
    "exec": _arguments,
    "interpreter": lambda row: _shown(row["extra"]),
    "exit": _ended,
    "outlived": lambda row: f"pid {row['arg']}",
    "signal": lambda row: f"{signal_name(row['arg'])} to pid {row['arg2']}",
    "reach": lambda row: f"pid {row['arg2']}, {_WHOSE[row['arg'] & 3]}",
    "open": _opened,
    "open_handle": _opened,
    "follow": lambda row: f"-> {_shown(row['target'])}" if row["target"] else "",
    "mkdir": lambda row: f"mode {row['arg']:o}",
    "chmod": lambda row: f"mode {row['arg']:o}",
    "chown": lambda row: f"uid {row['arg']}, gid {row['arg2']}",
    "truncate": lambda row: f"to {row['arg']} bytes",
    "rename": lambda row: f"-> {_shown(row['extra'])}",
    "rename_to": lambda row: f"<- {_shown(row['extra'])}",
    "link": lambda row: f"-> {_shown(row['extra'])}",
    "link_to": lambda row: f"<- {_shown(row['extra'])}",
    "symlink": lambda row: f"-> {_shown(row['extra'])}",
    "mount": lambda row: f"from {_shown(row['extra'])}",
    "setxattr": lambda row: _shown(row["extra"]),
    "getxattr": lambda row: _shown(row["extra"]),
    "removexattr": lambda row: _shown(row["extra"]),
    "socket": lambda row: f"family {row['arg']}, type {row['arg2']}",
    "listen": lambda row: f"descriptor {row['arg']}",
    "accept": lambda row: f"descriptor {row['arg']}",
}
