"""What is compared, as it is named: runs, packed bundles, archives, lock files, and a file of rules."""

from __future__ import annotations

import os
from pathlib import Path

from steno.compare import sides
from steno.compare.ignore import BadRulesError, IgnoreRules
from steno.compare.sides import Evidence, Named, evidence_of_archive, verified_evidence
from steno.errors import BadRequestError, UnreadableBundleError
from steno.model.run import Run
from steno.model.runs import open_path

_GZIP = b"\x1f\x8b"


def read_side(word: str, path: Path) -> Named:
    """A run, a packed bundle, an archive, or a lock; which of them a file is, is told by how it begins."""
    if os.path.isfile(path):  # noqa: PTH113 - unlike pathlib's, it does not raise for a name that is too long
        data = _beginning(path, len(_GZIP))
        if data != _GZIP:
            return Named(word, sides.read(_beginning(path, sides.MAX_BYTES), str(path)))
    return Named(word, read_run(path))


def read_rules(path: str | None) -> IgnoreRules:
    if path is None:
        return IgnoreRules()
    from steno.compare import ignore  # late: YAML is slow to start, and only needed here

    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path would refuse a name with a null byte in its own words
            return ignore.parse(file.read(ignore.MAX_BYTES + 1))
    except OSError as error:
        raise BadRequestError(
            f"cannot read {path}: {error.strerror}", hint="name a file of rules with --ignore FILE"
        ) from error
    except BadRulesError as error:
        raise BadRequestError(f"{path}: {error}", hint=error.hint) from error


def read_run(path: Path) -> Evidence:
    if os.path.isfile(path):  # noqa: PTH113 - likewise
        from steno.contracts.assay import verify as assay  # late: tarfile is slow to start, and rarely needed

        if assay.is_archive(path):
            return evidence_of_archive(path)
    with Run(open_path(path)) as run:
        return verified_evidence(run)


def _beginning(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UnreadableBundleError(
            f"cannot read {path}: {error.strerror}", hint="name a run, a packed bundle or a lock file"
        ) from error
    return data[:limit]
