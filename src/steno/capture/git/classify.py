"""What git says of the files that a run touched: their repository, and tracked, dirty or ignored.

Git runs as docs/adr/0002 has it, on a private git directory with a copy of the index. Three or four
children for a repository, all under one deadline; none when no path lies in one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steno.capture.git.process import Git, find_git
from steno.capture.git.repository import place_at, read_head, read_settings
from steno.capture.git.shadow import Budget, ShadowRepo, copy_index
from steno.capture.git.types import EMPTY_TREE, RepositoryPaths, Settings, SnapshotFailedError
from steno.capture.tmpfs import make_shadow, remove_shadow

SECONDS = 30.0
# Without it git takes it on trust that a file is as it was, when told that it is not checked out.
_LOOK = ("-c", "core.sparseCheckout=true")
_LIST = (*_LOOK, "ls-files", "-z", "-v", "--stage")
_STATUS = (
    *(*_LOOK, "status", "--porcelain=v2", "-z", "--untracked-files=no"),
    *("--ignore-submodules=dirty", "--no-renames", "--no-ahead-behind"),
)
_CHECK_IGNORE = ("check-ignore", "-z", "--stdin")
_HERE = b"./"  # before a name that would mean something else, such as `:(top)`
_NONE_IGNORED = 1
_GITLINK = b"160000"
_PLAINLY_TRACKED = b"H"
_FIELDS_BEFORE_PATH = {b"1": 8, b"u": 10}


class Repository(NamedTuple):
    root: bytes
    head: str | None
    dirty: bool


class GitClass(NamedTuple):
    """The class of one file; `dirty` is about tracked ones, and true where git was told not to look."""

    repository: Repository
    relative_path: bytes
    tracked: bool
    dirty: bool
    ignored: bool

    @property
    def is_clean(self) -> bool:
        return self.tracked and not self.dirty and self.repository.head is not None


class GitFacts(NamedTuple):
    repositories: list[Repository]
    classes: dict[bytes, GitClass]
    failures: list[str]


class RepositoryFinder:
    """The repository that a file lies in, asked of the file system once for each directory."""

    def __init__(self) -> None:
        self._known: dict[bytes, RepositoryPaths | None] = {}

    def find(self, path: bytes) -> RepositoryPaths | None:
        directory = path.rpartition(b"/")[0]
        passed = []
        while directory not in self._known:
            passed.append(directory)
            found = self._at(directory or b"/")
            if found is not None or not directory:
                break
            directory = directory.rpartition(b"/")[0]
        else:
            found = self._known[directory]
        self._known.update(dict.fromkeys(passed, found))
        return found

    @staticmethod
    def _at(directory: bytes) -> RepositoryPaths | None:
        with suppress(OSError, ValueError):
            os.lstat(directory + b"/.git")
            if os.path.realpath(directory) == directory:
                return place_at(Path(os.fsdecode(directory)))
        return None


def git_facts(paths: Iterable[bytes], fallback: Path) -> GitFacts:
    """Paths that lie in no repository have no class, and neither have those where git failed."""
    facts = GitFacts([], {}, [])
    finder = RepositoryFinder()
    members: dict[RepositoryPaths, list[bytes]] = {}
    for path in paths:
        place = finder.find(path)
        if place is not None:
            members.setdefault(place, []).append(path)
    if members:
        _classify_all(members, fallback, facts)
    facts.repositories.sort()
    return facts


def _classify_all(members: dict[RepositoryPaths, list[bytes]], fallback: Path, facts: GitFacts) -> None:
    try:
        base, _ = make_shadow(fallback)
    except OSError as error:
        facts.failures.append(f"no private directory: {error.strerror}")
        return
    try:
        git = Git(find_git(), base)
        git.deadline = time.monotonic() + SECONDS
        for number, (place, paths) in enumerate(members.items()):
            try:
                _classify_in(git, base / f"repo-{number}", place, paths, facts)
            except SnapshotFailedError as failed:
                facts.failures.append(f"{place.root}: {failed}")
            except (OSError, ValueError, LookupError) as error:
                facts.failures.append(f"{place.root}: {type(error).__name__}: {error}")
    except SnapshotFailedError as failed:
        facts.failures.append(str(failed))
    finally:
        remove_shadow(base, fallback=fallback)


def _classify_in(
    git: Git, directory: Path, place: RepositoryPaths, paths: list[bytes], facts: GitFacts
) -> None:
    settings = read_settings(git, place)
    if not _is_work_tree(place, settings):
        return
    asked = _GitQuery(git, directory, place, settings)
    dirty = asked.dirty()
    root = os.fsencode(place.root)
    relative = {path[len(root.rstrip(b"/")) + 1 :]: path for path in paths}
    tracked, gitlinks = asked.tracked(relative)
    outside = tuple(link + b"/" for link in gitlinks)
    unknown = [path for path in relative if path not in tracked and not path.startswith(outside)]
    ignored = asked.ignored(unknown)
    repository = Repository(root, asked.head, bool(dirty))
    facts.repositories.append(repository)
    for path, absolute in relative.items():
        tag = tracked.get(path)
        is_dirty = tag is not None and (path in dirty or tag != _PLAINLY_TRACKED)
        facts.classes[absolute] = GitClass(repository, path, tag is not None, is_dirty, path in ignored)


def _is_work_tree(place: RepositoryPaths, settings: Settings) -> bool:
    if settings.object_format not in EMPTY_TREE:
        raise SnapshotFailedError("GIT_BROKEN", f"unknown object format {settings.object_format}")
    if settings.work_tree is None:
        return not settings.bare
    return os.path.realpath(place.git_dir / settings.work_tree) == str(place.root)


class _GitQuery:
    """One repository, asked through a shadow of it."""

    def __init__(self, git: Git, directory: Path, place: RepositoryPaths, settings: Settings) -> None:
        self._git = git
        self._place = place
        self._shadow = ShadowRepo(git, directory, place, settings, exclude=(), budget=Budget(0))
        self.head = read_head(git, place, settings.ref_storage)[0]
        (directory / "HEAD").write_text(f"{self.head or 'ref: refs/heads/unborn'}\n")
        index = directory / "index.seen"
        copy_index(place.git_dir, directory, index)
        self._env = self._shadow.reading(index)

    def dirty(self) -> set[bytes]:
        output = self._git.run(_STATUS, cwd=self._place.root, env=self._env).stdout
        found: set[bytes] = set()
        for record in output.split(b"\0"):
            count = _FIELDS_BEFORE_PATH.get(record[:1])
            if count is not None:
                found.add(record.split(b" ", count)[count])
        return found

    def tracked(self, wanted: dict[bytes, bytes]) -> tuple[dict[bytes, bytes], list[bytes]]:
        """Those of `wanted` that are in the index, with git's tag for each; and all nested repositories."""
        found: dict[bytes, bytes] = {}
        gitlinks: list[bytes] = []
        for record in _records(self._git.stream(_LIST, cwd=self._place.root, env=self._env)):
            facts, _, path = record.partition(b"\t")
            if path in wanted:
                found[path] = facts[:1]
            elif facts.startswith(_GITLINK, 2):
                gitlinks.append(path)
        return found, gitlinks

    def ignored(self, paths: list[bytes]) -> set[bytes]:
        if not paths:
            return set()
        child = self._git.start(_CHECK_IGNORE, cwd=self._place.root, env=self._env, with_stdin=True)
        try:
            output = child.finish(b"".join(_HERE + path + b"\0" for path in paths)).stdout
        except SnapshotFailedError:
            if child.process.returncode == _NONE_IGNORED:
                return set()
            raise
        return {path.removeprefix(_HERE) for path in output.split(b"\0")}


def _records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *records, rest = (rest + chunk).split(b"\0")
        yield from records
