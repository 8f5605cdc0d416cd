"""Verification: is this bundle what it says it is?

The steps have the numbers of `docs/spec.md`. They look at the evidence alone: what follows from it is made by
whoever reads, and a copy of that proves nothing. On any bytes verification ends with a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from steno.bundle import manifest as manifests
from steno.bundle.blobs import open_blobs
from steno.bundle.folder import Folder
from steno.bundle.manifest import FileDigest, Manifest, completeness_of
from steno.bundle.reader import FolderLayers, as_today, digest_of
from steno.evidence import canonical, compat, index, intake_names, kinds, layout
from steno.evidence.claims import PolicyLine
from steno.evidence.layers import Layers
from steno.evidence.proxy_logs import Connection
from steno.evidence.run_id import is_run_id
from steno.judge.claims import Claims, claims_of
from steno.judge.facts import NoRunStartError, RunFacts
from steno.judge.files import FileLine, file_lines
from steno.judge.scan import Reading, held

STEPS = {
    1: "the manifest is there and can be read",
    2: "the manifest is canonical, of a known format, covered by its root, and named as its folder",
    3: "the files are those of the manifest: none missing, none added, no links",
    4: "every file has the size and the SHA-256 of the manifest",
    5: "the events are canonical, in sequence, of this run, and agree with each other",
    6: "every stream is covered by its index, to the byte",
    7: "the tables and lines can be read, and are those that the events tell of",
    8: "the record has everything that should be in it",
}
_ORDER = [
    "run_start",
    "cgroup_scope",
    "repo_snapshot_before",
    "probe_state",
    "command_started",
    "command_finished",
    "cgroup_ended",
    "repo_snapshot_after",
    "kernel_observed",
    "intake_logs",
    "sdk_intake",
    "run_finish",
]
_MANIFEST_STEP, _DIGEST_STEP = 2, 4
_TABLES = (layout.KERNEL_TABLE, layout.FILE_LINES, layout.BLOBS)


class Status(StrEnum):
    VALID = "valid"
    INCOMPLETE = "incomplete"
    INVALID = "invalid"
    UNREADABLE = "unreadable"


EXIT_CODES = {Status.VALID: 0, Status.INVALID: 1, Status.INCOMPLETE: 3, Status.UNREADABLE: 4}


class _Change(msgspec.Struct, frozen=True):
    """One of the changed files that git tells of."""

    path: str
    status: str
    added: int | None = None
    deleted: int | None = None
    binary: bool = False


class Step(NamedTuple):
    number: int
    says: str
    passed: bool
    problems: list[str]


class Verdict(NamedTuple):
    status: Status
    run_id: str | None
    root: str | None
    steps: list[Step]
    gaps: list[str]
    notes: Sequence[str] = ()  # what a reader should know beside

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]


class _StopError(Exception):
    """A step failed in a way that leaves nothing for the later steps to look at."""

    def __init__(self, status: Status, problem: str) -> None:
        super().__init__(problem)
        self.status = status


def verify(run: Folder, reading_of: Callable[[], Reading | None] = lambda: None) -> Verdict:
    """`reading_of`: the same evidence, of whoever reads it for more; asked for when the digests are right."""
    return _Verification(run, reading_of).verdict()


class _Verification:
    def __init__(self, run: Folder, reading_of: Callable[[], Reading | None]) -> None:
        self._run = run
        self._reading_of = reading_of
        self._steps: list[Step] = []
        self._manifest_bytes = b""
        self._manifest: Manifest | None = None
        self._gaps: list[str] = []
        self._notes: list[str] = []
        self._kept_layers: FolderLayers | None = None

    def verdict(self) -> Verdict:
        checks: list[Callable[[], list[str]]] = [
            self._read_manifest,
            self._check_manifest,
            self._check_inventory,
            self._check_digests,
            self._check_events,
            self._check_indexes,
            self._check_tables,
            self._check_completeness,
        ]
        status = Status.VALID
        for number, check in enumerate(checks, 1):
            try:
                problems = check()
            except _StopError as stop:
                self._note(number, [str(stop)])
                status = stop.status
                break
            except (OSError, ValueError) as error:
                problems = [_say(error)]
            self._note(number, problems)
            if problems:
                status = Status.INCOMPLETE if number == len(checks) else Status.INVALID
                break
        manifest = self._manifest
        return Verdict(
            status,
            manifest.run_id if manifest else None,
            manifest.root if manifest else None,
            self._steps,
            self._gaps,
            self._notes,
        )

    def _note(self, number: int, problems: list[str]) -> None:
        readable = [problem.encode("utf-8", "backslashreplace").decode() for problem in problems]
        self._steps.append(Step(number, STEPS[number], not problems, readable))

    @property
    def _files(self) -> dict[str, FileDigest]:
        return self._sealed.files

    @property
    def _sealed(self) -> Manifest:
        if self._manifest is None:
            raise ValueError("there is no manifest")
        return self._manifest

    @property
    def _layers(self) -> FolderLayers:
        if self._kept_layers is None:
            self._kept_layers = FolderLayers(as_today(self._run), self._sealed.run_id)
        return self._kept_layers

    def _read_manifest(self) -> list[str]:
        if self._run.has_folder(layout.SPOOL):
            self._gaps.append("unsealed")
            raise _StopError(
                Status.INCOMPLETE, "the run is not sealed; `steno recover` seals what was spooled"
            )
        try:
            self._manifest_bytes = self._run.read_all(layout.MANIFEST, manifests.MAX_BYTES)
        except FileNotFoundError:
            raise _StopError(
                Status.UNREADABLE, "there is no manifest.json: this is not a sealed bundle"
            ) from None
        except OSError as error:
            raise _StopError(Status.UNREADABLE, f"manifest.json: {_say(error)}") from None
        return []

    def _check_manifest(self) -> list[str]:
        try:
            self._manifest = manifests.parse(self._manifest_bytes)
        except manifests.NewerFormatError as error:
            raise _StopError(Status.UNREADABLE, str(error)) from None
        if not manifests.root_matches(self._manifest_bytes):
            return ["the root does not match the manifest"]
        name = self._run.path.resolve().name
        if is_run_id(name) and name != self._sealed.run_id:
            return [f"the folder is named {name}, and holds the run {self._sealed.run_id}"]
        return []

    def _check_inventory(self) -> list[str]:
        problems = []
        present = set()
        for entry in self._run.entries():
            present.add(entry.path)
            if entry.path == layout.MANIFEST:
                continue
            if not entry.regular:
                problems.append(f"{entry.path}: not a regular file")
            elif entry.path not in self._files:
                problems.append(f"{entry.path}: not in the manifest")
        problems += [f"{path}: missing" for path in sorted(set(self._files) - present)]
        return problems

    def _check_digests(self) -> list[str]:
        return [
            f"{path}: {problem}"
            for path, digest in sorted(self._files.items())
            for problem in self._compare(path, digest)
        ]

    def _compare(self, path: str, expected: FileDigest) -> list[str]:
        size = self._run.size(path)
        if size != expected.bytes:  # looked at first, so that a huge file is never read
            return [f"{size} bytes, the manifest says {expected.bytes}"]
        same = digest_of(self._run.read(path)) == expected.sha256
        return [] if same else ["the content differs from the manifest"]

    def _check_events(self) -> list[str]:
        if not self._layers.has(layout.EVENTS):
            number = self._sealed.format
            name = compat.name_in_first(layout.EVENTS) if number == compat.FIRST else layout.EVENTS
            return [
                f"{name}: should be there in a bundle of format {number}, which the manifest says this is"
            ]
        seq, mono_ns = -1, 0
        for seq, event in enumerate(self._layers.events()):
            if event.run_id != self._sealed.run_id:
                return [f"event {seq} belongs to another run"]
            if event.seq != seq:
                return [f"event {seq} says it is number {event.seq}"]
            if event.mono_ns < mono_ns:
                return [f"event {seq} goes back in time"]
            mono_ns = event.mono_ns
        if seq < 0:
            return ["there are no events"]
        problems = _order_problems([event.type for event in self._layers.events()])
        return problems or _contradictions(RunFacts.of(self._layers))

    def _check_indexes(self) -> list[str]:
        sizes = dict.fromkeys(layout.TAPES, 0)
        for tape in layout.TAPES:
            for arrival in self._layers.arrivals(tape):
                if arrival.length > index.MAX_LENGTH:  # what follows holds one such piece in memory
                    return [f"{tape}: its index has a record of {arrival.length} bytes"]
                sizes[tape] += arrival.length
        problems = []
        for tape, indexed in sizes.items():
            present = self._layers.size(tape)
            if indexed != present:
                problems.append(f"{tape}: {present} bytes, its index covers {indexed}")
        return problems + list(self._torn_indexes()) + list(self._foreign_headers())

    def _torn_indexes(self) -> Iterator[str]:
        paths = [layout.INDEX, *map(layout.index_of, layout.TAPES)]
        for path in filter(self._layers.has, paths):
            record = index.JOINT_RECORD if path == layout.INDEX else index.RECORD
            if self._layers.size(path) % record.size:
                yield f"{path}: torn"
        if self._layers.has(layout.INDEX):
            numbers = {one.stream for one in index.unpack_joined(self._layers.read(layout.INDEX))}
            if max(numbers, default=0) >= len(layout.TAPES):
                self._notes.append("the record has streams that this Steno does not know")

    def _foreign_headers(self) -> Iterator[str]:
        """Format 1 begins two streams with a line that names the run."""
        if self._sealed.format != compat.FIRST:
            return
        for tape in layout.TAPES:
            header, name = compat.header_in_first(tape, self._sealed.run_id), compat.name_in_first(tape)
            if not header or name is None or not self._layers.has(tape):
                continue
            if next(self._run.read(name), b"")[: len(header)] != header:
                yield f"{name}: does not begin with the header line of this run"

    def _check_tables(self) -> list[str]:
        try:
            facts = RunFacts.of(self._layers)
        except NoRunStartError as error:
            return [str(error)]
        problems = [f"{path}: has no place in a bundle" for path in self._without_a_place()]
        missing = (path for path in _files_that_events_speak_of(facts) if not self._layers.has(path))
        problems += [f"{path}: should be there" for path in missing]
        problems += self._repository_problems(facts)
        reading = self._reading_of() or Reading(self._layers)
        problems += kernel_problems(as_today(self._run), reading, facts)
        problems += claim_problems(self._layers, facts)
        told = self._sealed.completeness
        if told is not None and told != completeness_of(facts):
            problems.append("manifest.json: completeness is not what the events say")
        if facts.kernel is not None and not problems:
            self._notes += [
                f"{op}: a call that only a newer Steno knows" for op in held(reading).unknown_operations
            ]
        self._notes += [f"{kind}: an event that only a newer Steno knows" for kind in facts.unknown_kinds]
        return problems

    def _without_a_place(self) -> Iterator[str]:
        """What is no evidence. Evidence of a kind that only a newer Steno knows is told of."""
        if self._sealed.format == compat.FIRST:
            known = {*map(compat.name_in_first, compat.FILES), *compat.CONCLUDED}
            yield from sorted(set(self._files) - known)
            return
        for path in sorted(set(self._files) - {*layout.EVIDENCE_FILES}):
            if path.startswith(f"{layout.EVIDENCE}/"):
                self._notes.append(f"{path}: of a kind that this Steno does not know")
            else:
                yield path

    def _repository_problems(self, facts: RunFacts) -> Iterator[str]:
        """The snapshot after the command tells the length of a list; in format 1 also a patch's digest."""
        told = facts.after.diff_hash if facts.after else None
        if told is not None and digest_of(self._layers.read(layout.WORKTREE_DIFF)) != told:
            yield f"{layout.WORKTREE_DIFF}: is not the patch that the snapshot tells of"
        if not self._layers.has(layout.CHANGES):
            if facts.after is not None and facts.after.changed:
                yield f"{layout.CHANGES}: should be there"
            return
        try:
            changes = msgspec.convert(self._layers.json(layout.CHANGES), list[_Change])
        except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
            yield f"{layout.CHANGES}: {error}"
            return
        if facts.after is None or facts.after.changed != len(changes):
            yield f"{layout.CHANGES}: {len(changes)} entries, which is not what the snapshot tells"

    def _check_completeness(self) -> list[str]:
        completeness = completeness_of(RunFacts.of(self._layers))
        self._gaps = list(completeness.gaps)
        if completeness.complete:
            return []
        return [f"gap: {gap}" for gap in completeness.gaps] or ["the run was not recorded to its end"]


