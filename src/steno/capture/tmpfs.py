"""Private directories in memory, for copies of files that may hold secrets.

Never removes a directory that is not one of ours, and never follows a symbolic link.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from steno.capture.procfs import mounts

PREFIX = "steno-shadow-"
_MOUNTS = Path("/proc/self/mountinfo")
_MEMORY_TYPES = frozenset({b"tmpfs", b"ramfs"})
_ROOM_NEEDED = 8 << 20


def memory_directories() -> tuple[Path, ...]:
    """Return the directories that are held in memory and that we may use, best first."""
    candidates = [Path("/dev/shm")]  # noqa: S108 - checked to be a tmpfs; the directory made in it is 0700
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith(os.sep):
        candidates.append(Path(runtime))
    in_memory = _memory_mounts()
    return tuple(path for path in candidates if _mount_of(path) in in_memory)


def make_shadow(fallback: Path) -> tuple[Path, tuple[str, ...]]:
    """Return a new private directory, and notes for the record. Raises OSError when nothing can be made."""
    for parent in memory_directories():
        with suppress(OSError):
            if room_in(parent) >= _ROOM_NEEDED:
                return _private_directory(parent), ()
    fallback.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = (
        "no file system in memory is available: copies of changed files were kept in the fallback directory"
    )
    return _private_directory(fallback), (note,)


def remove_shadow(path: Path, *, fallback: Path | None = None) -> bool:
    """Remove a directory that `make_shadow` made; say whether it is gone. Refuses anything else."""
    allowed = [*memory_directories(), *([fallback] if fallback is not None else [])]
    if not path.name.startswith(PREFIX) or not any(_same_place(path.parent, parent) for parent in allowed):
        return False
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not ours or stat.S_IMODE(found.st_mode) != stat.S_IRWXU:
        return False
    shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)


def abandoned_shadows() -> list[Path]:
    """Directories of ours in memory whose recorder was killed before its record could name them."""
    found = [path for parent in memory_directories() for path in parent.glob(f"{PREFIX}*")]
    return [
        path for path in found if (pid := _maker_of(path)) is not None and not Path(f"/proc/{pid}").exists()
    ]


def _maker_of(path: Path) -> int | None:
    number = path.name.removeprefix(PREFIX).partition("-")[0]
    return int(number) if number.isdecimal() else None


def room_in(directory: Path) -> int:
    """Return how many bytes can still be written below a directory."""
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def _private_directory(parent: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))


def _same_place(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _memory_mounts() -> frozenset[str]:
    # A later line for the same mount point hides an earlier one.
    kinds: dict[bytes, bytes] = {}
    with suppress(OSError):
        kinds = {one.place: one.kind for one in mounts(_MOUNTS.read_bytes())}
    return frozenset(os.fsdecode(place) for place, kind in kinds.items() if kind in _MEMORY_TYPES)


def _mount_of(path: Path) -> str | None:
    if not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
        return None
    real = os.path.realpath(path)
    while not os.path.ismount(real):
        real = str(Path(real).parent)
    return real
