"""Records of files without a recorder: what two looks at a tree say that a run has done in between."""

from __future__ import annotations

import base64
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from steno.judge.types import File, FileState, ThingRenamed
from steno.restore.apply import carry_out
from steno.restore.filesystem import FileSystem, Trash
from steno.restore.plan import Plan, Problem, make_plan
from steno.restore.states import FileRecords, LackingContentError, kind_of, read_records
from steno.restore.tasks import Direction, User

Snapshot = dict[bytes, dict[str, Any]]


def new_trash() -> Trash:
    """For tests in which nothing is expected in it, or only that it is nowhere else."""
    return Trash(Path(tempfile.mkdtemp(prefix="steno-trash-")), "undo")


class KeptContents:
    """Contents in memory."""

    def __init__(self, blobs: dict[str, bytes]) -> None:
        self.blobs = blobs

    def get(self, key: str) -> bytes:
        try:
            return self.blobs[key]
        except KeyError:
            raise LackingContentError("its content is not in the record") from None


class Recording(NamedTuple):
    """`files` is what `files.json` holds."""

    files: dict[str, Any]
    contents: KeptContents

    def plan(
        self,
        direction: Direction,
        *chosen: Path,
        force: bool = False,
        user: User | None = None,
        ended_ns: int | None = None,
    ) -> Plan:
        return make_plan(
            records_of(self.files),
            direction,
            FileSystem(),
            self.contents,
            user=user or User.of_this_process(),
            chosen=[os.fsencode(path) for path in chosen],
            force=force,
            ended_ns=ended_ns,
        )

    def apply(self, direction: Direction, *chosen: Path, force: bool = False) -> tuple[Plan, list[Problem]]:
        """Plan, and do it as the command line would."""
        plan = self.plan(direction, *chosen, force=force)
        if not plan.is_clear and not force:
            return plan, []
        return plan, carry_out(plan, self.contents, User.of_this_process(), new_trash())

    def undo(self, *chosen: Path) -> None:
        self._do(Direction.UNDO, *chosen)

    def restore(self, *chosen: Path) -> None:
        self._do(Direction.RESTORE, *chosen)

    def _do(self, direction: Direction, *chosen: Path) -> None:
        plan, failed = self.apply(direction, *chosen)
        assert not plan.conflicts
        assert not plan.impossible
        assert not failed

    def file(self, path: Path) -> dict[str, Any]:
        (found,) = [file for file in self.files["files"] if file["path"] == str(path)]
        assert isinstance(found, dict)
        return found


def records_of(document: dict[str, Any]) -> FileRecords:
    """What undo reads, of files in the words of `files.json`."""
    files = [
        File(
            exact(one, "path"),
            one["operations"],
            _concluded(one["before"]),
            _concluded(one["after"]),
            one.get("change", "none"),
        )
        for one in document["files"]
    ]
    renames = [
        ThingRenamed(exact(one, "from"), exact(one, "to"), exchanged=one.get("exchange", False), node=None)
        for one in document["directory_renames"]
    ]
    return read_records(files, renames)


def exact(told: dict[str, Any], name: str) -> bytes:
    """The bytes of a name."""
    encoded: str | None = told.get(f"{name}_b64")
    return os.fsencode(told[name]) if encoded is None else base64.b64decode(encoded)


def _concluded(told: dict[str, Any]) -> FileState:
    if not told.get("exists"):
        return FileState("absent" if "exists" in told else None)
    same = ("mode", "size", "mtime_ns", "uid", "gid", "blob")
    target = exact(told, "target") if "target" in told else None
    return FileState(
        told["type"],
        target=told.get("target"),
        target_bytes=target,
        no_content_reason=told.get("content"),
        **{name: told.get(name) for name in same},
    )


def snapshot(root: Path) -> Snapshot:
    """Everything at and below `root`, content included."""
    found = {os.fsencode(root): _look(os.fsencode(root))}
    for above, directories, files in os.walk(os.fsencode(root)):
        for name in (*directories, *files):
            path = os.path.join(above, name)  # noqa: PTH118 - bytes
            found[path] = _look(path)
    return found


def without_directory_times(found: Snapshot) -> Snapshot:
    return {
        path: {
            key: value for key, value in state.items() if key != "mtime_ns" or state["type"] != "directory"
        }
        for path, state in found.items()
    }


def recording(before: Snapshot, after: Snapshot, renames: Iterable[tuple[Path, Path]] = ()) -> Recording:
    """What a recorder would write down of a run that found `before` and left `after`."""
    blobs: dict[str, bytes] = {}
    files = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        side = "before" if old == new else "after"  # one content, one key
        files.append(
            {
                **named(path),
                "operations": _operations(old, new),
                "before": state_of(old, "before", path, blobs),
                "after": state_of(new, side, path, blobs, deleted=old is not None),
                "change": "unknown",
            }
        )
    return Recording(
        {
            "schema": "steno.files.v1",
            "git_repositories": [],
            "files": files,
            "directory_renames": [{"from": str(old), "to": str(new)} for old, new in renames],
        },
        KeptContents(blobs),
    )


def named(path: bytes) -> dict[str, str]:
    try:
        return {"path": path.decode()}
    except UnicodeDecodeError:
        return {"path": path.decode("latin-1"), "path_b64": base64.b64encode(path).decode()}


def state_of(
    found: dict[str, Any] | None, side: str, path: bytes, blobs: dict[str, bytes], *, deleted: bool = False
) -> dict[str, Any]:
    if found is None:
        return {"exists": False, "tombstone": True} if deleted else {"exists": False}
    state = {"exists": True, "mtime": found["mtime_ns"] // 10**9}
    state |= {key: value for key, value in found.items() if key not in {"data", "target"}}
    if "target" in found:
        target = named(found["target"])
        state["target"] = target["path"]
        if "path_b64" in target:
            state["target_b64"] = target["path_b64"]
    if "data" in found:
        state["blob"] = f"{side}:{named(path)['path']}"
        blobs[state["blob"]] = found["data"]
    return state


def _operations(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[str]:
    if old == new:
        return ["read"]
    return ["write"] if new is not None else ["delete"]


def _look(path: bytes) -> dict[str, Any]:
    found = os.lstat(path)
    state: dict[str, Any] = {
        "type": str(kind_of(found.st_mode)),
        "mode": found.st_mode,
        "mtime_ns": found.st_mtime_ns,
        "uid": found.st_uid,
        "gid": found.st_gid,
        "size": 0 if stat.S_ISDIR(found.st_mode) else found.st_size,
    }
    if stat.S_ISLNK(found.st_mode):
        state["target"] = os.readlink(path)  # noqa: PTH115 - bytes
    if stat.S_ISREG(found.st_mode):
        state["data"] = Path(os.fsdecode(path)).read_bytes()
    return state
