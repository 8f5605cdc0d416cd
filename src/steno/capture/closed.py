"""Closing our process to others: no process of its user can trace it, write its memory or take its files.

In: nothing. Out: the kernel's word that it is so. An exec opens the new program again; a fork does not.
"""

from __future__ import annotations

import ctypes
import os

from steno.errors import CaptureError

_SET_DUMPABLE = 4  # PR_SET_DUMPABLE of linux/prctl.h


def close_to_others() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        why = os.strerror(ctypes.get_errno())
        raise CaptureError(
            f"the recorder cannot be closed to the command ({why})",
            hint="something on this machine refuses prctl(PR_SET_DUMPABLE)",
        )
