"""Which paths a command is about, what each is to become, and what may be there now.

In: the records of a run, the direction, the paths that were asked for, the tree. Out: tasks. `undo` is
about what the run changed; `restore` about what it left and the record holds: contents, tombstones, links
and directories that it changed. What was changed by somebody else while the run only looked at it is left
alone, and said.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from steno.restore.looking import Tree
from steno.restore.renames import LOOKING, Draft, MovedTree, Moves, redo_renames, undo_renames
from steno.restore.states import ABSENT, FileRecords, Kind, State, is_at_or_below


class Direction(StrEnum):
    UNDO = "undo"
    RESTORE = "restore"


class Task(NamedTuple):
    path: bytes
    target: State
    left: State  # the other end: what `undo` expects to find, and what `restore` starts from
    accepted: tuple[State, ...]
    content_kept: bool  # the run changed no content, so equal sizes are equal contents


class Assignment(NamedTuple):
    tasks: list[Task]
    moves: Moves
    tree: MovedTree
    left_alone: list[bytes]
    steady: set[bytes]  # directories that the run left as they were, times included


def assign(
    records: FileRecords, direction: Direction, chosen: Sequence[bytes], real_tree: Tree
) -> Assignment:
    drafts = {
        record.path: Draft(record.before, record.after, record.operations, frozenset({record.path}))
        for record in records.files
        if record.path != b"/"
    }
    tree = MovedTree(real_tree)
    renames = [one for one in records.renames if _is_chosen({one.old, one.new}, chosen)]
    moves = (undo_renames if direction is Direction.UNDO else redo_renames)(renames, drafts, tree)
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
    return Assignment(tasks, moves, tree, left_alone, steady)


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
    )
