"""A run with tool calls as a sealed bundle, made by hand, for what is exported of calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from calls_made import calls_of
from kernel_bundles import kernel_run, process
from making import FINISHED, start
from spools import RUN_ID
from steno.events import canonical, claims, layout
from steno.events.claims import PolicyLine, SdkLine


def run_with_calls(
    store: Path, frames: Any, policy: Sequence[PolicyLine] = (), sdk: Sequence[SdkLine] = ()
) -> Path:
    """Its calls are judged by `frames`; the kernel layer beside them has three processes and nothing else."""
    run = kernel_run(
        store,
        start(),
        *FINISHED,
        run_id=RUN_ID,
        processes=[process(1, "agent"), process(2, "server", parent=1), process(3, "shell", parent=1)],
    )
    (run / layout.CALLS).write_bytes(canonical.encode(calls_of(frames, policy, sdk)))
    (run / layout.POLICY_LINES).write_bytes(_layer(policy))
    (run / layout.SDK_LINES).write_bytes(_layer(sdk))
    return run


def _layer(lines: Sequence[PolicyLine | SdkLine]) -> bytes:
    return b"".join(claims.write(msgspec.structs.replace(line, seq=seq)) for seq, line in enumerate(lines))
