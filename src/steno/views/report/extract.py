"""The contents of changed files, where all contents together are too large for a page.

The bytes of a file like `blobs.parquet` with what changed files held before and after, as it is kept: what is
encrypted stays so. The smallest go in first, because what people write is small; a content that does not fit
is left out. Empty where there is none, or where the record cannot be read: the page says elsewhere what is
wrong with it. It is not in the manifest, so no digest of the seal is its own.
"""

from __future__ import annotations

from steno.errors import StenoError
from steno.evidence import layout
from steno.judge.types import File
from steno.model.contents import ContentsError
from steno.model.run import Documents, Run

EXTRACT = f"extract/{layout.shown(layout.BLOBS)}"


def changed_contents(documents: Documents, run: Run, most: int) -> bytes:
    try:
        wanted = _that_fit([file for file in documents.judgement.files.files if file.is_changed], most)
        with run.open_contents() as blobs:
            return blobs.as_kept(wanted.__contains__, most)
    except (StenoError, ContentsError):
        return b""


def _that_fit(changed: list[File], most: int) -> set[str]:
    """Keys of contents, smallest first, as their sizes are told; what they are in truth is seen later."""
    states = (state for one in changed for state in (one.before, one.after))
    sizes = {state.blob: state.size or 0 for state in states if state.blob}
    fitting = set()
    for key, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        most -= max(size, 0)
        if most < 0:
            break
        fitting.add(key)
    return fitting
