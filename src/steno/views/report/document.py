"""A report as one document: the header, the data, and the files of the record.

In: a run, and what a report says of it. Out: blocks of HTML that are the same for the same record,
wherever it lies and whenever they are made. Never changes the record.
"""

from __future__ import annotations

from collections.abc import Iterator

from steno import __version__
from steno.model.run import Run
from steno.views.report import page
from steno.views.report.header import header, title
from steno.views.report.parts import parts_of
from steno.views.report.subject import Subject

KIND = "report"


def document(run: Run, found: Subject) -> Iterator[bytes]:
    """The run stays open for as long as the blocks are asked for."""
    parts = parts_of(run)
    data = {
        "schema": page.SCHEMA,
        "kind": KIND,
        "steno": __version__,
        "run_id": found.run_id,
        "state": str(found.state),
        "verdict": found.verdict,
        "summary": found.summary_in_page,
        **parts.data,
    }
    yield from page.html(title(found), header(found), data, parts.embedded())
