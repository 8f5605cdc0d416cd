"""Finds a repository, and reads the few facts of it that a shadow needs.

All is read with plain bounded reads, which no FIFO can hold up, except the configuration, which `git config
--list` prints. No git command is run that looks at the work tree.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from steno.capture.git.process import environment
from steno.capture.git.types import RepositoryPaths, Settings, SnapshotFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steno.capture.git.process import Git


_SMALL = 1 << 20
_PACKED_REFS = 256 << 20
_MAX_SYMREFS = 5
_OBJECT_ID = re.compile(rb"\A(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_PLAIN_VALUE = re.compile(r"\A[A-Za-z0-9]{1,16}\Z")
_TRUE = frozenset({"true", "yes", "on", "1", ""})
# Values that change how bytes or names are read, and that name no program and no path.
CARRIED = (
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.symlinks",
    "core.precomposeunicode",
    "core.quotepath",
    "core.sparsecheckout",
)


def read_bounded(path: Path, limit: int = _SMALL) -> bytes | None:
    """Return the content of a regular file, or None. O_NONBLOCK: a FIFO in its place must not hold us."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - from a descriptor
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        with suppress(OSError):
            return file.read(limit)
    return None


def is_real_directory(path: Path) -> bool:
    """Say whether a directory is there, and not somewhere else behind a symbolic link."""
    return path.is_dir() and os.path.realpath(path) == str(path)


def find_repository(cwd: Path) -> RepositoryPaths:
    """Return the repository that a directory lies in, by the rules of git itself."""
    here = Path(os.path.realpath(cwd))
    broken: Path | None = None
    for directory in _upwards(here):
        entry = directory / ".git"
        if os.path.lexists(entry):
            place = place_at(directory)
            if place is not None:
                return place
            broken = broken or entry
        if _is_git_dir(directory):
            raise SnapshotFailedError(_reason_for_git_dir(directory), str(directory))
    if broken is not None:
        raise SnapshotFailedError("GIT_BROKEN", f"{broken} is not a valid git directory")
    raise SnapshotFailedError("NOT_A_GIT_REPO", f"no repository at or above {here}")


def place_at(directory: Path) -> RepositoryPaths | None:
    """Return the repository whose work tree begins at a directory, if there is one."""
    entry = directory / ".git"
    if entry.is_dir():
        git_dir = entry
    else:
        text = read_bounded(entry) or b""
        if not text.startswith(b"gitdir: "):
            return None
        git_dir = directory / os.fsdecode(text.removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    git_dir = Path(os.path.realpath(git_dir))
    if not _is_git_dir(git_dir):
        return None
    return RepositoryPaths(directory, git_dir, _common_dir(git_dir))


def _upwards(here: Path) -> Iterator[Path]:
    ceilings = {Path(entry) for entry in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)}
    across = os.environ.get("GIT_DISCOVERY_ACROSS_FILESYSTEM", "false").lower() in _TRUE
    try:
        device = here.stat().st_dev
        for directory in (here, *here.parents):
            if directory != here and directory in ceilings:
                return
            if not across and directory.stat().st_dev != device:
                return
            yield directory
    except OSError as error:
        raise SnapshotFailedError("NOT_A_GIT_REPO", f"{here}: {error.strerror}") from error


def _common_dir(git_dir: Path) -> Path:
    text = read_bounded(git_dir / "commondir")
    if text is None:
        return git_dir
    return Path(os.path.realpath(git_dir / os.fsdecode(text.rstrip(b"\r\n"))))


def _is_git_dir(directory: Path) -> bool:
    if not os.path.lexists(directory / "HEAD"):
        return False
    common = _common_dir(directory)
    return (common / "objects").is_dir() and ((common / "refs").is_dir() or (common / "reftable").is_dir())


def _reason_for_git_dir(directory: Path) -> str:
    linked = directory.parent.name in {"worktrees", "modules"} and (directory.parent.parent / "HEAD").exists()
    return "INSIDE_GIT_DIR" if linked or directory.name == ".git" else "BARE_REPOSITORY"


