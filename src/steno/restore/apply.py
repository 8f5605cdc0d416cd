"""Doing what a plan says: the only place where a file of the user's is changed.

A file is written under another name in its own directory, synced, given its owner, mode and time, and only
then exchanged with what is there, so whoever looks (or is killed) sees the old file or the new one. What
comes out is looked at: if it is not what the plan saw, it gets its name back. No file is ever removed: what
is taken away goes to the trash.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from steno.restore.filesystem import (
    FileSystem,
    Lookup,
    ObstacleError,
    Trash,
    exchange,
    open_node,
    open_parent,
    rename_to_free,
    state_of_node,
)
from steno.restore.plan import Do, Plan, Problem, Step
from steno.restore.states import Contents, FileRecord, Kind, LackingContentError, State, kind_of, parent_of
from steno.restore.tasks import OWNER_MAY_ALL, User, permitted_mode

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# Not every file system keeps nanoseconds; FAT keeps every other second.
_ROUND_NS = 100
_COARSEST_TIME_NS = 2 * 10**9


class _ChangedError(Exception):
    """What is there is no longer what the plan was made for."""


def carry_out(plan: Plan, contents: Contents, user: User, trash: Trash) -> list[Problem]:
    """Take the steps of a plan, then look whether everything is as it was to be."""
    failed = apply_steps(plan.steps, contents, user, trash, plan.notes)
    named = {problem.path for problem in (*failed, *plan.conflicts, *plan.impossible)}
    filesystem = FileSystem()
    for path, end in sorted(plan.ends.items()):
        if path in named:
            continue
        if not _has_come_true(filesystem.look(path), end) or _holds_other_content(
            filesystem, path, end, contents
        ):
            failed.append(Problem(path, "it is not what the record says, though nothing failed"))
    return failed


def _has_come_true(found: Lookup, end: State) -> bool:
    now = found.state
    if found.problem or Kind.UNKNOWN in {now.kind, end.kind}:
        return True  # nobody can tell
    return _is_as_recorded(now, end)


def _is_as_recorded(now: State, end: State) -> bool:
    if now.kind is not end.kind or now.target != end.target:
        return False
    rounded = now.mtime_ns % _ROUND_NS == 0 and abs(now.mtime_ns - end.mtime_ns) <= _COARSEST_TIME_NS
    same_time = now.mtime_ns == end.mtime_ns or rounded
    return now.kind is not Kind.FILE or (now.size == end.size and same_time)


def _holds_other_content(filesystem: FileSystem, path: bytes, end: State, contents: Contents) -> bool:
    """Size and time can be those of another content: two writes within a tick of the clock."""
    if end.kind is not Kind.FILE or end.blob is None:
        return False
    try:
        return filesystem.holds(path, contents.get(end.blob)) is False
    except LackingContentError:
        return False  # nobody can tell


def apply_steps(
    steps: Iterable[Step], contents: Contents, user: User, trash: Trash, notes: list[Problem] | None = None
) -> list[Problem]:
    """Take the steps in order; a path that fails is left as it is, and named. `notes` gets what came out
    otherwise than planned."""
    applier = _Applier(contents, user, trash)
    failed: dict[bytes, str] = {}
    try:
        for step in steps:
            if step.path in failed:
                continue
            try:
                applier.take(step)
            except OSError as error:
                failed[step.path] = error.strerror or str(error)
            except (ObstacleError, LackingContentError, _ChangedError) as error:
                failed[step.path] = str(error)
    finally:
        applier.close()
    if notes is not None:
        notes.extend(applier.notes)
    return [Problem(path, why) for path, why in failed.items()]


class _Applier:
    def __init__(self, contents: Contents, user: User, trash: Trash) -> None:
        self._contents = contents
        self._user = user
        self._trash = trash
        self.notes: list[Problem] = []
        self._filesystem = FileSystem()
        self._opened: dict[bytes, int] = {}  # read-only directories made writable, and their mode
        self._worked_in: dict[bytes, os.stat_result] = {}  # directories, as they were at first
        self._set_nodes: set[tuple[int, int]] = set()  # files and links whose metadata we have set

    def take(self, step: Step) -> None:
        if step.now is not None:
            self._check_unchanged(step.path, step.now)
        match step.do:
            case Do.RENAME | Do.EXCHANGE:
                self._rename(step)
            case Do.REMOVE:
                self._remove(step)
            case Do.REMOVE_DIRECTORY:
                with self._writable_parent(step.path) as (parent, name), suppress(FileNotFoundError):
                    os.rmdir(name, dir_fd=parent)
                self._opened.pop(step.path, None)
                self._worked_in.pop(step.path, None)
            case Do.MAKE_DIRECTORY:
                self._make_directory(step.path, 0o777 if step.target is None else OWNER_MAY_ALL)
            case _ if step.target is None:
                raise ValueError(f"{step.do} without a target")
            case _:
                self._make(step, step.target)

    def _make(self, step: Step, target: State) -> None:
        match step.do:
            case Do.WRITE:
                self._write(step, target)
            case Do.LINK:
                self._link(step, target)
            case Do.HARD_LINK:
                self._hard_link(step, target)
            case Do.SET:
                self._set(step.path, target, step.now)
                self._opened.pop(step.path, None)
                self._worked_in.pop(step.path, None)

    def close(self) -> None:
        """Give the directories that we worked in their times and modes back."""
        for path, found in self._worked_in.items():
            with suppress(OSError, ObstacleError), open_parent(path) as (parent, name):
                _change_time(parent, name, found)
        for path, mode in reversed(self._opened.items()):
            with suppress(OSError, ObstacleError), open_parent(path) as (parent, name):
                _change_mode(parent, name, mode)

    def _remove(self, step: Step) -> None:
        """Away to another name first: what came along is looked at before it is removed."""
        with self._writable_parent(step.path) as (parent, name):
            taken = self._temporary_name(parent, step.path)
            try:
                rename_to_free(parent, name, parent, taken)
            except FileNotFoundError:
                return
            try:
                self._check_taken(parent, taken, step.now)
                self._dispose(parent, taken, step)
            except (_ChangedError, OSError):
                _give_back(parent, taken, name)
                raise

    def _check_taken(self, parent: int, taken: bytes, planned: State | None) -> None:
        if planned is not None:
            with open_node(parent, taken) as node:
                self._check_same(node, planned)

    def _dispose(self, parent: int, taken: bytes, step: Step) -> None:
        """Into the trash: no record tells whose bytes are in a file. All that a link holds is its target."""
        if stat.S_ISLNK(os.stat(taken, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(taken, dir_fd=parent)
        else:
            self._trash.take(parent, taken, step.path)

    def _rename(self, step: Step) -> None:
        self._make_missing(parent_of(step.path))
        directories = [] if step.moved is not None else [step.source]
        if step.do is Do.EXCHANGE and step.now is None:
            directories.append(step.path)
        if any(self._filesystem.look(path).state.kind is not Kind.DIRECTORY for path in directories):
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
            try:
                self._check_taken(new_parent, new, step.moved)
            except (_ChangedError, OSError):
                rename(new_parent, new, old_parent, old)
                raise

    def _make_missing(self, directory: bytes) -> None:
        missing = []
        while self._filesystem.look(directory).state.kind is Kind.ABSENT:
            missing.append(directory)
            directory = parent_of(directory)
        for path in reversed(missing):
            self._make_directory(path, OWNER_MAY_ALL)

    def _make_directory(self, path: bytes, mode: int) -> None:
        with self._writable_parent(path) as (parent, name):
            try:
                os.mkdir(name, mode, dir_fd=parent)
            except FileExistsError:
                if self._filesystem.look(path).state.kind is not Kind.DIRECTORY:
                    raise

    def _write(self, step: Step, target: State) -> None:
        content = self._contents.get(target.blob) if target.size and target.blob else b""
        if len(content) != target.size:
            raise LackingContentError("the content in the record is not of the recorded size")
        with self._writable_parent(step.path) as (parent, name):
            temporary = self._temporary_name(parent, step.path)
            fd = os.open(temporary, _CREATE, 0o600, dir_fd=parent)
            with _removed_on_failure(parent, temporary), os.fdopen(fd, "wb") as file:
                file.write(content)
                file.flush()
                if self._user.is_root:
                    os.fchown(fd, target.uid, target.gid)
                if step.now is not None and step.now.kind is Kind.FILE:
                    _copy_attributes(parent, name, fd)
                os.fchmod(fd, permitted_mode(target, self._user))
                os.utime(fd, ns=(os.fstat(fd).st_atime_ns, target.mtime_ns))
                os.fsync(fd)
            self._put_into_place(parent, temporary, step)

    def _link(self, step: Step, target: State) -> None:
        with self._writable_parent(step.path) as (parent, _):
            temporary = self._temporary_name(parent, step.path)
            os.symlink(target.target, temporary, dir_fd=parent)
            with _removed_on_failure(parent, temporary), open_node(parent, temporary) as node:
                self._set_node(node, target)
            self._put_into_place(parent, temporary, step)

    def _hard_link(self, step: Step, target: State) -> None:
        """Another name of what has just been put back; where it cannot be one, it is a file of its own."""
        with self._writable_parent(step.path) as (parent, _):
            temporary = self._temporary_name(parent, step.path)
            why_not = _link_to(step.source, target, parent, temporary)
            if why_not is None:
                self._put_into_place(parent, temporary, step)
                return
        source = os.fsdecode(step.source)
        self._write(step, target)
        self.notes.append(
            Problem(step.path, f"it is a file of its own now, and no name of {source}: {why_not}")
        )

    def _put_into_place(self, parent: int, temporary: bytes, step: Step) -> None:
        """In exchange for what the plan saw there, or, if it saw nothing, where nothing is."""
        name = step.path.rpartition(b"/")[2]
        with _removed_on_failure(parent, temporary):
            if step.now is None or not step.now.exists:
                try:
                    rename_to_free(parent, temporary, parent, name)
                except FileExistsError:
                    raise _ChangedError("something was put there while this was going on") from None
                return
            exchange(parent, temporary, parent, name)
            try:
                self._check_taken(parent, temporary, step.now)
                self._dispose(parent, temporary, step)
            except (_ChangedError, OSError):
                exchange(parent, temporary, parent, name)
                raise

    def _temporary_name(self, parent: int, path: bytes) -> bytes:
        """A free name beside a path. What a killed undo left there may be a user's: it goes to the trash."""
        name = path.rpartition(b"/")[2]
        temporary = b".steno-" + hashlib.sha256(name).hexdigest()[:24].encode() + b".tmp"
        with suppress(FileNotFoundError):
            os.stat(temporary, dir_fd=parent, follow_symlinks=False)
            self._trash.take(parent, temporary, path)
        return temporary

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
            if self._filesystem.look(path).state != planned:
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
            if path.count(b"/") > 1:
                self._worked_in.setdefault(parent_of(path), os.fstat(parent))
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


