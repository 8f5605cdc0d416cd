"""The two sides of a comparison, each a run or a lock, brought to the same form.

In: verified evidence or a checked lock, and whether directories of a run are to be replaced by their names
(`$RUN_CWD`, `$HOME`, `$TMP`). Out: two `Side`s that can be compared. A lock that was made in the other form
cannot be brought to it any more, so the lock decides, and a wish against it is a `BadRequestError`.
"""

from __future__ import annotations

from typing import NamedTuple

from steno.errors import BadRequestError
from steno.model import capabilities
from steno.model.capabilities import Capabilities
from steno.views.capability.evidence import Evidence, Source
from steno.views.capability.lock import Lock


class Named(NamedTuple):
    """What a word of the command line stands for."""

    word: str
    holds: Evidence | Lock


class Side(NamedTuple):
    word: str
    kind: str
    is_projected: bool
    sources: list[Source]
    capabilities: Capabilities

    @property
    def degraded(self) -> list[str]:
        return [f"{source.run_id} {why}" for source in self.sources for why in source.degraded]

    @property
    def observers(self) -> list[str]:
        return sorted({source.observer for source in self.sources})

    @property
    def title(self) -> str:
        runs = [source.run_id for source in self.sources]
        return runs[0] if self.kind == "run" else f"{self.word} ({len(runs)} run{'s' * (len(runs) != 1)})"


def pair(a: Named, b: Named, *, projected: bool | None) -> tuple[Side, Side]:
    """Both sides in one form: the one that is asked for, else that of a lock, else projected."""
    locks = [one for one in (a, b) if isinstance(one.holds, Lock)]
    forms = {one.holds.is_projected for one in locks if isinstance(one.holds, Lock)}
    if len(forms) > 1:
        raise BadRequestError(
            "one of the locks was made with projections, and the other without",
            hint="make both in the same way, with `steno baseline`",
        )
    form = forms.pop() if forms else projected is not False
    if projected is not None and projected is not form:
        was, other = ("with", "--project") if form else ("without", "--no-project")
        raise BadRequestError(
            f"{locks[0].word} was made {was} projections",
            hint=f"compare with {other}, or make another lock with `steno baseline`",
        )
    return _side(a, projected=form), _side(b, projected=form)


def _side(named: Named, *, projected: bool) -> Side:
    holds = named.holds
    if isinstance(holds, Lock):
        return Side(named.word, "lock", projected, holds.sources, capabilities.of_told(holds.capabilities))
    return Side(named.word, "run", projected, [holds.source], holds.capabilities(projected=projected))
