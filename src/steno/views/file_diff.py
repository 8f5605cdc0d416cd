"""What a run did to the content of a file, as a patch, in colour where that helps."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import AnyStr

from steno.judge.types import ABSENT, File, FileState
from steno.model.contents import Contents
from steno.text.safe import visible
from steno.text.style import Paint

LARGEST = 4 << 20
_BINARY_LOOK = 8000  # git looks this far, too
_MOST_COMPARED = 4_000_000  # pairs of lines; beyond, the whole of what differs is one change
_WITH_CONTENT = {ABSENT, "file", "symlink"}
_SPECIAL = re.compile(rb'[\x00-\x1f\x7f-\xff"\\]')
_ESCAPES = {0x07: b"a", 0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0B: b"v", 0x0C: b"f", 0x0D: b"r"}
# why a content was not kept, as the record puts it
WHY_NO_CONTENT = {
    "too_large": "it was too large to be kept",
    "unreadable": "it could not be read",
    "changing": "it changed while it was read",
    "ignored": "the ignore configuration leaves it out",
    "raced": "it changed before it could be read",
    "clean_git": "it is in git, as it was committed",
}


class _WithheldError(Exception):
    """A content that there is, or was, cannot be shown; the words say why."""


def diff(file: File, contents: Contents | None) -> Iterator[bytes]:
    """The patch of one file, line by line, each ended by a newline."""
    if file.before.exists is None or file.after.exists is None:
        when = "before" if file.before.exists is None else "after"
        yield _remark(file, f"its state {when} the run is not known")
    elif {file.before.kind, file.after.kind} <= _WITH_CONTENT:
        try:
            before, after = _contents(file, contents)
        except _WithheldError as reason:
            yield _remark(file, f"{file.change}, not shown: {reason}")
        else:
            yield from _patch(file, before, after)
    elif (file.before.kind, file.before.mode) != (file.after.kind, file.after.mode):
        # Of a directory that is one still only the list has changed, which is told of the files in it.
        yield _remark(file, f"{_what(file.before)} before, {_what(file.after)} after")


def _what(state: FileState) -> str:
    return state.kind if state.kind and state.exists else "nothing"


def _patch(file: File, before: bytes, after: bytes) -> Iterator[bytes]:
    modes = list(_modes(file))
    if before == after and not modes:
        yield _remark(file, "the content and the mode are as they were")
        return
    yield b"diff --git %s %s\n" % (_quoted(b"a", file), _quoted(b"b", file))
    yield from modes
    if before == after:
        return
    old = _quoted(b"a", file) if file.before.exists else b"/dev/null"
    new = _quoted(b"b", file) if file.after.exists else b"/dev/null"
    if _is_binary(before) or _is_binary(after):
        yield b"Binary files %s and %s differ\n" % (old, new)
        return
    yield b"--- %s\n" % _ended(old)
    yield b"+++ %s\n" % _ended(new)
    yield from _hunks(_lines(before), _lines(after))


def _remark(file: File, words: str) -> bytes:
    return b"# %s: %s\n" % (_quoted(b"", file), words.encode())


def _modes(file: File) -> Iterator[bytes]:
    before, after = file.before, file.after
    if not before.exists:
        yield b"new file mode %o\n" % (after.mode or 0)
    elif not after.exists:
        yield b"deleted file mode %o\n" % (before.mode or 0)
    elif before.mode != after.mode:
        yield b"old mode %o\n" % (before.mode or 0)
        yield b"new mode %o\n" % (after.mode or 0)


def _contents(file: File, contents: Contents | None) -> tuple[bytes, bytes]:
    if file.change == "metadata":  # they are equal, whether or not they were kept
        return b"", b""
    return _content(file.before, contents), _content(file.after, contents)


def _content(state: FileState, contents: Contents | None) -> bytes:
    if not state.exists or state.size == 0:
        return b""
    if state.kind == "symlink":
        return state.link
    if contents is None or state.blob is None or state.blob not in contents:
        raise _WithheldError(WHY_NO_CONTENT.get(state.no_content_reason or "", "its content was not kept"))
    if contents.is_encrypted(state.blob):
        raise _WithheldError("its content holds a secret and is kept encrypted")
    if state.size is not None and state.size > LARGEST:
        raise _WithheldError(f"{state.size} bytes are too many to compare")
    return contents.read(state.blob)


def _is_binary(content: bytes) -> bool:
    return b"\0" in content[:_BINARY_LOOK]


def _lines(content: bytes) -> list[bytes]:
    *whole, rest = content.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def _quoted(side: bytes, file: File) -> bytes:
    """As git writes a name that would break a line or a terminal."""
    name = side + file.name
    return b'"%s"' % _SPECIAL.sub(_escaped, name) if _SPECIAL.search(name) else name


def _ended(name: bytes) -> bytes:
    return name + b"\t" if b" " in name else name  # else its end could be anywhere


def _escaped(match: re.Match[bytes]) -> bytes:
    code = match[0][0]
    if match[0] in {b'"', b"\\"}:
        return b"\\" + match[0]
    return b"\\" + (_ESCAPES.get(code) or b"%03o" % code)


_Change = tuple[str, int, int, int, int]  # as difflib has it: what, from-to before, from-to after


class _Comparison(difflib.SequenceMatcher[bytes]):
    """Lines that begin or end both contents are set aside first, and hopeless work is not begun."""

    def __init__(self, before: list[bytes], after: list[bytes]) -> None:
        super().__init__(a=(), b=())
        self._before, self._after = before, after

    def get_opcodes(self) -> list[_Change]:  # type: ignore[override]
        before, after = self._before, self._after
        head = common_beginning(before, after)
        tail = common_beginning(before[head:][::-1], after[head:][::-1])
        before_end, after_end = len(before) - tail, len(after) - tail
        found: list[_Change] = [("equal", 0, head, 0, head)] if head else []
        found += [
            (what, start + head, end + head, new_start + head, new_end + head)
            for what, start, end, new_start, new_end in _changes(
                before[head:before_end], after[head:after_end]
            )
        ]
        if tail:
            found.append(("equal", before_end, len(before), after_end, len(after)))
        return found


def common_beginning(one: Sequence[AnyStr], other: Sequence[AnyStr]) -> int:
    """How many items two sequences have in common from their beginning on."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _changes(before: Sequence[bytes], after: Sequence[bytes]) -> Sequence[_Change]:
    if before and after and len(before) * len(after) <= _MOST_COMPARED:
        return difflib.SequenceMatcher(None, before, after).get_opcodes()
    tag = "replace" if before and after else "delete" if before else "insert"
    return [(tag, 0, len(before), 0, len(after))] if before or after else []


def _hunks(before: list[bytes], after: list[bytes]) -> Iterator[bytes]:
    for group in _Comparison(before, after).get_grouped_opcodes():
        a1, a2, b1, b2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        yield b"@@ -%s +%s @@\n" % (_range(a1, a2), _range(b1, b2))
        for tag, start, end, other_start, other_end in group:
            if tag == "equal":
                yield from _marked(b" ", before[start:end])
            else:
                yield from _marked(b"-", before[start:end])
                yield from _marked(b"+", after[other_start:other_end])


def _range(start: int, end: int) -> bytes:
    count = end - start
    first = start + 1 if count else start
    return b"%d" % first if count == 1 else b"%d,%d" % (first, count)


def _marked(mark: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line.endswith(b"\n"):
            yield mark + line
        else:
            yield mark + line + b"\n"
            yield b"\\ No newline at end of file\n"


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
    pairs = [_with_marks(old, new, paint) for old, new in zip(removed, added, strict=True)]
    yield from (paint("bad", old) for old, _ in pairs)
    yield from (paint("good", new) for _, new in pairs)


def _with_marks(old: str, new: str, paint: Paint) -> tuple[str, str]:
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
