"""Compares two trees of a shadow repository, and prints the patch between them.

A binary hunk hides its content from a redactor of text, so both sides of a binary file are shown to the
finder of secrets first; what it objects to is withheld, by name. A whole patch or file is never held in
memory.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from steno.capture.git.types import Change, Comparison, Omitted, Skip, SnapshotFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from steno.capture.git.process import Child, Git
    from steno.capture.git.shadow import ShadowRepo


_DIFF = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-index")
_NO_OBJECT = b"0"
_CHUNK = 1 << 20
_OVERLAP = 1 << 16
_LINES_AT_ONCE = 512


class Pair(msgspec.Struct, frozen=True):
    """Two trees of one repository. Paths in `omitted` are not compared: a tree does not hold them."""

    repo: ShadowRepo
    prefix: bytes
    old: str
    new: str
    omitted: frozenset[str] = frozenset()


class Difference(msgspec.Struct, frozen=True):
    """One path of a pair, as git lists it."""

    path: bytes
    status: str
    modes: tuple[bytes, bytes]
    blobs: tuple[bytes, bytes]
    lines: tuple[int, int] | None = None


class Compared(msgspec.Struct, frozen=True):
    """A pair with what differs in it, split by what may be shown."""

    pair: Pair
    shown: tuple[Difference, ...]
    withheld: tuple[Difference, ...]
    left_out: tuple[bytes, ...]
    failure: Skip | None = None  # the contents are gone, so that only names were compared


class Evaluation(msgspec.Struct, frozen=True):
    """All pairs compared, and the comparison as the caller sees it."""

    pairs: list[Compared]
    comparison: Comparison


class PatchStream:
    """The patch, chunk by chunk. After the last chunk, `failure` tells whether it is whole."""

    def __init__(self, chunks: Iterator[bytes], comparison: Comparison) -> None:
        self.withheld = comparison.withheld
        self.unpatched = comparison.unpatched
        self.failure: Skip | None = comparison.failure
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self.failure is not None:
            raise StopIteration
        try:
            return next(self._chunks)
        except SnapshotFailedError as failed:
            self.failure = failed.skip
            raise StopIteration from None


def evaluate(
    git: Git, pairs: Iterable[Pair], unpatched: Sequence[Omitted], finder: Callable[[bytes], bool]
) -> Evaluation:
    compared: list[Compared] = []
    failure: Skip | None = None
    try:
        compared.extend(_compare(git, pair, finder) for pair in pairs if pair.old != pair.new)
    except SnapshotFailedError as failed:
        failure = failed.skip
    failure = failure or next((part.failure for part in compared if part.failure is not None), None)
    changes = [change for part in compared for change in _changes(part)]
    comparison = Comparison(
        changes=tuple(changes),
        withheld=tuple(change.path for change in changes if change.withheld),
        unpatched=tuple(unpatched),
        failure=failure,
    )
    return Evaluation(compared, comparison)


def patch_chunks(git: Git, evaluation: Evaluation) -> Iterator[bytes]:
    for part in evaluation.pairs:
        if part.shown:
            prefix = os.fsdecode(part.pair.prefix + b"/" if part.pair.prefix else b"")
            args = [
                *(*_DIFF, "--patch", "--binary", f"--src-prefix=a/{prefix}", f"--dst-prefix=b/{prefix}"),
                *_between(part.pair, part.left_out),
            ]
            directory = part.pair.repo.empty_directory
            stream = git.stream(args, cwd=directory, env=part.pair.repo.reading(work_tree=directory))
            yield from _without_text_hashes(stream)


def _between(pair: Pair, left_out: Iterable[bytes]) -> list[str]:
    specs = [":(top,exclude,literal)" + os.fsdecode(path) for path in left_out]
    return [pair.old, pair.new, *(["--", ":(top)", *specs] if specs else [])]


def _compare(git: Git, pair: Pair, finder: Callable[[bytes], bool]) -> Compared:
    directory = pair.repo.empty_directory
    env = pair.repo.reading(work_tree=directory)
    failure: Skip | None = None
    try:
        args = [*_DIFF, "--raw", "--numstat", "-z", *_between(pair, ())]
        output = git.run(args, cwd=directory, env=env).stdout
    except SnapshotFailedError as failed:  # the run may have removed the old contents; the trees are ours
        failure = failed.skip
        output = git.run([*_DIFF, "--raw", "-z", *_between(pair, ())], cwd=directory, env=env).stdout
    differences = parse_differences(output)
    kept = [difference for difference in differences if os.fsdecode(difference.path) not in pair.omitted]
    secret = set() if failure else _secret_binaries(git, pair, kept, finder)
    shown = tuple(difference for difference in kept if difference.path not in secret)
    withheld = tuple(difference for difference in kept if difference.path in secret)
    shown_paths = {difference.path for difference in shown}
    left_out = tuple(difference.path for difference in differences if difference.path not in shown_paths)
    return Compared(pair, shown, withheld, left_out, failure)


def parse_differences(output: bytes) -> list[Difference]:
    """Read what `--raw --numstat -z` prints: all raw records, then all counts."""
    found: dict[bytes, Difference] = {}
    fields = iter(output.split(b"\0"))
    for text in fields:
        if text.startswith(b":"):
            old_mode, new_mode, old, new, status = text[1:].split(b" ")
            path = next(fields)
            found[path] = Difference(path, status.decode(), (old_mode, new_mode), (old, new))
        elif text:
            added, deleted, path = text.split(b"\t", 2)
            if added != b"-":
                found[path] = replace(found[path], lines=(int(added), int(deleted)))
    return list(found.values())


def _changes(part: Compared) -> Iterator[Change]:
    withheld = {difference.path for difference in part.withheld}
    for difference in sorted((*part.shown, *part.withheld), key=lambda item: item.path):
        added, deleted = difference.lines or (None, None)
        yield Change(
            path=os.fsdecode(join(part.pair.prefix, difference.path)),
            status=difference.status,
            added=added,
            deleted=deleted,
            binary=difference.lines is None and part.failure is None,
            withheld=difference.path in withheld,
        )


def join(prefix: bytes, path: bytes) -> bytes:
    return prefix + b"/" + path if prefix else path


def _without_text_hashes(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Drop the `index` line of text files: beside a masked line it would be a bare hash to guess it by.

    Only a binary stanza needs it to be applied. A line of content never begins so: it has its sign first.
    """
    kept: list[bytes] = []
    held = b""
    for line in _lines(chunks):
        if held and line.startswith(b"GIT binary patch"):
            kept.append(held)
        held = line if line.startswith(b"index ") else b""
        if not held:
            kept.append(line)
        if len(kept) >= _LINES_AT_ONCE:
            yield b"".join(kept)
            kept = []
    yield b"".join(kept)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []  # of the line that is not over yet
    for chunk in chunks:
        head, newline, tail = chunk.partition(b"\n")
        parts += [head, newline]
        if newline:
            yield b"".join(parts)
            *lines, rest = tail.split(b"\n")
            yield from (line + b"\n" for line in lines)
            parts = [rest]
    if any(parts):
        yield b"".join(parts)


