"""A report looked at again: the evidence that it carries is verified, and what follows from it is made anew.

In: a report that may be anybody's. Out: the verdict on its evidence, and whether what its maker concluded is
what the rules of this Steno give. Of a page that lacks files of the record only the digests are compared. The
number of the rules does not cover the columns of tables and the words in them, so that a table that differs
proves something of a page of this version only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from steno import __version__
from steno.evidence import compat
from steno.model import table_documents
from steno.model.run import RULES, Manifest, Run, Status, Verdict
from steno.views.report.carried import Carried, Judgement, carried
from steno.views.report.document import document
from steno.views.report.parts import JUDGED, Parts, parts_of
from steno.views.report.subject import subject_of
from steno.views.verdicts import Outcome, PageStatus, SecondLook


def second_look(path: Path) -> tuple[Verdict, SecondLook | None]:
    """None: the evidence is not right, so nothing follows from it."""
    with carried(path) as found:
        run, manifest = found.run, found.manifest
        absent = sorted({*manifest.files} - {one.path for one in run.folder.entries()})
        verdict = _of_the_rest(run, absent) if absent else run.as_it_lies.verify(*table_documents.DOCUMENTS)
        if verdict.status not in {Status.VALID, Status.INCOMPLETE}:
            return verdict, None
        if {*absent} - _concluded_when_sealed(manifest):
            return verdict, _look(found, Outcome.NOT_COMPARED)
        looked_at = _compared(found, manifest, parts_of(run))
        if looked_at.outcome is Outcome.SAME and not absent and found.judgement.steno == __version__:
            looked_at = looked_at._replace(page=_page_status(run, path))
        return verdict, looked_at


def _of_the_rest(run: Run, absent: list[str]) -> Verdict:
    notes = [f"not in this page, so only the digests of the others were compared: {', '.join(absent)}"]
    return run.verify_present()._replace(notes=notes)


def _look(found: Carried, outcome: Outcome, compared: int = 0, problems: Iterable[str] = ()) -> SecondLook:
    told = found.judgement
    return SecondLook(outcome, told.rules, told.steno, compared, [*problems], PageStatus.NOT_COMPARED)


def _concluded_when_sealed(manifest: Manifest) -> set[str]:
    """Of a record of format 1; no page carries these."""
    if manifest.format != compat.FIRST:
        return set()
    return {*compat.CONCLUDED} - {*compat.evidence_of_first(manifest.files)}


def _compared(found: Carried, manifest: Manifest, again: Parts) -> SecondLook:
    told, made = found.judgement, {one.path: one.sha256 for one in again.inside if one.sealed_as is None}
    harmed = list(_harmed(found, manifest, again))
    cannot = {one.path for one in again.left_out}
    other = [
        path
        for path in sorted({*found.concluded, *made} - cannot)
        if path in JUDGED and found.concluded.get(path) != made.get(path)
    ]
    if harmed:
        outcome = Outcome.DIFFERENT
    elif not other:
        outcome = Outcome.SAME
    else:
        outcome = Outcome.DIFFERENT if _proves(told, other) else Outcome.OTHER_RULES
    different = [f"{path}: {_how(path, found.concluded, made)}" for path in other]
    return _look(found, outcome, len({*found.concluded} - cannot), [*harmed, *different])


def _proves(told: Judgement, other: list[str]) -> bool:
    """Whether what differs cannot be explained by the rules, or the version, of whoever made the page."""
    by_same = told.steno == __version__ or not {*other} <= {*table_documents.PATHS}
    return told.rules == RULES and by_same


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


def _page_status(run: Run, path: Path) -> PageStatus:
    """Made again whole: the same record gives the same bytes."""
    digest = hashlib.sha256()
    for block in document(run, subject_of(run)):
        digest.update(block)
    with path.open("rb") as file:
        is_same = hashlib.file_digest(file, "sha256").hexdigest() == digest.hexdigest()
    return PageStatus.SAME if is_same else PageStatus.DIFFERENT
