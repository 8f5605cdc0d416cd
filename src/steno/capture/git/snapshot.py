"""Git before and after the command, and the patch of what changed in between, nested repositories included.

The command is taken to be hostile: git is only run on shadow repositories (see docs/adr/0002), with the
settings that were found before the run. What is found there is never an error.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from steno.capture.git.patch import Evaluation, Pair, PatchStream, evaluate, join, patch_chunks
from steno.capture.git.process import Git, find_git
from steno.capture.git.repository import find_repository, is_real_directory, place_at, read_settings
from steno.capture.git.shadow import Budget, ShadowRepo
from steno.capture.git.status import join_status, status_lines, summarise, with_dirty
from steno.capture.git.types import (
    EMPTY_TREE,
    Change,
    Comparison,
    Omitted,
    Part,
    RepositoryPaths,
    Settings,
    Skip,
    Snapshot,
    SnapshotFailedError,
)
from steno.capture.tmpfs import make_shadow, remove_shadow, room_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType


__all__ = [
    "Change",
    "Comparison",
    "Omitted",
    "PatchStream",
    "RepoWatch",
    "Skip",
    "Snapshot",
    "remove_shadow",
]

_MAX_COPIED = 1 << 30
_MAX_NESTED = 200
_IGNORED_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


class RepoWatch:
    """Watches the repository that `cwd` lies in. Use it as a context manager: it holds copies in memory."""

    def __init__(
        self,
        cwd: Path,
        *,
        exclude: Sequence[Path] = (),
        fallback: Path,
        finder: Callable[[bytes], bool],
    ) -> None:
        self._cwd = cwd
        self._exclude = tuple(os.path.realpath(path) for path in exclude)
        self._fallback = fallback
        self._finder = finder
        self._git: Git | None = None
        self._repos: dict[bytes, ShadowRepo] = {}
        self._notes = [f"{name} was set and ignored" for name in _IGNORED_VARIABLES if name in os.environ]
        self._evaluated: dict[tuple[int, int], tuple[Snapshot, Snapshot | None, Evaluation]] = {}
        self._base: Path | None = None
        self._no_base = ""
        try:
            self._base, notes = make_shadow(fallback)
            self._notes += notes
        except OSError as error:
            self._no_base = f"no private directory: {error}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._base is not None:
            remove_shadow(self._base, fallback=self._fallback)

    @property
    def shadow_paths(self) -> tuple[Path, ...]:
        """The directories to clear if we are killed; known before any snapshot is taken."""
        return () if self._base is None else (self._base,)

    # --- snapshots ---------------------------------------------------------------------------------

    def before(self) -> Snapshot | Skip:
        return self._snapshot()

    def after(self) -> Snapshot | Skip:
        return self._snapshot()

    def _snapshot(self) -> Snapshot | Skip:
        try:
            git = self._ready_git()
            git.restart_clock()
            if b"" not in self._repos:
                self._open_outermost(git)
            return self._assemble(self._observe(git, b""))
        except SnapshotFailedError as failed:
            return failed.skip
        except (OSError, ValueError, LookupError) as error:
            return Skip("GIT_BROKEN", f"{type(error).__name__}: {error}")

    def _ready_git(self) -> Git:
        if self._base is None:
            raise SnapshotFailedError("NO_PRIVATE_DIRECTORY", self._no_base)
        if self._git is None:
            self._git = Git(find_git(), self._base)
        return self._git

    def _open_outermost(self, git: Git) -> None:
        place = find_repository(self._cwd)
        settings = read_settings(git, place)
        if settings.work_tree is not None:
            root = type(self._cwd)(os.path.realpath(place.git_dir / settings.work_tree))
            place = replace(place, root=root)
        elif settings.bare:
            raise SnapshotFailedError("BARE_REPOSITORY", str(place.git_dir))
        if settings.object_format not in EMPTY_TREE:
            raise SnapshotFailedError("GIT_BROKEN", f"unknown object format {settings.object_format}")
        self._add_repo(git, b"", place, settings, Budget(min(_MAX_COPIED, room_in(git.scratch) // 2)))

    def _add_repo(
        self, git: Git, prefix: bytes, place: RepositoryPaths, settings: Settings, budget: Budget
    ) -> None:
        self._repos[prefix] = ShadowRepo(
            git,
            git.scratch / f"repo-{len(self._repos)}",
            place,
            settings,
            exclude=self._excluded_below(place.root),
            budget=budget,
        )

    def _excluded_below(self, root: Path) -> tuple[bytes, ...]:
        relative = (os.path.relpath(path, root) for path in self._exclude)
        return tuple(os.fsencode(path) for path in relative if path != "." and path.split("/")[0] != "..")

    def _observe(self, git: Git, prefix: bytes) -> list[Part]:
        repo = self._repos[prefix]
        below = prefix + b"/" if prefix else b""
        known = [path.removeprefix(below) for path in self._repos if path and path.startswith(below)]
        if not prefix and not is_real_directory(repo.place.root):
            raise SnapshotFailedError("WORK_TREE_GONE", f"{repo.place.root} is no longer a directory")
        if not prefix and not repo.place.git_dir.is_dir():
            raise SnapshotFailedError("NOT_A_GIT_REPO", f"the git directory {repo.place.git_dir} is gone")
        part = repo.observe(prefix, tuple(known))
        parts = [part]
        for path in sorted({*known, *repo.listing.gitlinks, *repo.listing.embedded}):
            nested = join(prefix, path)
            if not any(done.prefix == nested for done in parts):
                parts += self._observe_nested(git, repo, path, nested)
        return parts

    def _observe_nested(self, git: Git, parent: ShadowRepo, path: bytes, nested: bytes) -> list[Part]:
        try:
            if nested not in self._repos and not self._open_nested(git, parent, path, nested):
                return []
            return self._observe(git, nested)
        except SnapshotFailedError as failed:
            kind = parent.settings.object_format
            return [Part(nested, kind, "", None, None, b"", failure=failed.skip)]

    def _open_nested(self, git: Git, parent: ShadowRepo, path: bytes, nested: bytes) -> bool:
        root = parent.place.root / os.fsdecode(path)
        if not is_real_directory(root) or not any(root.iterdir()):
            return False
        if len(self._repos) > _MAX_NESTED:
            raise SnapshotFailedError("TOO_MANY_REPOSITORIES", f"more than {_MAX_NESTED} nested repositories")
        place = place_at(root)
        if place is None:  # files in a submodule that is not checked out: git itself does not look there
            nowhere = parent.empty_directory / "none"
            place = RepositoryPaths(root, nowhere, nowhere)
            settings = parent.settings
        else:
            settings = read_settings(git, place, parent.settings)
        self._add_repo(git, nested, place, settings, parent.budget)
        return True

    def _assemble(self, parts: list[Part]) -> Snapshot:
        outer = self._repos[b""]
        dirty = [part.prefix for part in parts[1:] if part.status and part.prefix in outer.listing.gitlinks]
        lines = with_dirty(status_lines(parts[0].status), dirty)
        notes = [*self._notes, *(note for part in parts for note in _notes_of(part))]
        return Snapshot(
            root=str(outer.place.root),
            head=parts[0].head,
            branch=parts[0].branch,
            status=join_status(lines),
            status_summary=summarise(lines),
            tree=parts[0].tree,
            omitted=tuple(item for part in parts for item in _omitted_in(part)),
            notes=tuple(notes),
            embedded=tuple(os.fsdecode(path) for path in outer.listing.embedded),
            parts=tuple(parts),
        )

    # --- comparisons -------------------------------------------------------------------------------

    def compare(self, before: Snapshot, after: Snapshot) -> Comparison:
        """Say what changed in the run, what of it is withheld, and what is not in the patch."""
        return self._evaluate_run(before, after).comparison

    def changes(self, before: Snapshot, after: Snapshot) -> list[Change]:
        return list(self.compare(before, after).changes)

    def patch(self, before: Snapshot, after: Snapshot) -> PatchStream:
        """The patch of the run: applied to the state before, it gives the state after."""
        return self._stream(self._evaluate_run(before, after))

    def worktree_patch(self, snapshot: Snapshot) -> PatchStream:
        """The uncommitted changes of a snapshot: staged, unstaged and untracked, against its HEAD."""
        return self._stream(self._evaluate_worktree(snapshot))

    def _stream(self, evaluation: Evaluation) -> PatchStream:
        chunks = patch_chunks(self._git, evaluation) if self._git is not None else iter(())
        return PatchStream(chunks, evaluation.comparison)

    def _evaluate_run(self, before: Snapshot, after: Snapshot) -> Evaluation:
        old = {part.prefix: part for part in before.parts}
        new = {part.prefix: part for part in after.parts}
        pairs, unpatched = [], []
        for prefix in sorted({*old, *new}):
            one, other = old.get(prefix), new.get(prefix)
            failures = [
                part.failure for part in (one, other) if part is not None and part.failure is not None
            ]
            if failures:
                unpatched.append(Omitted(os.fsdecode(prefix), 0, failures[0].reason))
                continue
            unpatched += _changed_while_omitted(one, other)
            pairs.append(self._pair(prefix, one, other))
        return self._evaluate((before, after), pairs, unpatched)

    def _evaluate_worktree(self, snapshot: Snapshot) -> Evaluation:
        pairs, unpatched = [], list(snapshot.omitted)
        for part in snapshot.parts:
            if part.failure is not None:
                unpatched.append(Omitted(os.fsdecode(part.prefix), 0, part.failure.reason))
                continue
            committed = replace(part, tree=part.head or EMPTY_TREE[part.object_format])
            pairs.append(self._pair(part.prefix, committed, part))
        return self._evaluate((snapshot, None), pairs, unpatched)

    def _pair(self, prefix: bytes, one: Part | None, other: Part | None) -> Pair:
        empty = EMPTY_TREE[self._repos[prefix].settings.object_format]
        omitted = {item.path for part in (one, other) if part for item in part.omitted}
        return Pair(
            repo=self._repos[prefix],
            prefix=prefix,
            old=one.tree if one else empty,
            new=other.tree if other else empty,
            omitted=frozenset(omitted),
        )

    def _evaluate(
        self, key: tuple[Snapshot, Snapshot | None], pairs: list[Pair], unpatched: list[Omitted]
    ) -> Evaluation:
        if self._git is None:
            return Evaluation([], Comparison((), (), tuple(unpatched)))
        cached = self._evaluated.get((id(key[0]), id(key[1])))
        if cached is not None:
            return cached[2]
        self._git.restart_clock()
        evaluation = evaluate(self._git, pairs, unpatched, self._finder)
        self._evaluated[id(key[0]), id(key[1])] = (*key, evaluation)  # held, so that an id stays its own
        return evaluation


def _notes_of(part: Part) -> Iterator[str]:
    where = f"{os.fsdecode(part.prefix)}: " if part.prefix else ""
    for note in part.notes:
        yield where + note
    if part.failure is not None:
        yield f"{where}{part.failure.reason}: {part.failure.detail}"


def _omitted_in(part: Part) -> Iterator[Omitted]:
    for item in part.omitted:
        yield replace(item, path=os.fsdecode(join(part.prefix, os.fsencode(item.path))))


def _changed_while_omitted(one: Part | None, other: Part | None) -> Iterator[Omitted]:
    old = {item.path: item for item in _omitted_in(one)} if one else {}
    new = {item.path: item for item in _omitted_in(other)} if other else {}
    for path in sorted({*old, *new}):
        was, now = old.get(path), new.get(path)
        if was is None or now is None or was.identity is None or was.identity != now.identity:
            yield now or old[path]
