"""One shadow repository: a private git directory beside a work tree, that git can be run on safely.

In: where a repository lives and its settings, frozen before the run. Out: its status, and a tree of its
whole working state (staged, unstaged, untracked). The shadow has its own configuration, HEAD, index and
objects; it only reads the objects of the repository. Never writes to the repository, never runs what the
repository could configure: there is no filter, hook, monitor or driver in the shadow.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from steno.capture.repo_find import is_real_directory, read_bounded, read_head
from steno.capture.repo_git import environment
from steno.capture.repo_index import copy_index, distrust_recent
from steno.capture.repo_listing import Budget, Listing, may_copy, parse_listing, tracked_behind_links
from steno.capture.repo_names import ignore_pattern, is_within, join_status, quote, status_lines
from steno.capture.repo_types import EMPTY_TREE, Omitted, Part, SnapshotFailedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from steno.capture.repo_git import Child, Git
    from steno.capture.repo_types import Place, Settings

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
        place: Place,
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
