"""Which paths are not recorded: those that a configuration names, and what git keeps for itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable

_GIT = b"/.git"
# What agents keep in a home (settings, keys, sessions) can come from nowhere else once it is removed.
_IRREPLACEABLE = (b"/.claude", b"/.codex", b"/.cursor", b"/agent-snapshot/ignore.json")


class IgnoreRules:
    """Absolute paths that are ignored, with all that lies below them."""

    def __init__(self, paths: Iterable[bytes]) -> None:
        self._exact = frozenset(paths)
        self._below = tuple(sorted(path if path.endswith(b"/") else path + b"/" for path in self._exact))

    def ignores(self, path: bytes) -> bool:
        return self.names(path) or git_directory(path) is not None

    def names(self, path: bytes) -> bool:
        """Whether an entry stands for it, whatever git has to do with it."""
        return path in self._exact or path.startswith(self._below)

    def prefixes(self) -> list[bytes]:
        return sorted(self._exact)

    def irreplaceable(self) -> list[bytes]:
        """Entries that are recorded all the same once the run has removed them."""
        return [path for path in self.prefixes() if path.endswith(_IRREPLACEABLE)]

    def without(self, paths: Iterable[bytes]) -> IgnoreRules:
        return IgnoreRules(self._exact.difference(paths))


def git_directory(path: bytes) -> bytes | None:
    """The outermost `.git` that the path is, or lies in."""
    before, found, after = (path + b"/").partition(_GIT)
    while found and after[:1] != b"/":
        more, found, after = after.partition(_GIT)
        before += _GIT + more
    return before + b"/.git" if found else None


def is_plain(path: bytes) -> bool:
    """An absolute path as the kernel would spell it; what could not be resolved may hold dots."""
    if not path.startswith(b"/") or b"\0" in path:
        return False
    if path == b"/":
        return True
    if b"/." not in path and b"//" not in path and not path.endswith(b"/"):
        return True
    return all(name not in {b"", b".", b".."} for name in path.split(b"/")[1:])


_REMOUNT, _BIND = 1 << 5, 1 << 12
_PROPAGATION = 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20
_OLD_MAGIC, _OLD_MAGIC_BITS = 0xC0ED0000, 0xFFFF0000


def mounts_something(flags: int) -> bool:
    """In the order in which the kernel looks at them: other calls change what is mounted already."""
    if flags & _OLD_MAGIC_BITS == _OLD_MAGIC:
        flags &= ~_OLD_MAGIC_BITS
    return not flags & _REMOUNT and bool(flags & _BIND or not flags & _PROPAGATION)


def lies_below(path: bytes, directories: Collection[bytes | None]) -> bool:
    """Whether it is one of the directories, or is below one."""
    if not directories:
        return False
    while path not in directories:
        above = path.rpartition(b"/")[0] or b"/"
        if above == path or not path.startswith(b"/"):
            return False
        path = above
    return True
