"""A second reader of records, made from docs/spec.md alone. `read_record.py BUNDLE`, a folder or a .tar.gz,
tells whether it is what was sealed, and what was changed. Exit 0: valid, 1: invalid, 2: not readable."""

# ruff: noqa: INP001 - a script, not a package
from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import struct
import sys
import tarfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FORMAT, CALLS, INDEX = 2, "evidence/syscalls.parquet", "evidence/terminal/index"
STREAMS = ("stdin", "stdout", "stderr", "output")  # by their number in the index
LOOK = ("dev", "ino", "mode", "size", "mtime_ns", "ctime_ns")
COLUMNS = ("op", "resolved", "result", "notes", "arg", "file", "blob", "exists", "target", *LOOK)
SETTING = {"chmod", "chown", "utimes", "setxattr", "removexattr", "setattr"}
CHANGING = SETTING | {"unlink", "rename", "rename_to", "moved", "moved_to", "link_to", "symlink", "mknod"}
CHANGING |= {"mkdir", "rmdir", "truncate", "map"}
NAMED_ELSEWHERE, LATE, FAILED, PATH_ONLY, TO_WRITE = 16 | 1024, 16384, 32766, 0o10000000, 0o3 | 0o100 | 0o1000

# Names are ASCII and numbers whole (section 7), so this is what RFC 8785 would write.
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
WRONG = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
BROKEN = (*WRONG, pa.ArrowException, tarfile.TarError, struct.error, zlib.error, EOFError, OSError)


