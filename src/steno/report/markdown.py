"""The report as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from steno.errors import UnreadableBundleError
from steno.evidence import layout
from steno.model.run import Run
from steno.report.overview import Subject, answers, command, headline, when, where
from steno.text.markdown import MAX_CHARACTERS, Line, Section, code, fitted, folded, folded_code
from steno.text.style import Paint
from steno.text.units import counted
from steno.views import files as file_list
from steno.views.files import Choice, FileFilter, chosen, not_kept_row

MARKER = "<!-- steno:report -->"
_MOST_PROBLEMS = 10
_MOST_LINES = 5  # of one fact
_MOST_PATCH = 1 << 20
_ICONS = {"good": "✅", "warning": "⚠️", "bad": "❌"}
_SIGNS = {"good": "", "": "", "warning": "⚠️ ", "bad": "❌ "}
_plain = Paint(colour=False)


def markdown(run: Run, found: Subject, most: int = MAX_CHARACTERS) -> str:
    try:
        sections = list(_sections(run.as_it_lies))
    except UnreadableBundleError as error:
        why = str(error).replace(str(run.path), "its folder")
        sections = [Section([Line(f"\nWhat it did cannot be listed: {code(why)}")])]
    return fitted("\n".join(_head(found)), sections, _ending, most)


def _ending(left_out: int) -> str:
    return (
        f"**{counted(left_out, 'more line')} did not fit here.** `steno report` makes a page with all of it."
    )


def _head(found: Subject) -> Iterator[str]:
    first = headline(found)
    yield MARKER
    yield f"### {_ICONS[first.role]} Steno: {first.line}"
    yield ""
    yield first.sentence
    yield ""
    yield from (f"- {code(problem)}" for problem in found.problems[:_MOST_PROBLEMS])
    if len(found.problems) > _MOST_PROBLEMS:
        yield f"- and {len(found.problems) - _MOST_PROBLEMS} more problems"
    if found.summary is not None:
        run = found.summary["run"]
        yield f"\n{code(command(found.summary))}"
        yield f"\n{when(found, run)}, in {code(where(run))}"
    yield f"\nRun {code(found.run_id or '?')}"
    for question, facts in answers(found).items():
        yield f"\n**{question}**\n"
        for fact in facts:
            shown = [code(line) for line in fact.lines[:_MOST_LINES]]
            more = len(fact.lines) - _MOST_LINES
            shown += [f"and {more} more"] if more > 0 else []
            yield f"- {_SIGNS[fact.role]}{fact.label}: {'; '.join(shown)}"
    yield ""


def _sections(run: Run) -> Iterator[Section]:
    if run.has_calls and (calls := run.told_calls.calls):
        worst_first = sorted(calls, key=lambda call: call.verdict != "contradicted")
        entries = [f"{call.verdict}: {call.name} ({call.tool_call_id})" for call in worst_first]
        yield folded(f"Tool calls: {len(entries)}", _items(entries))
    if run.has_kernel_layer:
        files = list(run.files)
        changed = list(chosen(files, FileFilter(Choice.CHANGED)))
        if changed:
            lines = _items(file_list.lines(changed, _plain, width=None))
            yield folded(f"Files: {len(changed)} changed", lines)
        if unkept := run.not_kept(file.name for file in files):
            title = f"Files: {len(unkept)} changed without a kept state"
            yield folded(title, _items([not_kept_row(one) for one in unkept]))
        found = (one for one in run.connections if not one.is_unix)
        endpoints = [f"{one.name}: {one.outcome}" if one.outcome else one.name for one in found]
        if endpoints:
            yield folded(f"Network: {counted(len(endpoints), 'endpoint')}", _items(endpoints))
    if run.evidence.has(layout.DIFF) and run.evidence.size(layout.DIFF):
        yield _patch(run)


def _patch(run: Run) -> Section:
    """What no comment can show is only counted."""
    kept, end, total = bytearray(), b"\n", 0
    for block in run.evidence.read(layout.DIFF):
        kept += block[: max(_MOST_PATCH - len(kept), 0)]
        total += block.count(b"\n")
        end = block[-1:] or end
    total += end != b"\n"
    *lines, last = kept.decode("utf-8", "backslashreplace").split("\n")
    is_cut = run.evidence.size(layout.DIFF) > len(kept)
    if last and (not is_cut or not lines):  # else a part of a line, which would look like a whole one
        lines.append(last)
    return folded_code("Patch of the work tree", "diff", lines, total - len(lines))


def _items(entries: Iterator[str] | list[str]) -> list[Line]:
    return [Line(f"- {code(entry)}", is_entry=True) for entry in entries]
