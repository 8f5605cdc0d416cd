"""Sealing: a spool becomes a bundle.

In: a run folder with a spool that nobody writes any more. Out: the bundle's files beside the spool, each
written under a temporary name and renamed, all of them synced, then the manifest; then the spool is removed.
Sealing again after a kill at any point starts over from the spool and gives the same bytes. Before the
manifest is written every file is swept for secrets; one that is found is masked in the spool, and if
the sweep still finds one the seal fails and no manifest is written.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.inventory import completeness_of, primary_files
from steno.bundle.manifest import FileDigest, Manifest
from steno.bundle.reader import FolderLayers, event_lines
from steno.bundle.room import TEMPORARY, clear_the_way
from steno.bundle.spool import holding, remove_spool
from steno.bundle.sweep import Sweeper, is_judged
from steno.bundle.swept_table import is_swept
from steno.errors import SealError
from steno.evidence import canonical, kinds, layout
from steno.judge.catalogue import derivations
from steno.judge.facts import RunFacts

WRITE_SIZE = 1 << 20
# From here on a second thread is worth its start: masking and hashing leave the interpreter free.
LARGE_BYTES = 16 << 20


def seal(run: Folder, run_id: str, sweeper: Sweeper, ours: Sequence[int] = ()) -> Manifest:
    """`ours`: what the caller holds of the spool already."""
    with run.sub(layout.SPOOL) as spool, holding(spool, ours) as held:
        if not held:
            raise SealError(f"{run_id} is being sealed by another process", hint="wait for it to end")
        return seal_held(run, spool, run_id, sweeper)


def seal_held(run: Folder, spool: Folder, run_id: str, sweeper: Sweeper) -> Manifest:
    """Seal a spool whose lock the caller holds."""
    layers = FolderLayers(spool, run_id)
    facts = RunFacts.of(layers)
    if facts.finish is None:
        raise SealError(f"the end of {run_id} is not in its events", hint="`steno recover` closes the run")
    clear_the_way(run)
    _drop_changes_nobody_tells(spool, facts)
    _make_empty_layers(spool)
    files = _seal_files(run, spool, layers, sweeper)
    manifest = manifests.build(run_id, completeness_of(RunFacts.of(layers)), files)
    _sync_files(run, files)
    write_file(run, layout.MANIFEST, iter([manifests.to_bytes(manifest)]), sync=True)
    run.sync()
    remove_spool(run)
    return manifest


def _drop_changes_nobody_tells(spool: Folder, facts: RunFacts) -> None:
    """A list that was not written to its end, or not by us: the event that tells its length is not there."""
    if spool.has(layout.CHANGES) and (facts.after is None or facts.after.changed is None):
        spool.remove(layout.CHANGES)


def _make_empty_layers(spool: Folder) -> None:
    """No layer is left out: one of which nothing was told is an empty file."""
    for path in layout.CLAIM_LAYERS:
        if not spool.has(path):
            os.close(spool.create(path))


def _seal_files(run: Folder, spool: Folder, layers: FolderLayers, sweeper: Sweeper) -> dict[str, FileDigest]:
    if sum(spool.size(path) for path in primary_files(spool)) < LARGE_BYTES:
        primaries, mended = _seal_primaries(run, spool, sweeper)
        if mended:
            layers.forget_events()
        return primaries | _seal_derived(run, layers, sweeper)
    from concurrent.futures import ThreadPoolExecutor  # late: small runs have a start-up budget

    with ThreadPoolExecutor(1) as helper:
        derived = helper.submit(_seal_derived, run, layers, sweeper)
        primaries, mended = _seal_primaries(run, spool, sweeper)
    if not mended:
        return primaries | derived.result()
    layers.forget_events()  # what was derived, or why it was refused, was of files that are masked by now
    return primaries | _seal_derived(run, layers, sweeper)


def _seal_primaries(run: Folder, spool: Folder, sweeper: Sweeper) -> tuple[dict[str, FileDigest], bool]:
    """The digests, and whether a file had to be masked again, so that what was derived from it is stale."""
    files: dict[str, FileDigest] = {}
    mended = False
    for path in sorted(primary_files(spool), key=lambda path: path == layout.EVENTS):
        if path == layout.EVENTS and layout.WORKTREE_DIFF in files:
            mended |= _settle_diff_hash(spool, files[layout.WORKTREE_DIFF].sha256)
        judge = is_judged(path, derived=False)
        if is_swept(path):
            mended |= _mend_table(spool, path, sweeper)
        _adopt(run, spool, path)
        swept = sweeper.sweep(path, run.read(path), judge=judge)
        if swept.rules:
            mended = True
            write_file(spool, path, sweeper.masked(path, spool.read(path)))
            _adopt(run, spool, path)
            files[path] = _swept(run, path, sweeper, judge=judge)
        else:
            files[path] = swept.digest
    return files, mended


def _mend_table(spool: Folder, path: str, sweeper: Sweeper) -> bool:
    """Whether the strings of a table had to be masked once more."""
    if not _in_table(spool, path, sweeper):
        return False
    if path == layout.KERNEL_TABLE:
        temporary = f"{path}{TEMPORARY}"
        with suppress(FileNotFoundError):
            spool.remove(temporary)
        with os.fdopen(spool.open(path), "rb") as source, os.fdopen(spool.create(temporary), "wb") as target:
            sweeper.mask_table(source, target)
        spool.replace(temporary, path)
        if not _in_table(spool, path, sweeper):
            return True
    raise SealError(
        f"a string in {path} still holds what the rules call a secret; it is not sealed",
        hint="the spool is kept; report it, then `steno recover` with a version that mends it",
    )


def _in_table(spool: Folder, path: str, sweeper: Sweeper) -> bool:
    with os.fdopen(spool.open(path), "rb") as file:
        return sweeper.in_table(path, file)


def _settle_diff_hash(spool: Folder, digest: str) -> bool:
    """Let the snapshot tell the digest of the patch as it is sealed, also when it was masked once more.

    It is compared every time, because a seal may have been killed between the patch and its event.
    """
    if not any(_tells_another(line, digest) for line in event_lines(spool)):
        return False
    write_file(spool, layout.EVENTS, (_told(line, digest) for line in event_lines(spool)), sync=True)
    return True


def _tells_another(line: bytes, digest: str) -> bool:
    if kinds.RepoSnapshotAfter.type.encode() not in line:
        return False
    data = kinds.parse_line(line).data
    return isinstance(data, kinds.RepoSnapshotAfter) and data.diff_hash not in {None, digest}


def _told(line: bytes, digest: str) -> bytes:
    if not _tells_another(line, digest):
        return line
    raw = canonical.decode_line(line)
    raw["data"]["diff_hash"] = digest
    return canonical.encode_line(raw)


def _seal_derived(run: Folder, layers: FolderLayers, sweeper: Sweeper) -> dict[str, FileDigest]:
    files = {}
    for path, derive in derivations(layers).items():
        write_file(run, path, derive(layers))
        files[path] = _swept(run, path, sweeper, judge=is_judged(path, derived=True))
    return files


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


def _swept(run: Folder, path: str, sweeper: Sweeper, *, judge: bool) -> FileDigest:
    swept = sweeper.sweep(path, run.read(path), judge=judge)
    if swept.rules:
        run.remove(path)
        raise SealError(
            f"{path} still holds what the rules {', '.join(swept.rules)} call a secret; it is not sealed",
            hint="the spool is kept; report the rule, then `steno recover` with a version that mends it",
        )
    return swept.digest


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
    for name in sorted({path.rpartition("/")[0] for path in files} - {""}):
        with run.sub(name) as below:
            below.sync()


def _sync(folder: Folder, path: str) -> None:
    fd = folder.open(path)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