def read_settings(git: Git, place: RepositoryPaths, inherited: Settings | None = None) -> Settings:
    """Read the configuration. With `inherited`, the user's own files are not read again: the run may
    have changed them."""
    env = environment({"GIT_DIR": str(place.git_dir)}, user_config=inherited is None)
    output = git.run(["config", "-z", "--list"], cwd=place.git_dir, env=env).stdout
    values: dict[str, str] = {}
    for record in output.split(b"\0"):
        key, _, value = os.fsdecode(record).partition("\n")
        values[key] = value
    carried = dict(inherited.carried) if inherited else {}
    carried.update({key: values[key] for key in CARRIED if _PLAIN_VALUE.match(values.get(key, ""))})
    return Settings(
        object_format=values.get("extensions.objectformat", "sha1").lower(),
        ref_storage=values.get("extensions.refstorage", "files").lower(),
        carried=carried,
        excludes_file=inherited.excludes_file if inherited else _user_file(values, "excludesfile", "ignore"),
        attributes_file=(
            inherited.attributes_file if inherited else _user_file(values, "attributesfile", "attributes")
        ),
        work_tree=values.get("core.worktree"),
        bare=values.get("core.bare", "false").lower() in _TRUE,
    )


def _user_file(values: Mapping[str, str], key: str, default_name: str) -> str | None:
    named = values.get(f"core.{key}")
    if named:
        return str(_at_home(named))
    config_home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return str(_at_home(config_home) / "git" / default_name)


def _at_home(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no such user, or no home
        return Path(path)


def read_head(git: Git, place: RepositoryPaths, ref_storage: str) -> tuple[str | None, str | None]:
    """Return (commit, branch). Before the first commit there is only a branch; a detached HEAD has none."""
    if ref_storage != "files":
        return _head_from_git(git, place)
    text = _head_text(place.git_dir)
    branch: bytes | None = None
    for _ in range(_MAX_SYMREFS):
        if _OBJECT_ID.match(text):
            return text.decode(), _short(branch) if branch else None
        if not text.startswith(b"ref:"):
            raise SnapshotFailedError("GIT_BROKEN", "HEAD names neither a commit nor a reference")
        name = text.removeprefix(b"ref:").strip()
        branch = branch or name
        resolved = _resolve(place, name)
        if resolved is None:
            return None, _short(branch)
        text = resolved
    raise SnapshotFailedError("GIT_BROKEN", "HEAD leads through too many references")


def _short(reference: bytes) -> str:
    return os.fsdecode(reference.removeprefix(b"refs/heads/"))


def _head_text(git_dir: Path) -> bytes:
    head = git_dir / "HEAD"
    if head.is_symlink():  # how git wrote HEAD long ago; still valid
        return b"ref: " + os.fsencode(head.readlink())
    text = read_bounded(head)
    if text is None:
        raise SnapshotFailedError("GIT_BROKEN", "HEAD cannot be read")
    return text.strip()


def _resolve(place: RepositoryPaths, name: bytes) -> bytes | None:
    if not name.startswith(b"refs/") or b".." in name or b"\0" in name:
        raise SnapshotFailedError("GIT_BROKEN", "HEAD names an impossible reference")
    for directory in dict.fromkeys((place.git_dir, place.common_dir)):
        loose = read_bounded(directory / os.fsdecode(name))
        if loose is not None:
            return loose.strip()
    packed = read_bounded(place.common_dir / "packed-refs", _PACKED_REFS) or b""
    end = packed.find(b" " + name + b"\n")
    if end < 0:
        return None
    return packed[packed.rfind(b"\n", 0, end) + 1 : end]


def _head_from_git(git: Git, place: RepositoryPaths) -> tuple[str | None, str | None]:
    env = environment({"GIT_DIR": str(place.git_dir)})

    def ask(*args: str) -> list[bytes]:
        words = ["-c", "core.fsmonitor=false", *args]
        return git.run(words, cwd=place.git_dir, env=env).stdout.split(b"\n")

    try:
        branch = _short(ask("symbolic-ref", "HEAD")[0])
    except SnapshotFailedError as failed:
        if "not a symbolic ref" not in failed.skip.detail:
            raise
        branch = None
    try:
        return ask("rev-parse", "--verify", "HEAD")[0].decode(), branch
    except SnapshotFailedError as failed:
        if branch is None or "single revision" not in failed.skip.detail:
            raise
        return None, branch
