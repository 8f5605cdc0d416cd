"""Run directories: where they are, which one a word means, and the number of the next attempt.

In: the managed root, an agent, a selector (a path, an id, its last eight digits) or none. Out: a run
directory held open, and a number that no attempt had before, taken in the register, so that neither a crash
nor an agent that removes its `.audit` can give it away again. A run is known by its register, also when its
agent has moved or removed the directory. One attempt runs in a directory at a time: it holds the lock of the
run's register. Below the root no link is followed. Never removes anything.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steno.agents.definition import AGENT_NAME
from steno.bundle.folder import Folder
from steno.contracts.agent_audit.meta import Known
from steno.contracts.agent_audit.streams import AUDIT
from steno.errors import BadRequestError, RunNotFoundError, StoreError
from steno.launch import file_lock, registry
from steno.launch.audit_files import AuditFiles, numbers_in, open_audit
from steno.launch.registry import ATTEMPTS, METADATA, Entry, agent_process, open_register, registered_runs
from steno.text.safe import listed

RUNS = "runs"
_RUN = re.compile(r"\d{8}T\d{6}-(?P<agent>.+)-(?P<suffix>[0-9a-f]{8})", re.ASCII)
_SUFFIX = re.compile(r"[0-9a-f]{8}", re.ASCII)
_SHOWN = 5
_PATIENCE = 0.2  # seconds; an attempt may run for hours, but whoever only looks holds the lock for a moment
_LIST = "`steno agent list` shows the runs"
DIRECTORY_HINT = "what was recorded is kept, `steno agent status` tells of it; put it back to go on in it"
_ELSEWHERE = "choose another place with STENO_AGENTS"


class RunName(NamedTuple):
    run_id: str
    agent: str
    suffix: str


def agents_root(environ: Mapping[str, str]) -> Path:
    if chosen := environ.get("STENO_AGENTS"):
        return Path(chosen).absolute()
    if data := environ.get("XDG_DATA_HOME"):
        return Path(data).absolute() / "steno" / "agents"
    if home := environ.get("HOME"):
        return Path(home).absolute() / ".local" / "share" / "steno" / "agents"
    raise StoreError(
        "there is no place for run directories: STENO_AGENTS, XDG_DATA_HOME and HOME are all unset",
        hint="name one with STENO_AGENTS",
    )


def format_name(agent: str, now: datetime, randomness: bytes) -> RunName:
    """`now` is in UTC; `randomness` is four bytes."""
    if not AGENT_NAME.fullmatch(agent):
        raise BadRequestError(
            f"{agent!r} cannot be the name of an agent",
            hint="a name has small letters, digits, dots, dashes and underscores, and at most 64 of them",
        )
    suffix = randomness[:4].hex()
    return RunName(f"{now:%Y%m%dT%H%M%S}-{agent}-{suffix}", agent, suffix)


def parse_name(text: str) -> RunName | None:
    found = _RUN.fullmatch(text)
    if found is None or not AGENT_NAME.fullmatch(found["agent"]):
        return None
    return RunName(text, found["agent"], found["suffix"])


class PreparedRun:
    """A run directory with a number of its own in it, for as long as its register is held."""

    def __init__(self, name: RunName, run: Folder, kept: Folder, entry: Entry) -> None:
        self.name = name
        self.run = run
        self.entry = entry
        self.attempt = entry.known.attempt
        self.audit = AuditFiles(run, self.attempt, entry.files, entry.unwritten)
        self._register = kept

    @property
    def run_dir(self) -> Path:
        return self.run.path

    @property
    def audit_dir(self) -> Path:
        return self.run_dir / AUDIT

    def directory_problem(self) -> str | None:
        """What has become of the directory, which is held open, in its place."""
        return directory_problem(self.run_dir, os.fstat(self.run.fd).st_ino)

    def keep(self, **changed: Any) -> None:
        """What is known of the attempt by now."""
        self.entry = msgspec.structs.replace(self.entry, **changed)
        registry.keep(self._register, self.entry)


@contextmanager
def prepare_run(root: Path, agent: str, selector: str | None, *, now: datetime) -> Iterator[PreparedRun]:
    """A new run directory, or the selected one, and the next attempt in it."""
    with ExitStack() as held:
        runs = held.enter_context(open_runs(root, make=True))
        with _usable(root, make=True):
            name = _make(runs, agent, now) if selector is None else _selected(runs, agent, selector)
            kept = held.enter_context(open_register(root, name.run_id, make=True))
            _hold(kept, name)
            run = held.enter_context(open_run(runs, name))
            with open_audit(run, make=True) as audit:
                taken = set(numbers_in(audit).values())
            known = Known(
                run_id=name.run_id, agent=agent, run_directory=str(run.path), attempt=0, handle=name.suffix
            )
            prepared = PreparedRun(name, run, kept, registry.reserve(kept, known, now, taken))
        yield prepared


@contextmanager
def open_runs(root: Path, *, make: bool = False) -> Iterator[Folder]:
    """The folder of all run directories. The root may be reached through a link, `runs` may not be one."""
    with _usable(root, make=make):
        runs = _runs_folder(root, make=make)
    with runs:
        yield runs


def run_names(runs: Folder) -> list[RunName]:
    """Those that the register or a directory tells of, the newest second first; other names are not ours."""
    known = {*filter(runs.has_folder, runs.names()), *registered_runs(runs.path.parent)}
    return sorted((name for name in map(parse_name, known) if name), reverse=True)


def open_run(runs: Folder, name: RunName) -> Folder:
    """The run directory; its agent may have moved or removed it."""
    problem = directory_problem(runs.path / name.run_id)
    if problem is not None:
        raise RunNotFoundError(f"{name.run_id}: {problem}", hint=DIRECTORY_HINT)
    return runs.sub(name.run_id)


def directory_problem(path: Path, inode: int | None = None) -> str | None:
    """None: it is in its place; with an inode, it is that very directory."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return "its directory is gone"
    except OSError as error:
        return f"its directory cannot be used: {error.strerror}"
    if stat.S_ISLNK(found.st_mode):
        return "its directory is a link now"
    if not stat.S_ISDIR(found.st_mode):
        return "its directory is none any more"
    return "its directory is another one now" if inode not in {None, found.st_ino} else None


