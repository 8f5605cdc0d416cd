"""Verification of an archive of the third seed: is `assay-runner-spike-<run_id>.tar.gz` what it says it is?

In: a file that may be hostile. Out: a `Verdict` with the outcome of every numbered step, as they are in
`docs/assay-runner.md`. On any bytes it ends with a verdict. The lines of the archive become events and a
kernel table again, and from those surface, health and correlation are derived anew: a digest alone proves
nothing here. Memory is bounded by one batch of lines and by what the surface names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from steno.bundle import assay_manifest, assay_rules, plain_tar
from steno.bundle.assay_manifest import ArchiveManifest
from steno.bundle.assay_table import table_of_lines
from steno.bundle.claims_check import claim_problems
from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers, digest_of
from steno.bundle.verify import Status, Step, Verdict
from steno.evidence import canonical, kinds, layout, run_id
from steno.judge import assay_events
from steno.judge.assay_events import Carried
from steno.judge.catalogue import derivations
from steno.judge.correlation import in_archive
from steno.judge.facts import RunFacts

MAX_EVENTS = 64 << 20
MAX_REPORT = 16 << 20

STEPS = {
    1: "the archive can be read: one plain tar in one gzip member, the manifest first",
    2: "the manifest is canonical, of this version, and of the run of the file's name",
    3: "the files are the seven of the seed, and the rows of its kernel lines",
    4: "every file has the size and the SHA-256 of the manifest",
    5: "the two events are of this run, and are what the events that they carry give",
    6: "the lines of the layers are of this run, in sequence, and each is what its row gives",
    7: "health and correlation have allowed values and follow the seed's rules",
    8: "surface, health and correlation are what the lines give",
    9: "the record has everything that should be in it",
}


def is_archive(path: Path) -> bool:
    """Whether a file says that it is such an archive, by its manifest."""
    try:
        return assay_manifest.is_one(plain_tar.manifest_of(path, assay_manifest.MAX_BYTES))
    except plain_tar.ERRORS:
        return False


def verify(path: Path) -> Verdict:
    with opened(path) as (verdict, _):
        return verdict


@contextmanager
def opened(path: Path) -> Iterator[tuple[Verdict, Folder]]:
    """The verdict, and the files of the archive for as long as they are looked at."""
    with (
        TemporaryDirectory(prefix="steno-unpacked-") as archive,
        TemporaryDirectory(prefix="steno-derived-") as made,
        Folder(Path(archive)) as files,
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
        with suppress(assay_manifest.BadArchiveManifestError):  # read, and the next step says what is wrong
            plain_tar.unpack(self._path, self._files, _sizes, assay_manifest.MAX_BYTES)
        return []

    def _check_manifest(self) -> list[str]:
        data = self._files.read_all(layout.MANIFEST, assay_manifest.MAX_BYTES)
        self._manifest = assay_manifest.parse(data)
        self._root = digest_of([data])  # it names the digest of every other file
        named = run_id.PATTERN.search(self._path.name)
        if named is not None and named[0] != self._manifest.run_id:
            return [f"the file is named after {named[0]}, and holds the run {self._manifest.run_id}"]
        return []

    def _check_inventory(self) -> list[str]:
        listed, expected = set(self._sealed.files), set(assay_manifest.FILES)
        return [
            *(f"{path}: has no place in such an archive" for path in sorted(listed - expected)),
            *(f"{path}: missing" for path in sorted(expected - listed)),
        ]

    def _check_digests(self) -> list[str]:
        return [
            f"{path}: the content differs from the manifest"
            for path, listed in sorted(self._sealed.files.items())
            if assay_manifest.digest(self._files, path) != listed.sha256
        ]

    def _check_events(self) -> list[str]:
        data = self._files.read_all(assay_manifest.EVENTS, MAX_EVENTS)
        self._told = assay_events.parse(self._sealed.run_id, data)
        lines = (canonical.encode_line(kinds.to_json(event)) for event in self._carried.events)
        plain_tar.keep(self._scratch, layout.EVENTS, lines)
        return []

    def _check_lines(self) -> list[str]:
        for path, name in assay_manifest.CLAIM_LAYERS.items():
            plain_tar.keep(self._scratch, path, self._files.read(name))
        problems = [*claim_problems(self._layers, self._facts)]
        kernel = self._facts.kernel
        expected = kernel.events if kernel else 0
        counted = table_of_lines(self._files, self._sealed.run_id, self._scratch if kernel else None)
        if counted != expected:
            problems.append(f"{assay_manifest.KERNEL_LINES}: {counted} lines, the run tells of {expected}")
        return problems

    def _check_rules(self) -> list[str]:
        health, correlation = self._health, self._correlation
        problems = [
            *assay_rules.health_problems(health, self._facts.shim),
            *assay_rules.correlation_problems(correlation, health),
        ]
        if {health.run_id, correlation.run_id} != {self._sealed.run_id}:
            problems.append("health or correlation are of another run")
        return problems

    @property
    def _health(self) -> assay_rules.Health:
        return assay_rules.health(self._files.read_all(assay_manifest.HEALTH, MAX_REPORT))

    @property
    def _correlation(self) -> assay_rules.Correlation:
        return assay_rules.correlation(self._files.read_all(assay_manifest.CORRELATION, MAX_REPORT))

    def _check_derived(self) -> list[str]:
        layers = self._layers
        derived = derivations(layers)
        made = {
            assay_manifest.SURFACE: derived[layout.SURFACE](layers),
            assay_manifest.HEALTH: derived[layout.HEALTH](layers),
        }
        report = b"".join(derived[layout.CORRELATION](layers))
        made[assay_manifest.CORRELATION] = iter([in_archive(report, self._facts.start.shim)])
        return [
            f"{path}: is not what the lines give"
            for path, blocks in made.items()
            if digest_of(blocks) != digest_of(self._files.read(path))
        ]

    def _check_completeness(self) -> list[str]:
        facts = self._facts
        self._gaps = sorted({gap.reason for gap in facts.gaps})
        return [
            *(f"gap: {gap}" for gap in self._gaps),
            *([] if facts.completed else ["the run was not recorded to its end"]),
            *assay_rules.degraded(self._health, self._correlation),
        ]


def _sizes(manifest: bytes) -> dict[str, int]:
    return {path: listed.bytes for path, listed in assay_manifest.parse(manifest).files.items()}
