"""The tables of a run as Parquet and JSON with a stamp, and whether such a folder is what a run gives."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, NamedTuple, Protocol

import msgspec

from steno import __version__
from steno.errors import UnreadableBundleError
from steno.evidence import canonical
from steno.export import Exported
from steno.export.atomic import place_tree
from steno.judge.types import Row
from steno.model.run import RULES, Run, Status, Verdict
from steno.model.tables import BATCH, Table, plain
from steno.views.verify import Outcome, SecondLook

NAME = "steno-{run_id}-tables"
STAMP = "judgement.json"
_BLOCK = 1 << 18


def export(run: Run, directory: Path) -> Exported:
    return Exported(place_tree(directory, NAME.format(run_id=run.run_id), _Files(run)))


class _Files(dict[str, Iterable[bytes]]):
    """By name; the stamp is written last, when the digests of the others are known."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._digests: dict[str, str] = {}
        for name, table in run.tables.items():
            self[f"{name}.parquet"] = self._noted(f"{name}.parquet", parquet(table))
            self[f"{name}.ndjson"] = self._noted(f"{name}.ndjson", map(json_line, table))
        self[STAMP] = self._stamp(run)

    def _noted(self, name: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        digest = hashlib.sha256()
        for block in blocks:
            digest.update(block)
            yield block
        self._digests[name] = digest.hexdigest()

    def _stamp(self, run: Run) -> Iterator[bytes]:
        info = run.info
        told = {"rules": info.rules, "root": info.root, "run_id": info.run_id, "steno": __version__}
        yield canonical.encode({**told, "files": self._digests})


def json_line(row: Row | dict[str, Any]) -> bytes:
    """A row, or its columns, as JSON: numbers beyond 2^53 as text, bytes in base64."""
    return canonical.encode_line(_portable(row if isinstance(row, dict) else plain(row)))


def _portable(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case bool() | None:
            return value
        case int() if abs(value) > canonical.SAFE_INTEGER:
            return str(value)
        case dict():
            return {name: _portable(one) for name, one in value.items()}
        case list():
            return [_portable(one) for one in value]
    return value


def parquet(table: Table[Any]) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    with TemporaryFile() as file:
        with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
            for batch in table.batches():
                writer.write_batch(batch)
        file.seek(0)
        yield from _blocks(file)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


_MOST_STAMP = 1 << 20
_MOST_GROUP = 1 << 30
_MOST_FOOTER = 64 << 20
_SQLITE = b"SQLite format 3\0"
_NAME = re.compile(r"[a-z_]+\.(?:parquet|ndjson)")
_Word = Annotated[str, msgspec.Meta(max_length=200)]


class Stamp(msgspec.Struct, frozen=True):
    """What an export says of itself."""

    rules: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    steno: _Word
    run_id: _Word
    root: _Word | None
    files: dict[str, str]


class AnyCopy(Protocol):
    """Tables of a run that somebody exported, in whichever form."""

    @property
    def stamp(self) -> Stamp: ...
    @property
    def harm(self) -> list[str]: ...
    def compared(self, run: Run) -> tuple[int, list[str]]: ...


class Copy(NamedTuple):
    place: Path
    stamp: Stamp
    digests: dict[str, str]  # of the files that are there

    @property
    def harm(self) -> list[str]:
        """What no rules explain: the copy does not agree with its own stamp."""
        names = sorted({*self.stamp.files, *self.digests})
        return [f"{name}: {why}" for name in names if (why := self._harm_of(name))]

    def compared(self, run: Run) -> tuple[int, list[str]]:
        """How many files a copy of the run has, and which of these are others."""
        tables = run.tables
        of_tables = {f"{name}.{form}" for name in tables for form in ("parquet", "ndjson")}
        different = [f"{name}: is no table of this run" for name in sorted({*self.digests} - of_tables)]
        different += [f"{name}: is not in the copy" for name in sorted(of_tables - {*self.digests})]
        for table in tables.values():
            different += _differences(self, table)
        return len(of_tables), different

    def _harm_of(self, name: str) -> str | None:
        if name not in self.stamp.files:
            return "the stamp does not name it"
        if name not in self.digests:
            return "the stamp names it, and it is not there"
        same = self.digests[name] == self.stamp.files[name]
        return None if same else "its digest is not the one in the stamp"


def is_copy(place: Path) -> bool:
    """Whether a path is a folder of exported tables."""
    return (place / STAMP).is_file() and not (place / "manifest.json").exists()


def is_database(place: Path) -> bool:
    """Whether a file may be tables that were exported as one database."""
    with place.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def read_copy(place: Path) -> Copy:
    """The stamp, and the digest of every file beside it."""
    try:
        with (place / STAMP).open("rb") as file:  # cut where no stamp is as long, it is no JSON any more
            stamp = msgspec.json.decode(file.read(_MOST_STAMP), type=Stamp)
        names = sorted(one.name for one in place.iterdir() if one.name != STAMP)
        digests = {name: _digest_of_file(place / name) for name in names if _is_plain(place / name)}
        digests |= dict.fromkeys(set(names) - digests.keys(), "")
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UnreadableBundleError(
            f"{place} cannot be read as exported tables: {why}",
            hint="`steno export RUN --as tables` makes them",
        ) from None
    return Copy(place, stamp, digests)


def unfound(copy: AnyCopy) -> tuple[Verdict, SecondLook]:
    """Where the run is not to be had, only the stamp and the files can be held against each other."""
    note = "the run that it is a copy of is not in this store: name it with --against RUN"
    outcome = Outcome.DIFFERENT if copy.harm else Outcome.NOT_COMPARED
    verdict = Verdict(Status.INCOMPLETE, copy.stamp.run_id, None, [], [], [note])
    return verdict, _look(copy, outcome, 0, copy.harm)


def check(copy: AnyCopy, run: Run) -> tuple[Verdict, SecondLook | None]:
    """None: the evidence is not right, so nothing follows from it."""
    verdict = run.verify()
    if verdict.status not in {Status.VALID, Status.INCOMPLETE}:
        return verdict, None
    harm = copy.harm
    if (copy.stamp.run_id, copy.stamp.root) != (run.info.run_id, run.info.root):
        harm = ["the stamp names another record", *harm]
    if harm:
        return verdict, _look(copy, Outcome.DIFFERENT, 0, harm)
    if (copy.stamp.rules, copy.stamp.steno) != (RULES, __version__):
        return verdict, _look(copy, Outcome.OTHER_RULES, 0, [])
    compared, different = copy.compared(run)
    outcome = Outcome.DIFFERENT if different else Outcome.SAME
    return verdict, _look(copy, outcome, compared, different)


def _look(copy: AnyCopy, outcome: Outcome, compared: int, problems: list[str]) -> SecondLook:
    return SecondLook(outcome, copy.stamp.rules, copy.stamp.steno, compared, problems)


def _differences(copy: Copy, table: Table[Any]) -> Iterator[str]:
    lines, packed = f"{table.name}.ndjson", f"{table.name}.parquet"
    digest, rows = _digest_of_rows(map(json_line, table))
    if lines in copy.digests and copy.digests[lines] != digest:
        yield f"{lines}: is not what follows from the evidence"
    # Another version of pyarrow writes other bytes for the same rows.
    if (
        packed in copy.digests
        and copy.digests[packed] != _digest(parquet(table))
        and _rows_of_parquet(copy.place / packed, table, rows) != digest
    ):
        yield f"{packed}: is not what follows from the evidence"


def _rows_of_parquet(path: Path, table: Table[Any], rows: int) -> str | None:
    """The digest of its rows as lines; None where they cannot be those of the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(
            path, thrift_string_size_limit=_MOST_FOOTER, thrift_container_size_limit=_MOST_FOOTER
        ) as file:
            about = file.metadata
            groups = [about.row_group(number) for number in range(about.num_row_groups)]
            too_large = any(not 0 <= group.total_byte_size <= _MOST_GROUP for group in groups)
            if about.num_rows != rows or too_large or not file.schema_arrow.equals(table.schema):
                return None
            batches = file.iter_batches(batch_size=BATCH, use_threads=False)
            told = chain.from_iterable(batch.to_pylist() for batch in batches)
            return _digest_of_rows(map(json_line, told))[0]
    except (OSError, ValueError, pa.ArrowException):
        return None


def _digest_of_rows(lines: Iterator[bytes]) -> tuple[str, int]:
    digest, count = hashlib.sha256(), 0
    for line in lines:
        digest.update(line)
        count += 1
    return digest.hexdigest(), count


def _digest(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _is_plain(path: Path) -> bool:
    return bool(_NAME.fullmatch(path.name)) and path.is_file() and not path.is_symlink()


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
