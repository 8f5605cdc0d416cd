"""A patch for the eye: lines in colour, and in a changed line what changed stands out.

In: the lines of a patch, as `views.file_diff` makes them. Out: text that is safe to print, line for line.
Where as many lines were added as removed, each is held against its other: the words between what both begin
and end with are marked. Never changes a character of a line; without colour it is the patch as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from steno.text.safe import visible
from steno.text.style import Paint
from steno.views.file_diff import common_beginning

_ROLES = {"+": "good", "-": "bad", "@": "heading", "#": "warning"}
_HEADINGS = ("diff ", "--- ", "+++ ")
_WORD = re.compile(r"\w+|\W")
_LONGEST = 2000  # letters; nobody looks for a word in a longer line


def painted(patch: Iterable[bytes], paint: Paint) -> Iterator[str]:
    removed: list[str] = []
    added: list[str] = []
    is_inside = False  # of a hunk: there `--- x` is a removed line
    for line in patch:
        text = line.rstrip(b"\n").decode("utf-8", "backslashreplace")
        is_inside = text.startswith("@@ ") or (is_inside and text[:1] in {" ", "+", "-", "\\"})
        if is_inside and text[:1] in {"+", "-"}:
            if text[0] == "-" and added:
                yield from _changed(removed, added, paint)
                removed, added = [], []
            (removed if text[0] == "-" else added).append(text)
            continue
        yield from _changed(removed, added, paint)
        removed, added = [], []
        yield _plain(text, paint, is_inside=is_inside)
    yield from _changed(removed, added, paint)


def _plain(text: str, paint: Paint, *, is_inside: bool) -> str:
    if not is_inside and text.startswith(_HEADINGS):
        return paint("heading", _safe(text))
    return paint(_ROLES[text[:1]], _safe(text)) if text[:1] in _ROLES else _safe(text)


def _changed(removed: list[str], added: list[str], paint: Paint) -> Iterator[str]:
    if not paint.colour or len(removed) != len(added):
        yield from (_plain(text, paint, is_inside=True) for text in [*removed, *added])
        return
    pairs = [_marked(old, new, paint) for old, new in zip(removed, added, strict=True)]
    yield from (paint("bad", old) for old, _ in pairs)
    yield from (paint("good", new) for _, new in pairs)


def _marked(old: str, new: str, paint: Paint) -> tuple[str, str]:
    """Both lines; what lies between their common beginning and their common end stands out."""
    if max(len(old), len(new)) > _LONGEST:
        return _safe(old), _safe(new)
    before, after = _WORD.findall(old[1:]), _WORD.findall(new[1:])
    head = common_beginning(before, after)
    tail = common_beginning(before[head:][::-1], after[head:][::-1])
    shared = [*before[:head], *before[len(before) - tail :]]
    if not "".join(shared).strip():  # nothing in common: to mark all would mark nothing
        return _safe(old), _safe(new)
    return (
        _with_mark(old[0], before, head, tail, paint),
        _with_mark(new[0], after, head, tail, paint),
    )


def _with_mark(sign: str, words: list[str], head: int, tail: int, paint: Paint) -> str:
    end = len(words) - tail
    parts = ("".join(words[:head]), "".join(words[head:end]), "".join(words[end:]))
    return sign + _safe(parts[0]) + paint.strong(_safe(parts[1])) + _safe(parts[2])


def _safe(text: str) -> str:
    """As a terminal may have it: tabs stay, nothing else is acted on."""
    return "\t".join(visible(part) for part in text.split("\t"))
