"""Recovery: a spool whose recorder was killed becomes a sealed, honestly incomplete bundle.

Every byte that was spooled is in it. Torn ends are cut back to the last whole record, stream bytes that had
not got their index record yet keep the time of their neighbour, and what is missing is declared as a gap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from steno.bundle import manifest as manifests
from steno.bundle.folder import TEMPORARY, Folder, write_all
from steno.bundle.lock import KERNEL, holding, is_live
from steno.bundle.manifest import Manifest
from steno.bundle.reader import FolderLayers, as_today, digest_of, event_lines
from steno.bundle.seal import Sweeper, seal_held
from steno.bundle.spool import RESERVE, remove_spool
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import canonical, index, kinds, layout
from steno.evidence.index import Arrival
from steno.evidence.kinds import Event, EventData
from steno.judge.facts import RunFacts
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

KILLED = "recorder_killed"
TORN = "torn_stream"
_NOT_KNOWN = "what came later is not known"
_ONLY_SEEN = "of what came later only what the kernel saw is known"
_MADE_BY = {
    layout.STATUS_BEFORE: kinds.RepoSnapshotBefore,
    layout.STATUS_AFTER: kinds.RepoSnapshotAfter,
    layout.DIFF: kinds.RepoSnapshotAfter,
    layout.WORKTREE_BEFORE: kinds.RepoSnapshotBefore,
    layout.WORKTREE_DIFF: kinds.RepoSnapshotAfter,
    layout.CHANGES: kinds.RepoSnapshotAfter,
    layout.KERNEL_TABLE: kinds.KernelObserved,
    layout.FILE_LINES: kinds.KernelObserved,
    layout.BLOBS: kinds.KernelObserved,
}


class KernelLayer(Protocol):
    """What was made of the frames: the event that tells of it, or none, and gaps as (reason, detail)."""

    @property
    def event(self) -> kinds.KernelObserved | None: ...
    @property
    def gaps(self) -> Sequence[tuple[str, str]]: ...


# Makes the tables of the kernel layer in a spool, from the frames that are there.
KernelKeeper = Callable[[Folder], KernelLayer]


# Makes the layers of claims in a spool, from what programs told the recorder; the events tell of it.
ClaimsKeeper = Callable[[Folder, Event], Iterable[EventData]]


class Keepers(NamedTuple):
    """Who makes of the spool what its recorder did not come to make. None: it stays as it is."""

    kernel: KernelKeeper | None = None
    claims: ClaimsKeeper | None = None


NOBODY = Keepers()


class Recovered(NamedTuple):
    facts: RunFacts
    manifest: Manifest


def recover(run: Folder, keepers: Keepers = NOBODY, known: Iterable[bytes] = ()) -> Recovered:
    """Seal what was spooled. `known` are values that the recorder knew to be secret."""
    if finish_interrupted_seal(run):
        return _as_sealed(run)
    try:
        return _recover_alone(run, keepers, Sweeper(known))
    except FileNotFoundError:
        if run.has_folder(layout.SPOOL) or not _is_whole(run):
            raise
        return _as_sealed(run)  # another process has sealed it meanwhile


def _recover_alone(run: Folder, keepers: Keepers, sweeper: Sweeper) -> Recovered:
    with run.sub(layout.SPOOL) as spool, holding(spool) as held:
        if not held:
            raise BadRequestError(
                f"{run.path.name} is still being recorded", hint="wait for it to end, or stop its recorder"
            )
        if _is_whole(run):  # another process has sealed it while we asked for the lock
            return _as_sealed(run)
        return _recover_held(run, spool, keepers, sweeper)


def _recover_held(run: Folder, spool: Folder, keepers: Keepers, sweeper: Sweeper) -> Recovered:
    books = _whole_events(spool)
    if not books.events:
        raise UnreadableBundleError(
            f"the spool of {run.path.name} has no events",
            hint="nothing was recorded; the folder can be removed",
        )
    if not isinstance(books.events[0].data, kinds.RunStart):
        raise UnreadableBundleError(
            f"the spool of {run.path.name} does not begin with run_start", hint="it is not ours"
        )
    run_id = books.events[0].run_id
    _close_the_books(spool, books, keepers)
    facts = RunFacts.of(FolderLayers(spool, run_id))
    return Recovered(facts, seal_held(run, spool, run_id, sweeper))


def _as_sealed(run: Folder) -> Recovered:
    manifest = manifests.read(run)
    return Recovered(RunFacts.of(FolderLayers(as_today(run), manifest.run_id)), manifest)


def finish_interrupted_seal(run: Folder) -> bool:
    """A kill between the manifest and the removal of the spool left a whole bundle; tidy it."""
    if run.has(layout.MANIFEST) and run.has_folder(layout.SPOOL) and not is_live(run) and _is_whole(run):
        remove_spool(run)
        return True
    return False


def _is_whole(run: Folder) -> bool:
    """Whether there is a manifest and all that it promises; the command may have put one there itself."""
    try:
        data = run.read_all(layout.MANIFEST, manifests.MAX_BYTES)
        manifest = manifests.parse(data)
        return (
            layout.EVENTS in manifest.files
            and manifests.root_matches(data)
            and all(
                run.size(path) == digest.bytes and digest_of(run.read(path)) == digest.sha256
                for path, digest in manifest.files.items()
            )
        )
    except (OSError, ValueError):
        return False


class _Books(NamedTuple):
    events: list[Event]
    last_at: int  # where the line of the last event begins


def _whole_events(spool: Folder) -> _Books:
    """The events that were written whole; whatever follows the last of them is cut off."""
    events: list[Event] = []
    last_at = size = 0
    for line in event_lines(spool):
        try:
            events.append(kinds.parse_line(line))
        except kinds.BadEventError:
            break
        last_at, size = size, size + len(line)
    _truncate(spool, layout.EVENTS, size)
    return _Books(events, last_at)


def _close_the_books(spool: Folder, books: _Books, keepers: Keepers) -> None:
    events, last = books.events, books.events[-1]
    seen = {type(event.data) for event in events}
    _drop_unfinished_files(spool, seen)
    gaps: list[EventData] = []
    last_ns = seen_ns = last.mono_ns
    if not seen & {kinds.KernelObserved, kinds.RunFinish} and spool.has_folder(KERNEL):
        gaps += _kernel_layer(spool, keepers.kernel)
        seen_ns = _last_seen(spool)  # the observer may have outlived the recorder
    if kinds.RunFinish not in seen and keepers.claims is not None:
        gaps += _not_yet_told(keepers.claims(spool, events[0]), events)
    for tape in layout.TAPES:
        if _has_tape(spool, tape):
            mended = _mend_tape(spool, tape, last_ns)
            gaps += mended.gaps
            last_ns = max(last_ns, mended.last_ns)
    if not isinstance(last.data, kinds.RunFinish):
        finished = next((e.data for e in events if isinstance(e.data, kinds.CommandFinished)), None)
        later = _ONLY_SEEN if seen_ns > last_ns else _NOT_KNOWN
        gaps.append(kinds.Gap(KILLED, f"the recorder ended before the run was over; {later}"))
        gaps.append(kinds.RunFinish(finished.exit_code if finished else None, completed=False, reason=KILLED))
    elif gaps:  # the end of the run stays its last event
        _truncate(spool, layout.EVENTS, books.last_at)
        events = events[:-1]
        gaps.append(last.data)
    _append(spool, events, max(last_ns, seen_ns), gaps)


def _kernel_layer(spool: Folder, keep: KernelKeeper | None) -> Iterator[EventData]:
    """Turn the frames into the layer. The event comes after the gaps: who finds it, finds them too."""
    if keep is None:
        yield kinds.Gap("kernel_record_damaged", "the frames of the observer were left as they are")
        return
    made = keep(spool)
    yield from (kinds.Gap(reason, detail) for reason, detail in made.gaps)
    if made.event is not None:
        yield made.event


def _last_seen(spool: Folder) -> int:
    """When the last call in the kernel table was made; 0 where there is none."""
    if not spool.has(layout.KERNEL_TABLE):
        return 0
    from pyarrow import compute, parquet

    with os.fdopen(spool.open(layout.KERNEL_TABLE), "rb") as file:
        times = parquet.read_table(file, columns=["mono_ns"], use_threads=False).column(0)
    last: int = compute.max(times).as_py() or 0
    return last if last <= canonical.SAFE_INTEGER else 0


def _not_yet_told(found: Iterable[EventData], events: list[Event]) -> Iterator[EventData]:
    """The recorder may have been killed in the middle of telling the same."""
    told = {_subject(event.data) for event in events}
    return (data for data in found if _subject(data) not in told)


def _subject(data: EventData) -> tuple[str, ...]:
    match data:
        case kinds.McpConnection(connection=connection):
            return data.type, connection
        case kinds.Gap(reason=reason, detail=detail):
            return data.type, reason, detail
        case _:
            return (data.type,)


def _has_tape(spool: Folder, tape: str) -> bool:
    """Whether the stream was begun; a kill between the making of its two files left only one of them."""
    pair = (tape, layout.index_of(tape))
    missing = [path for path in pair if not spool.has(path)]
    if len(missing) == 1:
        os.close(spool.create(missing[0]))
    return len(missing) < len(pair)


def _drop_unfinished_files(spool: Folder, seen: set[type[EventData]]) -> None:
    if spool.has(RESERVE):
        spool.remove(RESERVE)
    for path, kind in _MADE_BY.items():
        if kind not in seen and spool.has(path):
            spool.remove(path)
    for entry in list(spool.entries()):
        if entry.path.endswith(TEMPORARY):
            spool.remove(entry.path)


class _Mended(NamedTuple):
    gaps: list[EventData]
    last_ns: int


def _mend_tape(spool: Folder, tape: str, default_ns: int) -> _Mended:
    """Make index and bytes agree: records without bytes are cut, bytes without a record get one."""
    present = spool.size(tape)
    whole = _records_that_fit(spool, layout.index_of(tape), present)
    index_path = layout.index_of(tape)
    gaps: list[EventData] = []
    if spool.size(index_path) > whole.records * index.RECORD.size:
        gaps.append(kinds.Gap(TORN, f"{layout.shown(tape)}: the index ran ahead of the bytes"))
    _truncate(spool, index_path, whole.records * index.RECORD.size)
    last_ns = default_ns if whole.last_ns is None else whole.last_ns
    if whole.covered < present:
        _extend(spool, index_path, index.pack(_arrivals(last_ns, present - whole.covered)))
        gaps.append(
            kinds.Gap(
                TORN, f"{layout.shown(tape)}: when its last {present - whole.covered} bytes came is lost"
            )
        )
    return _Mended(gaps, last_ns)


class _Fit(NamedTuple):
    records: int
    covered: int
    last_ns: int | None


def _records_that_fit(spool: Folder, path: str, present: int) -> _Fit:
    fit = _Fit(0, 0, None)
    for arrival in index.unpack(spool.read(path)):
        if fit.covered + arrival.length > present:
            break
        fit = _Fit(fit.records + 1, fit.covered + arrival.length, arrival.mono_ns)
    return fit


def _arrivals(mono_ns: int, length: int) -> Iterator[Arrival]:
    while length > 0:
        part = min(length, index.MAX_LENGTH)
        yield Arrival(mono_ns, part)
        length -= part


def _append(spool: Folder, events: list[Event], last_ns: int, closing: list[EventData]) -> None:
    first, redactor = events[0], Redactor(findings=Findings())
    for number, data in enumerate(closing, len(events)):
        ts_ms = first.ts_ms + (last_ns - first.mono_ns) // 1_000_000
        raw = kinds.to_json(Event(number, ts_ms, last_ns, first.run_id, data))
        raw["data"] = redactor.tree(raw["data"], f"events.{data.type}")
        _extend(spool, layout.EVENTS, canonical.encode_line(raw))


def _truncate(spool: Folder, path: str, size: int) -> None:
    fd = spool.open(path, write=True)
    try:
        os.ftruncate(fd, size)
    finally:
        os.close(fd)


def _extend(spool: Folder, path: str, data: bytes) -> None:
    fd = spool.open(path, write=True)
    try:
        os.lseek(fd, 0, os.SEEK_END)
        write_all(fd, data)
    finally:
        os.close(fd)
