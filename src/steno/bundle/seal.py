"""Sealing: a spool becomes a bundle.

The files of the spool are linked into the bundle and synced, then the manifest is written, then the spool is
removed. Sealing again after a kill at any point starts over from the spool and gives the same bytes. Before
the manifest is written every file is swept for secrets; one that is found is masked in the spool, and if
the sweep still finds one the seal fails and no manifest is written.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.inventory import recorded_files
from steno.bundle.manifest import FileDigest, Manifest
from steno.bundle.reader import event_lines
from steno.bundle.room import TEMPORARY, clear_the_way
from steno.bundle.spool import holding, remove_spool
from steno.bundle.sweep import Sweeper
from steno.bundle.swept_table import is_swept
from steno.errors import SealError
from steno.evidence import index, kinds, layout

WRITE_SIZE = 1 << 20


def seal(run: Folder, run_id: str, sweeper: Sweeper, ours: Sequence[int] = ()) -> Manifest:
    """`ours`: what the caller holds of the spool already."""
    with run.sub(layout.SPOOL) as spool, holding(spool, ours) as held:
        if not held:
            raise SealError(f"{run_id} is being sealed by another process", hint="wait for it to end")
        return seal_held(run, spool, run_id, sweeper)


def seal_held(run: Folder, spool: Folder, run_id: str, sweeper: Sweeper) -> Manifest:
    """Seal a spool whose lock the caller holds."""
    told = _last_of_each_kind(spool)
    if kinds.RunFinish.type not in told:
        raise SealError(f"the end of {run_id} is not in its events", hint="`steno recover` closes the run")
    clear_the_way(run)
    # A list that was not written to its end, or not by us: the event that tells its length is not there.
    if spool.has(layout.CHANGES) and told.get(kinds.RepoSnapshotAfter.type, {}).get("changed") is None:
        spool.remove(layout.CHANGES)
    manifest = manifests.build(run_id, _seal_files(run, spool, sweeper))
    _sync_files(run, manifest.files)
    write_file(run, layout.MANIFEST, iter([manifests.to_bytes(manifest)]), sync=True)
    run.sync()
    remove_spool(run)
    return manifest


def _last_of_each_kind(spool: Folder) -> dict[str, dict[str, Any]]:
    """What the events tell, as plain data: making their types takes long, and nothing is concluded here."""
    return {line.type: line.data for line in map(kinds.parse_outer, event_lines(spool))}


def _seal_files(run: Folder, spool: Folder, sweeper: Sweeper) -> dict[str, FileDigest]:
    files = {path: _seal_file(run, spool, path, sweeper) for path in _worth_keeping(spool)}
    arrivals = _joint_index(spool)
    if (first := next(arrivals, None)) is not None:
        write_file(run, layout.INDEX, chain([first], arrivals))
        files[layout.INDEX] = sweeper.sweep(layout.INDEX, run.read(layout.INDEX)).digest
    return files


def _worth_keeping(spool: Folder) -> list[str]:
    """A file in which there is nothing says nothing, but that somebody looked: the events tell that."""
    recorded = recorded_files(spool)
    return [path for path in recorded if path not in layout.EMPTY_IS_ABSENT or spool.size(path)]


def _joint_index(spool: Folder) -> Iterator[bytes]:
    indexes = [(number, layout.index_of(tape)) for number, tape in enumerate(layout.TAPES)]
    return index.joined((number, spool.read(path)) for number, path in indexes if spool.has(path))


def _seal_file(run: Folder, spool: Folder, path: str, sweeper: Sweeper) -> FileDigest:
    """The digest of the file in the bundle, which is masked once more if something was missed."""
    if is_swept(path):
        _mend_table(spool, path, sweeper)
    _adopt(run, spool, path)
    swept = sweeper.sweep(path, run.read(path))
    if not swept.rules:
        return swept.digest
    write_file(spool, path, sweeper.masked(path, spool.read(path)))
    _adopt(run, spool, path)
    swept = sweeper.sweep(path, run.read(path))
    if swept.rules:
        run.remove(path)
        raise SealError(
            f"{path} still holds what the rules {', '.join(swept.rules)} call a secret; it is not sealed",
            hint="the spool is kept; report the rule, then `steno recover` with a version that mends it",
        )
    return swept.digest


def _mend_table(spool: Folder, path: str, sweeper: Sweeper) -> None:
    """The strings of a table are masked once more where something was missed."""
    if not _in_table(spool, path, sweeper):
        return
    if path == layout.KERNEL_TABLE:
        temporary = f"{path}{TEMPORARY}"
        with suppress(FileNotFoundError):
            spool.remove(temporary)
        with os.fdopen(spool.open(path), "rb") as source, os.fdopen(spool.create(temporary), "wb") as target:
            sweeper.mask_table(source, target)
        spool.replace(temporary, path)
        if not _in_table(spool, path, sweeper):
            return
    raise SealError(
        f"a string in {path} still holds what the rules call a secret; it is not sealed",
        hint="the spool is kept; report it, then `steno recover` with a version that mends it",
    )


def _in_table(spool: Folder, path: str, sweeper: Sweeper) -> bool:
    with os.fdopen(spool.open(path), "rb") as file:
        return sweeper.in_table(path, file)


def write_file(folder: Folder, path: str, blocks: Iterator[bytes], *, sync: bool = False) -> None:
    temporary = f"{path}{TEMPORARY}"
    with suppress(FileNotFoundError):
        folder.remove(temporary)
    with os.fdopen(folder.create(temporary), "wb", buffering=WRITE_SIZE) as file:
        for block in blocks:
            file.write(block)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    folder.replace(temporary, path)


def _adopt(run: Folder, spool: Folder, path: str) -> None:
    """The spool's bytes are the bundle's bytes: link them, or copy where links cannot be made."""
    with suppress(FileNotFoundError):
        run.remove(path)
    try:
        run.link(f"{layout.SPOOL}/{path}", path)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV}:
            raise
        write_file(run, path, spool.read(path))


def _sync_files(run: Folder, files: Iterable[str]) -> None:
    """Bytes and names are on the disk before the manifest is; all at once, for one commit of the disk's."""
    for path in files:
        _sync(run, path)
    for name in sorted({path.rpartition("/")[0] for path in files}):
        with run.sub(name) as below:
            below.sync()


def _sync(folder: Folder, path: str) -> None:
    fd = folder.open(path)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
