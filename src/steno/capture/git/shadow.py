"""A shadow repository: a private git directory beside a work tree, on which git can be run safely.

It has its own configuration, HEAD, index and objects, and only reads the objects of the repository: nothing
is written there, and no filter, hook, monitor or driver runs. What differs from the index is copied into
memory within a budget; what is left out is named.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import struct
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from steno.capture.git.process import environment
from steno.capture.git.repository import is_real_directory, read_bounded, read_head
from steno.capture.git.status import ignore_pattern, is_within, join_status, quote, status_lines
from steno.capture.git.types import EMPTY_TREE, Omitted, Part, SnapshotFailedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from steno.capture.git.process import Child, Git
    from steno.capture.git.types import RepositoryPaths, Settings


INDEX_LIMIT = 1 << 30
_HEADER = struct.Struct(">4sII")
_STAT_BYTES = 40
_EXTENDED = 0x4000
_COMPRESSED_VERSION = 4
_DIGEST = {"sha1": (hashlib.sha1, 20), "sha256": (hashlib.sha256, 32)}


def copy_index(git_dir: Path, shadow: Path, target: Path) -> bytes:
    """Copy the index and what it builds on; return its bytes, empty when there is none."""
    source = git_dir / "index"
    data = read_bounded(source, INDEX_LIMIT)
    if data is None:
        target.unlink(missing_ok=True)
        return b""
    found = source.stat()
    target.write_bytes(data)
    # An entry as young as its index is checked by content. A copy with a younger time would hide it.
    os.utime(target, ns=(found.st_mtime_ns, found.st_mtime_ns))
    _copy_shared_index(git_dir, shadow, data)
    return data


def _copy_shared_index(git_dir: Path, shadow: Path, data: bytes) -> None:
    for path in git_dir.glob("sharedindex.*"):
        with suppress(ValueError):
            named = bytes.fromhex(path.name.removeprefix("sharedindex."))
            if named and named in data:
                (shadow / path.name).write_bytes(read_bounded(path, INDEX_LIMIT) or b"")


def distrust_recent(index: Path, object_format: str, second: int) -> None:
    """Clear the change time of entries that changed in `second` or later, so that git reads them again.

    Git compares times by whole seconds. A file that is rewritten in the second of the snapshot, with
    its size kept and its modification time put back, would look untouched.
    """
    data = read_bounded(index, INDEX_LIMIT)
    recent = [struct.pack(">I", moment) for moment in range(second, int(time.time()) + 1)]
    if data is None or not any(moment in data for moment in recent):
        return
    found = index.stat()
    digest, size = _DIGEST[object_format]
    body = bytearray(data[:-size])
    for offset in _entries(body, size):
        if struct.unpack_from(">I", body, offset)[0] >= second:
            body[offset : offset + 8] = bytes(8)
    index.write_bytes(bytes(body) + digest(body).digest())
    os.utime(index, ns=(found.st_mtime_ns, found.st_mtime_ns))


def _entries(body: bytearray, digest_size: int) -> Iterator[int]:
    _, version, count = _HEADER.unpack_from(body)
    offset = _HEADER.size
    for _ in range(count):
        yield offset
        flags_at = offset + _STAT_BYTES + digest_size
        extended = body[flags_at] & (_EXTENDED >> 8)
        name_at = flags_at + (4 if extended else 2)
        if version == _COMPRESSED_VERSION:
            while body[name_at] & 0x80:
                name_at += 1
            offset = body.index(0, name_at + 1) + 1
        else:
            length = body.index(0, name_at) - offset
            offset += length + 8 - length % 8


MAX_COPY = 32 << 20
_GITLINK = b"160000"
_TRACKED_PARENT = re.compile(rb"\t([^\0]+)/[^\0/]*\0")
_TRACKED_PATH = re.compile(rb"(?:\A|\0)[^?] [^\t\0]*\t([^\0]*)(?=\0)")


class Budget(msgspec.Struct):
    """How many bytes of file content may still be copied into memory."""

    left: int


class Listing(msgspec.Struct):
    """What `git ls-files` says about the work tree."""

    changed: set[bytes] = msgspec.field(default_factory=set)
    blobs: dict[bytes, str] = msgspec.field(default_factory=dict)
    gitlinks: list[bytes] = msgspec.field(default_factory=list)
    embedded: list[bytes] = msgspec.field(default_factory=list)
    has_assumed: bool = False
    has_attributes: bool = False


def parse_listing(output: bytes) -> Listing:
    listing = Listing(has_attributes=b".gitattributes\0" in output)
    for record in output.split(b"\0"):
        tag = record[:1]
        if tag == b"H" and not record.startswith(_GITLINK, 2):
            continue
        if tag == b"?":
            path = record[2:]
            if path.endswith(b"/"):
                listing.embedded.append(path[:-1])
            else:
                listing.changed.add(path)
        elif tag:
            _note_tracked(listing, tag, record)
    return listing


def _note_tracked(listing: Listing, tag: bytes, record: bytes) -> None:
    facts, _, path = record[2:].partition(b"\t")
    mode, name, _ = facts.split(b" ")
    if tag.islower():
        listing.has_assumed = True
        listing.changed.add(path)
    if mode == _GITLINK and path not in listing.gitlinks:
        listing.gitlinks.append(path)
    if tag.upper() in b"CRM":
        listing.changed.add(path)
        if mode.startswith(b"100"):
            listing.blobs[path] = name.decode()


def tracked_behind_links(root: Path, output: bytes) -> set[bytes]:
    """Return tracked files whose directory was replaced by a symbolic link.

    `git ls-files` follows the link and calls them unchanged; the link itself may be ignored.
    """
    top = os.fsencode(root)
    links: set[bytes] = set()
    seen: set[bytes] = set()
    for parent in set(_TRACKED_PARENT.findall(output)):
        path = parent
        while path and path not in seen:
            seen.add(path)
            if os.path.islink(os.path.join(top, path)):  # noqa: PTH114, PTH118 - bytes
                links.add(path)
            path = path.rpartition(b"/")[0]
    if not links:
        return set()
    inside = tuple(link + b"/" for link in links)
    return {path for path in _TRACKED_PATH.findall(output) if path.startswith(inside)}


def may_copy(root: Path, path: bytes, budget: Budget, omitted: list[Omitted]) -> bool:
    """Say whether git may read a path; if not, add it to `omitted`. What is absent may be removed."""
    full = os.path.join(os.fsencode(root), path)  # noqa: PTH118 - bytes
    try:
        found = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        omitted.append(Omitted(os.fsdecode(path), 0, "unreadable"))
        return False
    reason = _reason_to_omit(path, full, found, budget)
    if reason is None:
        budget.left -= found.st_size
        return True
    identity = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)
    omitted.append(Omitted(os.fsdecode(path), found.st_size, reason, identity))
    return False


def _reason_to_omit(path: bytes, full: bytes, found: os.stat_result, budget: Budget) -> str | None:
    if b".git" in path.lower().split(b"/"):
        return "name_refused_by_git"
    if stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        return "special_file"
    if found.st_size > MAX_COPY:
        return "too_large"
    if not os.access(full, os.R_OK):
        return "unreadable"
    return "no_room" if found.st_size > budget.left else None


_MAX_REFUSED_PATHS = 50
_NOTED_LINES = 5
_FIXED_CONFIG = """\
[core]
\tbare = false
\tcheckStat = default
\tcompression = 0
\tlooseCompression = 0
\tfsmonitor = false
\tfsync = none
\thooksPath = /dev/null
\tlogAllRefUpdates = false
\tprotectHFS = false
\tprotectNTFS = false
\tsafecrlf = false
\tsplitIndex = false
\ttrustctime = true
\tuntrackedCache = false
[gc]
\tauto = 0
[index]
\tsparse = false
"""
_LIST = (
    *("-c", "core.sparseCheckout=true", "ls-files", "-z", "-v", "--stage"),
    *("--cached", "--others", "--deleted", "--modified", "--exclude-standard"),
)
_UPDATE = ("-c", "core.sparseCheckout=true", "update-index")
_STATUS = ("status", "--porcelain", "--ignore-submodules=dirty", "--no-ahead-behind")
_REFUSED_PATH = re.compile(r"Unable to process path (.*)\Z", re.DOTALL)


class ShadowRepo:
    """The shadow of one repository. `observe` may be called again and again; settings stay as they were."""

    def __init__(
        self,
        git: Git,
        directory: Path,
        place: RepositoryPaths,
        settings: Settings,
        *,
        exclude: tuple[bytes, ...],
        budget: Budget,
    ) -> None:
        self.place = place
        self.settings = settings
        self.listing = Listing()
        self._git = git
        self._directory = directory
        self._exclude = exclude
        self.budget = budget
        self._seen = directory / "index.seen"
        self._work = directory / "index.work"
        self._seen_bytes: bytes | None = None
        self._tree: str | None = None
        self._notes: list[str] = []
        self._build()

    # --- the private git directory -----------------------------------------------------------------

    def _build(self) -> None:
        for name in ("objects", "refs", "info", "empty"):
            (self._directory / name).mkdir(parents=True, mode=0o700)
        common = self.place.common_dir
        exclude = [read_bounded(common / "info" / "exclude") or b"", b"\n"]
        exclude += [ignore_pattern(path) for path in self._exclude if b"\n" not in path]
        (self._directory / "info" / "exclude").write_bytes(b"".join(exclude))
        # Last line wins: a `-diff` in the work tree must not turn text into an opaque binary hunk.
        attributes = (read_bounded(common / "info" / "attributes") or b"") + b"\n* !diff\n"
        (self._directory / "info" / "attributes").write_bytes(attributes)
        self._copy_user_file(self.settings.excludes_file, "excludes")
        self._copy_user_file(self.settings.attributes_file, "attributes")
        (self._directory / "config").write_text(self._config(), "utf-8", "surrogateescape")

    def _copy_user_file(self, source: str | None, name: str) -> None:
        content = read_bounded(self.place.root / source) if source else None
        (self._directory / name).write_bytes(content or b"")

    def _config(self) -> str:
        lines = [_FIXED_CONFIG, "[core]\n"]
        for key, value in self.settings.carried.items():
            lines.append(f"\t{key.removeprefix('core.')} = {value}\n")
        for key, name in (("excludesFile", "excludes"), ("attributesFile", "attributes")):
            path = os.fsencode(self._directory / name)
            lines.append(f"\t{key} = {os.fsdecode(quote(path, always=True))}\n")
        if self.settings.object_format != "sha1":
            lines.append("\trepositoryFormatVersion = 1\n[extensions]\n")
            lines.append(f"\tobjectFormat = {self.settings.object_format}\n")
        return "".join(lines)

    def reading(self, index: Path | None = None, work_tree: Path | None = None) -> dict[str, str]:
        """Return variables for a git that reads objects of the repository, and writes none."""
        objects = quote(os.fsencode(self.place.common_dir / "objects"), always=True)
        return environment(
            {**self._variables(index, work_tree), "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(objects)}
        )

    def _writing(self) -> dict[str, str]:
        # Without the objects of the repository: git would touch the time of one that it finds there.
        return environment(self._variables(self._work, None))

    def _variables(self, index: Path | None, work_tree: Path | None) -> Mapping[str, str]:
        return {
            "GIT_DIR": str(self._directory),
            "GIT_INDEX_FILE": str(index or self._directory / "index.none"),
            "GIT_OBJECT_DIRECTORY": str(self._directory / "objects"),
            "GIT_WORK_TREE": str(work_tree or self.place.root),
        }

    @property
    def empty_directory(self) -> Path:
        return self._directory / "empty"

    # --- one observation ---------------------------------------------------------------------------

    def observe(self, prefix: bytes, handled_elsewhere: tuple[bytes, ...]) -> Part:
        """Return the state of the repository now. Paths `handled_elsewhere` belong to a nested one."""
        first = self._tree is None
        self._notes = []
        if not is_real_directory(self.place.root):
            return self._part(prefix, (None, None), EMPTY_TREE[self.settings.object_format], b"", ())
        head = self._read_head(first=first)
        index_changed = self._copy_index(first=first)
        started = int(time.time())
        status = self._start_status()
        try:
            omitted = self._update(index_changed=index_changed, handled_elsewhere=handled_elsewhere)
            tree = self._run(("write-tree", "--missing-ok"), self._writing()).decode().strip()
        except BaseException:
            status.stop()
            raise
        text = self._finish_status(status, first=first)
        self._tree = tree
        distrust_recent(self._work, self.settings.object_format, started)
        return self._part(prefix, head, tree, text, omitted)

    def _part(
        self,
        prefix: bytes,
        head: tuple[str | None, str | None],
        tree: str,
        status: bytes,
        omitted: tuple[Omitted, ...],
    ) -> Part:
        return Part(
            prefix=prefix,
            object_format=self.settings.object_format,
            tree=tree,
            head=head[0],
            branch=head[1],
            status=status,
            omitted=omitted,
            notes=tuple(self._notes),
        )

    def _read_head(self, *, first: bool) -> tuple[str | None, str | None]:
        head: tuple[str | None, str | None] = (None, None)
        try:
            if self.place.git_dir.is_dir():
                head = read_head(self._git, self.place, self.settings.ref_storage)
            elif not first:
                self._notes.append("the git directory is gone")
        except SnapshotFailedError as failed:
            if first:
                raise
            self._notes.append(failed.skip.detail)
        (self._directory / "HEAD").write_text(f"{head[0] or 'ref: refs/heads/unborn'}\n")
        return head

    def _copy_index(self, *, first: bool) -> bool:
        data = copy_index(self.place.git_dir, self._directory, self._seen)
        changed = data != self._seen_bytes
        self._seen_bytes = data
        if first and data:
            shutil.copy2(self._seen, self._work)
            if b"sdir" in data:  # a sparse index is expanded from trees, so while objects can be read
                self._run((*_UPDATE, "--force-write-index"), self.reading(self._work))
        return changed and not first

    def _run(self, args: Iterable[str], env: dict[str, str], stdin: bytes | None = None) -> bytes:
        output = self._git.run(tuple(args), cwd=self.place.root, env=env, stdin=stdin)
        if output.stderr:
            self._notes += [f"git: {line}" for line in output.stderr.splitlines()[:_NOTED_LINES]]
        return output.stdout

    # --- the status --------------------------------------------------------------------------------

    def _start_status(self, *more: str) -> Child:
        return self._git.start((*_STATUS, *more), cwd=self.place.root, env=self.reading(self._seen))

    def _finish_status(self, child: Child, *, first: bool) -> bytes:
        try:
            text = self._status_text(child)
        except SnapshotFailedError as failed:
            if first:
                raise
            self._notes.append(f"no status: {failed.skip.detail}")
            return b""
        kept = [
            line for line in status_lines(text) if not is_within(line.paths[-1].rstrip(b"/"), self._exclude)
        ]
        return join_status(kept)

    def _status_text(self, child: Child) -> bytes:
        try:
            return child.finish().stdout
        except SnapshotFailedError:  # looking for renames needs contents, which a partial clone lacks
            return self._start_status("--no-renames").finish().stdout

    # --- the tree ----------------------------------------------------------------------------------

    def _update(self, *, index_changed: bool, handled_elsewhere: tuple[bytes, ...]) -> tuple[Omitted, ...]:
        output = self._run(_LIST, self.reading(self._work))
        self.listing = parse_listing(output)
        behind_links = tracked_behind_links(self.place.root, output)
        if behind_links:  # git refuses to look there, also in order to remove them
            names = b"".join(path + b"\0" for path in behind_links)
            self._run((*_UPDATE, "--force-remove", "-z", "--stdin"), self._writing(), names)
        wanted = self.listing.changed - behind_links
        if index_changed:
            wanted |= self._added_to_index()
        elsewhere = tuple(path for path in handled_elsewhere if path not in self.listing.gitlinks)
        inside = tuple(path + b"/" for path in handled_elsewhere)
        paths = [
            path
            for path in sorted(wanted)
            if not is_within(path, self._exclude)
            and not is_within(path, elsewhere)
            and not path.startswith(inside)
        ]
        omitted: list[Omitted] = []
        feed = [path for path in paths if may_copy(self.place.root, path, self.budget, omitted)]
        self._lend_blobs(feed)
        self._feed(feed, omitted)
        return tuple(omitted)

    def _added_to_index(self) -> set[bytes]:
        """Return what the run added to the real index, which may be files that are ignored otherwise."""
        args = ("diff-index", "--cached", "--name-only", "--diff-filter=A", "-z", str(self._tree))
        try:
            return set(self._run(args, self.reading(self._seen)).split(b"\0")) - {b""}
        except SnapshotFailedError as failed:
            self._notes.append(failed.skip.detail)
            return set()

    def _lend_blobs(self, feed: list[bytes]) -> None:
        """Copy the tracked content of changed files into the shadow where `text=auto` may need to see it.

        Git converts line ends only if the tracked content has none of the kind, and must not look for it
        in the repository (see `_writing`).
        """
        automatic = self.settings.carried.get("core.autocrlf", "false") != "false"
        if not automatic and not self.listing.has_attributes:
            return
        wanted = {self.listing.blobs[path] for path in feed if path in self.listing.blobs}
        if not wanted:
            return
        request = "".join(f"{name}\n" for name in sorted(wanted)).encode()
        data = self._run(("cat-file", "--batch"), self.reading(), request)
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            name, kind, *size = data[at:end].decode().split(" ")
            at = end + 1
            if not size:  # "missing": it has no content
                continue
            length = int(size[0])
            if kind == "blob":
                self._write_blob(name, data[at : at + length])
            at += length + 1

    def _write_blob(self, name: str, content: bytes) -> None:
        target = self._directory / "objects" / name[:2] / name[2:]
        target.parent.mkdir(exist_ok=True)
        with suppress(FileExistsError), target.open("xb") as file:
            file.write(zlib.compress(b"blob %d\0" % len(content) + content, 0))

    def _feed(self, feed: list[bytes], omitted: list[Omitted]) -> None:
        options = ["--add", "--remove", "--replace", "-z", "--stdin"]
        if self.listing.has_assumed:
            options[:0] = ["-q", "--really-refresh"]
        if not feed and not self.listing.has_assumed:
            return
        for _ in range(_MAX_REFUSED_PATHS):
            try:
                self._run((*_UPDATE, *options), self._writing(), b"".join(path + b"\0" for path in feed))
            except SnapshotFailedError as failed:
                refused = _REFUSED_PATH.search(failed.skip.detail)
                path = os.fsencode(refused.group(1)) if refused else b""
                if path not in feed:
                    raise
                feed.remove(path)
                omitted.append(Omitted(os.fsdecode(path), 0, "unreadable"))
            else:
                return
        raise SnapshotFailedError("GIT_BROKEN", "git refuses too many files")
