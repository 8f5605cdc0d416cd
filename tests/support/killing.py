"""Ending a process at a chosen operation on a file, and all that it would have done after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# What changes a file system. An end of the process anywhere else is an end before the next of these.
OPERATIONS = ("open", "write", "link", "replace", "unlink", "mkdir", "rmdir", "ftruncate")


class KilledError(BaseException):
    """The process ends here: nothing but closing descriptors happens after it."""


class Killer:
    """Notes the operations on files, and ends the process before the chosen one."""

    def __init__(self) -> None:
        self.operations: list[str] = []

    @contextmanager
    def before(self, chosen: int | None) -> Iterator[None]:
        self.operations = []
        with pytest.MonkeyPatch.context() as patch:
            for name in OPERATIONS:
                patch.setattr(os, name, self._watched(name, getattr(os, name), chosen))
            patch.setattr(os, "fsync", lambda _fd: None)  # a real one proves nothing here
            yield

    def _watched(self, name: str, real: Callable[..., Any], chosen: int | None) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if name != "open" or args[1] & os.O_CREAT:
                self.operations.append(name)
                if chosen is not None and len(self.operations) > chosen:
                    raise KilledError
            return real(*args, **options)

        return call
