"""Sealing: a spool becomes a bundle.

The files of the spool are linked into the bundle and synced, then the manifest is written, then the spool is
removed. Sealing again after a kill at any point starts over from the spool and gives the same bytes. Before
the manifest is written every file is swept for secrets; one that is found is masked in the spool, and if
the sweep still finds one the seal fails and no manifest is written.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

from steno.bundle import manifest as manifests
from steno.bundle.folder import TEMPORARY, Folder
from steno.bundle.kernel_table import MaskedStrings
from steno.bundle.lock import holding
from steno.bundle.manifest import FileDigest, Manifest
from steno.bundle.reader import event_lines, lines_in
from steno.bundle.spool import remove_spool
from steno.errors import SealError
from steno.evidence import canonical, index, kinds, layout
from steno.evidence.syscalls import COLUMNS, border
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

WRITE_SIZE = 1 << 20
_OUTSIDE_STRINGS = b"{}[]:,+-.0123456789Etruefalsn\n"  # numbers, `true`, `false` and `null` among them
_QUOTE_OR_ESCAPE = re.compile(rb'\\.|"', re.DOTALL)
_TOGETHER = 64
_TEXTS = {
    layout.KERNEL_TABLE: [name for name, kind in COLUMNS.items() if kind == "binary"],
    layout.BLOBS: ["key"],
}
# Keys that name contents: one with a secret is not masked, or it would name nothing.
_KEYS = {layout.KERNEL_TABLE: ["blob"], layout.BLOBS: []}
_SHOWN = 5
_FILES = frozenset({layout.MANIFEST, *layout.EVIDENCE_FILES})
_FOLDERS = frozenset(path.rpartition("/")[0] for path in _FILES if "/" in path)


def seal(run: Folder, run_id: str, sweeper: Sweeper, ours: Sequence[int] = ()) -> Manifest:
    """`ours`: what the caller holds of the spool already."""
    with run.sub(layout.SPOOL) as spool, holding(spool, ours) as held:
        if not held:
            raise SealError(f"{run_id} is being sealed by another process", hint="wait for it to end")
        return seal_held(run, spool, run_id, sweeper)


def seal_held(run: Folder, spool: Folder, run_id: str, sweeper: Sweeper) -> Manifest:
    """Seal a spool whose lock the caller holds."""
    told = _last_of_each_kind(spool)
    if kinds.RunFinish.type not in told:
        raise SealError(f"the end of {run_id} is not in its events", hint="`steno recover` closes the run")
    remove_stale_output(run)
    # A list that was not written to its end, or not by us: the event that tells its length is not there.
    if spool.has(layout.CHANGES) and told.get(kinds.RepoSnapshotAfter.type, {}).get("changed") is None:
        spool.remove(layout.CHANGES)
    manifest = manifests.build(run_id, _seal_files(run, spool, sweeper))
    _sync_files(run, manifest.files)
    write_file(run, layout.MANIFEST, iter([manifests.to_bytes(manifest)]), sync=True)
    run.sync()
    remove_spool(run)
    return manifest


def _last_of_each_kind(spool: Folder) -> dict[str, dict[str, Any]]:
    """What the events tell, as plain data: making their types takes long, and nothing is concluded here."""
    return {line.type: line.data for line in map(kinds.parse_outer, event_lines(spool))}


def _seal_files(run: Folder, spool: Folder, sweeper: Sweeper) -> dict[str, FileDigest]:
    files = {path: _seal_file(run, spool, path, sweeper) for path in _worth_keeping(spool)}
    arrivals = _joint_index(spool)
    if (first := next(arrivals, None)) is not None:
        write_file(run, layout.INDEX, chain([first], arrivals))
        files[layout.INDEX] = sweeper.sweep(layout.INDEX, run.read(layout.INDEX)).digest
    return files


def _worth_keeping(spool: Folder) -> list[str]:
    """A file in which there is nothing says nothing, but that somebody looked: the events tell that."""
    recorded = recorded_files(spool)
    return [path for path in recorded if path not in layout.EMPTY_IS_ABSENT or spool.size(path)]


def _joint_index(spool: Folder) -> Iterator[bytes]:
    indexes = [(number, layout.index_of(tape)) for number, tape in enumerate(layout.TAPES)]
    return index.joined((number, spool.read(path)) for number, path in indexes if spool.has(path))


def _seal_file(run: Folder, spool: Folder, path: str, sweeper: Sweeper) -> FileDigest:
    """The digest of the file in the bundle, which is masked once more if something was missed."""
    if is_swept(path):
        _mend_table(spool, path, sweeper)
    _adopt(run, spool, path)
    swept = sweeper.sweep(path, run.read(path))
    if not swept.rules:
        return swept.digest
    write_file(spool, path, sweeper.masked(path, spool.read(path)))
    _adopt(run, spool, path)
    swept = sweeper.sweep(path, run.read(path))
    if swept.rules:
        run.remove(path)
        raise SealError(
            f"{path} still holds what the rules {', '.join(swept.rules)} call a secret; it is not sealed",
            hint="the spool is kept; report the rule, then `steno recover` with a version that mends it",
        )
    return swept.digest


def _mend_table(spool: Folder, path: str, sweeper: Sweeper) -> None:
    """The strings of a table are masked once more where something was missed."""
    if not _in_table(spool, path, sweeper):
        return
    if path == layout.KERNEL_TABLE:
        temporary = f"{path}{TEMPORARY}"
        with suppress(FileNotFoundError):
            spool.remove(temporary)
        with os.fdopen(spool.open(path), "rb") as source, os.fdopen(spool.create(temporary), "wb") as target:
            sweeper.mask_table(source, target)
        spool.replace(temporary, path)
        if not _in_table(spool, path, sweeper):
            return
    raise SealError(
        f"a string in {path} still holds what the rules call a secret; it is not sealed",
        hint="the spool is kept; report it, then `steno recover` with a version that mends it",
    )


def _in_table(spool: Folder, path: str, sweeper: Sweeper) -> bool:
    with os.fdopen(spool.open(path), "rb") as file:
        return sweeper.in_table(path, file)


def write_file(folder: Folder, path: str, blocks: Iterator[bytes], *, sync: bool = False) -> None:
    temporary = f"{path}{TEMPORARY}"
    with suppress(FileNotFoundError):
        folder.remove(temporary)
    with os.fdopen(folder.create(temporary), "wb", buffering=WRITE_SIZE) as file:
        for block in blocks:
            file.write(block)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    folder.replace(temporary, path)


def _adopt(run: Folder, spool: Folder, path: str) -> None:
    """The spool's bytes are the bundle's bytes: link them, or copy where links cannot be made."""
    with suppress(FileNotFoundError):
        run.remove(path)
    try:
        run.link(f"{layout.SPOOL}/{path}", path)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV}:
            raise
        write_file(run, path, spool.read(path))


def _sync_files(run: Folder, files: Iterable[str]) -> None:
    """Bytes and names are on the disk before the manifest is; all at once, for one commit of the disk's."""
    for path in files:
        _sync(run, path)
    for name in sorted({path.rpartition("/")[0] for path in files}):
        with run.sub(name) as below:
            below.sync()