def find_run(runs: Folder, selector: str) -> RunName:
    """Its directory may be gone: `open_run` tells."""
    if not selector or "\0" in selector:
        raise RunNotFoundError("the run's name is empty or no name", hint=_LIST)
    if "/" in selector or selector in {".", ".."}:
        return _at_path(runs, selector)
    if name := parse_name(selector):
        if _is_known(runs, name):
            return name
        raise RunNotFoundError(f"there is no run {selector} in {runs.path}", hint=_LIST)
    if _SUFFIX.fullmatch(selector):
        return _with_suffix(runs, selector)
    if os.path.lexists(selector):
        return _at_path(runs, selector)
    raise RunNotFoundError(
        f"{selector!r} is not a run", hint=f"give a path, an id or its last eight digits; {_LIST}"
    )


def _is_known(runs: Folder, name: RunName) -> bool:
    return runs.has_folder(name.run_id) or name.run_id in registered_runs(runs.path.parent)


def _with_suffix(runs: Folder, suffix: str) -> RunName:
    found = [name for name in run_names(runs) if name.suffix == suffix]
    if not found:
        raise RunNotFoundError(f"no run in {runs.path} ends with {suffix}", hint=_LIST)
    if len(found) > 1:
        ids = listed([name.run_id for name in found], _SHOWN)
        raise RunNotFoundError(f"{suffix} could be any of {len(found)} runs: {ids}", hint="give the whole id")
    return found[0]


def _at_path(runs: Folder, selector: str) -> RunName:
    """The path may lead through links of the user's own; the run directory itself is here, and no link."""
    path = Path(os.path.abspath(selector))  # noqa: PTH100 - `resolve` would follow the last part too
    above = os.path.realpath(path.parent)
    name = parse_name(path.name)
    if name is None or above != str(runs.path) or not _is_known(runs, name):
        raise RunNotFoundError(
            f"{selector} is not a run directory of {runs.path}",
            hint=f"run directories are made by `steno agent start`; {_LIST}",
        )
    return name


def _selected(runs: Folder, agent: str, selector: str) -> RunName:
    name = find_run(runs, selector)
    if name.agent != agent:
        raise BadRequestError(
            f"{name.run_id} is a run of {name.agent}, not of {agent}",
            hint=f"start {name.agent} in it, or leave --run-dir out for a new run",
        )
    return name


def _make(runs: Folder, agent: str, now: datetime) -> RunName:
    while True:
        name = format_name(agent, now, os.urandom(4))
        with suppress(FileExistsError):
            runs.make_folder(name.run_id)
            return name


def is_running(name: RunName, outlived: Entry | None) -> BadRequestError:
    """`outlived` is the attempt whose recorder is gone, and whose agent is not."""
    process = None if outlived is None else agent_process(outlived)
    told = "wait until it has ended" if process is None else process.told
    return BadRequestError(
        f"an attempt is running in {name.run_id}",
        hint=f"{told}, or begin a new run with `steno agent start {name.agent}`",
    )


def _hold(kept: Folder, name: RunName) -> None:
    if not file_lock.take(kept.fd, seconds=_PATIENCE):
        raise is_running(name, None)
    if (entry := _outlived(kept)) is not None:
        raise is_running(name, entry)


def _outlived(kept: Folder) -> Entry | None:
    """The last attempt, when its agent has outlived its recorder."""
    last = max(registry.numbers(kept), default=None)
    with suppress(OSError, ValueError):  # an entry that cannot be read tells nothing
        if last is not None and registry.is_recorded_still(entry := registry.read_entry(kept, last)):
            return entry
    return None


def _runs_folder(root: Path, *, make: bool) -> Folder:
    if make:
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the managed root {root} cannot be made: {error.strerror}", hint=_ELSEWHERE
            ) from error
    with Folder(Path(os.path.realpath(root))) as base:
        if make or base.has_folder(f"{METADATA}/{ATTEMPTS}"):  # then an agent has taken it away
            with suppress(FileExistsError):
                base.make_folder(RUNS)
        return base.sub(RUNS)


@contextmanager
def _usable(root: Path, *, make: bool = False) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not make:
            raise RunNotFoundError(
                f"there is no run in {root}", hint="`steno agent start` makes one"
            ) from error
        raise StoreError(f"cannot use {root}: {error.strerror}", hint=_ELSEWHERE) from error
