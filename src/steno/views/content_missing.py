"""Files that a run wrote, and whose content at its end is not in the record.

In: the files of a run. Out: those files, and one line about them. A file above `--max-blob` is such a one:
its state is known, and what stood in it is not. Never reads a content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from steno.judge.types import File
from steno.text.safe import listed
from steno.text.units import counted

_NAMES_SHOWN = 3
_WHY = {
    "too_large": "larger than --max-blob",
    "unreadable": "that could not be read",
    "changing": "that changed while it was read",
    "ignored": "ignored by configuration",
}


class ContentMissing(NamedTuple):
    path: str
    why: str

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def content_missing(files: Iterable[File]) -> list[ContentMissing]:
    return [ContentMissing(file.path, why(file)) for file in files if file.lacks_content]


def why(file: File) -> str:
    return _WHY.get(file.after.no_content_reason or "", "not kept")


def lines(found: Sequence[ContentMissing]) -> Iterator[str]:
    """Nothing where there are none."""
    if found:
        reasons = ", ".join(sorted({one.why for one in found}))
        names = listed((one.path for one in found), _NAMES_SHOWN)
        files = counted(len(found), "written file")
        yield f"{files} without the content at the end ({reasons}): {names}"
