"""Skills: copies folders of skills into a run, each with the completion contract.

In: folders that the user named, the run directory, and the folder in it where the agent looks for skills.
Out: what was copied, with the text that the agent will read. A folder with SKILL.md is one skill; else every
folder in it is one, and each needs its SKILL.md. The source is only read. A link that leads out of its skill,
a special file or too much of anything is an error, before the first byte is written into the run. A skill
that is in the run already is left alone when it is the same, and is an error when it is not. A folder of
skills may hold links to other skills in it; one that leads elsewhere is an error.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from steno.bundle.folder import Folder, write_all
from steno.errors import AgentSetupError, BadRequestError

SKILL_FILE = "SKILL.md"
MOST_BYTES = 64 << 20
MOST_ENTRIES = 4096
DEEPEST = 16
MARK = b"<!-- steno: completion contract -->"

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Injection(NamedTuple):
    names: list[str]
    texts: list[bytes]  # what the agent is given to read; when it shows that again, it says nothing by it


class _Entry(NamedTuple):
    """A file with its content, a link with its target, or a folder."""

    content: bytes | str | None
    executable: bool = False


class _Skill(NamedTuple):
    name: str
    entries: dict[str, _Entry]


def inject(sources: Sequence[Path], run_directory: Path, place: str) -> Injection:
    bounds = _Bounds()
    skills = [skill for source in sources for skill in _skills(source, bounds)]
    names = [skill.name for skill in skills]
    _require_different(names)
    for skill in skills:
        _put(skill, run_directory, place)
    return Injection(names, [_text(skill) for skill in skills])


def texts_there(run_directory: Path, place: str) -> list[bytes]:
    """What earlier attempts of the run were given: it can still be read there, and printed."""
    with suppress(OSError), Folder(run_directory) as run, run.sub(place) as folder:
        files = [f"{name}/{SKILL_FILE}" for name in sorted(folder.names())]
        return [folder.read_all(file, MOST_BYTES) for file in files if folder.has(file)]
    return []


def with_contract(text: bytes, name: str) -> bytes:
    """Once: a text that has the contract is left as it is."""
    if MARK in text:
        return text
    contract = (resources.files("steno.contracts.agent_audit") / "contract.md").read_bytes()
    return text.rstrip() + b"\n\n" + contract.replace(b"NAME", json.dumps(name)[1:-1].encode())


def _skills(source: Path, bounds: _Bounds) -> Iterator[_Skill]:
    with _readable(source), Folder(source) as folder:
        names = folder.names()
        if SKILL_FILE in names:
            yield _read_skill(folder.fd, source, _own_name(source), bounds)
            return
        below = {name: place for name in names if (place := _place(folder, name)) is not None}
        bare = next((place for place in below.values() if not _has_skill_file(folder, place)), None)
        if bare is not None or not below:
            # Before anything is read: somebody may have named a folder that holds the world.
            raise _without_skill_file(source / (bare or ""))
    for name, place in below.items():
        with _readable(source / place), Folder(source) as folder, folder.sub(place) as skill:
            yield _read_skill(skill.fd, source / place, name, bounds)


def _own_name(source: Path) -> str:
    name = Path(os.path.realpath(source)).name
    if not name:
        raise BadRequestError(
            f"{source} is no skill: it has no name", hint="--skills names a skill by its folder"
        )
    return name


def _place(folder: Folder, name: str) -> str | None:
    """Where in `folder` the skill of that name is; a link may lead to one. None for what is none."""
    if name.startswith("."):
        return None
    mode = os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_mode
    if not stat.S_ISLNK(mode):
        return name if stat.S_ISDIR(mode) else None
    inside, real = Path(os.path.realpath(folder.path)), Path(os.path.realpath(folder.path / name))
    if real.is_relative_to(inside) and real != inside and real.is_dir():
        return str(real.relative_to(inside))
    if real.is_file():
        return None
    whither = f"to {real}, which is not in {folder.path}" if real.exists() else "nowhere"
    raise BadRequestError(
        f"{folder.path / name} is a link that leads {whither}",
        hint="put a copy of the skill there, or name its own folder with --skills",
    )


def _has_skill_file(folder: Folder, place: str) -> bool:
    with _readable(folder.path / place), folder.sub(place) as skill:
        return skill.has(SKILL_FILE)


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadRequestError(
            f"{folder} cannot be used as a folder of skills: {error.strerror}",
            hint="--skills names a folder that you can read, with all that is in it",
        ) from error


def _read_skill(fd: int, source: Path, name: str, bounds: _Bounds) -> _Skill:
    reader = _Reader(source, bounds)
    reader.read(fd, "", 0)
    found = reader.entries.get(SKILL_FILE)
    if found is None or not isinstance(found.content, bytes):
        raise _without_skill_file(source)
    reader.entries[SKILL_FILE] = found._replace(content=with_contract(found.content, name))
    return _Skill(name, reader.entries)


class _Bounds:
    """How much may still come, of all skills together."""

    def __init__(self) -> None:
        self.bytes = MOST_BYTES
        self.entries = MOST_ENTRIES


class _Reader:
    """Takes a skill into memory, within bounds, so that what is checked is what is copied."""

    def __init__(self, source: Path, bounds: _Bounds) -> None:
        self._source = source
        self._bounds = bounds
        self.entries: dict[str, _Entry] = {}

    def read(self, fd: int, above: str, depth: int) -> None:
        for name in sorted(os.listdir(fd)):
            path = above + name
            self._bounds.entries -= 1
            if self._bounds.entries < 0 or depth > DEEPEST:
                raise self._refused(
                    path, f"there are more than {MOST_ENTRIES} files, or {DEEPEST} folders in folders"
                )
            try:
                self._entry(fd, name, path, depth)
            except OSError as error:
                raise self._refused(path, error.strerror or "it cannot be read") from error

    def _entry(self, fd: int, name: str, path: str, depth: int) -> None:
        mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            self.entries[path] = _Entry(None)
            below = os.open(name, _DIRECTORY, dir_fd=fd)
            try:
                self.read(below, f"{path}/", depth + 1)
            finally:
                os.close(below)
        elif stat.S_ISLNK(mode):
            self.entries[path] = _Entry(self._target(fd, name, path, depth))
        else:
            self.entries[path] = self._file(fd, name, path)

    def _target(self, fd: int, name: str, path: str, depth: int) -> str:
        """Steps up come first and are as many as there are folders, so that no link can make more of them."""
        target = os.readlink(name, dir_fd=fd)
        parts = [part for part in target.split("/") if part not in {"", "."}]
        ups = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
        if target.startswith("/") or ups > depth or ".." in parts[ups:]:
            raise self._refused(path, "it is a link that leads out of the skill")
        return target

    def _file(self, fd: int, name: str, path: str) -> _Entry:
        opened = os.open(name, _READ, dir_fd=fd)
        with os.fdopen(opened, "rb") as file:
            mode = os.fstat(opened).st_mode
            if not stat.S_ISREG(mode):
                raise self._refused(path, "it is no regular file")
            content = file.read(self._bounds.bytes + 1)
        self._bounds.bytes -= len(content)
        if self._bounds.bytes < 0:
            raise self._refused(path, f"the skills have more than {MOST_BYTES >> 20} MiB")
        return _Entry(content, executable=bool(mode & stat.S_IXUSR))

    def _refused(self, path: str, why: str) -> BadRequestError:
        return BadRequestError(
            f"{self._source / path} cannot be copied: {why}",
            hint="a skill is a folder of plain files that you can read",
        )


def _put(skill: _Skill, run_directory: Path, place: str) -> None:
    path = f"{place}/{skill.name}"
    try:
        with Folder(run_directory) as run:
            if not _is_there(run, path, skill):
                _copy(run, f"{place}/.steno-{os.urandom(8).hex()}", path, skill)
    except OSError as error:
        raise AgentSetupError(
            f"{skill.name} cannot be put into the run as {run_directory / path}: {error.strerror}",
            hint="below the run directory no link is followed, and nothing is overwritten",
        ) from error


def _is_there(run: Folder, path: str, skill: _Skill) -> bool:
    try:
        found = run.sub(path)
    except FileNotFoundError:
        return False
    with found:
        reader = _Reader(found.path, _Bounds())
        reader.read(found.fd, "", 0)
    if reader.entries != skill.entries:
        raise AgentSetupError(
            f"the run has another skill {skill.name} already: {found.path}",
            hint="remove it, or start a new run",
        )
    return True


def _copy(run: Folder, temporary: str, path: str, skill: _Skill) -> None:
    """Beside its place first, so that a skill is there as a whole or not at all."""
    os.close(run.create(f"{temporary}/{SKILL_FILE}"))  # makes the folders above, too
    try:
        with run.sub(temporary) as folder:
            folder.remove(SKILL_FILE)
            for name, entry in skill.entries.items():
                _write(folder, name, entry)
        run.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            run.remove_tree(temporary)
        raise


def _write(folder: Folder, path: str, entry: _Entry) -> None:
    if entry.content is None:
        folder.make_folder(path)
    elif isinstance(entry.content, str):
        above, _, name = path.rpartition("/")
        with folder.sub(above) if above else nullcontext(folder) as parent:
            os.symlink(entry.content, name, dir_fd=parent.fd)
    else:
        fd = folder.create(path)
        try:
            write_all(fd, entry.content)
            os.fchmod(fd, 0o700 if entry.executable else 0o600)
        finally:
            os.close(fd)


def _text(skill: _Skill) -> bytes:
    content = skill.entries[SKILL_FILE].content
    return content if isinstance(content, bytes) else b""


def _require_different(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadRequestError(f"there are two skills called {name}", hint="name each skill once")
        seen.add(name)


def _without_skill_file(source: Path) -> BadRequestError:
    return BadRequestError(
        f"{source} has no {SKILL_FILE}",
        hint="--skills names a skill, or a folder in which every folder is one",
    )
