"""A report looked at again: the evidence that it carries is verified, and what follows from it is made anew.

In: a report that may be anybody's. Out: the verdict on its evidence, and whether what its maker concluded is
what the rules of this Steno give. Of a page that lacks files of the record only the digests are compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from steno import __version__
from steno.bundle import manifest as manifests
from steno.bundle.folder import BLOCK, Folder
from steno.bundle.manifest import Manifest
from steno.bundle.reader import digest_of
from steno.bundle.verify import STEPS, Status, Step, Verdict, verify
from steno.evidence import compat, layout
from steno.judge.rules import RULES
from steno.views.report.carried import Carried, carried
from steno.views.report.document import document
from steno.views.report.parts import JUDGED, Parts, parts_of
from steno.views.report.subject import subject_of
from steno.views.verdicts import Outcome, PageStatus, SecondLook

_MANIFEST_STEP, _DIGEST_STEP = 2, 4


def second_look(path: Path) -> tuple[Verdict, SecondLook | None]:
    """None: the evidence is not right, so nothing follows from it."""
    with carried(path) as found:
        manifest = manifests.read(found.folder)
        absent = sorted(name for name in manifest.files if not found.folder.has(name))
        verdict = _digests_alone(found.folder, manifest, absent) if absent else verify(found.folder)
        if verdict.status not in {Status.VALID, Status.INCOMPLETE}:
            return verdict, None
        if {*absent} - _concluded_when_sealed(manifest):
            return verdict, _look(found, Outcome.NOT_COMPARED)
        looked_at = _compared(found, manifest, parts_of(found.folder))
        if looked_at.outcome is Outcome.SAME and not absent and found.judgement.steno == __version__:
            looked_at = looked_at._replace(page=_page_status(found.folder, path))
        return verdict, looked_at


def _look(found: Carried, outcome: Outcome, compared: int = 0, problems: Iterable[str] = ()) -> SecondLook:
    told = found.judgement
    return SecondLook(outcome, told.rules, told.steno, compared, [*problems], PageStatus.NOT_COMPARED)


def _concluded_when_sealed(manifest: Manifest) -> set[str]:
    """Of a record of format 1; no page carries these."""
    if manifest.format != compat.FIRST:
        return set()
    return {*compat.CONCLUDED} - {*compat.evidence_of_first(manifest.files)}


def _digests_alone(folder: Folder, manifest: Manifest, absent: list[str]) -> Verdict:
    """Of the files that are here. The other steps of verification need all of them."""
    steps = [Step(_MANIFEST_STEP, STEPS[_MANIFEST_STEP], passed=True, problems=[])]
    if not manifests.root_matches(folder.read_all(layout.MANIFEST, manifests.MAX_BYTES)):
        steps = [_failed(_MANIFEST_STEP, ["the root does not match the manifest"])]
    elif problems := list(_wrong_digests(folder, manifest)):
        steps.append(_failed(_DIGEST_STEP, problems))
    status = Status.INCOMPLETE if steps[-1].passed else Status.INVALID
    notes = [f"not in this page, so only the digests of the others were compared: {', '.join(absent)}"]
    return Verdict(status, manifest.run_id, manifest.root, steps, [], notes)


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


def _compared(found: Carried, manifest: Manifest, again: Parts) -> SecondLook:
    told, made = found.judgement, {one.path: one.sha256 for one in again.inside if one.sealed_as is None}
    harmed = list(_harmed(found, manifest, again))
    cannot = {one.path for one in again.left_out}
    different = [
        f"{path}: {_how(path, found.concluded, made)}"
        for path in sorted({*found.concluded, *made} - cannot)
        if path in JUDGED and found.concluded.get(path) != made.get(path)
    ]
    if harmed:
        outcome = Outcome.DIFFERENT
    elif not different:
        outcome = Outcome.SAME
    else:
        outcome = Outcome.DIFFERENT if told.rules == RULES else Outcome.OTHER_RULES
    return _look(found, outcome, len({*found.concluded} - cannot), [*harmed, *different])


def _harmed(found: Carried, manifest: Manifest, again: Parts) -> Iterator[str]:
    """What no rules explain: the page does not agree with itself."""
    if found.judgement.root != manifest.root:
        yield "what was concluded is told to be of another record"
    named = {one.path: (one.sealed_as, one.skip) for one in again.inside if one.sealed_as is not None}
    for part in found.parts:
        if part.sealed_as is not None and named.get(part.path) != (part.sealed_as, part.skip):
            yield f"{part.path}: is not taken from the file of the record that it is named after"
    told = {path: digest for path, digest in found.judgement.files.items() if path in JUDGED}
    for path in sorted({*told, *found.concluded}):
        if told.get(path) != found.concluded.get(path):
            yield f"{path}: is not what the page says was concluded"


def _how(path: str, concluded: dict[str, str], made: dict[str, str | None]) -> str:
    if path not in concluded:
        return "follows from the evidence, and is not in the page"
    return "is not what follows from the evidence" if path in made else "does not follow from the evidence"


def _page_status(folder: Folder, path: Path) -> PageStatus:
    """Made again whole: the same record gives the same bytes."""
    digest = hashlib.sha256()
    for block in document(folder, subject_of(folder)):
        digest.update(block)
    with path.open("rb") as file:
        is_same = digest_of(iter(lambda: file.read(BLOCK), b"")) == digest.hexdigest()
    return PageStatus.SAME if is_same else PageStatus.DIFFERENT
