"""Is an archive of the assay-runner contract what it says it is?

The steps are those of `docs/contracts/assay-runner.md`. On any bytes verification ends with a verdict. It
carries the evidence that its lines are made of, and from that lines, surface, health and correlation are
made anew: a digest alone proves nothing here. Memory is bounded by one batch of rows and by what the surface
names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from steno.bundle import plain_tar
from steno.bundle.claims_check import claim_problems
from steno.bundle.folder import Folder
from steno.bundle.reader import MAX_LINE, FolderLayers, digest_of, lines_of
from steno.contracts.assay import archive, events, manifest
from steno.contracts.assay.documents import in_their_words
from steno.contracts.assay.events import Carried
from steno.contracts.assay.lines import COLUMNS, kernel_lines
from steno.contracts.assay.manifest import ArchiveManifest
from steno.evidence import canonical, kinds, layout, run_id
from steno.judge.judgement import Judgement
from steno.judge.kernel_rows import batches
from steno.judge.table_held import held
from steno.model.documents import Documents
from steno.model.recording import RunFacts
from steno.model.run import Status, Step, Verdict

MAX_EVENTS = 64 << 20
MAX_REPORT = 16 << 20
_LINUX = "linux"
_COMPLETE, _DROPS, _ABSENT = "complete", "partial_ringbuf_drops", "absent"
_FAILED = "failed"

STEPS = {
    1: "the archive can be read: one plain tar in one gzip member, the manifest first",
    2: "the manifest is canonical, of this version, and of the run of the file's name",
    3: "the files are the seven of the contract, and the table of its kernel lines",
    4: "every file has the size and the SHA-256 of the manifest",
    5: "the two events are of this run, and are what the events that they carry give",
    6: "the lines of the layers are of this run, in sequence, and each is what its row gives",
    7: "health and correlation have allowed values and follow the rules of the contract",
    8: "surface, health and correlation are what events, table and lines give",
    9: "the record has everything that should be in it",
}


class BadLineError(ValueError):
    """A line is not the one that its row gives."""


class BadHealthError(ValueError):
    """A file has another shape, or a value that is not allowed."""


class Health(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["assay.runner.observation_health.v0"]
    run_id: str
    platform: str
    kernel_layer: Literal["complete", "partial_ringbuf_drops", "absent"]
    ringbuf_drops: Annotated[int, msgspec.Meta(ge=0)]
    policy_layer: Literal["present", "absent"]
    sdk_layer: Literal["present", "self_reported", "absent"]
    cgroup_correlation: Literal["clean", "partial", "failed"]
    notes: list[str]
    steno: dict[str, Any]


class Correlation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    schema: Literal["assay.runner.correlation_report.v0"]
    run_id: str
    status: Literal["clean", "partial", "failed"]
    bindings: list[dict[str, Any]]
    ambiguities: list[str]


_File = TypeVar("_File", Health, Correlation)


def is_archive(path: Path) -> bool:
    """Whether a file says that it is such an archive, by its manifest."""
    try:
        return manifest.is_one(plain_tar.manifest_of(path, manifest.MAX_BYTES))
    except plain_tar.ERRORS:
        return False


def verify(path: Path) -> Verdict:
    with opened(path) as (verdict, _):
        return verdict


@contextmanager
def opened(path: Path) -> Iterator[tuple[Verdict, Folder]]:
    """The verdict, and the files of the archive for as long as they are looked at."""
    with (
        TemporaryDirectory(prefix="steno-unpacked-") as unpacked,
        TemporaryDirectory(prefix="steno-derived-") as made,
        Folder(Path(unpacked)) as files,
        Folder(Path(made)) as scratch,
    ):
        yield _Verification(path, files, scratch).verdict(), files


class _Verification:
    def __init__(self, path: Path, files: Folder, scratch: Folder) -> None:
        self._path = path
        self._files = files
        self._scratch = scratch
        self._steps: list[Step] = []
        self._manifest: ArchiveManifest | None = None
        self._root: str | None = None
        self._told: Carried | None = None
        self._gaps: list[str] = []

    def verdict(self) -> Verdict:
        checks: list[Callable[[], list[str]]] = [
            self._unpack,
            self._check_manifest,
            self._check_inventory,
            self._check_digests,
            self._check_events,
            self._check_lines,
            self._check_rules,
            self._check_derived,
            self._check_completeness,
        ]
        status = Status.VALID
        for number, check in enumerate(checks, 1):
            try:
                problems = check()
            except plain_tar.ERRORS as error:
                problems = [str(error)]
            shown = [problem.encode("utf-8", "backslashreplace").decode() for problem in problems]
            self._steps.append(Step(number, STEPS[number], not problems, shown))
            if problems:
                status = {1: Status.UNREADABLE, len(checks): Status.INCOMPLETE}.get(number, Status.INVALID)
                break
        named = self._manifest.run_id if self._manifest else None
        return Verdict(status, named, self._root, self._steps, self._gaps)

    @property
    def _sealed(self) -> ArchiveManifest:
        if self._manifest is None:
            raise ValueError("there is no manifest")
        return self._manifest

    @property
    def _carried(self) -> Carried:
        if self._told is None:
            raise ValueError("there are no events")
        return self._told

    @property
    def _facts(self) -> RunFacts:
        return RunFacts.from_events(self._sealed.run_id, self._carried.events)

    @property
    def _layers(self) -> FolderLayers:
        """What can be made again of the lines of the archive."""
        return FolderLayers(self._scratch, self._sealed.run_id)

    def _unpack(self) -> list[str]:
        with suppress(manifest.BadArchiveManifestError):  # read, and the next step says what is wrong
            plain_tar.unpack(self._path, self._files, _sizes, manifest.MAX_BYTES)
        return []

    def _check_manifest(self) -> list[str]:
        data = self._files.read_all(layout.MANIFEST, manifest.MAX_BYTES)
        self._manifest = manifest.parse(data)
        self._root = digest_of([data])  # it names the digest of every other file
        named = run_id.PATTERN.search(self._path.name)
        if named is not None and named[0] != self._manifest.run_id:
            return [f"the file is named after {named[0]}, and holds the run {self._manifest.run_id}"]
        return []

    def _check_inventory(self) -> list[str]:
        listed, expected = set(self._sealed.files), set(manifest.FILES)
        return [
            *(f"{path}: has no place in such an archive" for path in sorted(listed - expected)),
            *(f"{path}: missing" for path in sorted(expected - listed)),
        ]

    def _check_digests(self) -> list[str]:
        return [
            f"{path}: the content differs from the manifest"
            for path, listed in sorted(self._sealed.files.items())
            if manifest.digest(self._files.read(path)) != listed.sha256
        ]

    def _check_events(self) -> list[str]:
        data = self._files.read_all(manifest.EVENTS, MAX_EVENTS)
        self._told = events.parse(self._sealed.run_id, data)
        lines = (canonical.encode_line(kinds.to_json(event)) for event in self._carried.events)
        plain_tar.keep(self._scratch, layout.EVENTS, lines)
        return []

    def _check_lines(self) -> list[str]:
        for path, name in manifest.CLAIM_LAYERS.items():
            plain_tar.keep(self._scratch, path, self._files.read(name))
        problems = [*claim_problems(self._layers, self._facts), *self._table_problems()]
        _check_lines(self._files, self._layers)
        return problems

    def _table_problems(self) -> Iterator[str]:
        kernel = self._facts.kernel
        if kernel is None:
            if self._files.size(manifest.KERNEL_TABLE):
                yield f"{manifest.KERNEL_TABLE}: no event tells of it"
            return
        plain_tar.keep(self._scratch, layout.KERNEL_TABLE, self._files.read(manifest.KERNEL_TABLE))
        if (rows := held(self._layers).rows) != kernel.events:
            yield f"{manifest.KERNEL_TABLE}: {rows} rows, the run tells of {kernel.events}"

    def _check_rules(self) -> list[str]:
        health, correlation = self._health, self._correlation
        problems = [
            *_health_problems(health, self._facts.shim),
            *_correlation_problems(correlation, health),
        ]
        if {health.run_id, correlation.run_id} != {self._sealed.run_id}:
            problems.append("health or correlation are of another run")
        return problems

    @property
    def _health(self) -> Health:
        return _read(self._files.read_all(manifest.HEALTH, MAX_REPORT), Health)

    @property
    def _correlation(self) -> Correlation:
        return _read(self._files.read_all(manifest.CORRELATION, MAX_REPORT), Correlation)

    def _check_derived(self) -> list[str]:
        layers = self._layers
        derived = Documents(Judgement(layers), layers.folder.path)
        shim = self._facts.start.shim
        made = {
            name: in_their_words(name, derived.read_all(path), shim)
            for path, name in archive.CONCLUDED.items()
        }
        return [
            f"{name}: is not what the lines give"
            for name, document in made.items()
            if digest_of([document]) != digest_of(self._files.read(name))
        ]

    def _check_completeness(self) -> list[str]:
        facts = self._facts
        self._gaps = sorted({gap.reason for gap in facts.gaps})
        return [
            *(f"gap: {gap}" for gap in self._gaps),
            *([] if facts.completed else ["the run was not recorded to its end"]),
            *_degraded(self._health, self._correlation),
        ]


def _check_lines(archived: Folder, layers: FolderLayers) -> None:
    """Raise where the lines of an archive are not those that the rows give."""
    rows = batches(layers, COLUMNS) if layers.has(layout.KERNEL_TABLE) else ()
    found = lines_of(archived, manifest.KERNEL_LINES, MAX_LINE, BadLineError)
    for number, made in enumerate(kernel_lines(layers.run_id, rows)):
        if next(found, None) != made:
            raise BadLineError(f"{manifest.KERNEL_LINES}: line {number} is not what its row gives there")
    if next(found, None) is not None:
        raise BadLineError(f"{manifest.KERNEL_LINES}: there are more lines than rows")


def _sizes(data: bytes) -> dict[str, int]:
    return {path: listed.bytes for path, listed in manifest.parse(data).files.items()}


def _health_problems(found: Health, shim: str) -> Iterator[str]:
    """The values that the contract forces; `shim` is the one that the run had."""
    if found.ringbuf_drops and found.kernel_layer != _DROPS:
        yield f"{found.ringbuf_drops} events dropped, and the kernel layer is called {found.kernel_layer}"
    if found.platform != _LINUX and found.kernel_layer != _ABSENT:
        yield f"the kernel layer of {found.platform} is called {found.kernel_layer}"
    if shim == "none" and found.sdk_layer != _ABSENT:
        yield f"there was no shim, and the SDK layer is called {found.sdk_layer}"
    if found.cgroup_correlation == "clean" and found.kernel_layer == _ABSENT:
        yield "a clean correlation of a kernel layer that is absent"


def _correlation_problems(found: Correlation, told: Health) -> Iterator[str]:
    kernel_alone = told.policy_layer == told.sdk_layer == _ABSENT
    if found.status == "clean" and (found.ambiguities or not (found.bindings or kernel_alone)):
        yield "a clean correlation that binds nothing of the layers there are, or tells of ambiguities"
    if found.ambiguities != sorted(set(found.ambiguities)):
        yield "the ambiguities are not sorted, each once"


def _degraded(found_health: Health, found_correlation: Correlation) -> Iterator[str]:
    """What makes an archive incomplete. A layer that this version does not record is none of it."""
    if found_health.kernel_layer != _COMPLETE:
        yield f"kernel_layer:{found_health.kernel_layer}"
    if found_health.cgroup_correlation == _FAILED:
        yield "cgroup_correlation:failed"
    if found_correlation.status == _FAILED:
        yield "correlation:failed"


def _read(data: bytes, kind: type[_File]) -> _File:
    try:
        return msgspec.convert(canonical.decode(data), kind)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadHealthError(str(error)) from None
