"""Changes one file of an agent's home: whole or not at all, and never through a link.

In: a home, the path of a file below it, and a function from its old bytes to its new ones. Out: whether it
was changed. Every step of the path is taken from the descriptor of the one before, so that a link that
somebody planted is refused. A new file is 0600 and new folders are 0700; a file that was there keeps its
owner, group and mode. What cannot be used is left as it is, and is an error.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steno.bundle.folder import Folder, NotRegularError, write_all
from steno.errors import AgentSetupError
from steno.launch import file_lock

MOST_BYTES = 32 << 20
LOCK_SECONDS = 5.0
_TRIES = 5
_LINKS = {errno.ELOOP, errno.ENOTDIR}
_PRIVATE = 0o600

Change = Callable[[bytes], bytes]


class _Found(NamedTuple):
    content: bytes
    mode: int = _PRIVATE
    owner: tuple[int, int] | None = None  # and group
    identity: tuple[int, ...] = ()


_NOTHING = _Found(b"")


def content(home: Path, file: str) -> bytes | None:
    """None when there is no such file."""
    try:
        with Folder(home) as folder:
            found = _look(folder, file)
    except OSError as error:
        raise _unusable(home / file, error) from error
    return None if found is _NOTHING else found.content


def change(home: Path, file: str, changed: Change) -> bool:
    """`changed` gets no bytes for a file that is missing; its ValueError says what is wrong with the file."""
    path = home / file
    try:
        with Folder(home) as folder:
            _lock(folder)
            for _ in range(_TRIES):
                found = _look(folder, file)
                new = changed(found.content)
                if new == found.content:
                    return False
                if _replaced(folder, file, found, new):
                    return True
    except ValueError as error:
        raise AgentSetupError(
            f"{path} cannot be used: {error}", hint="it is left as it is; correct it, or use another --home"
        ) from error
    except OSError as error:
        raise _unusable(path, error) from error
    raise AgentSetupError(f"{path} changes all the time", hint="end the agent that writes it, then try again")


def _lock(folder: Folder) -> None:
    """Of two starts with one home, each keeps what the other wrote."""
    if not file_lock.take(folder.fd, seconds=LOCK_SECONDS):
        raise AgentSetupError(
            f"somebody holds the home {folder.path}", hint="find out who with `fuser`, end it, and try again"
        )


def _look(folder: Folder, file: str) -> _Found:
    try:
        fd = folder.open(file)
    except FileNotFoundError:
        return _NOTHING
    with os.fdopen(fd, "rb") as opened:
        status = os.fstat(fd)
        data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return _Found(
        data,
        stat.S_IMODE(status.st_mode),
        (status.st_uid, status.st_gid),
        (status.st_ino, status.st_size, status.st_mtime_ns),
    )


def _replaced(folder: Folder, file: str, found: _Found, new: bytes) -> bool:
    """False when somebody else changed the file while we did."""
    above, slash, name = file.rpartition("/")
    temporary = f"{above}{slash}.{name}.{os.urandom(8).hex()}"
    fd = folder.create(temporary)
    try:
        try:
            write_all(fd, new)
            _give(fd, found)
            os.fsync(fd)
        finally:
            os.close(fd)
        if _look(folder, file).identity != found.identity:
            return False
        folder.replace(temporary, file)
    finally:
        with suppress(OSError):
            folder.remove(temporary)
    return True


def _give(fd: int, found: _Found) -> None:
    """The owner first: to change it takes bits of the mode away. Who may not keep it changes nothing."""
    made = os.fstat(fd)
    if found.owner is not None and found.owner != (made.st_uid, made.st_gid):
        os.fchown(fd, *found.owner)
    os.fchmod(fd, found.mode)


def _unusable(path: Path, error: OSError) -> AgentSetupError:
    if isinstance(error, NotRegularError) or error.errno in _LINKS:
        return AgentSetupError(
            f"{path} is refused: below the home it is, or is reached through, a link or a special file",
            hint="put a regular file there, or use another --home",
        )
    return AgentSetupError(
        f"{path} cannot be used: {error.strerror}",
        hint="the agent's home must be yours and writable; see --home",
    )
