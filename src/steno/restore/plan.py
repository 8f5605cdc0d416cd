"""The plan of an undo or a restore: a pure function of the record and of what is there now.

Directories come before their content, removals go deepest first, times of directories come last. Names that
were one file before the run are to be one again. A directory that holds something the record does not know is
never removed, whatever the user wishes. Never changes anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from steno.restore.filesystem import Lookup, Tree
from steno.restore.moves import Cleared
from steno.restore.states import (
    ABSENT,
    Contents,
    FileRecords,
    HardLink,
    Kind,
    State,
    is_at_or_below,
    parent_of,
)
from steno.restore.tasks import (
    Assignment,
    Checker,
    Decision,
    Direction,
    Needed,
    Task,
    User,
    assign,
    differs,
    name_of,
    permitted_mode,
)

_SHOWN = 3
_NOT_KEPT = "it is not brought back, as no state of its place is kept"


class Do(StrEnum):
    RENAME = "rename"
    EXCHANGE = "exchange"
    REMOVE = "remove"
    REMOVE_DIRECTORY = "remove_directory"
    MAKE_DIRECTORY = "make_directory"
    WRITE = "write"
    LINK = "link"
    HARD_LINK = "hard_link"
    SET = "set_metadata"


class Step(NamedTuple):
    """`target` is what the path is to be; None for a directory that only has to be there.

    `now` is what was seen when the plan was made: if something else is there by then, the step is not taken.
    `moved` is what a file that is renamed must still be; None for a directory. A hard link is made to
    `source`; where that cannot be done, `target` is written.
    """

    do: Do
    path: bytes
    target: State | None = None
    now: State | None = None
    source: bytes = b""
    moved: State | None = None


class Problem(NamedTuple):
    path: bytes
    why: str


class Change(NamedTuple):
    """What the run did to a path that is dealt with: created, deleted, modified, metadata, renamed."""

    path: bytes
    did: str
    directory: bool


class Plan(NamedTuple):
    """`ends` is what must be at each path when all steps are taken, whoever planned them."""

    direction: Direction
    steps: list[Step]
    changes: list[Change]
    conflicts: list[Problem]
    impossible: list[Problem]
    overruled: list[Problem]
    notes: list[Problem]
    ends: dict[bytes, State]
    discarded: list[bytes]  # of which no state is kept: the run made them, and they go with their directory

    @property
    def is_clear(self) -> bool:
        return not self.conflicts and not self.impossible


def make_plan(
    records: FileRecords,
    direction: Direction,
    tree: Tree,
    contents: Contents,
    *,
    user: User,
    chosen: Sequence[bytes] = (),
    force: bool = False,
    ended_ns: int | None = None,
    others: Mapping[bytes, str] | None = None,
) -> Plan:
    """`ended_ns`: when the run ended by the clock of this machine, if it was recorded here.

    `others`: paths that somebody else has changed after the run had, during the run, and what tells so.
    """
    others = others if direction is Direction.UNDO else None
    assignment = assign(records, direction, chosen, tree, None if user.is_root else user.uid, others or ())
    checker = Checker(assignment.tree, contents, user, ended_ns, others)
    hard_links = records.hard_links if direction is Direction.UNDO else {}
    return _Planner(assignment, direction, checker, user, hard_links, force=force, ended_ns=ended_ns).plan()


class _Item(NamedTuple):
    task: Task
    now: Lookup
    decision: Decision

    @property
    def in_the_way(self) -> bool:
        """What is there has to go first: a directory and anything else do not replace each other."""
        now, target = self.now.state.kind, self.task.target.kind
        if self.decision.needed is not Needed.ALL or not self.now.state.exists:
            return False
        return target is Kind.ABSENT or (now is Kind.DIRECTORY) != (target is Kind.DIRECTORY)


class _Planner:
    def __init__(
        self,
        assignment: Assignment,
        direction: Direction,
        checker: Checker,
        user: User,
        hard_links: Mapping[bytes, HardLink],
        *,
        force: bool,
        ended_ns: int | None,
    ) -> None:
        self._assignment = assignment
        self._direction = direction
        self._tree = assignment.tree
        self._checker = checker
        self._user = user
        self._force = force
        self._hard_links = hard_links
        self._links: dict[bytes, bytes] = {}  # what is to be a hard link, and to what
        self._items: dict[bytes, _Item] = {}
        self._settled: dict[bytes, State] = {}
        self._missing: list[bytes] = []
        self._kept_times: dict[bytes, State] = {}
        self._ended_ns = ended_ns
        self._plan = Plan(direction, [], [], [], [], [], [], {}, [])

    def plan(self) -> Plan:
        for move, why in self._assignment.moves.refused:
            self._plan.conflicts.append(Problem(move.old, f"it cannot be renamed: {why}"))
        for task in self._assignment.tasks:
            self._consider(task)
        for path in reversed(list(self._items)):
            self._check_emptiness(path)
        for path in list(self._items):
            self._check_parent(path)
        self._settle_times()
        self._link()
        self._plan.steps.extend(self._steps())
        self._note()
        if not self._assignment.moves.refused:
            self._plan.ends.update(dict.fromkeys(self._assignment.vacant, ABSENT))
        self._plan.ends.update(self._settled)
        self._plan.ends.update({path: item.task.target for path, item in self._items.items()})
        return self._plan

    def _consider(self, task: Task) -> None:
        for move, _ in self._assignment.moves.refused:
            if is_at_or_below(task.path, move.old) or is_at_or_below(task.path, move.new):
                return
        now = self._tree.look(task.path)
        known = now.obstacle in self._items or now.obstacle in self._settled
        if now.obstacle is not None and now.blocked is not Kind.ABSENT and not known:
            where = os.fsdecode(now.obstacle)
            self._plan.conflicts.append(Problem(task.path, f"{where} above it is {name_of(now.blocked)} now"))
            return
        decision = self._checker.check(task, now)
        if decision.impossible and not now.state.exists and task.path in self._assignment.unlisted:
            self._plan.notes.append(Problem(task.path, f"{_NOT_KEPT}: {decision.impossible}"))
        elif decision.impossible:
            self._plan.impossible.append(Problem(task.path, decision.impossible))
        elif decision.conflict and not self._force:
            self._plan.conflicts.append(Problem(task.path, decision.conflict))
        elif decision.needed is Needed.NOTHING:
            self._settled[task.path] = task.target
        else:
            if decision.conflict:
                self._plan.overruled.append(Problem(task.path, decision.conflict))
            self._items[task.path] = _Item(task, now, decision)

    def _check_emptiness(self, path: bytes) -> None:
        item = self._items[path]
        if item.now.state.kind is not Kind.DIRECTORY or not item.in_the_way:
            return
        names = self._tree.names(path)
        if names is None:
            self._drop(path, "the directory cannot be read")
            return
        strange = [name for name in names if not self._goes(path + b"/" + name)]
        if strange and all(self._is_made_by_run(path + b"/" + name) for name in strange):
            self._plan.discarded.extend(path + b"/" + name for name in strange)
        elif strange:
            shown = ", ".join(os.fsdecode(name) for name in strange[:_SHOWN])
            more = f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else ""
            self._drop(path, f"it holds what this does not remove: {shown}{more}")

    def _is_made_by_run(self, path: bytes) -> bool:
        """All that is there was changed by the run, under this very name, and by nobody since."""
        found, where = self._tree.look(path), self._tree.where(path)
        made = where == path and path in self._assignment.unlisted and self._direction is Direction.UNDO
        if not made or self._ended_ns is None or found.touched_ns > self._ended_ns:
            return False
        if not self._is_ours(found.state) or found.state.kind is not Kind.DIRECTORY:
            return self._is_ours(found.state)
        names = self._tree.names(path)
        return names is not None and all(self._is_made_by_run(path + b"/" + name) for name in names)

    def _goes(self, path: bytes) -> bool:
        item = self._items.get(path)
        return item is not None and item.task.target.kind is Kind.ABSENT

    def _check_parent(self, path: bytes) -> None:
        """What is made needs a directory to be made in."""
        if not self._items[path].task.target.exists:
            return
        missing = []
        above = parent_of(path)
        while above != b"/" and above not in self._missing:
            item = self._items.get(above)
            if item is not None and item.task.target.kind is Kind.DIRECTORY:
                break
            kind = self._tree.look(above).state.kind
            if kind is Kind.DIRECTORY and item is None:
                break
            if kind is not Kind.ABSENT or item is not None or not self._force:
                self._drop(path, f"the directory {os.fsdecode(above)} is not there")
                return
            missing.append(above)
            above = parent_of(above)
        self._missing.extend(reversed(missing))

    def _drop(self, path: bytes, why: str) -> None:
        del self._items[path]
        self._plan.conflicts.append(Problem(path, why))

    def _settle_times(self) -> None:
        """The time of a directory is given back if it is as the run left it, or if we work in it."""
        worked_in = {
            parent_of(path) for path, item in self._items.items() if item.decision.needed is Needed.ALL
        }
        for move in self._tree.moves.renames:
            worked_in |= {parent_of(move.old), parent_of(move.new)}
        for path, item in list(self._items.items()):
            if item.decision.needed is not Needed.TIMES:
                continue
            as_left = item.now.state.mtime_ns == item.task.left.mtime_ns
            if not self._is_ours(item.now.state) or not (as_left or path in worked_in):
                del self._items[path]
        for path in sorted(worked_in & (self._settled.keys() | self._assignment.steady)):
            now = self._tree.look(path).state
            if now.kind is Kind.DIRECTORY and self._is_ours(now):
                self._kept_times[path] = now

    def _link(self) -> None:
        written = [item.task for item in self._items.values() if item.decision.needed is Needed.ALL]
        mended = {path for path, item in self._items.items() if item.decision.needed is Needed.METADATA}
        self._links = links_to_make(written, self._hard_links, self._tree.look, mended)

    def _is_ours(self, now: State) -> bool:
        return self._user.is_root or now.uid == self._user.uid

    def _steps(self) -> Iterator[Step]:
        for one in self._assignment.moves.steps:
            if isinstance(one, Cleared):
                yield Step(_removing(one.now), one.path, now=one.now)
            else:
                do = Do.EXCHANGE if one.exchange else Do.RENAME
                moved, there = self._assignment.moves.files.get(one, (None, None))
                yield Step(do, one.new, now=there if one.exchange else None, source=one.old, moved=moved)
        for path in self._plan.discarded:
            yield Step(Do.REMOVE, path, now=self._tree.look(path).state)
        items = list(self._items.values())
        for item in reversed(items):
            if item.in_the_way:
                now = item.now.state
                yield Step(_removing(now), item.task.path, now=now)
        makings = [Step(Do.MAKE_DIRECTORY, path) for path in self._missing]
        makings += [step for item in items if item.task.path not in self._links and (step := _making(item))]
        yield from sorted(makings, key=lambda step: step.path.split(b"/"))
        for path, source in self._links.items():
            if (step := _making(self._items[path])) is not None:
                yield step._replace(do=Do.HARD_LINK, source=source)
        times = {path: item.task.target for path, item in self._items.items()} | self._kept_times
        for path, target in sorted(times.items(), reverse=True):
            if target.kind is Kind.DIRECTORY:
                yield Step(Do.SET, path, target)

    def _note(self) -> None:
        for one in self._assignment.moves.steps:
            if isinstance(one, Cleared):
                self._note_cleared(one)
            else:
                names = [one.old, one.new] if one.exchange else [one.old]
                states = self._assignment.moves.files.get(one, (None, None))
                for name, state in zip(names, states, strict=False):
                    directory = state is None or state.kind is Kind.DIRECTORY
                    self._plan.changes.append(Change(name, "renamed", directory=directory))
        for path, item in self._items.items():
            self._plan.changes.extend(_change(path, item, self._plan.direction))
            self._plan.notes.extend(Problem(path, why) for why in self._reservations(item))
        for path in self._plan.discarded:
            directory = self._tree.look(path).state.kind is Kind.DIRECTORY
            self._plan.changes.append(Change(path, "created", directory))
            self._plan.ends[path] = ABSENT
        self._plan.notes.extend(
            Problem(path, "changed while the run only looked at it: left alone")
            for path in self._assignment.left_alone
        )

    def _note_cleared(self, one: Cleared) -> None:
        undoing = self._plan.direction is Direction.UNDO
        directory = one.now.kind is Kind.DIRECTORY
        self._plan.changes.append(Change(one.path, "created" if undoing else "deleted", directory))

    def _reservations(self, item: _Item) -> Iterator[str]:
        now, target = item.now, item.task.target
        if not target.exists or item.decision.needed is Needed.TIMES:
            return
        if not self._user.is_root and target.uid != self._user.uid:
            yield f"it belonged to another user ({target.uid}); only root can give it back"
        if permitted_mode(target, self._user) != target.mode:
            yield "it is brought back without its set-id bits, because it belongs to you"
        if item.decision.needed is not Needed.ALL or target.kind is not Kind.FILE:
            return
        names = now.links if now.state.kind is not Kind.DIRECTORY else 0
        if now.state.exists and names > self._names_given_back(now):
            yield "it has other names (hard links), which keep what they have"
        link = hard_link_of(item.task, self._hard_links)
        if link is not None and not now.state.exists and link.links > self._names_known(link):
            yield "it had other names (hard links) that the record does not know: it is a file of its own now"

    def _names_given_back(self, now: Lookup) -> int:
        """How many names of what is there now are to be those of another file."""
        node = (now.device, now.inode)
        gone = [item for item in self._items.values() if item.decision.needed is Needed.ALL]
        return sum((item.now.device, item.now.inode) == node for item in gone)

    def _names_known(self, link: HardLink) -> int:
        return sum(one.node == link.node for one in self._hard_links.values())


def _removing(now: State) -> Do:
    return Do.REMOVE_DIRECTORY if now.kind is Kind.DIRECTORY else Do.REMOVE


def _making(item: _Item) -> Step | None:
    target, needed = item.task.target, item.decision.needed
    if target.kind is Kind.DIRECTORY:
        return Step(Do.MAKE_DIRECTORY, item.task.path, target) if needed is Needed.ALL else None
    if not target.exists:
        return None
    now = None if item.in_the_way else item.now.state
    if needed is Needed.METADATA:
        return Step(Do.SET, item.task.path, target, now)
    do = Do.WRITE if target.kind is Kind.FILE else Do.LINK
    return Step(do, item.task.path, target, now)


def _change(path: bytes, item: _Item, direction: Direction) -> Iterator[Change]:
    now, target = item.now.state, item.task.target
    directory = (target if target.exists else now).kind is Kind.DIRECTORY
    if item.decision.needed is Needed.METADATA:
        yield Change(path, "metadata", directory)
    elif item.decision.needed is Needed.ALL and now.exists and target.exists:
        yield Change(path, "modified", directory)
    elif item.decision.needed is Needed.ALL:
        made_by_run = target.exists == (direction is Direction.RESTORE)
        yield Change(path, "created" if made_by_run else "deleted", directory)


def links_to_make(
    written: Sequence[Task],
    hard_links: Mapping[bytes, HardLink],
    look: Callable[[bytes], Lookup],
    mended: Collection[bytes],
) -> dict[bytes, bytes]:
    """By name what it is to be linked to. `mended` are names whose content is right, and whose mode, owner
    and time will be."""
    names: dict[tuple[int, int], list[bytes]] = {}
    for name, one in hard_links.items():
        names.setdefault(one.node, []).append(name)
    first: dict[tuple[int, int], list[Task]] = {}
    found: dict[bytes, bytes] = {}
    to_write = {task.path for task in written}
    for task in written:
        link = hard_link_of(task, hard_links)
        if link is None:
            continue
        others = sorted(name for name in names[link.node] if name not in to_write)
        sources = [name for name in others if _is_it(look(name), link, task.target, mended=name in mended)]
        sources += [one.path for one in first.get(link.node, ()) if not differs(one.target, task.target)]
        if sources:
            found[task.path] = sources[0]
        else:
            first.setdefault(link.node, []).append(task)
    return found


def hard_link_of(task: Task, hard_links: Mapping[bytes, HardLink]) -> HardLink | None:
    """Below a directory that was renamed, the run may have met it under another name only."""
    if task.target.kind is not Kind.FILE:
        return None
    if task.path in hard_links:
        return hard_links[task.path]
    found = {hard_links[name] for name in task.names if name in hard_links}
    return found.pop() if len(found) == 1 else None


def _is_it(now: Lookup, link: HardLink, target: State, *, mended: bool) -> bool:
    if (now.device, now.inode) != link.node or now.state.kind is not Kind.FILE:
        return False
    return mended or not differs(now.state, target)
