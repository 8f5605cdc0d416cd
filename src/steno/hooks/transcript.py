"""The last words of an agent, from its own log of the conversation.

In: the path that the agent names: a file of JSON lines. Out: the text of the last message of the assistant,
or None. Only the end of the file is read, and only of a regular file that is not a link. Never raises for
what it finds.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Any

_MOST = 1 << 20


def last_words(path: str) -> str | None:
    try:
        lines = _end_of(path).split(b"\n")
    except (OSError, ValueError):
        return None
    for line in reversed(lines):
        text = _said_by_assistant(line) if b'"assistant"' in line else None
        if text:
            return text
    return None


def _end_of(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return b""
        return os.pread(fd, _MOST, max(0, found.st_size - _MOST))
    finally:
        os.close(fd)


def _said_by_assistant(line: bytes) -> str | None:
    try:
        entry: Any = json.loads(line)
        if entry["type"] != "assistant":
            return None
        parts = entry["message"]["content"]
        return "".join(part["text"] for part in parts if part["type"] == "text")
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
