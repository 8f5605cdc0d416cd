"""Small values inside events that tell what was observed.

Frozen types only: nothing here reads or writes.
"""

from __future__ import annotations

import msgspec


class Host(msgspec.Struct, frozen=True):
    """Where the command ran."""

    os: str
    release: str
    machine: str
    platform: str
    name: str


class LeftProcess(msgspec.Struct, frozen=True):
    """One process of the run that was still there when the record ended."""

    pid: int
    name: str


class Split(msgspec.Struct, frozen=True):
    """How many bytes of the terminal were written by which descriptor; `unwatched` counts descriptors."""

    stdout: int
    stderr: int
    tty: int
    unattributed: int
    unwatched: int
