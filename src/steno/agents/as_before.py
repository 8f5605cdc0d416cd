"""What a resumed attempt has because the attempt before had it: a policy, and hooks.

In: the attempts of a run, as the register has them, and a home: policies and hooks are settings in one. Out:
the policy that was asked for there last, and whether there were hooks. A policy that cannot be read any more,
or that is not the file that it was, is an error: nobody but the user can say which one is meant, and to go on
without one would take it away unasked. Never writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from steno.agents.observing import policy_given
from steno.agents.register import AttemptRecord, AttemptState
from steno.agents.run_directory import RunName
from steno.contracts.agent_audit.meta import PolicyGiven
from steno.errors import BadPolicyError, BadRequestError

_SAY = "say what is meant: `steno agent resume --policy FILE {run} …`, or --no-policy to go on without one"
_SHOWN_DIGITS = 12


class AsBefore(NamedTuple):
    attempt: int
    policy: PolicyGiven | None
    hooks: bool


def last_asked(records: Sequence[AttemptRecord], home: str | None, name: RunName) -> AsBefore:
    """By the newest attempt in that home; one that cannot be read may have had any policy."""
    for record in reversed(records):
        if record.state is AttemptState.DAMAGED:
            raise BadRequestError(
                f"nobody knows which policy and hooks attempt {record.number} had: {record.problem}",
                hint=f"{_SAY.format(run=name.suffix)}, and --hooks or --no-hooks",
            )
        known = record.meta.steno if record.meta is not None else record.entry and record.entry.known
        if known and known.home == home:
            return AsBefore(record.number, known.policy, known.hooks)
    return AsBefore(0, None, hooks=False)


def same_policy(before: AsBefore, name: RunName) -> Path | None:
    """Its path, when the file is still what it was."""
    if before.policy is None:
        return None
    path, then = before.policy.path, before.policy.sha256
    hint = _SAY.format(run=name.suffix)
    try:
        now = policy_given(Path(path)).sha256
    except BadPolicyError as error:
        raise BadRequestError(
            f"attempt {before.attempt} stood behind a policy that cannot be used any more: {error}", hint=hint
        ) from error
    if now != then:
        digests = f"its sha256 was {then[:_SHOWN_DIGITS]}…, and is {now[:_SHOWN_DIGITS]}…"
        raise BadRequestError(
            f"attempt {before.attempt} stood behind {path}, which has changed since: {digests}", hint=hint
        )
    return Path(path)