def manifest_of(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(data := (folder / "manifest.json").read_bytes())
    if (made := manifest.get("format", 1)) != FORMAT:
        raise OSError(f"made by a{' newer' if made > FORMAT else 'n older'} Steno, in format {made}")
    rest = canonical({name: value for name, value in manifest.items() if name != "root"}).encode()
    if canonical(manifest).encode() != data or hashlib.sha256(rest).hexdigest() != manifest["root"]:
        raise ValueError("manifest.json is not canonical, or not covered by its root")
    return manifest


def check_files(folder: Path, told: dict[str, Any]) -> None:
    """Regular files and the folders above them, nothing else (section 1); the index covers the streams."""
    present = {"manifest.json"}
    for name, folders, files in os.walk(folder):
        paths = [Path(name, one) for one in folders + files]
        if not paths or not all(path.lstat().st_mode & 0o170000 in {0o100000, 0o040000} for path in paths):
            raise ValueError(f"{name}: there are not only files and folders in it")
        present |= {Path(name, one).relative_to(folder).as_posix() for one in files}
    if unlike := (present ^ {*told, "manifest.json"}) | {one for one in told if one[:9] != "evidence/"}:
        raise ValueError(f"{sorted(unlike)}: missing, added, or no evidence")
    for name, digest in told.items():
        with (folder / name).open("rb") as file:
            found = {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": file.tell()}
        if digest | found != digest:
            raise ValueError(f"{name}: differs from the manifest")
    index = [*struct.iter_unpack("<QII", (folder / INDEX).read_bytes() if INDEX in told else b"")]
    sizes = [told.get(f"evidence/terminal/{name}", {"bytes": 0})["bytes"] for name in STREAMS]
    if sizes != [sum(length for _, length, stream in index if stream == number) for number in range(4)]:
        raise ValueError(f"the bytes of {', '.join(STREAMS)} are not those that the index covers")


def check_events(folder: Path, run_id: str) -> Iterator[str]:
    events = [*map(json.loads, (folder / "evidence/events.ndjson").read_bytes().splitlines())]
    times = [int(event["mono_ns"]) for event in events if event["run_id"] == run_id]
    if times != sorted(times) or [event["seq"] for event in events] != [*range(len(times))]:
        raise ValueError("an event is not in its place, or of another run")
    if [event["type"] for event in (*events[:1], *events[-1:])] != ["run_start", "run_finish"]:
        raise ValueError("the events do not begin with run_start and end with run_finish")
    rows = [pq.read_metadata(folder / CALLS).num_rows] if (folder / CALLS).is_file() else []
    if rows != [event["data"]["events"] for event in events if event["type"] == "kernel_observed"]:
        raise ValueError("the table of calls is not the one that the events tell of")
    yield from (event["data"]["reason"] for event in events if event["type"] == "gap")
    yield from () if events[-1]["data"]["completed"] else ("not recorded to its end",)


def changes(folder: Path) -> Iterator[str]:
    """A letter and a path (section 6, `Changed files, simply`)."""
    before: dict[bytes | int, dict[str, Any]] = {}  # of paths, and of files by their numbers
    kept: dict[bytes, str | None] = {}
    done: defaultdict[bytes, set[str]] = defaultdict(set)
    for batch in pq.ParquetFile(folder / CALLS).iter_batches(columns=[*COLUMNS]):
        for row in batch.to_pylist():
            op, path, result, notes, arg, file, blob, exists, *_ = map(row.get, COLUMNS)
            if path is None or notes & NAMED_ELSEWHERE:
                continue
            if exists is not None and not notes & LATE:
                before.setdefault(path, row if file is None else before.setdefault(file, row))
            kept[path] = kept.get(path) or blob
            opened = op in {"open", "open_handle"} and arg & TO_WRITE and not arg & PATH_ONLY
            if (opened or op in CHANGING) and (result is None or 0 <= result != FAILED):
                done[path].add(op)
    for line in map(json.loads, (folder / "evidence/files.ndjson").read_bytes().splitlines()):
        if (path := bytes_of(line, "path")) in done:
            letter = letter_of(before.get(path), kept[path], line, bool(done[path] - SETTING))
            yield from [f"{letter} {ascii(os.fsdecode(path))[1:-1]}"] if letter else ()


def letter_of(before: dict[str, Any] | None, kept: str | None, line: dict[str, Any], wrote: bool) -> str:
    if before is None or "exists" not in (after := line["after"]):
        return "?"
    if not (before["exists"] and after["exists"]):
        return "A" if after["exists"] else "D" if before["exists"] else ""
    differ = {name for name in LOOK if (int(before[name]) - int(after[name])) % 2**64}
    wrote &= (kind := stat.S_IFMT(before["mode"])) == stat.S_IFREG
    same, other = not differ, kind == stat.S_IFLNK and before["target"] != bytes_of(after, "target")
    if kept and "after_blob" in line and "after_content" not in line:
        same = kept == line["after_blob"]
        other |= wrote and not same
    other |= "size" in differ and kind in {stat.S_IFREG, stat.S_IFLNK}
    other |= kind != stat.S_IFMT(after["mode"]) or (wrote and not same and "mtime_ns" in differ)
    return "M" if other else "?" if wrote and not same and int(before["size"]) else ""


def bytes_of(told: dict[str, Any], name: str) -> bytes:
    return base64.b64decode(told[f"{name}_b64"]) if f"{name}_b64" in told else told.get(name, "").encode()


def main(path: Path) -> int:
    manifest: dict[str, Any] = {}
    with TemporaryDirectory() as scratch:
        try:
            if path.is_file():
                with tarfile.open(path, "r:gz") as pack:
                    if not all(one.isreg() and not {"", ".."} & {*one.name.split("/")} for one in pack):
                        raise ValueError("there are not only files in the pack")
                    pack.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 has it
                    pack.extractall(path := Path(scratch))  # noqa: S202 - files below it alone
            manifest = manifest_of(path)
            check_files(path, manifest["files"])
            said = [f"gap {gap}" for gap in check_events(path, manifest["run_id"])]
            said += changes(path) if CALLS in manifest["files"] else ()
        except BROKEN as error:
            code = 1 if manifest or isinstance(error, WRONG) else 2
            print(f"{('invalid', 'not readable')[code - 1]}: {error}")
            return code
    print(f"valid {manifest['run_id']}", *said, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