def _sync(folder: Folder, path: str) -> None:
    fd = folder.open(path)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class Swept(NamedTuple):
    digest: FileDigest
    rules: list[str]  # names of the rules that found something


class Sweeper:
    def __init__(self, literals: Iterable[bytes] = ()) -> None:
        self._literals = tuple(literals)

    def sweep(self, path: str, blocks: Iterable[bytes]) -> Swept:
        digest, size = hashlib.sha256(), 0
        findings = Findings()
        is_text = path != layout.INDEX and not path.endswith(layout.TABLE_SUFFIX)
        look = _judge(path, Redactor(findings=findings, literals=self._literals)) if is_text else _pass
        for block in _also(look, blocks):
            digest.update(block)
            size += len(block)
        return Swept(FileDigest(digest.hexdigest(), size), sorted(findings.snapshot()["counts"]))

    def in_table(self, path: str, file: BinaryIO) -> bool:
        """Whether a table still holds a secret."""
        return holds_secret(path, file, self._redactor())

    def mask_table(self, source: BinaryIO, target: BinaryIO) -> None:
        write_masked(source, target, self._redactor())

    def _redactor(self) -> Redactor:
        return Redactor(findings=Findings(), literals=self._literals)

    def masked(self, path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        redactor = self._redactor()
        if _is_json(path):
            for line in lines_in(blocks):
                yield _reencoded(line, redactor.tree(canonical.decode(line.rstrip(b"\n")), path))
            return
        masker = redactor.stream(path)
        for block in blocks:
            yield masker.feed(block)
        yield masker.close()


class _StreamJudge:
    def __init__(self, path: str, redactor: Redactor) -> None:
        self._masker = redactor.stream(path)

    def take(self, block: bytes) -> None:
        self._masker.feed(block)

    def end(self) -> None:
        self._masker.close()


class _JsonJudge:
    """Judges every string on its own, as the redactor read it; what a string is the value of says nothing."""

    def __init__(self, path: str, redactor: Redactor) -> None:
        self._path = path
        self._redactor = redactor
        self._rest: list[bytes] = []  # a string whose end has not come
        self._waiting = self._least = 0  # bytes
        self._escaped = False

    def take(self, block: bytes) -> None:
        self._escaped = self._escaped or b"\\" in block
        self._rest.append(block)
        self._waiting += len(block)
        if b'"' in block and self._waiting >= self._least:
            self._read()

    def _read(self) -> None:
        text = b"".join(self._rest)
        if self._escaped:
            parts = _between_quotes(text)
            rest = b'"' + parts.pop() if len(parts) % 2 == 0 else b""
        else:
            rest = text[text.rindex(b'"') :] if text.count(b'"') % 2 else b""
            text = text.removesuffix(rest)
            parts = [] if self._redactor.is_clean(text.replace(b'"', b"\n")) else text.split(b'"')
        self._rest = [rest] if rest else []
        self._waiting = len(rest)
        self._least = 2 * len(rest)  # what has no end yet is not read again for every block of it
        self._escaped = b"\\" in rest
        _refuse_other_than_json(b"".join(parts[0::2]))
        self._judge(set(parts[1::2]))

    def end(self) -> None:
        if any(b'"' in block for block in self._rest):
            self._read()
        _refuse_other_than_json(b"".join(self._rest))

    def _judge(self, strings: Collection[bytes]) -> None:
        """Most hold no secret, and many are read together as fast as one."""
        plain = [string for string in strings if b"\\" not in string]
        for string in strings if len(plain) < len(strings) else ():
            if b"\\" in string:
                self._redactor.text(canonical.decode(b'"' + string + b'"'), self._path)
        if self._redactor.is_clean(b"\n".join(plain)):
            return
        for start in range(0, len(plain), _TOGETHER):
            group = plain[start : start + _TOGETHER]
            if not self._redactor.is_clean(b"\n".join(group)):
                for string in group:
                    self._redactor.text(string.decode(), self._path)


def _between_quotes(text: bytes) -> list[bytes]:
    """What stands between the quotes that no backslash makes part of a string."""
    parts, start = [], 0
    for found in _QUOTE_OR_ESCAPE.finditer(text):
        if found.group() == b'"':
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def _refuse_other_than_json(outside: bytes) -> None:
    """What is not in quotes is not judged, so it must be such as cannot hold a secret."""
    if outside.translate(None, _OUTSIDE_STRINGS):
        raise canonical.NotCanonicalError("not JSON")


class _Pass:
    def take(self, block: bytes) -> None:
        """Nothing to judge."""

    def end(self) -> None:
        """Nothing to judge."""


_Judge = _StreamJudge | _JsonJudge | _Pass
_pass = _Pass()


def _judge(path: str, redactor: Redactor) -> _Judge:
    return _JsonJudge(path, redactor) if _is_json(path) else _StreamJudge(path, redactor)


def _also(judge: _Judge, blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        judge.take(block)
        yield block
    judge.end()


def _is_json(path: str) -> bool:
    return path.endswith((".json", ".ndjson"))


def _reencoded(line: bytes, value: Any) -> bytes:
    return canonical.encode(value) + (b"\n" if line.endswith(b"\n") else b"")


def holds_secret(path: str, file: BinaryIO, redactor: Redactor) -> bool:
    """Whether a string of the table would be masked; an encrypted content says nothing."""
    return any(_masked(strings, redactor) is not None for strings in _strings(path, file))


def write_masked(source: BinaryIO, target: BinaryIO, redactor: Redactor) -> None:
    """The kernel table once more, every string masked as when it is made."""
    from steno.bundle import kernel_table  # late, as the library that it needs

    with border():
        import pyarrow as pa
        from pyarrow import parquet

        read = parquet.ParquetFile(source, read_dictionary=list(COLUMNS))
        with kernel_table.writer(target, read.schema_arrow) as writer:
            for number in range(read.num_row_groups):
                group = read.read_row_group(number, use_threads=False).combine_chunks()
                for name in _TEXTS[layout.KERNEL_TABLE]:
                    column = group.column(name).chunk(0)
                    masked = _masked(column.dictionary.to_pylist(), redactor)
                    if masked is not None:
                        words = pa.array(masked, pa.binary())
                        changed = pa.DictionaryArray.from_arrays(column.indices, words)
                        group = group.set_column(group.schema.get_field_index(name), name, changed)
                writer.write_table(group)


def _strings(path: str, file: BinaryIO) -> Iterator[list[bytes]]:
    """The strings of each column of each row group, each once: those of its dictionary."""
    with border():
        from pyarrow import parquet

        wanted = [*_TEXTS[path], *_KEYS[path]]
        read = parquet.ParquetFile(file, read_dictionary=wanted)
        names = [name for name in wanted if name in read.schema_arrow.names]
        for number in range(read.num_row_groups):
            group = read.read_row_group(number, columns=names, use_threads=False)
            for name in names:
                for chunk in group.column(name).chunks:
                    yield [_bytes(word) for word in chunk.dictionary.to_pylist() if word]


def _bytes(word: bytes | str) -> bytes:
    return word.encode() if isinstance(word, str) else word


def _masked(strings: Sequence[bytes], redactor: Redactor) -> list[bytes] | None:
    """None when there is nothing to mask."""
    masked = MaskedStrings(strings, redactor).take(range(len(strings)))
    return None if masked == list(strings) else masked


def is_swept(path: str) -> bool:
    return path in _TEXTS


def remove_stale_output(run: Folder) -> None:
    if foreign := foreign_entries(run):
        some = ", ".join(map(repr, foreign[:_SHOWN])) + (" \u2026" if len(foreign) > _SHOWN else "")
        raise SealError(
            f"{run.path.name} holds what is not part of a record, so it is not sealed: {some}",
            hint=f"move it out of {run.path}, then `steno recover {run.path.name}`",
        )
    for name in run.names():
        if name != layout.SPOOL:
            run.remove_tree(name)


def foreign_entries(run: Folder) -> list[str]:
    """What is beside the spool and has no name of ours."""
    return [name for name in _below(run, "") if not _is_ours(name)]


def _below(run: Folder, prefix: str) -> Iterator[str]:
    """What is in our folders; one of their names that is no folder is in our way, and none of somebody's."""
    for name in run.names():
        path = prefix + name
        if path == layout.SPOOL:
            continue
        if path not in _FOLDERS:
            yield path
        elif run.has_folder(name):
            with run.sub(name) as below:
                yield from _below(below, f"{path}/")


def _is_ours(path: str) -> bool:
    return path.removesuffix(TEMPORARY) in _FILES


def recorded_files(spool: Folder) -> list[str]:
    """Those that a seal takes over as they are: all but the indexes of the streams, which it joins."""
    return [path for path in layout.EVIDENCE_FILES if spool.has(path)]
