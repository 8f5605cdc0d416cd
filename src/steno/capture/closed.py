"""Closing our process to others: no process of its user can trace it, write its memory or take its files.

An exec opens the new program again; a fork does not. Its limits stay open to every process of its user, so
these are compared.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Mapping

from steno.errors import CaptureError

_LIMITS = {name[7:]: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}
_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of linux/prctl.h


def close_to_others() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        why = os.strerror(ctypes.get_errno())
        raise CaptureError(
            f"the recorder cannot be closed to the command ({why})",
            hint="something on this machine refuses prctl(PR_SET_DUMPABLE)",
        )


def limits_of(pid: int) -> Mapping[str, tuple[int, int]]:
    """By their names, without `RLIMIT_`; none of a process that is gone."""
    try:
        return {name: resource.prlimit(pid, number) for name, number in _LIMITS.items()}
    except ProcessLookupError:
        return {}
