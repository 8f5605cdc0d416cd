"""The kernel layer of a run, made from the frames of `steno-trace` when the command is over.

The command may have written into the frames: what cannot be read there is a gap, never an error.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import stat
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from steno.bundle import kernel_table
from steno.bundle.blobs import BlobWriter
from steno.bundle.folder import TEMPORARY, Folder
from steno.bundle.frames import Frames, Touched, open_frames
from steno.bundle.kernel_table import mask_path
from steno.bundle.keys import key_of_spool
from steno.capture.git.classify import GitClass, GitFacts, Repository, git_facts
from steno.capture.paths import Contents, Directories, FinalState, recorded_paths
from steno.errors import SealError, StoreError
from steno.evidence import canonical, kinds, layout, wire
from steno.evidence.ignore_rules import IgnoreRules
from steno.record import gaps as gap_reasons
from steno.record.contents import LOST, Content, ContentKeeper, without_blobs
from steno.record.gaps import counted
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

Mask = Callable[[bytes], bytes]


def text_of(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.decode("latin-1")


def repository_line(repository: Repository, mask: Mask) -> bytes:
    root = _named("root", mask(repository.root))
    return canonical.encode_line({"repository": {**root, "head": repository.head, "dirty": repository.dirty}})


def file_line(
    path: bytes, masked: bytes, found: FinalState, content: Content, git: GitClass | None, *, mask: Mask
) -> bytes:
    line: dict[str, Any] = {**_named("path", masked), "after": _after(found, mask)}
    if content.blob is not None:
        line["after_blob"] = content.blob
    if content.why:
        line["after_content"] = content.why
    if git is not None:
        line["git"] = {
            "in_repo": True,
            **_named("root", mask(git.repository.root)),
            "head": git.repository.head,
            **_named("relative_path", masked[len(path) - len(git.relative_path) :]),
            "tracked": git.tracked,
            "dirty": git.dirty,
            "ignored": git.ignored,
        }
    return canonical.encode_line(line)


def _after(found: FinalState, mask: Mask) -> dict[str, Any]:
    if not found.known:
        return {"unknown": True}
    if found.state is None:
        return {"exists": False}
    told = {"exists": True, **found.state._asdict()}
    target = told.pop("target")
    return told | _named("target", mask(target)) if stat.S_ISLNK(found.state.mode) else told


def _named(field: str, name: bytes) -> dict[str, str]:
    text = text_of(name)
    if text.encode() == name:
        return {field: text}
    return {field: text, f"{field}_b64": base64.b64encode(name).decode()}


_DRAFT = f"{layout.FILE_LINES}{TEMPORARY}"
_FLUSHED = 1 << 20
_TOLD = 3
_CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
_TOGETHER = 512
_PLAIN_NAME = re.compile(rb"[ -~]*\Z")

# What frames that somebody wrote into, and a spool with things in the way, may end in.
_HOSTILE = (OSError, ValueError, LookupError, OverflowError, struct.error, StoreError)

Gap = tuple[str, str]


class KernelKept(NamedTuple):
    """`event` is None when there was nothing to read."""

    event: kinds.KernelObserved | None
    gaps: list[Gap]


class _Kept(NamedTuple):
    contents: dict[bytes, Content]
    gaps: list[Gap]


def keep_kernel_layer(
    spool: Folder,
    store: Path,
    redactor: Redactor,
    findings: Findings,
    rules: IgnoreRules,
    *,
    max_blob: int,
    looked: bool,
    key: bytes | None = None,
) -> KernelKept:
    """`looked` false: the run ended long ago, so nobody can say how it left the files.

    `key` is that of the run, if it is at hand.
    """
    try:
        if key is None:
            key = key_of_spool(spool, store)
        with open_frames(spool, key) as frames:
            layer = _FilesLayer(spool, frames, redactor, findings, key, max_blob=max_blob)
            try:
                gaps = layer.keep(rules, store, looked=looked)
            except _HOSTILE as error:
                gaps = [("kernel_record_damaged", f"the states of files are not kept: {_says(error)}")]
                layer.keep_nothing()
            try:
                written = kernel_table.write(spool, frames, redactor, layer.keys)
            except BaseException:
                layer.clear()
                raise
            event = kernel_table.observed(frames, written)
            gaps = [*_gaps_of(frames, written, looked=looked), *gaps]
    except _HOSTILE as error:
        return KernelKept(None, [("kernel_record_damaged", _says(error))])
    return KernelKept(event, gaps)


def _says(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    return (
        f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else error.strerror or str(error)
    )


def _gaps_of(frames: Frames, written: kernel_table.Written, *, looked: bool) -> Iterable[Gap]:
    header = frames.header
    for counter, gap in gap_reasons.OF_COUNTERS.items():
        if count := getattr(header, counter):
            yield gap.reason, gap.says(count)
    if frames.damaged or frames.torn:
        yield "kernel_record_damaged", counted(frames.damaged, "record was", "records were", "not whole")
    if not header.closed:
        yield "observer_killed", "steno-trace did not end its record itself"
    if not looked:
        yield "after_unknown", "nobody looked at the files when the command ended"
    if written.io_uring and header.features & wire.FEATURES["io_uring_allowed"]:
        yield "io_uring_unobserved", "what is asked for through io_uring is not seen"
    reached = written.reached
    for count, gap in (
        (reached.outside, gap_reasons.REACHED_OUTSIDE),
        (reached.recorder, gap_reasons.REACHED_RECORDER),
        # Signals often end stops before we take them; but who reached outside the run may have our listener.
        (header.untaken if reached.outside or reached.recorder else 0, gap_reasons.UNTAKEN),
    ):
        if count:
            yield gap.reason, gap.says(count)
    if written.cores and not _cores_go_to_a_program():
        yield gap_reasons.CORES.reason, gap_reasons.CORES.says(written.cores)


def _cores_go_to_a_program() -> bool:
    """Then it is no process of the run that writes a file, and no file of the run."""
    try:
        return _CORE_PATTERN.read_bytes().startswith(b"|")
    except OSError:
        return False


class _FilesLayer:
    def __init__(
        self,
        spool: Folder,
        frames: Frames,
        redactor: Redactor,
        findings: Findings,
        key: bytes,
        *,
        max_blob: int,
    ) -> None:
        self._spool = spool
        self._frames = frames
        self._redactor = redactor
        self._findings = findings
        self._key = key
        self._max_blob = max_blob
        self._masked: dict[bytes, bytes] = {}
        self.keys: dict[int, str] = {}  # of the contents that the helper kept, by their numbers

    def keep(self, rules: IgnoreRules, store: Path, *, looked: bool) -> list[Gap]:
        paths = self._frames.touched()
        seen = recorded_paths(paths, rules, store, looked=looked)
        facts = GitFacts([], {}, [])
        if looked:
            facts = git_facts((path for path in seen if _may_be_tracked(paths[path], seen[path])), store)
        self._mask_together(list(seen))
        gaps = [("git", "; ".join(facts.failures[:_TOLD]))] if facts.failures else []
        if below_mounts := sum(path.is_below_mount and path.is_changed for path in paths.values()):
            gaps.append((gap_reasons.BELOW_MOUNTS.reason, gap_reasons.BELOW_MOUNTS.says(below_mounts)))
        if self._frames.unlisted:
            unlisted = gap_reasons.OF_COUNTERS["unlisted"]
            gaps.append((unlisted.reason, unlisted.says(self._frames.unlisted)))
        alike = self._drop_alike(seen)
        kept = self._keep_contents(paths, seen, facts)
        gaps += kept.gaps
        self._write_lines(seen, facts, kept.contents)
        if alike:
            says = counted(alike, "path looks", "paths look", "like another once secrets are masked")
            gaps.append(("blobs_lost", says))
        return gaps

    def keep_nothing(self) -> None:
        """The event of the layer promises a list of files: an empty one needs no room on the disk."""
        self.clear()
        os.close(self._spool.create(layout.FILE_LINES))

    def clear(self) -> None:
        """Without the event of the layer nothing may be there that it would tell of."""
        self.keys = {}
        self._clear(layout.BLOBS)
        self._clear(layout.FILE_LINES)

    def _drop_alike(self, seen: dict[bytes, FinalState]) -> int:
        """Of paths that are the same once they are masked one is told of; returns how many are not."""
        first: dict[bytes, bytes] = {}
        dropped = [path for path in sorted(seen) if first.setdefault(self._mask(path), path) != path]
        for path in dropped:
            del seen[path]
        return len(dropped)

    def _mask(self, name: bytes) -> bytes:
        """As in the table of the layer, so that the two can be joined."""
        masked = self._masked.get(name)
        if masked is None:
            masked = self._masked[name] = mask_path(self._redactor, name)
        return masked

    def _mask_together(self, names: list[bytes]) -> None:
        """Most names hold no secret, and many are read together as fast as one."""
        for start in range(0, len(names), _TOGETHER):
            group = [name for name in names[start : start + _TOGETHER] if _PLAIN_NAME.match(name)]
            if self._redactor.is_clean(b"\n".join(group)):
                self._masked.update(zip(group, group, strict=True))

    def _clear(self, path: str) -> None:
        """Of a recorder that was killed, or planted by the command."""
        with suppress(FileNotFoundError):
            self._spool.remove_tree(path)

    # --- contents ----------------------------------------------------------------------------------

    def _keep_contents(
        self, paths: Mapping[bytes, Touched], seen: Mapping[bytes, FinalState], facts: GitFacts
    ) -> _Kept:
        self._clear(layout.BLOBS)
        writer = BlobWriter(self._spool, self._key)
        contents: dict[bytes, Content] = {}
        with Directories() as directories:
            keeper = ContentKeeper(
                writer,
                self._frames,
                Contents(directories, self._max_blob),
                self._redactor,
                self._findings,
                largest=self._max_blob,
            )
            try:
                keeper.keep_looks(self._frames.kept, seen, lambda path: text_of(self._mask(path)))
                for path in sorted(
                    seen, key=lambda path: not paths[path].is_changed
                ):  # for a disk nearly full
                    name = text_of(self._mask(path))
                    git = facts.classes.get(path)
                    contents[path] = keeper.keep(path, name, paths[path], seen[path], git)
                writer.close()
                if keeper.left_out_before:
                    self._refuse_to_lose_contents()
            except OSError as error:
                writer.discard()
                if error.errno in {errno.ENOSPC, errno.EDQUOT} and self._frames.header.blobs:
                    self._refuse_to_lose_contents()
                lost = without_blobs({path: contents.get(path, LOST) for path in seen})
                return _Kept(lost, [("blobs_lost", f"no content could be kept: {error.strerror}")])
        self.keys = keeper.keys
        gaps = []
        if keeper.lost:
            gaps.append(
                ("blobs_lost", counted(keeper.lost, "kept content is", "kept contents are", "not whole"))
            )
        if keeper.left_out:
            gaps.append(("blobs_lost", counted(keeper.left_out, "content", "contents", "had no room")))
        return _Kept(contents, gaps)

    def _refuse_to_lose_contents(self) -> NoReturn:
        """The spool has what the run removed or changed, and nothing else has."""
        self._clear(layout.BLOBS)
        raise SealError(
            "the disk has no room for contents that the run removed or changed, so its record is not sealed",
            hint="make room, then `steno recover`",
        )

    # --- lines -------------------------------------------------------------------------------------

    def _write_lines(
        self, seen: Mapping[bytes, FinalState], facts: GitFacts, contents: Mapping[bytes, Content]
    ) -> None:
        self._clear(_DRAFT)
        self._clear(layout.FILE_LINES)
        fd = self._spool.create(_DRAFT)
        try:
            with os.fdopen(fd, "wb", buffering=_FLUSHED) as file:
                for repository in facts.repositories:
                    file.write(repository_line(repository, self._mask))
                for path in sorted(seen, key=self._mask):
                    git = facts.classes.get(path)
                    masked = self._mask(path)
                    line = file_line(path, masked, seen[path], contents[path], git, mask=self._mask)
                    file.write(line)
                file.flush()
                os.fdatasync(file.fileno())
            self._spool.replace(_DRAFT, layout.FILE_LINES)
        except BaseException:
            self._spool.remove(_DRAFT)
            raise


def _may_be_tracked(touched: Touched, found: FinalState) -> bool:
    """Git knows files and links, not directories; and not what was never there."""
    states = [state for state in (touched.first, found.state) if state is not None]
    return not found.parent_gone and any(
        stat.S_ISREG(state.mode) or stat.S_ISLNK(state.mode) for state in states
    )
