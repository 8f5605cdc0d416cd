"""`steno recover`: seal runs whose recorder was killed."""

from __future__ import annotations

from collections.abc import Iterator

import click

from steno.cli.options import chosen_store, complete_run, json_option, run_path, store_option
from steno.cli.output import print_json, print_lines, say, say_hint
from steno.errors import BadRequestError
from steno.record.recover import Done, Report, recover_all, recover_run
from steno.text.safe import visible


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
def command(runs: tuple[str, ...], every: bool, store: str | None, as_json: bool) -> int:
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
        print_json({"runs": [_to_json(report) for report in reports]})
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
    if report.done is Done.FAILED:
        say(f"{report.run}: {report.says}")
        say_hint(report.hint or "`steno show` may still read it")
        return
    gaps = f" (incomplete: {', '.join(report.gaps)})" if report.gaps else ""
    print_lines([visible(f"{report.run} {report.says}{gaps}")])


def _to_json(report: Report) -> dict[str, object]:
    return {
        "run": report.run,
        "done": str(report.done),
        "says": report.says,
        "hint": report.hint,
        "gaps": list(report.gaps),
    }
