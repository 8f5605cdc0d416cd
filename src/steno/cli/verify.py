"""`steno verify`: is this bundle what it says it is?"""

from __future__ import annotations

import os
from pathlib import Path

import click

from steno.bundle.verify import verify
from steno.cli.opening import (
    json_option,
    open_path,
    paint,
    print_json,
    print_lines,
    run_path,
    runs_argument,
    store_option,
)
from steno.errors import BadRequestError, UnreadableBundleError
from steno.views import verdicts


@click.command(
    "verify",
    epilog="""\b
Verdicts and exit codes (several runs: the worst, in the order 1, 4, 3, 0):
  0  valid        every step passed
  1  invalid      it was changed after it was sealed, or never was a right bundle
  3  incomplete   right as far as it goes, and it declares what is missing
  4  unreadable   not a bundle, or it cannot be read

\b
Examples:
  steno verify @last
  steno verify ./2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz
  steno verify ./assay-runner-spike-2026-01-25T12-00-00-000Z_a1b2c3d4.tar.gz
  steno verify --json runs/* | jq '.verdicts[] | select(.status != "valid")'""",
)
@runs_argument
@store_option
@json_option
def command(runs: tuple[str, ...], store: str | None, as_json: bool) -> int:
    """Check that a record is what it says it is.

    Nothing in the bundle is trusted: every digest is recomputed, and every derived file is made again from
    the recorded events and streams and compared. RUN may be a directory, a packed bundle, or an archive that
    `steno export --as assay-runner` wrote.
    """
    if not runs:
        raise BadRequestError("there is no RUN to verify", hint="name one, as in `steno verify @last`")
    places = [(word, run_path(word, store)) for word in runs]
    judged = []
    for word, path in places:
        one = _judged(word, path)
        judged.append(one)
        if not as_json:
            print_lines(verdicts.lines(one, paint()))
    if as_json:
        print_json(verdicts.to_json(judged))
    return verdicts.exit_code(judged)


def _judged(word: str, path: Path) -> verdicts.Judged:
    if os.path.isfile(path):  # noqa: PTH113 - unlike pathlib's, it does not raise for a name that is too long
        from steno.bundle import assay_archive  # late: tarfile is slow to start, and rarely needed

        if assay_archive.is_archive(path):
            return verdicts.Judged(word, assay_archive.verify(path))
    try:
        with open_path(path) as folder:
            verdict = verify(folder)
            return verdicts.Judged(word, verdict, verdicts.content_missing(folder, verdict))
    except UnreadableBundleError as error:
        return verdicts.Judged(word, verdicts.unreadable(str(error)))
