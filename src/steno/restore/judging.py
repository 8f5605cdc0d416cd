"""One path: is it there already, may it be changed, and can it be?

In: a task and a look at what is there now. Out: a `Judgement`. A conflict is something that neither the run
nor a half-finished undo has left there: somebody has changed it since, and it would be lost. What the
record cannot give back is impossible, whatever the user wishes. Never changes anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from steno.restore.contents import Contents, LackingContentError
from steno.restore.looking import Sight, Tree
from steno.restore.states import MASKED, Kind, State
from steno.restore.tasks import Task

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


class Judgement(NamedTuple):
    needed: Needed
    conflict: str | None = None
    impossible: str | None = None


class Judge:
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

    def judge(self, task: Task, now: Sight) -> Judgement:
        """What has to be done, and what speaks against it. A conflict can be overruled, the rest cannot."""
        if now.problem:
            return Judgement(Needed.ALL, impossible=now.problem)
        if task.target.kind is Kind.UNKNOWN:
            return Judgement(Needed.ALL, impossible="the record does not know what was there")
        if MASKED in task.path or MASKED in task.target.target or MASKED in task.left.target:
            return Judgement(Needed.ALL, impossible="its name, or where it points, held a secret")
        needed = self._needed(task, now)
        if needed in {Needed.NOTHING, Needed.TIMES}:
            return Judgement(needed)
        return Judgement(needed, self._conflict(task, now), self._impossible(task, now, needed))

    def _needed(self, task: Task, now: Sight) -> Needed:
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

    def _conflict(self, task: Task, now: Sight) -> str | None:
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

    def _impossible(self, task: Task, now: Sight, needed: Needed) -> str | None:
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
        """The same kind of thing with the same content; metadata is looked at elsewhere."""
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
