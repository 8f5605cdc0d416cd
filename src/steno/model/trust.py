"""Records that are passed on or acted upon: a forged one must not come out looking sound."""

from __future__ import annotations

from pathlib import Path

from steno.errors import BadBundleError, BadRequestError, UnreadableBundleError
from steno.model.run import Run, Status, Verdict


def trusted(run: Run, *documents: str) -> Verdict:
    """Verify a bundle that is to be passed on: a forged one must not come out looking sound.

    A bundle that declares its gaps is passed on, with its gaps. A run that is not sealed is not. `documents`
    will be read of it.
    """
    verdict = run.verify(*documents)
    if verdict.gaps == ["unsealed"]:
        raise BadRequestError(
            f"{run.path.name} is not sealed", hint=f"`steno recover {run.path}` seals what was recorded"
        )
    return sound(verdict, run.path)


def sound(verdict: Verdict, path: Path) -> Verdict:
    """The same verdict; raises for what is not what it says it is."""
    if verdict.status in {Status.VALID, Status.INCOMPLETE}:
        return verdict
    failed = verdict.steps[-1]
    says = f"{path} is {verdict.status}: step {failed.number}: {'; '.join(failed.problems[:3])}"
    hint = f"`steno verify {path}` says more"
    if verdict.status is Status.UNREADABLE:
        raise UnreadableBundleError(says, hint=hint)
    raise BadBundleError(says, hint=hint)
