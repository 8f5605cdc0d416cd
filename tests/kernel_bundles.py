"""Bundles with a kernel layer, made by hand: exactly the processes, files and events that a test is about.

They are read by views, which never verify: the manifest does not know the files that are added here.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from making import RUN_ID, make_run
from steno.bundle import local_key
from steno.bundle.blobs import BlobWriter
from steno.bundle.folder import Folder
from steno.events import canonical
from steno.events.kinds import EventData
from steno.events.wire import OPS

Data = dict[str, Any]
FILE_MODE = 0o100644
DIRECTORY_MODE = 0o40755
LINK_MODE = 0o120777
ABSENT: Data = {"exists": False}
TOMBSTONE: Data = {"exists": False, "tombstone": True}
UNKNOWN: Data = {"unknown": True}
_CATEGORIES = {op.name: op.category for op in OPS.values()}
_WORDS = pa.dictionary(pa.int32(), pa.string())
_NAMES = pa.dictionary(pa.int32(), pa.binary())
EVENTS = pa.schema(
    {
        "mono_ns": pa.int64(),
        "process": pa.int32(),
        "tid": pa.int32(),
        "op": _WORDS,
        "call": _WORDS,
        "path": _NAMES,
        "resolved": _NAMES,
        "extra": _NAMES,
        "result": pa.int16(),
        "notes": pa.int32(),
        "arg": pa.uint64(),
        "arg2": pa.uint64(),
        "exists": pa.bool_(),
        "dev": pa.uint64(),
        "ino": pa.uint64(),
        "mode": pa.int32(),
        "size": pa.int64(),
        "mtime_ns": pa.int64(),
        "ctime_ns": pa.int64(),
        "uid": pa.int64(),
        "gid": pa.int64(),
        "nlink": pa.int64(),
        "target": _NAMES,
        "content": _WORDS,
    }
)


def text(name: str, value: str | bytes) -> Data:
    """A name as the JSON files have it."""
    if isinstance(value, str):
        return {name: value}
    return {name: value.decode("latin-1"), f"{name}_b64": b64encode(value).decode()}


def execution(*argv: str, **changed: Any) -> Data:
    path = argv[0] if argv and argv[0].startswith("/") else f"/usr/bin/{argv[0] if argv else 'x'}"
    return {
        "at_ns": 0,
        "requested": path,
        "path": path,
        "argv": list(argv),
        "argc": len(argv),
        "argv_cut": False,
        "interpreter": None,
        "result": "ok",
        "privilege_lost": False,
    } | changed


def process(number: int, *argv: str, parent: int = 0, code: int | None = 0, **changed: Any) -> Data:
    """A process that executed `argv`, if any, and ended with `code`; it took a second."""
    return {
        "process": number,
        "parent": parent,
        "pid": 1000 + number,
        "start_ticks": number,
        "first_ns": 1_000_000_000,
        "ended_ns": 2_000_000_000,
        "execs": [execution(*argv)] if argv else [],
        "exit": None if code is None else {"code": code},
        "exit_known": "kernel",
        "outlived": False,
        "threads": 1,
        "events": 1,
    } | changed


def state(size: int = 1, kind: str = "file", **changed: Any) -> Data:
    mode = {"file": FILE_MODE, "directory": DIRECTORY_MODE, "symlink": LINK_MODE}.get(kind, 0o10644)
    return {
        "exists": True,
        "type": kind,
        "mode": mode,
        "mtime": 1_770_000_000,
        "mtime_ns": 1_770_000_000_000_000_001,
        "size": size,
        "uid": 1000,
        "gid": 1000,
    } | changed


def file(path: str | bytes, change: str, *operations: str, **changed: Any) -> Data:
    """What became of one path; before and after are those that the change suggests."""
    before = ABSENT if change == "created" else state()
    after = TOMBSTONE if change == "deleted" else state(size=3) if change == "modified" else state()
    return {
        **text("path", path),
        "operations": sorted(operations or ("read" if change == "none" else "write",)),
        "before": before,
        "after": UNKNOWN if change == "unknown" else after,
        "change": change,
    } | changed


def git(relative_path: str, **changed: Any) -> Data:
    return {
        "in_repo": True,
        "root": "/repo",
        "head": "a" * 40,
        "relative_path": relative_path,
        "tracked": True,
        "dirty": False,
        "ignored": False,
    } | changed


def line(number: int, op: str, path: str | bytes | None = None, **changed: Any) -> Data:
    return {
        "process": number,
        "op": op,
        "category": _CATEGORIES[op],
        **({} if path is None else text("path", path)),
        "result": "unknown",
        "count": 1,
        "first_ns": 1_500_000_000,
        "last_ns": 1_500_000_000,
    } | changed


def row(number: int, op: str, path: bytes | None = None, **changed: Any) -> Data:
    """One event of the table; what is not given is null, or 0 where there is always a number."""
    given = {"mono_ns": 1_500_000_000, "process": number, "tid": 1000 + number, "op": op, "path": path}
    return {"notes": 0, "arg": 0, "arg2": 0, **given, **changed}


def add_kernel_layer(
    run: Path,
    *,
    processes: Iterable[Data] = (),
    files: Iterable[Data] = (),
    lines: Iterable[Data] = (),
    rows: Iterable[Data] = (),
    blobs: Iterable[tuple[str, bytes]] = (),
    secret_blobs: Iterable[tuple[str, bytes]] = (),
    repositories: Iterable[Data] = (),
    surface: Data | None = None,
) -> None:
    told = {"schema": "steno.processes.v1", "run_id": run.name, "processes": list(processes)}
    (run / "processes.json").write_bytes(canonical.encode(told))
    told = {"schema": "steno.files.v1", "git_repositories": list(repositories), "files": list(files)}
    (run / "files.json").write_bytes(canonical.encode(told))
    (run / "layers" / "kernel.ndjson").write_bytes(b"".join(map(canonical.encode_line, lines)))
    table = pa.Table.from_pylist([dict.fromkeys(EVENTS.names) | one for one in rows], schema=EVENTS)
    pq.write_table(table, run / "layers" / "kernel.parquet", compression="zstd")
    _keep(run, blobs, secret_blobs)
    if surface is not None:
        (run / "capability-surface.json").write_bytes(canonical.encode(surface))


def _keep(run: Path, blobs: Iterable[tuple[str, bytes]], secret_blobs: Iterable[tuple[str, bytes]]) -> None:
    with Folder(run.parent) as store, Folder(run) as folder:
        writer = BlobWriter(folder, local_key.make_or_read(store))
        for key, content in blobs:
            writer.add(key, content, secret=False)
        for key, content in secret_blobs:
            writer.add(key, content, secret=True)
        writer.close()


def kernel_run(store: Path, *events: EventData, run_id: str = RUN_ID, **layer: Any) -> Path:
    """A sealed run of a store, with a kernel layer."""
    run = make_run(store, *events, run_id=run_id)
    add_kernel_layer(run, **layer)
    return run
