"""The cgroup of a run: made, waited for and removed, also those that a killed recorder left.

Without one, the processes that the command leaves behind are found as children of the process that launched
it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from steno.capture.procfs import mounts
from steno.evidence.run_id import is_run_id

PREFIX = "steno-"
MOUNTS, OWN = Path("/proc/self/mountinfo"), Path("/proc/self/cgroup")
DYING_SECONDS = 2.0
# Whoever clears away leftovers may take a cgroup for one before it is locked: so often it is made again.
MAKING_ROUNDS = 5
# Below the run's cgroup the command may make its own; nobody needs more than these.
MAX_DEPTH, MAX_CGROUPS = 32, 10_000
# Who is moved out of the cgroup may have forked meanwhile: so often we look again.
MOVING_ROUNDS = 3
_PROCESSES, _EVENTS, _KIND = "cgroup.procs", "cgroup.events", "cgroup.type"
_POPULATED = b"populated 1"
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GONE = {errno.ENOENT, errno.ENODEV}
_REASONS = {errno.EACCES: "not_permitted", errno.EPERM: "not_permitted", errno.EROFS: "read_only"}


class Refusal(NamedTuple):
    """Why there is no cgroup: a word for programs, and a text for people."""

    reason: str
    detail: str


class Hierarchy(NamedTuple):
    """Where cgroup v2 is mounted, and where below that we are ourselves."""

    kind: str  # "unified", or "hybrid" where the first version is mounted beside it
    mount: Path
    own: str


class Remaining(NamedTuple):
    """What was there at the end. `processes` are numbers; 0 is one of another pid namespace."""

    processes: list[int]
    removed: bool


def find_hierarchy(mountinfo: bytes, own: bytes) -> Hierarchy | Refusal:
    """From the text of `/proc/self/mountinfo` and `/proc/self/cgroup`."""
    ours = next((line[3:] for line in own.split(b"\n") if line.startswith(b"0::/")), None)
    found = list(mounts(mountinfo))
    if ours is None or not any(one.kind == b"cgroup2" for one in found):
        return Refusal("no_cgroup2_mount", "no file system of cgroup v2 is mounted")
    hybrid = any(one.kind == b"cgroup" for one in found)
    for one in found:
        below = _below(ours, one.root)
        if one.kind == b"cgroup2" and below is not None:
            return Hierarchy(
                "hybrid" if hybrid else "unified", Path(os.fsdecode(one.place)), os.fsdecode(b"/" + below)
            )
    return Refusal("no_cgroup2_mount", "our own cgroup is outside of what is mounted")


def _below(path: bytes, root: bytes) -> bytes | None:
    """The rest of a path below a root, without its slash; None when it is elsewhere."""
    if b".." in path.split(b"/"):
        return None
    root = root.rstrip(b"/") + b"/"
    return path[len(root) :] if (path + b"/").startswith(root) else None


class Scope:
    """The cgroup that was made. While `fd` is open here or in a child, nobody takes it for a leftover."""

    def __init__(self, hierarchy: Hierarchy, name: str, fd: int, above: int) -> None:
        self.kind = hierarchy.kind
        self.path = f"{hierarchy.own.rstrip('/')}/{name}"
        self.cgroup_id = os.fstat(fd).st_ino
        self.fd = fd
        self._name = name
        self._above = above
        self._events = os.open(_EVENTS, os.O_RDONLY | os.O_CLOEXEC, dir_fd=fd)

    @property
    def changes(self) -> tuple[int, int]:
        """What poll(2) is to wait for, to learn that `populated` may have changed since it was asked."""
        return self._events, select.POLLPRI

    def populated(self) -> bool:
        """Whether a process is in it or below it."""
        try:
            return _POPULATED in os.pread(self._events, 256, 0)
        except OSError:  # the last one out has removed it
            return False

    def end(self) -> Remaining:
        """Who is left; they go back to where they would have been, and the cgroup is removed."""
        self._wait_for_the_dying()
        left = sorted(_processes(self.fd))
        for _ in range(MOVING_ROUNDS):
            if not _move_out(self.fd, self._above):
                break
        return Remaining(left, removed=remove_cgroup(self._name, self._above))

    def _wait_for_the_dying(self) -> None:
        """One that is about to end is not listed any more, and the kernel keeps its cgroup until it has."""
        poller = select.poll()
        poller.register(*self.changes)
        enough = time.monotonic() + DYING_SECONDS
        while self.populated() and not _processes(self.fd) and time.monotonic() < enough:
            poller.poll(DYING_SECONDS * 1000)

    def close(self) -> None:
        for fd in (self.fd, self._above, self._events):
            os.close(fd)


def own_hierarchy() -> Hierarchy | Refusal:
    if not MOUNTS.exists():
        return Refusal("not_linux", f"{MOUNTS} is not there")
    try:
        return find_hierarchy(MOUNTS.read_bytes(), OWN.read_bytes())
    except OSError as error:
        return Refusal("no_cgroup2_mount", f"{error.filename}: {error.strerror}")


def make_scope(run_id: str) -> Scope | Refusal:
    hierarchy = own_hierarchy()
    if isinstance(hierarchy, Refusal):
        return hierarchy
    place = Path(f"{hierarchy.mount}/{hierarchy.own}")
    try:
        above = os.open(place, _OPEN)
    except OSError as error:
        return _refused(place, error)
    try:
        return _make_again(hierarchy, above, f"{PREFIX}{run_id}")
    except OSError as error:
        os.close(above)
        return _refused(place, error)


def _make_again(hierarchy: Hierarchy, above: int, name: str) -> Scope:
    for _ in range(MAKING_ROUNDS - 1):
        with suppress(BlockingIOError, FileNotFoundError):
            return _make_below(hierarchy, above, name)
    return _make_below(hierarchy, above, name)


def _make_below(hierarchy: Hierarchy, above: int, name: str) -> Scope:
    # Who is to be born there needs to be allowed to leave here.
    os.close(os.open(_PROCESSES, os.O_WRONLY | os.O_CLOEXEC, dir_fd=above))
    os.mkdir(name, 0o755, dir_fd=above)
    try:
        fd = os.open(name, _OPEN, dir_fd=above)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.stat(name, dir_fd=above)  # without the lock it was anybody's leftover
            _check_kind(fd)
            return Scope(hierarchy, name, fd, above)
        except OSError:
            os.close(fd)
            raise
    except OSError:
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=above)
        raise


def _check_kind(fd: int) -> None:
    if b"invalid" in _read(_KIND, fd):
        raise OSError(errno.EOPNOTSUPP, "in a threaded cgroup no process can be born below")


def _refused(place: Path, error: OSError) -> Refusal:
    return Refusal(_REASONS.get(error.errno or 0, "failed"), f"{place}: {error.strerror}")


def process_names(pids: Sequence[int]) -> list[tuple[int, str]]:
    """The names of those that are still there."""
    found = []
    for pid in pids:
        with suppress(OSError):
            found.append((pid, os.fsdecode(Path(f"/proc/{pid}/comm").read_bytes().rstrip(b"\n"))))
    return found


# --- in and below one cgroup ---------------------------------------------------------------------------


def is_populated(fd: int) -> bool:
    """Whether a process is in it or below it."""
    return _POPULATED in _read(_EVENTS, fd)


def _read(name: str, fd: int) -> bytes:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=fd)
    with os.fdopen(file, "rb") as opened:
        return opened.read()


def _here(fd: int) -> list[int]:
    try:
        return [int(word) for word in _read(_PROCESSES, fd).split()]
    except OSError:  # removed meanwhile, or a threaded one, whose processes are listed above it
        return []


def _processes(fd: int) -> set[int]:
    found = set(_here(fd))
    for place, name in _below_first(fd, [MAX_CGROUPS]):
        with suppress(OSError), opened(name, place) as below:
            found.update(_here(below))
    return found


@contextmanager
def opened(name: str, fd: int | None = None) -> Iterator[int]:
    child = os.open(name, _OPEN, dir_fd=fd)
    try:
        yield child
    finally:
        os.close(child)


def names_below(fd: int) -> list[str]:
    """Those that can be seen; none of one that was removed meanwhile or is not ours to look into."""
    with suppress(OSError), os.scandir(fd) as entries:
        return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


def _below_first(fd: int, budget: list[int], depth: int = 0) -> Iterator[tuple[int, str]]:
    """Every cgroup below, each after those below itself: where it lies, and its name there."""
    if depth == MAX_DEPTH:
        return
    for name in names_below(fd):
        if not budget[0]:
            return
        budget[0] -= 1
        with suppress(OSError), opened(name, fd) as below:  # removed meanwhile, or not ours to look into
            yield from _below_first(below, budget, depth + 1)
        yield fd, name


def _move_out(fd: int, above: int) -> int:
    """Move who is here to the cgroup above; how many were. Who made a cgroup of its own stays in that."""
    pids = [pid for pid in _here(fd) if pid]
    if not pids:
        return 0
    try:
        target = os.open(_PROCESSES, os.O_WRONLY | os.O_CLOEXEC, dir_fd=above)
    except OSError:
        return 0
    try:
        for pid in pids:
            with suppress(OSError):  # it has ended, or is another user's now
                os.write(target, b"%d" % pid)
    finally:
        os.close(target)
    return len(pids)


def remove_cgroup(name: str, above: int) -> bool:
    """Remove a cgroup and those below it. The kernel refuses for each that has a process."""
    try:
        with opened(name, above) as fd:
            for place, below in _below_first(fd, [MAX_CGROUPS]):
                with suppress(OSError):
                    os.rmdir(below, dir_fd=place)
        os.rmdir(name, dir_fd=above)
    except OSError as error:
        return error.errno in _GONE
    return True


# Where children come and go all the time, two reads are never equal; then there are some.
MOST_READS = 100


class Descendants(Protocol):
    @property
    def changes(self) -> tuple[int, int]:
        """What poll(2) is to wait for, to learn that `populated` may have changed since it was asked."""

    def populated(self) -> bool: ...


class DescendantWait(NamedTuple):
    """Whom to wait for when the command has ended, and for how long."""

    descendants: Descendants
    seconds: float


class ReapedChildren:
    def __init__(self, launcher: int) -> None:
        self._tasks = Path(f"/proc/{launcher}/task")
        self._held: dict[int, int] = {}  # a child -> its handle
        self._over: set[int] = set()  # ended, and not yet collected by the launcher
        self._poll = select.epoll()

    @property
    def changes(self) -> tuple[int, int]:
        return self._poll.fileno(), select.POLLIN

    def populated(self) -> bool:
        children = self._children()
        self._over &= children
        for pid in children - self._over - self._held.keys():
            self._hold(pid)
        ended = {fd for fd, _ in self._poll.poll(0)}
        for pid in [pid for pid, fd in self._held.items() if fd in ended or pid not in children]:
            self._over.add(pid)
            os.close(self._held.pop(pid))
        return bool(self._held)

    def close(self) -> None:
        for fd in self._held.values():
            os.close(fd)
        self._poll.close()

    def _children(self) -> set[int]:
        """The kernel passes a child by when another is collected meanwhile: so it takes two equal reads."""
        before, found = self._read_children(), self._read_children()
        for _ in range(MOST_READS):
            if found == before:
                break
            before, found = found, self._read_children()
        return found

    def _read_children(self) -> set[int]:
        found: set[int] = set()
        with suppress(OSError):  # the launcher has gone
            for task in self._tasks.iterdir():
                with suppress(OSError):  # or one of its threads
                    found.update(map(int, (task / "children").read_bytes().split()))
        return found

    def _hold(self, pid: int) -> None:
        with suppress(OSError):  # it ended a moment ago, or there are no descriptors left for it
            self._held[pid] = os.pidfd_open(pid)
            self._poll.register(self._held[pid], select.EPOLLIN)


class CleanupResult(StrEnum):
    REMOVED = "removed"
    IN_USE = "in_use"
    FAILED = "failed"


class Leftover(NamedTuple):
    path: str  # below the mount of cgroup v2
    done: CleanupResult
    says: str


def remove_leftovers(run_id: str | None = None) -> Iterator[Leftover]:
    """Of one run, or of every run."""
    hierarchy = own_hierarchy()
    if isinstance(hierarchy, Refusal):
        return
    with suppress(OSError), opened(str(hierarchy.mount)) as top:  # then there is nothing to be seen
        for above, place, name in _named_for_runs(top):
            if (run_id is None or name == f"{PREFIX}{run_id}") and _is_this_users(above, name):
                yield _remove(above, f"{place}/{name}", name)


def sweep_beside() -> None:
    """Remove the empty cgroups of dead recorders where the next one is made. What cannot be is left."""
    hierarchy = own_hierarchy()
    if isinstance(hierarchy, Refusal):
        return
    with suppress(OSError), opened(f"{hierarchy.mount}/{hierarchy.own}") as above:
        for name in sorted(names_below(above)):
            if (
                name.startswith(PREFIX)
                and is_run_id(name.removeprefix(PREFIX))
                and _is_this_users(above, name)
            ):
                _remove(above, name, name)


def _named_for_runs(fd: int, place: str = "", depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """The cgroup above, its path, and the name of one of ours in it; runs in runs come first."""
    if depth == MAX_DEPTH:
        return
    for name in sorted(names_below(fd)):
        with suppress(OSError), opened(name, fd) as below:  # removed meanwhile, or not ours to look into
            yield from _named_for_runs(below, f"{place}/{name}", depth + 1)
        if name.startswith(PREFIX) and is_run_id(name.removeprefix(PREFIX)):
            yield fd, place, name


def _is_this_users(above: int, name: str) -> bool:
    try:
        return os.geteuid() in {0, os.stat(name, dir_fd=above, follow_symlinks=False).st_uid}
    except OSError:  # likewise
        return False


def _remove(above: int, path: str, name: str) -> Leftover:
    try:
        with opened(name, above) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_populated(fd):
                return Leftover(path, CleanupResult.IN_USE, "has processes; it is left to them")
            removed = remove_cgroup(name, above)
    except BlockingIOError:
        return Leftover(path, CleanupResult.IN_USE, "belongs to a run that is being recorded")
    except OSError as error:
        return Leftover(path, CleanupResult.FAILED, f"cannot be removed: {error.strerror}")
    if not removed:
        return Leftover(path, CleanupResult.FAILED, "cannot be removed: it is used again")
    return Leftover(path, CleanupResult.REMOVED, "was left by a run that is over; it is removed")
