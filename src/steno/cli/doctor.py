"""`steno doctor`: what can be observed on this machine."""

from __future__ import annotations

import os

import click

from steno.capture.cgroup import CleanupResult, Leftover, remove_leftovers
from steno.claims.folder import LeftFolder, remove_left
from steno.cli.options import chosen_store, json_option, store_option
from steno.cli.output import paint, print_json, print_lines, say
from steno.text.safe import visible
from steno.views import doctor


@click.command(
    "doctor",
    epilog="""\b
Marks:
  ok        works
  limited   recording works, and sees or keeps less
  missing   recording does not work without it

\b
Exit code 1: something is missing, or Steno was installed without its observer of the kernel.

\b
Examples:
  steno doctor
  steno doctor --json | jq .observers
  steno doctor --json | jq '.findings[] | select(.mark != "ok")'
  steno doctor --clean""",
)
@click.option(
    "--clean", is_flag=True, help="Remove empty cgroups and folders in memory that runs left behind."
)
@store_option
@json_option
def command(clean: bool, store: str | None, as_json: bool) -> int:
    """Say what can be observed on this machine, and what to install for more.

    Looks at the store, pseudo-terminals, git, private memory, the list of ignored paths, the observers, and
    runs that need attention.
    Changes nothing, unless --clean is given: then it removes what runs left behind, instead of looking.
    """
    if clean:
        return _clean(as_json=as_json)
    place = chosen_store(store).absolute()
    found = doctor.checkup(place, os.environ)
    if as_json:
        print_json(doctor.to_json(found, place))
    else:
        print_lines(doctor.lines(found, paint()))
    return doctor.exit_code(found)


def _clean(*, as_json: bool) -> int:
    leftovers = list(remove_leftovers())
    intakes = list(remove_left())
    if as_json:
        print_json(
            {
                "cgroups": [{**one._asdict(), "done": str(one.done)} for one in leftovers],
                "intakes": [{"path": str(one.path), "removed": one.removed} for one in intakes],
            }
        )
    elif leftovers or intakes:
        print_lines([*map(_line, leftovers), *map(_intake_line, intakes)])
    else:
        say("nothing to clean")
    failed = any(one.done is CleanupResult.FAILED for one in leftovers) or not all(
        one.removed for one in intakes
    )
    return 1 if failed else 0


def _line(one: Leftover) -> str:
    return visible(f"{one.path} {one.says}")


def _intake_line(one: LeftFolder) -> str:
    done = "it is removed" if one.removed else "it cannot be removed"
    return visible(f"{one.path} was left by a run that is over; {done}")
