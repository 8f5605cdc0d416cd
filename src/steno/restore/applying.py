"""Doing what a plan says: the only place where a file of the user's is changed.

In: steps, contents, who asks. Out: what failed, by path; the other paths are done. A file is written under
another name in its own directory, synced, given its owner, mode and time, and only then renamed into place,
so whoever looks (or is killed) sees the old file or the new one. Every name on the way is opened without
following links, and what is no longer what the plan saw is left alone.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from steno.restore.contents import Contents, LackingContentError
from steno.restore.judging import OWNER_MAY_ALL, User, permitted_mode
from steno.restore.looking import FileSystem, ObstacleError, Sight, open_node, open_parent, state_of_node
from steno.restore.plan import Do, Plan, Problem, Step
from steno.restore.renaming import exchange, rename_to_free
from steno.restore.states import Kind, State, kind_of, parent_of

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# Not every file system keeps nanoseconds; FAT keeps every other second.
_ROUND_NS = 100
_COARSEST_TIME_NS = 2 * 10**9


class _ChangedError(Exception):
    """What is there is no longer what the plan was made for."""


def carry_out(plan: Plan, contents: Contents, user: User) -> list[Problem]:
    """Take the steps of a plan, then look whether everything is as it was to be."""
    failed = apply_steps(plan.steps, contents, user)
    named = {problem.path for problem in (*failed, *plan.conflicts, *plan.impossible)}
    eyes = FileSystem()
    for path, end in sorted(plan.ends.items()):
        if path in named:
            continue
        if not _has_come_true(eyes.look(path), end) or _holds_other_content(eyes, path, end, contents):
            failed.append(Problem(path, "it is not what the record says, though nothing failed"))
    return failed


def _has_come_true(found: Sight, end: State) -> bool:
    now = found.state
    if found.problem or Kind.UNKNOWN in {now.kind, end.kind}:
        return True  # nobody can tell
    if now.kind is not end.kind or now.target != end.target:
        return False
    rounded = now.mtime_ns % _ROUND_NS == 0 and abs(now.mtime_ns - end.mtime_ns) <= _COARSEST_TIME_NS
    same_time = now.mtime_ns == end.mtime_ns or rounded
    return now.kind is not Kind.FILE or (now.size == end.size and same_time)


def _holds_other_content(eyes: FileSystem, path: bytes, end: State, contents: Contents) -> bool:
    """Size and time can be those of another content: two writes within a tick of the clock."""
    if end.kind is not Kind.FILE or end.blob is None:
        return False
    try:
        return eyes.holds(path, contents.get(end.blob)) is False
    except LackingContentError:
        return False  # nobody can tell


def apply_steps(steps: Iterable[Step], contents: Contents, user: User) -> list[Problem]:
    """Take the steps in order; a path that fails is left as it is, and named."""
    hand = _Hand(contents, user)
    failed: dict[bytes, str] = {}
    try:
        for step in steps:
            if step.path in failed:
                continue
            try:
                hand.take(step)
            except OSError as error:
                failed[step.path] = error.strerror or str(error)
            except (ObstacleError, LackingContentError, _ChangedError) as error:
                failed[step.path] = str(error)
    finally:
        hand.close()
    return [Problem(path, why) for path, why in failed.items()]


class _Hand:
    def __init__(self, contents: Contents, user: User) -> None:
        self._contents = contents
        self._user = user
        self._eyes = FileSystem()
        self._opened: dict[bytes, int] = {}  # read-only directories made writable, and their mode
        self._set_nodes: set[tuple[int, int]] = set()  # files and links whose metadata we have set

    def take(self, step: Step) -> None:
        if step.now is not None:
            self._check_unchanged(step.path, step.now)
        match step.do:
            case Do.RENAME | Do.EXCHANGE:
                self._rename(step)
            case Do.REMOVE:
                with self._writable_parent(step.path) as (parent, name), suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=parent)
            case Do.REMOVE_DIRECTORY:
                with self._writable_parent(step.path) as (parent, name), suppress(FileNotFoundError):
                    os.rmdir(name, dir_fd=parent)
                self._opened.pop(step.path, None)
            case Do.MAKE_DIRECTORY:
                self._make_directory(step.path, 0o777 if step.target is None else OWNER_MAY_ALL)
            case _ if step.target is None:
                raise ValueError(f"{step.do} without a target")
            case Do.WRITE:
                self._write(step.path, step.target, step.now)
            case Do.LINK:
                self._link(step.path, step.target, step.now)
            case Do.SET:
                self._set(step.path, step.target, step.now)
                self._opened.pop(step.path, None)

    def close(self) -> None:
        """Give the directories that had to be made writable their modes back."""
        for path, mode in reversed(self._opened.items()):
            with suppress(OSError, ObstacleError), open_parent(path) as (parent, name):
                _change_mode(parent, name, mode)

    def _rename(self, step: Step) -> None:
        self._make_missing(parent_of(step.path))
        directories = [step.source, step.path] if step.do is Do.EXCHANGE else [step.source]
        if any(self._eyes.look(path).state.kind is not Kind.DIRECTORY for path in directories):
            raise _ChangedError("what is to be renamed is not a directory any more")
        with (
            self._writable_parent(step.source) as (old_parent, old),
            self._writable_parent(step.path) as (new_parent, new),
        ):
            rename = exchange if step.do is Do.EXCHANGE else rename_to_free
            try:
                rename(old_parent, old, new_parent, new)
            except FileExistsError:
                raise _ChangedError("the name is taken") from None

    def _make_missing(self, directory: bytes) -> None:
        missing = []
        while self._eyes.look(directory).state.kind is Kind.ABSENT:
            missing.append(directory)
            directory = parent_of(directory)
        for path in reversed(missing):
            self._make_directory(path, OWNER_MAY_ALL)

    def _make_directory(self, path: bytes, mode: int) -> None:
        with self._writable_parent(path) as (parent, name):
            try:
                os.mkdir(name, mode, dir_fd=parent)
            except FileExistsError:
                if self._eyes.look(path).state.kind is not Kind.DIRECTORY:
                    raise

    def _write(self, path: bytes, target: State, now: State | None) -> None:
        content = self._contents.get(target.blob) if target.size and target.blob else b""
        if len(content) != target.size:
            raise LackingContentError("the content in the record is not of the recorded size")
        with self._writable_parent(path) as (parent, name), _temporary(parent, name) as temporary:
            fd = os.open(temporary, _CREATE, 0o600, dir_fd=parent)
            try:
                view = memoryview(content)
                while view:
                    view = view[os.write(fd, view) :]
                if self._user.is_root:
                    os.fchown(fd, target.uid, target.gid)
                os.fchmod(fd, permitted_mode(target, self._user))
                os.utime(fd, ns=(os.fstat(fd).st_atime_ns, target.mtime_ns))
                os.fsync(fd)
            finally:
                os.close(fd)
            _put_into_place(parent, temporary, name, now)

    def _link(self, path: bytes, target: State, now: State | None) -> None:
        with self._writable_parent(path) as (parent, name), _temporary(parent, name) as temporary:
            os.symlink(target.target, temporary, dir_fd=parent)
            with open_node(parent, temporary) as node:
                self._set_node(node, target)
            _put_into_place(parent, temporary, name, now)

    def _set(self, path: bytes, target: State, planned: State | None) -> None:
        with open_parent(path) as (parent, name), open_node(parent, name) as node:
            if planned is not None:  # the name may lead to somebody else's file by now; this node does not
                self._check_same(node, planned)
            self._set_node(node, target)

    def _set_node(self, node: int, target: State) -> None:
        found = os.fstat(node)
        if kind_of(found.st_mode) is not target.kind:
            raise _ChangedError("it was replaced while this was going on")
        itself = Path(f"/proc/self/fd/{node}")  # this very inode: no name is looked up again
        if self._user.is_root:
            os.chown(itself, target.uid, target.gid)
        if target.kind is not Kind.SYMLINK:
            itself.chmod(permitted_mode(target, self._user))
        os.utime(itself, ns=(found.st_atime_ns, target.mtime_ns))
        self._set_nodes.add((found.st_dev, found.st_ino))

    def _check_unchanged(self, path: bytes, planned: State) -> None:
        if not planned.exists:
            if self._eyes.look(path).state != planned:
                raise _ChangedError("something was put there while this was going on")
            return
        with open_parent(path) as (parent, name), open_node(parent, name) as node:
            self._check_same(node, planned)

    def _check_same(self, node: int, planned: State) -> None:
        """It is what the plan saw, or we have changed it ourselves, under another of its names."""
        now, found = state_of_node(node), os.fstat(node)
        if now.kind is planned.kind is Kind.DIRECTORY or (found.st_dev, found.st_ino) in self._set_nodes:
            return
        if now != planned:
            raise _ChangedError("it was changed while this was going on")

    @contextmanager
    def _writable_parent(self, path: bytes) -> Iterator[tuple[int, bytes]]:
        with open_parent(path) as (parent, name):
            self._make_writable(parent, parent_of(path))
            yield parent, name

    def _make_writable(self, fd: int, path: bytes) -> None:
        """A read-only directory of the user's own is made writable while we work in it."""
        found = os.fstat(fd)
        mode = stat.S_IMODE(found.st_mode)
        if self._user.is_root or found.st_uid != self._user.uid or mode & OWNER_MAY_ALL == OWNER_MAY_ALL:
            return
        Path(f"/proc/self/fd/{fd}").chmod(mode | OWNER_MAY_ALL)
        self._opened.setdefault(path, mode)


def _put_into_place(parent: int, temporary: bytes, name: bytes, now: State | None) -> None:
    """Over what the plan saw there, or, if it saw nothing, over nothing."""
    if now is not None and now.exists:
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        return
    try:
        rename_to_free(parent, temporary, parent, name)
    except FileExistsError:
        raise _ChangedError("something was put there while this was going on") from None


def _change_mode(parent: int, name: bytes, mode: int) -> None:
    with open_node(parent, name) as node:
        if stat.S_ISDIR(os.fstat(node).st_mode):
            Path(f"/proc/self/fd/{node}").chmod(mode)


@contextmanager
def _temporary(parent: int, name: bytes) -> Iterator[bytes]:
    """A name beside `name`, free to be made; one that a killed undo left behind is removed first."""
    temporary = b".steno-" + hashlib.sha256(name).hexdigest()[:24].encode() + b".tmp"
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=parent)
    try:
        yield temporary
    except BaseException as error:
        if not isinstance(error, OSError) or error.errno != errno.EEXIST:  # then it is not ours
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
        raise
