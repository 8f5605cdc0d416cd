"""A run as it happens: what its spool shows so far, and what comes to it.

In: the folder of a run. Out: happenings in order of time, bounded in number, until the run is sealed.
Everything is masked by the rules of the seal before it leaves this room. Never writes, never waits.
"""

from __future__ import annotations

from steno.judge.activity import CALL, NET, PROCESS, Happening

__all__ = ["CALL", "NET", "PROCESS", "Happening"]