def _link_to(source: bytes, target: State, parent: int, name: bytes) -> str | None:
    """Make `name` another name of what must be as recorded at `source`; or tell why that cannot be done."""
    try:
        with open_parent(source) as (there, source_name), open_node(there, source_name) as node:
            if not _is_as_recorded(state_of_node(node), target):
                return "it was changed while this was going on"
            os.link(f"/proc/self/fd/{node}", name, dst_dir_fd=parent, follow_symlinks=True)
    except (OSError, ObstacleError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _give_back(parent: int, taken: bytes, name: bytes) -> None:
    try:
        rename_to_free(parent, taken, parent, name)
    except FileExistsError:
        raise _ChangedError(
            f"it was replaced twice while this was going on; one of them is {os.fsdecode(taken)} beside it"
        ) from None


def _copy_attributes(parent: int, name: bytes, fd: int) -> None:
    """Access lists and the like of the file that is replaced: no run takes them away by writing to it."""
    with open_node(parent, name) as node:
        itself = f"/proc/self/fd/{node}"
        try:
            names = os.listxattr(itself)
            for inherited in {*os.listxattr(fd)} - {*names}:  # from its directory
                if not inherited.startswith("security."):
                    os.removexattr(fd, inherited)
        except OSError as error:
            if error.errno != errno.ENOTSUP:
                raise
            return
        for attribute in names:
            if not attribute.startswith("security."):  # the kernel's own, made anew for every file
                os.setxattr(fd, attribute, os.getxattr(itself, attribute))


def _change_mode(parent: int, name: bytes, mode: int) -> None:
    with open_node(parent, name) as node:
        if stat.S_ISDIR(os.fstat(node).st_mode):
            Path(f"/proc/self/fd/{node}").chmod(mode)


def _change_time(parent: int, name: bytes, found: os.stat_result) -> None:
    with open_node(parent, name) as node:
        now = os.fstat(node)
        if stat.S_ISDIR(now.st_mode) and (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino):
            os.utime(f"/proc/self/fd/{node}", ns=(now.st_atime_ns, found.st_mtime_ns))


@contextmanager
def _removed_on_failure(parent: int, temporary: bytes) -> Iterator[None]:
    """What we made ourselves, and nobody has got yet."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


class OpenedDirectories:
    """`put_back` are the paths whose modes were given back meanwhile."""

    def __init__(self) -> None:
        self.put_back: Container[bytes] = ()


@contextmanager
def opened(records: Iterable[FileRecord], user: User) -> Iterator[OpenedDirectories]:
    directories = OpenedDirectories()
    closed = () if user.is_root else sorted(one.path for one in records if _is_closed(one))
    modes = {one.path: one.after.mode for one in records}
    with ExitStack() as stack:
        for path in closed:
            try:
                with open_parent(path) as (parent, name):
                    node = stack.enter_context(open_node(parent, name))
            except (OSError, ObstacleError):
                continue
            found = os.fstat(node)
            as_left = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == modes[path]
            if as_left and found.st_uid == user.uid:
                _set_mode(node, modes[path] | OWNER_MAY_ALL)
                stack.callback(_close_again, directories, path, node, modes[path])
        yield directories


def _is_closed(record: FileRecord) -> bool:
    return record.after.kind is Kind.DIRECTORY and record.after.mode & OWNER_MAY_ALL != OWNER_MAY_ALL


def _close_again(directories: OpenedDirectories, path: bytes, node: int, mode: int) -> None:
    if path not in directories.put_back and stat.S_IMODE(os.fstat(node).st_mode) == mode | OWNER_MAY_ALL:
        _set_mode(node, mode)


def _set_mode(node: int, mode: int) -> None:
    Path(f"/proc/self/fd/{node}").chmod(mode)
