"""Which paths a command is about, what each is to become, and what may be there now.

In: the records of a run, the direction, the paths that were asked for, the tree. Out: tasks. `undo` is
about what the run changed; `restore` about what it left and the record holds: contents, tombstones, links
and directories that it changed. What was changed by somebody else while the run only looked at it is left
alone, and said.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from steno.restore.history import LOOKING, Draft, History, that_happened
from steno.restore.journeys import Thing
from steno.restore.looking import Tree
from steno.restore.merging import merged_drafts
from steno.restore.renames import MovedTree, Moves, choose_moves, crosses_devices, still_there
from steno.restore.states import ABSENT, FileRecords, Kind, Rename, State, is_at_or_below


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
        record.path: Draft(record.before, record.after, record.operations, frozenset({record.path}))
        for record in records.files
        if record.path != b"/"
    }
    undoing = direction is Direction.UNDO
    tree = MovedTree(real_tree)
    history = History(recorded, _chosen_renames(records, recorded, chosen, real_tree))
    moves = choose_moves(history, tree, undoing=undoing, uid=uid, others=others)
    drafts = merged_drafts(history, moves, undoing=undoing)
    tasks, left_alone, steady = [], [], set()
    for path, draft in sorted(drafts.items(), key=lambda item: item[0].split(b"/")):
        if not _is_chosen(draft.names, chosen):
            continue
        if _is_wanted(draft, direction):
            tasks.append(_task(path, draft, direction))
        elif draft.before.kind is draft.after.kind is Kind.DIRECTORY:
            steady.add(path)
        elif _changed_by_others(draft):
            left_alone.append(path)
    vacant = [path for path in _vacant(history, direction) if _is_chosen({path}, chosen)]
    return Assignment(tasks, moves, tree, left_alone, steady, vacant, records.unlisted)


def _chosen_renames(
    records: FileRecords, drafts: dict[bytes, Draft], chosen: Sequence[bytes], tree: Tree
) -> list[Rename]:
    """Of what was chosen by one of its names all renames, also those between other names."""
    happened = that_happened(records.renames, drafts)
    happened = [one for one in happened if not crosses_devices(one, tree)]
    happened = still_there(happened, tree)
    if not chosen:
        return happened
    journeys = History(drafts, happened).journeys
    wanted = []
    for number, one in enumerate(happened):
        names = set(journeys.names(journeys.thing_at(one.old, number)))
        if _is_chosen(names | {one.old, one.new}, chosen):
            wanted.append(one)
    return wanted


def _vacant(history: History, direction: Direction) -> Iterator[bytes]:
    for path, draft in history.drafts.items():
        if draft.operations - LOOKING and history.journeys.touches(path):
            end = history.before(Thing(path)) if direction is Direction.UNDO else draft.after
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


def _is_ours(draft: Draft, direction: Direction) -> bool:
    """The run did something to it, or to another name of it, or it is a directory that the run may work in.

    The old content of a file that the run changes through another name is kept; of one that somebody else
    changes it is not.
    """
    kind = draft.before.kind if draft.before.kind is draft.after.kind else None
    by_another_name = kind is Kind.FILE and draft.before.blob is not None and direction is Direction.UNDO
    return kind is Kind.DIRECTORY or by_another_name or bool(draft.operations - LOOKING)


def _changed_by_others(draft: Draft) -> bool:
    known = Kind.UNKNOWN not in {draft.before.kind, draft.after.kind}
    return known and not draft.operations - LOOKING and differs(draft.before, draft.after)


def _is_wanted(draft: Draft, direction: Direction) -> bool:
    if direction is Direction.RESTORE and draft.after.kind is Kind.FILE and draft.after.blob:
        return True
    if not _is_ours(draft, direction):
        return False
    if Kind.UNKNOWN in {draft.before.kind, draft.after.kind}:
        return bool(draft.operations - LOOKING - {"directory"})
    return differs(draft.before, draft.after)


def _task(path: bytes, draft: Draft, direction: Direction) -> Task:
    undoing = direction is Direction.UNDO
    target, left = (draft.before, draft.after) if undoing else (draft.after, draft.before)
    accepted = [target, left, *draft.also_accepted]
    kinds = {state.kind for state in accepted if state.exists}
    if Kind.DIRECTORY in kinds and len(kinds) > 1:
        accepted.append(ABSENT)  # a directory is not replaced in one step: we may have been killed in between
    return Task(
        path,
        target,
        left,
        tuple(state for state in accepted if state.kind is not Kind.UNKNOWN),
        content_kept=target.kind is left.kind is Kind.FILE and not draft.operations & {"write", "delete"},
        names=draft.names,
    )
