"""`steno agent reconstruct`: both streams of a trace of strace, as two files that appear together or not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from steno.contracts.agent_audit.strace_reader import Reconstruction, reconstruct, trace_file_lines
from steno.errors import BadRequestError, StoreError
from steno.export.atomic import place_file

_HINT = "choose other names for OUT and ERR"


def reconstruct_files(trace: Path, out: Path, err: Path) -> Reconstruction:
    _require_three_files(trace, out, err)
    made: list[Reconstruction] = []

    def write_both(out_file: IO[bytes]) -> None:
        _place(err, lambda err_file: made.append(reconstruct(trace_file_lines(trace), out_file, err_file)))

    try:
        _place(out, write_both)
    except BadRequestError as error:
        if made:  # the trace was read; it is the place that is wrong
            raise BadRequestError(str(error), hint=_HINT) from None
        raise
    except StoreError as error:
        raise StoreError(str(error), hint=_HINT) from None
    return made[0]


def _require_three_files(trace: Path, out: Path, err: Path) -> None:
    places = [os.path.realpath(path) for path in (trace, out, err)]
    if places[0] in places[1:] or (places[1] == places[2] and not _is_device(out)):
        raise BadRequestError("TRACE, OUT and ERR must be three files", hint=_HINT)


def _place(target: Path, write: Callable[[IO[bytes]], object]) -> None:
    if not _is_device(target):
        place_file(target.absolute(), write)
        return
    try:
        with target.open("wb") as device:
            write(device)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}", hint=_HINT) from error


def _is_device(path: Path) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)  # noqa: PTH110, PTH112, PTH113 - these do not raise for a name that is too long
