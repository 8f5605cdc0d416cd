"""Which content a path had before and after a run: of all that was kept, and of what was read at the end.

In: the look that tells the state before, the one at the end, what was done to the path, and what was kept of
it at the end. Out: keys of contents, or why there is none, in the words of the spec. What was only read has
one content, the one at the end, if the file is still as it was first seen. Equal contents have one
key. Never reads one.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping
from typing import NamedTuple

from steno.judge.looks import KEPT, NOT_KEPT, Identity, Look

RACED, UNKNOWN = "raced", "unknown"  # RACED: read by the run, and touched by somebody after that
_CHANGING = "changing"
_USED = frozenset({"read", "write", "execute", "delete"})
_CHANGED = frozenset({"write", "delete"})
_CHANGING_OPERATIONS = _CHANGED | {"metadata"}
_USED_OR_CHANGED = _USED | _CHANGING_OPERATIONS
_SHOWN = 6  # dev, ino, size, mtime_ns, ctime_ns, mode
_SAME_CONTENT = 4  # without the last two


class Content(NamedTuple):
    """The key of a content, or why there is none; both for one that changed while it was copied."""

    blob: str | None = None
    why: str | None = None


class End(NamedTuple):
    """How the run left a path. `look` is None where nothing was there, or (`known` false) nobody knows."""

    look: Look | None
    content: Content
    known: bool = True


class Chosen(NamedTuple):
    before: Content
    after: Content
    same_content: bool | None = None  # None: not known
    same_ctime: bool | None = None


NOTHING = Content()


def contents(first: Look | None, end: End, done: Collection[str], ends: Mapping[Identity, str]) -> Chosen:
    """`ends`: the contents that files had at the end, whatever their names."""
    last, was_file = end.look, _is_file(first)
    is_written = not _CHANGED.isdisjoint(done)
    is_as_found = agree = False
    if first is not None and last is not None:
        is_as_found = first[:_SHOWN] == last[:_SHOWN]
        # A change of mode or owner moves the change time.
        only_set = was_file and "metadata" in done and first[:_SAME_CONTENT] == last[:_SAME_CONTENT]
        agree = not is_written and (is_as_found or only_set)
    before = _before(first, end, done, agree=agree) if first is not None and was_file else NOTHING
    same_ctime = _same_ctime(first, last) if "metadata" in done else None
    if not _is_file(last):
        return Chosen(before, NOTHING, same_ctime=same_ctime)
    if agree:
        return Chosen(before, before, same_ctime=same_ctime)
    if was_file and _USED_OR_CHANGED.isdisjoint(done):
        return Chosen(before, NOTHING, same_ctime=same_ctime)
    untouched = is_written and is_as_found
    same_content = _same_content(first, before, end, ends, untouched=untouched)
    return Chosen(before, end.content, same_content, same_ctime)


def _before(first: Look, end: End, done: Collection[str], *, agree: bool) -> Content:
    """`agree`: the content is still the one that was first seen."""
    if first.content == KEPT:
        return _whole(Content(first.blob))
    if first.content != NOT_KEPT:
        return Content(why=first.content)
    if _USED.isdisjoint(done):
        return NOTHING
    if not agree:
        return Content(why=RACED if end.known and _CHANGING_OPERATIONS.isdisjoint(done) else UNKNOWN)
    if end.content.why is not None:
        return Content(why=RACED if end.content.why == _CHANGING else end.content.why)
    return _whole(end.content)


def _whole(content: Content) -> Content:
    return content if content.blob is not None else Content(why=UNKNOWN)


def _same_content(
    first: Look | None, before: Content, end: End, ends: Mapping[Identity, str], *, untouched: bool
) -> bool | None:
    then = before.blob
    if then is None and first is not None and end.look is not None and not untouched:
        # Two files of one size and time may have changed their names: then the content tells.
        then = ends.get(first.identity) if first.figures == end.look.figures else None
    if then is None or end.content.blob is None or end.content.why is not None:
        return untouched or None
    return then == end.content.blob


def _same_ctime(first: Look | None, last: Look | None) -> bool | None:
    """Asked where the run may have set what is in no state, such as extended attributes."""
    if first is None or last is None or (first.dev, first.ino) != (last.dev, last.ino):
        return None
    return first.ctime_ns == last.ctime_ns


def _is_file(look: Look | None) -> bool:
    return look is not None and stat.S_ISREG(look.mode)
