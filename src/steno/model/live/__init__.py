"""A run as it happens: what its spool shows so far, and what comes to it.

Everything is masked by the rules of the seal before it leaves this room. Nothing here writes or waits.
"""

from __future__ import annotations

from steno.judge.activity import CALL, NET, PROCESS, Happening

__all__ = ["CALL", "NET", "PROCESS", "Happening"]
