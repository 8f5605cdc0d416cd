"""The error tree: everything Steno can fail with, on purpose.

Each error says what failed and on what, and carries a `hint` that helps. They are caught once, in
`steno.cli.main`, which prints them and exits with `exit_code`. Never raised for what the observed
command does: that is a fact of the record, not an error of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class StenoError(Exception):
    """Steno could not do what it was asked."""

    exit_code: ClassVar[int] = 125

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class BadRequestError(StenoError):
    """The words on the command line do not name something Steno can do."""

    exit_code = 2


class RunNotFoundError(BadRequestError):
    """No run, or more than one, answers to the given name."""


class BadPolicyError(BadRequestError):
    """A policy cannot be read, or does not say what a policy says; each problem has its line and column."""

    def __init__(self, problems: Sequence[str], *, hint: str) -> None:
        super().__init__("\n".join(problems), hint=hint)
        self.problems = tuple(problems)


class StoreError(StenoError):
    """The store cannot be created, read or written."""


class CaptureError(StenoError):
    """The command could not be observed, so it was not started."""


class AgentSetupError(StenoError):
    """The world of an agent could not be prepared, so it was not started."""


class SealError(StenoError):
    """A spool could not be turned into a bundle. The spool is kept."""


class UnreadableBundleError(StenoError):
    """A bundle is missing, is not a bundle, or cannot be read at all."""

    exit_code = 4


class BadBundleError(StenoError):
    """A bundle is not what it says it is, so nothing is made of it."""

    exit_code = 1


class DegradedEvidenceError(StenoError):
    """A record declares that something is missing, and what is asked for needs all of it."""

    exit_code = 3
