"""Which paths an undo or a restore is about, what each is to become, and what speaks against it.

`undo` is about what the run changed; `restore` about what it left and the record holds: contents, tombstones,
links and directories that it changed. What was changed by somebody else while the run only looked at it is
left alone, and said. A conflict is something that neither the run nor a half-finished undo has left there:
somebody has changed it since, and it would be lost. What the record cannot give back is impossible, whatever
the user wishes. Never changes anything.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from steno.restore.filesystem import Lookup, Tree
from steno.restore.moves import MovedTree, Moves, choose_moves, crosses_devices, merged_records, still_there
from steno.restore.rename_history import LOOKING, Entry, PathHistory, PathRecord, that_happened
from steno.restore.states import (
    ABSENT,
    MASKED,
    Contents,
    FileRecords,
    Kind,
    LackingContentError,
    Rename,
    State,
    is_at_or_below,
)


class Direction(StrEnum):
    UNDO = "undo"
    RESTORE = "restore"


class Task(NamedTuple):
    path: bytes
    target: State
    left: State  # the other end: what `undo` expects to find, and what `restore` starts from
    accepted: tuple[State, ...]
    content_kept: bool  # the run changed no content, so equal sizes are equal contents
    names: frozenset[bytes]  # in the record


class Assignment(NamedTuple):
    tasks: list[Task]
    moves: Moves
    tree: MovedTree
    left_alone: list[bytes]
    steady: set[bytes]  # directories that the run left as they were, times included
    vacant: list[bytes]  # names in renamed directories under which there must be nothing in the end
    unlisted: frozenset[bytes]  # what the run changed and no state is kept of


def assign(
    records: FileRecords,
    direction: Direction,
    chosen: Sequence[bytes],
    real_tree: Tree,
    uid: int | None = None,
    others: Container[bytes] = (),
) -> Assignment:
    """`uid` is whose files may be removed to make room for a directory; None: anybody's. `others`: what
    somebody else made is not removed for that."""
    recorded = {
        record.path: PathRecord(record.before, record.after, record.operations, frozenset({record.path}))
        for record in records.files
        if record.path != b"/"
    }
    undoing = direction is Direction.UNDO
    tree = MovedTree(real_tree)
    history = PathHistory(recorded, _chosen_renames(records, recorded, chosen, real_tree))
    moves = choose_moves(history, tree, undoing=undoing, uid=uid, others=others)
    path_records = merged_records(history, moves, undoing=undoing)
    tasks, left_alone, steady = [], [], set()
    for path, record in sorted(path_records.items(), key=lambda item: item[0].split(b"/")):
        if not _is_chosen(record.names, chosen):
            continue
        if _is_wanted(record, direction):
            tasks.append(_task(path, record, direction))
        elif record.before.kind is record.after.kind is Kind.DIRECTORY:
            steady.add(path)
        elif _changed_by_others(record):
            left_alone.append(path)
    vacant = [path for path in _vacant(history, direction) if _is_chosen({path}, chosen)]
    return Assignment(tasks, moves, tree, left_alone, steady, vacant, records.unlisted)


def _chosen_renames(
    records: FileRecords, path_records: dict[bytes, PathRecord], chosen: Sequence[bytes], tree: Tree
) -> list[Rename]:
    """Of what was chosen by one of its names all renames, also those between other names."""
    happened = that_happened(records.renames, path_records)
    happened = [one for one in happened if not crosses_devices(one, tree)]
    happened = still_there(happened, tree)
    if not chosen:
        return happened
    rename_history = PathHistory(path_records, happened).rename_history
    wanted = []
    for number, one in enumerate(happened):
        names = set(rename_history.names(rename_history.entry_at(one.old, number)))
        if _is_chosen(names | {one.old, one.new}, chosen):
            wanted.append(one)
    return wanted


def _vacant(history: PathHistory, direction: Direction) -> Iterator[bytes]:
    for path, record in history.path_records.items():
        if record.operations - LOOKING and history.rename_history.touches(path):
            end = history.before(Entry(path)) if direction is Direction.UNDO else record.after
            if end is not None and end.kind is Kind.ABSENT:
                yield path


def differs(one: State, other: State) -> bool:
    if one.kind is not other.kind:
        return True
    if one.blob and other.blob and one.blob != other.blob and one.size == other.size:
        return True
    kept_apart = {"blob": None, "content": None}
    if one.kind is Kind.DIRECTORY:
        kept_apart["size"] = None  # what a file system makes of it
    return one._replace(**kept_apart) != other._replace(**kept_apart)  # type: ignore[arg-type]


def _is_chosen(names: set[bytes] | frozenset[bytes], chosen: Sequence[bytes]) -> bool:
    return not chosen or any(is_at_or_below(name, choice) for name in names for choice in chosen)


def _is_ours(record: PathRecord, direction: Direction) -> bool:
    """The run did something to it, or to another name of it, or it is a directory that the run may work in.

    The old content of a file that the run changes through another name is kept; of one that somebody else
    changes it is not.
    """
    kind = record.before.kind if record.before.kind is record.after.kind else None
    by_another_name = kind is Kind.FILE and record.before.blob is not None and direction is Direction.UNDO
    return kind is Kind.DIRECTORY or by_another_name or bool(record.operations - LOOKING)


def _changed_by_others(record: PathRecord) -> bool:
    known = Kind.UNKNOWN not in {record.before.kind, record.after.kind}
    return known and not record.operations - LOOKING and differs(record.before, record.after)


def _is_wanted(record: PathRecord, direction: Direction) -> bool:
    if direction is Direction.RESTORE and record.after.kind is Kind.FILE and record.after.blob:
        return True
    if not _is_ours(record, direction):
        return False
    if Kind.UNKNOWN in {record.before.kind, record.after.kind}:
        return bool(record.operations - LOOKING - {"directory"})
    return differs(record.before, record.after)


def _task(path: bytes, record: PathRecord, direction: Direction) -> Task:
    undoing = direction is Direction.UNDO
    target, left = (record.before, record.after) if undoing else (record.after, record.before)
    accepted = [target, left, *record.also_accepted]
    kinds = {state.kind for state in accepted if state.exists}
    if Kind.DIRECTORY in kinds and len(kinds) > 1:
        accepted.append(ABSENT)  # a directory is not replaced in one step: we may have been killed in between
    return Task(
        path,
        target,
        left,
        tuple(state for state in accepted if state.kind is not Kind.UNKNOWN),
        content_kept=target.kind is left.kind is Kind.FILE and not record.operations & {"write", "delete"},
        names=record.names,
    )


OWNER_MAY_ALL = 0o700
_SET_IDS = 0o6000
_WHY_NO_CONTENT = {
    "too_large": "its content was too large to keep",
    "unreadable": "its content could not be read",
    "changing": "its content was changing while it was copied",
    "raced": "its content had changed before it could be copied",
    "ignored": "its content is not kept, by configuration",
    "clean_git": "its content is in git, not in the record",
}
_ARTICLES = {
    Kind.ABSENT: "nothing",
    Kind.FILE: "a file",
    Kind.DIRECTORY: "a directory",
    Kind.SYMLINK: "a symbolic link",
    Kind.FIFO: "a FIFO",
    Kind.SOCKET: "a socket",
    Kind.CHAR: "a device",
    Kind.BLOCK: "a device",
    Kind.UNKNOWN: "something unknown",
}


class User(NamedTuple):
    """Who asks. Root gives files back to their owners; anybody else touches only their own."""

    uid: int
    is_root: bool

    @classmethod
    def of_this_process(cls) -> User:
        return cls(os.geteuid(), os.geteuid() == 0)


class Needed(StrEnum):
    NOTHING = "nothing"
    TIMES = "times"  # only the time of a directory: never worth a conflict
    METADATA = "metadata"
    ALL = "all"


class Decision(NamedTuple):
    needed: Needed
    conflict: str | None = None
    impossible: str | None = None


class Checker:
    def __init__(
        self,
        tree: Tree,
        contents: Contents,
        user: User,
        ended_ns: int | None,
        others: Mapping[bytes, str] | None = None,
    ) -> None:
        """`ended_ns` is when the run ended, if that can be believed. `others`: what others changed."""
        self._tree = tree
        self._contents = contents
        self._user = user
        self._ended_ns = ended_ns
        self._others = others or {}

    def check(self, task: Task, now: Lookup) -> Decision:
        """What has to be done, and what speaks against it. A conflict can be overruled, the rest cannot."""
        if now.problem:
            return Decision(Needed.ALL, impossible=now.problem)
        if task.target.kind is Kind.UNKNOWN:
            return Decision(Needed.ALL, impossible="the record does not know what was there")
        if MASKED in task.path or MASKED in task.target.target or MASKED in task.left.target:
            return Decision(Needed.ALL, impossible="its name, or where it points, held a secret")
        needed = self._needed(task, now)
        if needed in {Needed.NOTHING, Needed.TIMES}:
            return Decision(needed)
        return Decision(needed, self._conflict(task, now), self._impossible(task, now, needed))

    def _needed(self, task: Task, now: Lookup) -> Needed:
        if not self._is_like(task, now.state, task.target):
            return Needed.ALL
        if task.target.kind is Kind.ABSENT or not self._metadata_differs(now.state, task.target):
            return Needed.NOTHING
        timeless = now.state._replace(mtime_ns=task.target.mtime_ns)
        if task.target.kind is Kind.DIRECTORY and not self._metadata_differs(timeless, task.target):
            return Needed.TIMES
        return Needed.METADATA

    def _metadata_differs(self, now: State, target: State) -> bool:
        if now.mtime_ns != target.mtime_ns:
            return True
        if self._user.is_root and (now.uid, now.gid) != (target.uid, target.gid):
            return True
        return target.kind is not Kind.SYMLINK and now.mode != permitted_mode(target, self._user)

    def _conflict(self, task: Task, now: Lookup) -> str | None:
        by_others = task.names & self._others.keys()
        if now.state.exists and by_others:
            return self._others[min(by_others)]
        if task.left.kind is Kind.UNKNOWN and not now.state.exists:
            return None  # and nothing there that could be lost
        if task.left.kind is Kind.UNKNOWN and self._ended_ns is not None:
            # How the run left it is not known; but if nobody has touched it since, this is how.
            return None if now.touched_ns <= self._ended_ns else "it has been changed since"
        alike = [state for state in task.accepted if self._is_like(task, now.state, state)]
        if not alike:
            return _what_differs(task, now.state)
        if now.state.kind in {Kind.FILE, Kind.DIRECTORY}:
            modes = {mode for state in task.accepted for mode in _modes(state, now.state.kind, self._user)}
            if now.state.kind is Kind.DIRECTORY is task.target.kind:
                modes.add(OWNER_MAY_ALL)  # one that we made and were killed before it was finished
            if now.state.mode not in modes:
                return f"its mode has been changed since, to {now.state.mode:04o}"
        return None

    def _impossible(self, task: Task, now: Lookup, needed: Needed) -> str | None:
        if now.state.exists and not self._user.is_root and now.state.uid != self._user.uid:
            return f"it belongs to another user ({now.state.uid})"
        if needed is Needed.METADATA or task.target.kind in {Kind.ABSENT, Kind.DIRECTORY}:
            return None
        if task.target.kind is Kind.SYMLINK:
            return None if task.target.target else "where the link led is not in the record"
        if task.target.kind is not Kind.FILE:
            return f"{_ARTICLES[task.target.kind]} cannot be brought back"
        return self._why_no_content(task.target)

    def _why_no_content(self, target: State) -> str | None:
        if target.size == 0:
            return None
        if target.blob is None:
            why = target.content or "unknown"
            return _WHY_NO_CONTENT.get(why, "its content is not in the record")
        try:
            size = len(self._contents.get(target.blob))
        except LackingContentError as error:
            return str(error)
        return None if size == target.size else "the content in the record is not of the recorded size"

    def _is_like(self, task: Task, now: State, state: State) -> bool:
        """The same kind with the same content; metadata is looked at elsewhere."""
        if now.kind is not state.kind:
            return False
        if now.kind is Kind.SYMLINK:
            return now.target == state.target
        return now.kind is not Kind.FILE or self._has_content_of(task, now, state)

    def _has_content_of(self, task: Task, now: State, state: State) -> bool:
        if now.size != state.size:
            return False
        if state.size == 0:
            return True
        if state.blob is not None:
            try:
                held = self._tree.holds(task.path, self._contents.get(state.blob))
            except LackingContentError:
                held = None
            if held is not None:
                return held
        times = {known.mtime_ns for known in task.accepted} if task.content_kept else {state.mtime_ns}
        return now.mtime_ns in times


def permitted_mode(target: State, user: User) -> int:
    """The recorded mode; a set-id bit only if the file also belongs to whom it did."""
    if user.is_root or target.uid == user.uid:
        return target.mode
    return target.mode & ~_SET_IDS


def name_of(kind: Kind) -> str:
    return _ARTICLES[kind]


def _modes(state: State, kind: Kind, user: User) -> set[int]:
    if state.kind is not kind:
        return set()
    modes = {state.mode, permitted_mode(state, user)}
    # While it was worked in, a read-only directory of the user's was made writable.
    return modes | {mode | OWNER_MAY_ALL for mode in modes} if kind is Kind.DIRECTORY else modes


def _what_differs(task: Task, now: State) -> str:
    known = {state.kind for state in task.accepted}
    if task.left.kind is Kind.UNKNOWN:
        return "how the run left it is not known"
    if now.kind not in known:
        return f"there is {_ARTICLES[now.kind]} now, the run left {_ARTICLES[_left_by_run(task).kind]}"
    what = "target" if now.kind is Kind.SYMLINK else "content"
    return f"its {what} has been changed since"


def _left_by_run(task: Task) -> State:
    return task.left if task.left.kind is not Kind.UNKNOWN else task.target
