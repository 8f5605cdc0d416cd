"""Steno: the court stenographer for AI agents. Runs a command unchanged and writes a record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Run", "__version__", "open"]

if TYPE_CHECKING:
    from steno.model.run import Run, open  # noqa: A004 - as gzip.open

_IN_MODEL = {"open", "Run"}


def __getattr__(name: str) -> Any:
    """What most starts of the program do without is imported when somebody asks for it."""
    if name in _IN_MODEL:
        from steno.model import run

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
