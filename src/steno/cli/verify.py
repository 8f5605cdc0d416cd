"""`steno verify` and `steno recover`: is a record what it says it is, and a seal for one that has none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from steno.cli.options import chosen_store, complete_run, json_option, run_path, runs_argument, store_option
from steno.cli.output import paint, print_json, print_lines, say, say_hint
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence.layout import FILES
from steno.evidence.run_id import is_run_id
from steno.export import tables
from steno.model.run import Run
from steno.model.runs import open_path
from steno.record.recover import RecoveryResult, Report, recover_all, recover_run
from steno.report import page
from steno.text.safe import visible
from steno.views import verify


@click.command(
    "verify",
    epilog="""\b
Verdicts and exit codes (several runs: the worst, in the order 1, 4, 3, 0):
  0  valid        every step passed
  1  invalid      it was changed after it was sealed, or never was a right bundle; or a page, or
                  exported tables, whose conclusions are not what the rules of this Steno give (the
                  evidence may be valid)
  3  incomplete   right as far as it goes, and it declares what is missing; or a page, or exported
                  tables, of which not all can be compared
  4  unreadable   not a bundle, or it cannot be read

\b
Examples:
  steno verify @last
  steno verify ./2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz
  steno verify ./steno-2026-01-25T12-00-00-000Z_a1b2c3d4.html
  steno verify ./steno-2026-01-25T12-00-00-000Z_a1b2c3d4-tables --against run.tar.gz
  steno verify ./steno-2026-01-25T12-00-00-000Z_a1b2c3d4.sqlite
  steno verify ./assay-runner-spike-2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz
  steno verify --json runs/* | jq '.verdicts[] | select(.status != "valid")'""",
)
@runs_argument
@click.option(
    "--against",
    metavar="RUN",
    shell_complete=complete_run,
    help="The run that exported tables are a copy of (default: the one they name, in the store).",
)
@store_option
@json_option
def verify_command(runs: tuple[str, ...], against: str | None, store: str | None, as_json: bool) -> int:
    """Check that a record is what it says it is.

    Nothing in the bundle is trusted: every digest is recomputed, and the events, streams and tables must
    agree with each other. RUN may be a directory, a packed bundle, a page that `steno report` made, an
    archive that `steno export --as assay-runner` wrote, or what `--as tables` or `--as sqlite` wrote. Of a
    page the evidence that it carries is verified, of tables that of the run that they are a copy of; what
    their maker concluded from it is concluded again and compared.
    """
    if not runs:
        raise BadRequestError("there is no RUN to verify", hint="name one, as in `steno verify @last`")
    places = [(word, run_path(word, store)) for word in runs]
    of_tables = None if against is None else run_path(against, store)
    if of_tables is not None and not any(_is_copy(path) for _, path in places):
        raise BadRequestError(
            "--against goes with exported tables",
            hint="name what `steno export --as tables` or `--as sqlite` made",
        )
    judged = []
    for word, path in places:
        one = _judged(word, path, lambda run_id: of_tables or _in_store(run_id, store))
        judged.append(one)
        if not as_json:
            print_lines(verify.lines(one, paint()))
    if as_json:
        print_json(verify.to_json(judged))
    return verify.exit_code(judged)


def _judged(word: str, path: Path, find: Callable[[str], Path | None]) -> verify.Judged:
    if os.path.isfile(path):  # noqa: PTH113 - unlike pathlib's, it does not raise for a name that is too long
        from steno.contracts.assay import verify as assay  # late: tarfile is slow to start, and rarely needed

        if assay.is_archive(path):
            return verify.Judged(word, assay.verify(path))
        if page.is_page(path):
            return _judged_page(word, path)
    try:
        if _is_copy(path):
            return _judged_tables(word, path, find)
        with Run(open_path(path)) as run:
            verdict = run.verify(FILES)
            return verify.Judged(word, verdict, verify.content_missing(run, verdict))
    except UnreadableBundleError as error:
        return verify.Judged(word, verify.unreadable(str(error)))


def _is_copy(path: Path) -> bool:
    return tables.is_database(path) if os.path.isfile(path) else tables.is_copy(path)  # noqa: PTH113


def _judged_tables(word: str, path: Path, find: Callable[[str], Path | None]) -> verify.Judged:
    copy: tables.AnyCopy
    if path.is_dir():
        copy = tables.read_copy(path)
    else:
        from steno.export.sqlite import read_database  # late: only a database needs SQLite

        copy = read_database(path)
    place = find(copy.stamp.run_id)
    if place is None:
        verdict, looked_at = tables.unfound(copy)
        return verify.Judged(word, verdict, looked_at=looked_at)
    with Run(open_path(place)) as run:
        verdict, found = tables.check(copy, run)
        return verify.Judged(word, verdict, looked_at=found)


def _in_store(run_id: str, store: str | None) -> Path | None:
    place = chosen_store(store) / run_id
    return place if is_run_id(run_id) and place.is_dir() else None


def _judged_page(word: str, path: Path) -> verify.Judged:
    from steno.report.verify import second_look  # late: only a report needs all that makes one

    try:
        verdict, looked_at = second_look(path)
    except UnreadableBundleError as error:
        return verify.Judged(word, verify.unreadable(str(error)))
    return verify.Judged(word, verdict, looked_at=looked_at)


@click.command(
    "recover",
    epilog="""\b
Examples:
  steno recover @last
  steno recover --all
  steno recover --all --json | jq '.runs[] | select(.done == "failed")'""",
)
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=complete_run)
@click.option("--all", "every", is_flag=True, help="Recover every unsealed run of the store.")
@store_option
@json_option
def recover_command(runs: tuple[str, ...], every: bool, store: str | None, as_json: bool) -> int:
    """Seal a run whose recorder was killed.

    Everything that was recorded up to then is kept, and the bundle says that it is incomplete and why. A run
    that is sealed already is left as it is; one that is still being recorded is an error. Private copies that
    the killed recorder left in memory are removed; --all also removes folders of runs that never began.
    """
    if bool(runs) == every:
        raise BadRequestError(
            "name the runs to recover, or give --all", hint="`steno list` shows the unsealed runs"
        )
    reports = []
    for report in _reports(runs, store):
        reports.append(report)
        if not as_json:
            _tell(report)
    if as_json:
        print_json({"runs": [_report_to_json(report) for report in reports]})
    elif every and not reports:
        say("nothing to recover")
    return next((report.exit_code for report in reports if report.exit_code), 0)


def _reports(runs: tuple[str, ...], store: str | None) -> Iterator[Report]:
    if not runs:
        yield from recover_all(chosen_store(store))
        return
    for path in [run_path(word, store) for word in runs]:
        yield recover_run(path)


def _tell(report: Report) -> None:
    if report.done is RecoveryResult.FAILED:
        say(f"{report.run}: {report.says}")
        say_hint(report.hint or "`steno show` may still read it")
        return
    gaps = f" (incomplete: {', '.join(report.gaps)})" if report.gaps else ""
    print_lines([visible(f"{report.run} {report.says}{gaps}")])


def _report_to_json(report: Report) -> dict[str, object]:
    return {
        "run": report.run,
        "done": str(report.done),
        "says": report.says,
        "hint": report.hint,
        "gaps": list(report.gaps),
    }
