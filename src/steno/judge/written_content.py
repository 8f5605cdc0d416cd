"""Whether a file that a call changed, or says it wrote, is as that would have left it.

In: the changes of some paths, each with what was found there just before, and the states at the end of the
run. Out: whether what was found later tells that a call changed a file, where its result is not known; and
why a write that was seen is not borne out by the file at the end, or None. Only states are compared (there or
not, sizes, times, modes), and the end only of a file that nobody of the run changed after the call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from steno.judge.file_changes import TICK_NS, Found, number
from steno.judge.files import After
from steno.judge.surface_names import text
from steno.judge.types import Window


class Doubt(NamedTuple):
    says: str
    is_sure: bool  # it speaks against the claim, not only fails to bear it out


class Claim(NamedTuple):
    """What a call says of each file that it wrote."""

    size: int | None = None  # how many bytes it has now
    is_edit: bool = False  # it is another than before
    stays: bool = False  # it is there


class Contents(NamedTuple):
    witnessed: Mapping[bytes, Sequence[Found]]
    behind: Mapping[bytes, Collection[bytes]]  # where names led that were asked for
    after: Mapping[bytes, After]
    origin_ns: int  # where the run's clock begins, in wall-clock time

    def tell_of_change(self, path: bytes, call: int) -> bool:
        """Whether what was found after a call did something there is not what was found before."""
        for place in {path, *self.behind.get(path, ())}:
            states = [*self.witnessed.get(place, ()), _at_end(self.after.get(place))]
            if any(one.call == call and one.differs(after) for one, after in pairwise(states)):
                return True
        return False

    def doubt(self, path: bytes, window: Window, claim: Claim) -> Doubt | None:
        found = self.witnessed.get(path, ())
        inside = [one for one in found if window.start_ns <= one.at_ns < window.end_ns]
        state = self.after.get(path)
        if not inside or found[-1].at_ns >= window.end_ns or state is None:
            return None
        if state.exists is False:
            return Doubt(f"{text(path)} is not there at the end", is_sure=True) if claim.stays else None
        size = number(state.size)
        if state.kind != "file":
            return None
        if claim.size is not None and size is not None and size != claim.size:
            says = f"{text(path)} has {size} bytes at the end, and {claim.size} are claimed"
            return Doubt(says, is_sure=size == 0)
        if claim.stays and self._is_unchanged(inside[0], size, number(state.mtime_ns), claim):
            return Doubt(f"{text(path)} is the same before and after", is_sure=claim.is_edit)
        return None

    def _is_unchanged(self, before: Found, size: int | None, mtime_ns: int | None, claim: Claim) -> bool:
        if size == 0 and claim.is_edit and (before.exists is False or before.size == 0):
            return True
        if None in {size, mtime_ns, before.size, before.mtime_ns}:
            return False
        was_old = (mtime_ns or 0) < self.origin_ns + before.at_ns - TICK_NS
        return was_old and (before.size, before.mtime_ns) == (size, mtime_ns)


def _at_end(state: After | None) -> Found:
    if state is None or state.exists is None:
        return Found(inf)
    return Found(
        inf,
        exists=state.exists,
        size=number(state.size),
        mtime_ns=number(state.mtime_ns),
        mode=state.mode or 0,
    )
