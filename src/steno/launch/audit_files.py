"""The files of one attempt in the `.audit` of its run directory: written, and compared with what was written.

In: a run directory held open, a number, the bytes of each file. Out: the files, each whole or not there, and
their digests, and the names of those that could not be written. The agent works beside them: what it has put
where a file of ours belongs is kept under another name and told, and what is ours already stays as it is.
Never overwrites what is not ours, never follows a link.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from steno.bundle.folder import Folder
from steno.contracts.agent_audit.streams import AUDIT, file_name
from steno.errors import BadRequestError, StoreError
from steno.evidence import canonical
from steno.export.atomic import place_in
from steno.text.safe import utf8

MOST_BYTES = 1 << 30  # of a file that is held in memory
_NUMBERED = re.compile(r"(?P<part>[a-z-]+)\.(?P<number>[1-9][0-9]*)\.(?:json|log)", re.ASCII)
_TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}", re.ASCII)


class AuditFiles:
    def __init__(
        self,
        run: Folder,
        attempt: int,
        files: Mapping[str, str] | None = None,
        unwritten: Iterable[str] = (),
    ) -> None:
        """`files` are those that were written before, with their digests; `unwritten` could not be."""
        self.attempt = attempt
        self.files = dict(files or {})
        self._unwritten: dict[str, StoreError | None] = dict.fromkeys(unwritten)  # None: it was told
        self._kept_aside: list[str] = []
        self._run = run

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(name.partition(".")[0] for name in self.files)

    @property
    def unwritten(self) -> tuple[str, ...]:
        return tuple(self._unwritten)

    @property
    def notes(self) -> list[str]:
        """For the user. Files that could not be written for one reason are told together."""
        names: dict[str, list[str]] = {}
        for name, error in self._unwritten.items():
            if error is not None:
                names.setdefault(f"{error}; {error.hint}", []).append(name)
        unwritten = [f"not written: {', '.join(those)}: {why}" for why, those in names.items()]
        return [*self._kept_aside, *unwritten]

    def expect(self, parts: Iterable[str]) -> None:
        """They belong there: until one is written, it is missing."""
        self._unwritten.update(dict.fromkeys(file_name(part, self.attempt) for part in parts))

    def write(self, part: str, make: Callable[[], Iterable[bytes]]) -> None:
        """`make` may be asked twice."""
        name = file_name(part, self.attempt)
        try:
            with open_audit(self._run, make=True) as audit:
                self.files[name] = self._placed(audit, name, make)
        except BadRequestError as error:
            raise self._failed(name, str(error), error.hint) from error
        except OSError as error:
            why = f"cannot write into {self._run.path / AUDIT}: {error.strerror}"
            gone = isinstance(error, FileNotFoundError)
            hint = "the run directory is gone" if gone else "make room, or check its permissions"
            raise self._failed(name, why, hint) from error
        self._unwritten.pop(name, None)

    def _failed(self, name: str, why: str, hint: str) -> UnwrittenError:
        failure = UnwrittenError(why, hint=hint)
        self._unwritten[name] = failure
        return failure

    def write_json(self, part: str, value: Any) -> None:
        self.write(part, lambda: [encoded(value)])

    def read(self, part: str) -> bytes:
        """What we wrote. `BadRequestError`: it is not there, not so any more, or too much to be held."""
        name = file_name(part, self.attempt)
        try:
            with open_audit(self._run) as audit:
                size = os.stat(name, dir_fd=audit.fd, follow_symlinks=False).st_size
                content = audit.read_all(name, MOST_BYTES) if size <= MOST_BYTES else None
        except OSError as error:
            raise BadRequestError(
                f"{name} cannot be read: {error.strerror}", hint=f"look into {self._run.path / AUDIT}"
            ) from error
        if content is None:
            raise BadRequestError(
                f"{name} has {size} bytes, and at most {MOST_BYTES} can be translated",
                hint=f"read {self._run.path / AUDIT / name} itself: it is whole",
            )
        if digest([content]) != self.files.get(name):
            raise BadRequestError(
                f"{name} is not as Steno wrote it", hint=f"look into {self._run.path / AUDIT}"
            )
        return content

    def _placed(self, audit: Folder, name: str, make: Callable[[], Iterable[bytes]]) -> str:
        earlier = False
        if _is_there(audit, name):
            wanted, there = digest(make()), _digest_there(audit, name)
            if there == wanted:
                return wanted  # a crash came between this file and the register
            earlier = there is not None and there == self.files.get(name)
            if not earlier:
                self._keep_aside(audit, name)
        summed = hashlib.sha256()
        place_in(audit, name, _summing(make(), summed.update), replace=earlier)
        return summed.hexdigest()

    def _keep_aside(self, audit: Folder, name: str) -> None:
        aside = f"{name}.found-{os.urandom(4).hex()}"
        audit.replace(name, aside)
        self._kept_aside.append(f"{audit.path / name} was there and is not ours; it is kept as {aside}")


class UnwrittenError(StoreError):
    """A file is not there, and `AuditFiles.notes` tells of it, together with others."""


class Compared(NamedTuple):
    changed: list[str]
    missing: list[str]


def open_audit(run: Folder, *, make: bool = False) -> Folder:
    """Made again if the agent has removed it; private again if others could read it."""
    if make:
        with suppress(FileExistsError):
            run.make_folder(AUDIT)
    try:
        audit = run.sub(AUDIT)
    except OSError as error:
        if not _is_there(run, AUDIT):
            raise
        raise BadRequestError(
            f"{run.path / AUDIT} is not a directory that can be used: {error.strerror}",
            hint="look at it, move it away, or start a new run",
        ) from error
    if make:
        try:
            os.fchmod(audit.fd, 0o700)
        except OSError:
            audit.close()
            raise
    return audit


def compared(audit: Folder, files: Mapping[str, str]) -> Compared:
    """What is not as the register has it."""
    missing = [name for name in files if not _is_there(audit, name)]
    found = {name: _digest_there(audit, name) for name in files if name not in missing}
    return Compared([name for name, now in found.items() if now != files[name]], missing)


def numbers_in(audit: Folder) -> dict[str, int]:
    """Every file with a number in its name, half written or whole, and the number."""
    found: dict[str, int] = {}
    for name in audit.names():
        temporary = _TEMPORARY.fullmatch(name)
        numbered = _NUMBERED.match(temporary["name"] if temporary else name)
        if numbered:
            found[name] = int(numbered["number"])
    return found


def is_temporary(name: str) -> bool:
    return _TEMPORARY.fullmatch(name) is not None


def encoded(value: Any) -> bytes:
    return canonical.encode(utf8(msgspec.to_builtins(value)))


def digest(blocks: Iterable[bytes]) -> str:
    summed = hashlib.sha256()
    for block in blocks:
        summed.update(block)
    return summed.hexdigest()


def _summing(blocks: Iterable[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
    for block in blocks:
        update(block)
        yield block


def _is_there(folder: Folder, name: str) -> bool:
    """Whatever it is."""
    try:
        os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _digest_there(audit: Folder, name: str) -> str | None:
    """None for what is no file, or cannot be read."""
    try:
        return digest(audit.read(name))
    except OSError:
        return None
