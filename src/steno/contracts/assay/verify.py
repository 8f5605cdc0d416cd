"""Is an archive of the assay-runner contract what it says it is?

The steps are those of `docs/contracts/assay-runner.md`. On any bytes verification ends with a verdict. It
carries the evidence that its lines are made of, and from that lines, surface, health and correlation are
made anew: a digest alone proves nothing here. Memory is bounded by one batch of rows and by what the surface
names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from steno.contracts.assay import archive, events, manifest
from steno.contracts.assay.archive import Folder
from steno.contracts.assay.documents import in_their_words
from steno.contracts.assay.lines import COLUMNS, kernel_lines
from steno.contracts.assay.manifest import ArchiveManifest
from steno.evidence import canonical, layout, run_id
from steno.model.loose_evidence import LooseEvidence
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
        return manifest.is_one(archive.manifest_of(path))
    except archive.ERRORS:
        return False


def verify(path: Path) -> Verdict:
    with opened(path) as (verdict, _):
        return verdict


@contextmanager
def opened(path: Path) -> Iterator[tuple[Verdict, Folder]]:
    """The verdict, and the files of the archive for as long as they are looked at."""
    with archive.scratch_folder() as files, LooseEvidence() as evidence:
        yield _Verification(path, files, evidence).verdict(), files


class _Verification:
    def __init__(self, path: Path, files: Folder, evidence: LooseEvidence) -> None:
        self._path = path
        self._files = files
        self._evidence = evidence
        self._steps: list[Step] = []
        self._manifest: ArchiveManifest | None = None
        self._root: str | None = None
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
            except archive.ERRORS as error:
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
    def _facts(self) -> RunFacts:
        return self._evidence.facts

    def _unpack(self) -> list[str]:
        with suppress(manifest.BadArchiveManifestError):  # read, and the next step says what is wrong
            archive.unpack(self._path, self._files)
        return []

    def _check_manifest(self) -> list[str]:
        data = self._files.read_all(layout.MANIFEST, manifest.MAX_BYTES)
        self._manifest = manifest.parse(data)
        self._root = hashlib.sha256(data).hexdigest()  # it names the digest of every other file
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
        self._evidence.put_events(self._sealed.run_id, events.parse(self._sealed.run_id, data).events)
        return []

    def _check_lines(self) -> list[str]:
        for path, name in manifest.CLAIM_LAYERS.items():
            self._evidence.put(path, self._files.read(name))
        problems = [*self._evidence.claim_problems(), *self._table_problems()]
        self._compare_lines()
        return problems

    def _compare_lines(self) -> None:
        """Raise where the lines of the archive are not those that the rows give."""
        made = kernel_lines(self._sealed.run_id, self._evidence.batches(COLUMNS))
        with os.fdopen(self._files.open(manifest.KERNEL_LINES), "rb") as found:
            for number, line in enumerate(made):
                if found.read(len(line)) != line:
                    raise BadLineError(
                        f"{manifest.KERNEL_LINES}: line {number} is not what its row gives there"
                    )
            if found.read(1):
                raise BadLineError(f"{manifest.KERNEL_LINES}: there are more lines than rows")

    def _table_problems(self) -> Iterator[str]:
        kernel = self._facts.kernel
        if kernel is None:
            if self._files.size(manifest.KERNEL_TABLE):
                yield f"{manifest.KERNEL_TABLE}: no event tells of it"
            return
        self._evidence.put(layout.KERNEL_TABLE, self._files.read(manifest.KERNEL_TABLE))
        if (rows := self._evidence.row_count) != kernel.events:
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
        shim = self._facts.start.shim
        names = archive.CONCLUDED
        made = {
            names[path]: in_their_words(names[path], document, shim)
            for path, document in self._evidence.documents(names)
        }
        return [
            f"{name}: is not what the lines give"
            for name, document in made.items()
            if manifest.digest([document]) != manifest.digest(self._files.read(name))
        ]

    def _check_completeness(self) -> list[str]:
        facts = self._facts
        self._gaps = sorted({gap.reason for gap in facts.gaps})
        return [
            *(f"gap: {gap}" for gap in self._gaps),
            *([] if facts.completed else ["the run was not recorded to its end"]),
            *_degraded(self._health, self._correlation),
        ]


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
