"""Which paths the user does not want recorded: the ignore configuration of agent-snapshot.

The file is made with the default list when it is missing, and where it cannot be made, that list holds
without it. A file that is there and cannot be used is an error, so that nothing runs under rules nobody
chose.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from steno.errors import CaptureError
from steno.evidence.ignore_rules import IgnoreRules

DEFAULT_LIST = (
    "$HOME/.cache",
    "$HOME/.claude",
    "$HOME/.codex",
    "$HOME/.cursor",
    "$XDG_CONFIG_HOME/agent-snapshot/ignore.json",
    "/tmp/scratch-output",  # noqa: S108 - a name in a list, nothing is made there
    "/proc",
    "/dev",
    "/usr",
    "/bin",
)
LARGEST = 1 << 20
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK}


def load(environ: Mapping[str, str]) -> IgnoreRules:
    """The rules that hold for a run; raises `CaptureError` when they cannot be known."""
    path = config_path(environ)
    known = {"$HOME": _home(environ), "$XDG_CONFIG_HOME": str(path.parent.parent)}
    entries = [_expanded(entry, known) for entry in _entries(path)]
    wanted = {_plain(entry) for entry in [*entries, str(path)] if entry.startswith("/") and "\0" not in entry}
    # What is observed are resolved paths, so an entry that leads through a link stands for both names.
    return IgnoreRules(_as_bytes({*wanted, *map(os.path.realpath, wanted)}, path))


def config_path(environ: Mapping[str, str]) -> Path:
    """Where the file is, or is made by the first run."""
    home = _home(environ)
    config_home = _absolute(environ.get("XDG_CONFIG_HOME")) or (f"{home}/.config" if home else None)
    if config_home is None:
        raise CaptureError(
            "no place for the ignore configuration: HOME and XDG_CONFIG_HOME are unset, and you have no home",
            hint="set HOME or XDG_CONFIG_HOME, or watch no files with --observer none",
        )
    return Path(config_home) / "agent-snapshot" / "ignore.json"


def listed_in(path: Path) -> list[str] | None:
    """What a file says, or None when there is none; raises `CaptureError` when it cannot be used."""
    try:
        data = _read(path)
        return None if data is None else msgspec.json.decode(data, type=list[str])
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _unusable(path, f"it is not a JSON array of strings: {error}") from error


def why_not_made(path: Path) -> str | None:
    """Why a run cannot make the missing file; None when it is there or can be made. Changes nothing."""
    if os.path.lexists(path):
        return None
    above = path.parent
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    if not os.path.isdir(above):  # noqa: PTH112 - unlike pathlib's, it does not raise where a link may not be followed
        return f"{above} is not a directory"
    return None if os.access(above, os.W_OK | os.X_OK) else f"{above} cannot be written"


def _home(environ: Mapping[str, str]) -> str | None:
    """HOME; without it what the system says."""
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - unlike pathlib's, it does not raise
    return None if home == "~" else _absolute(home)


def _absolute(directory: str | None) -> str | None:
    return os.path.abspath(directory) if directory else None  # noqa: PTH100 - links stay, ".." goes


def _plain(path: str) -> str:
    return "/" + os.path.normpath(path).lstrip("/")  # POSIX keeps two slashes at the start


def _entries(path: Path) -> list[str]:
    found = listed_in(path)
    if found is not None:
        return found
    try:
        _create(path)
    except OSError:  # a home that takes no file is no reason to run nothing
        return list(DEFAULT_LIST)
    made = listed_in(path)  # perhaps by another run, and by now changed
    return list(DEFAULT_LIST) if made is None else made


def _unusable(path: Path, why: str) -> CaptureError:
    return CaptureError(
        f"cannot use the ignore configuration {path}: {why}",
        hint="mend the file, or remove it: it is made anew with the default list",
    )


def _read(path: Path) -> bytes | None:
    """The content, or None when nothing is there, or nothing that this user could ever see."""
    try:
        fd = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        if os.path.lexists(path):  # a link that leads nowhere, or a file that is not for us
            raise
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is not a regular file")
    with os.fdopen(fd, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST} bytes")
    return data


def _create(path: Path) -> None:
    """Make the file whole or not at all; another run may be doing the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".ignore.json.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with draft.open("xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(DEFAULT_LIST), indent=2) + b"\n")
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)


def _expanded(entry: str, known: Mapping[str, str | None]) -> str:
    """An entry whose variable is not set names nothing: it stays as it is, and no path begins with `$`."""
    name, slash, rest = entry.partition("/")
    value = known.get(name)
    return entry if value is None else f"{value}{slash}{rest}"


def _as_bytes(paths: Iterable[str], config: Path) -> list[bytes]:
    try:
        return [os.fsencode(path) for path in paths]
    except UnicodeError as error:
        raise _unusable(config, f"an entry is no path: {error}") from error