# --- contents that only a finder may see ---------------------------------------------------------------


def _secret_binaries(
    git: Git, pair: Pair, differences: list[Difference], finder: Callable[[bytes], bool]
) -> set[bytes]:
    binaries = [difference for difference in differences if difference.lines is None]
    if not binaries:
        return set()
    directory = pair.repo.empty_directory
    env = pair.repo.reading(work_tree=directory)
    child = git.start(["cat-file", "--batch"], cwd=directory, env=env, with_stdin=True)
    try:
        blobs = BlobReader(child)
        return {
            item.path for item in binaries if any(_holds_secret(blobs, blob, finder) for blob in item.blobs)
        }
    finally:
        child.stop()


def _holds_secret(blobs: BlobReader, blob: bytes, finder: Callable[[bytes], bool]) -> bool:
    if not blob.strip(_NO_OBJECT):
        return False
    # Every chunk is read even after a hit: the next answer of the child begins after this one.
    hits = [finder(view) for chunk in blobs.chunks(blob) for view in _views(chunk)]
    return any(hits)


def _views(chunk: bytes) -> Iterator[bytes]:
    yield chunk
    if b"\0" in chunk:
        yield chunk.replace(b"\0", b"")  # text in UTF-16 or UTF-32


class BlobReader:
    """Asks a running `git cat-file --batch` for one blob after another."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._buffer = b""

    def chunks(self, name: bytes) -> Iterator[bytes]:
        """Yield a blob in overlapping chunks, so that a secret on a border is whole in one of them."""
        self._pipe().write(name + b"\n")
        self._pipe().flush()
        size = self._size_of_answer()
        window = b""
        while size > 0:
            piece = self._take(min(_CHUNK, size))
            size -= len(piece)
            window = window[-_OVERLAP:] + piece
            yield window
        self._take(1)

    def _pipe(self) -> IO[bytes]:
        if self._child.process.stdin is None:
            raise SnapshotFailedError("GIT_BROKEN", "git has no input")
        return self._child.process.stdin

    def _size_of_answer(self) -> int:
        while b"\n" not in self._buffer:
            self._more()
        header, _, self._buffer = self._buffer.partition(b"\n")
        fields = header.split(b" ")
        if fields[-1] == b"missing":
            raise SnapshotFailedError("GIT_BROKEN", "an object of the repository is missing")
        return int(fields[-1])

    def _take(self, count: int) -> bytes:
        pieces, have = [self._buffer], len(self._buffer)
        while have < count:
            self._buffer = b""
            self._more()
            pieces.append(self._buffer)
            have += len(self._buffer)
        data = b"".join(pieces)
        self._buffer = data[count:]
        return data[:count]

    def _more(self) -> None:
        stdout = self._child.process.stdout
        piece = self._child.read_some(stdout.fileno()) if stdout is not None else b""
        if not piece:
            raise SnapshotFailedError("GIT_BROKEN", "git stopped before the end of an object")
        self._buffer += piece
