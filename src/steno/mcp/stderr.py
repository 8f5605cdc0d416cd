"""Messages for whoever started us. A stderr that is closed or full keeps nobody from being served."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    if sys.stderr is None:  # print would take stdout, which may be the protocol's
        return
    with contextlib.suppress(OSError, ValueError):
        print(f"steno: {text}", file=sys.stderr, flush=True)
