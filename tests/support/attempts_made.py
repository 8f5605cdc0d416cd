"""What an attempt says of itself, made by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from steno.contracts.agent_audit.meta import Ended, Known, Launch, Meta, describe

RUN_ID = "20260125T120000-codex-0123abcd"
STARTED_AT_MS = 1_769_342_400_123
COMPLETION = {
    "state": "completed",
    "reasonCode": "DONE_MARKER_FOUND",
    "needsUserInput": False,
    "source": "stdout",
    "diagnostics": ["DONE_SIGNAL_NOT_FOUND"],
}


def ended_well(**changed: Any) -> Ended:
    return Ended(
        launch=Launch("codex", ["exec", "--json"], f"/agents/runs/{RUN_ID}"),
        started_at_ms=STARTED_AT_MS,
        ended_at_ms=STARTED_AT_MS + 2000,
        started=True,
        exit_code=0,
        signal=None,
        error=None,
        steno_run_id="2026-01-25T12-00-00-000Z_a1b2c3d4",
        complete=True,
    )._replace(**changed)


def known(attempt: int = 1, run_id: str = RUN_ID, **changed: Any) -> Known:
    made = Known(
        run_id=run_id,
        agent="codex",
        run_directory=f"/agents/runs/{run_id}",
        attempt=attempt,
        completion=COMPLETION,
        handle=run_id[-8:],
    )
    return msgspec.structs.replace(made, **changed)


def meta(attempt: int = 1, run_id: str = RUN_ID, **changed: Any) -> Meta:
    return describe(known(attempt, run_id, **changed), ended_well())