def _order_problems(types: list[str]) -> list[str]:
    """What a run has once stands in the order of a run, from start to end."""
    known = [kind for kind in types if kind in _ORDER]
    if known != sorted(set(known), key=_ORDER.index):
        return ["the events are not in the order of a run"]
    if types[0] != kinds.RunStart.type:
        return ["the events do not begin with run_start"]
    return [] if types[-1] == kinds.RunFinish.type else ["the events do not end with run_finish"]


def _contradictions(facts: RunFacts) -> list[str]:
    """The end of the command and the end of the run are told apart; they must tell the same end."""
    if facts.finished is None:
        unseen = facts.completed and not facts.gaps
        return ["the run is said to be completed, and the end of the command is not there"] if unseen else []
    if facts.exit_code != facts.finished.exit_code:
        return [f"the command ended with {facts.finished.exit_code}, the run says {facts.exit_code}"]
    return []


def _files_that_events_speak_of(facts: RunFacts) -> Iterator[str]:
    """Of the files that are never empty."""
    if facts.kernel is not None:
        yield from (layout.KERNEL_TABLE, layout.FILE_LINES)


def _say(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return str(error)


def verify_present(folder: Folder) -> Verdict:
    """Of the files that are here, the manifest among them. The other steps need all of them."""
    manifest = manifests.read(folder)
    steps = [Step(_MANIFEST_STEP, STEPS[_MANIFEST_STEP], passed=True, problems=[])]
    if not manifests.root_matches(folder.read_all(layout.MANIFEST, manifests.MAX_BYTES)):
        steps = [_failed(_MANIFEST_STEP, ["the root does not match the manifest"])]
    elif problems := list(_wrong_digests(folder, manifest)):
        steps.append(_failed(_DIGEST_STEP, problems))
    status = Status.INCOMPLETE if steps[-1].passed else Status.INVALID
    return Verdict(status, manifest.run_id, manifest.root, steps, [])


def _failed(number: int, problems: list[str]) -> Step:
    return Step(number, STEPS[number], passed=False, problems=problems)


def _wrong_digests(folder: Folder, manifest: Manifest) -> Iterator[str]:
    for entry in folder.entries():
        told = manifest.files.get(entry.path)
        if entry.path == layout.MANIFEST:
            continue
        if told is None:
            yield f"{entry.path}: not in the manifest"
        elif entry.size != told.bytes or digest_of(folder.read(entry.path)) != told.sha256:
            yield f"{entry.path}: the content differs from the manifest"


def claim_problems(layers: Layers, facts: RunFacts) -> Iterator[str]:
    claims = claims_of(layers)
    if any(gap.reason == intake_names.DISTURBED for gap in facts.gaps):
        return
    if claims.connections is None:
        yield from _folded_problems(claims.policy, facts.connections)
    else:
        yield from _connection_problems(claims.connections, facts.connections)
    yield from _log_problems(claims, facts)
    told = facts.sdk_intake.lines + facts.sdk_intake.hooks if facts.sdk_intake else 0
    if told != claims.agents_lines:
        place = compat.FOLDED_SDK if claims.connections is None else layout.CLAIMS
        yield f"{place}: {claims.agents_lines} lines of agents, the events tell of {told}"


def _connection_problems(
    connections: Sequence[Connection], events: tuple[kinds.McpConnection, ...]
) -> Iterator[str]:
    if Counter(map(_as_told, connections)) != Counter(map(_as_the_event_has_it, events)):
        yield f"{layout.CLAIMS}: its connections are not those that the events tell of"


def _as_told(one: Connection) -> tuple[object, ...]:
    opened, closed = one.opened, one.closed
    return (
        one.name,
        opened.source,
        opened.server,
        opened.policy,
        opened.dry_run,
        opened.server_process,
        opened.proxy_process,
        opened.at_ns,
        (closed.at_ns, closed.reason, closed.exit_code) if closed else (None, None, None),
        len(one.calls),
        one.noticed_count,
    )


def _as_the_event_has_it(one: kinds.McpConnection) -> tuple[object, ...]:
    return (
        *_of_connection(one),
        one.opened_ns,
        (one.closed_ns, one.end, one.exit_code),
        one.calls,
        one.noticed_count,
    )


def _folded_problems(
    decisions: list[PolicyLine], connections: tuple[kinds.McpConnection, ...]
) -> Iterator[str]:
    counted = Counter(line.steno.connection for line in decisions)
    told: Counter[str] = Counter()
    for connection in connections:
        told[connection.connection] += connection.calls
    if counted != +told:
        yield f"{compat.FOLDED_POLICY}: its calls are not those that the connections tell of"
    known = {_of_connection(connection) for connection in connections}
    for line in decisions:
        if _of_line(line) not in known:
            yield f"{compat.FOLDED_POLICY}: line {line.seq} is of a connection that no event tells of"
            return


def _log_problems(claims: Claims, facts: RunFacts) -> Iterator[str]:
    logs = facts.intake_logs
    if logs is None or logs.policy_left_off:
        return
    named = {log.process for log in logs.policy}
    if not claims.proxies <= named or not {one.proxy_process for one in facts.connections} <= named:
        yield "the events tell of a connection, and of no log of its proxy"


def _of_connection(one: kinds.McpConnection) -> tuple[object, ...]:
    return (
        one.connection,
        one.source,
        one.server,
        one.policy,
        one.dry_run,
        one.server_process,
        one.proxy_process,
    )


def _of_line(line: PolicyLine) -> tuple[object, ...]:
    own = line.steno
    return (
        own.connection,
        line.source,
        own.server,
        own.policy,
        own.dry_run,
        own.server_process,
        own.proxy_process,
    )


def kernel_problems(run: Folder, layers: Layers, facts: RunFacts) -> Iterator[str]:
    if facts.kernel is None:
        yield from (f"{path}: no event tells of it" for path in _TABLES if layers.has(path))
        return
    if not layers.has(layout.KERNEL_TABLE) or not layers.has(layout.FILE_LINES):
        return  # said already: they should be there
    table = held(layers)
    if table.rows != facts.kernel.events:
        yield f"{layout.KERNEL_TABLE}: {table.rows} rows, the event tells of {facts.kernel.events}"
    told, kept = table.blobs.union(_blobs_told(layers)), set(_blobs_kept(run))
    if missing := told - kept:
        yield f"{layout.BLOBS}: has not all that rows and lines name, for one {min(missing)!r}"
    if unnamed := kept - told:
        yield f"{layout.BLOBS}: has more than rows and lines name, for one {min(unnamed)!r}"


def _blobs_told(layers: Layers) -> Iterator[str]:
    for line in file_lines(layers):
        if isinstance(line, FileLine):
            yield from (blob for blob in (line.before_blob, line.after_blob) if blob is not None)


def _blobs_kept(run: Folder) -> list[str]:
    if not run.has(layout.BLOBS):
        return []
    with open_blobs(run) as blobs:
        return blobs.keys()
