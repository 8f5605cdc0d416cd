"""Who watches what the kernel is asked: which observer a run has, and how its two programs are started.

`steno-trace` stops calls by a filter and launches the command; `steno-probe` loads the eBPF programs for
it, beforehand, and tells why where it cannot.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import steno
from steno.capture.cgroup import Refusal, Scope
from steno.capture.ignore import load
from steno.capture.launcher import RESTORED, Descriptors, Launch, Launcher
from steno.errors import CaptureError
from steno.evidence.ignore_rules import IgnoreRules

WHY_NOT = "not-built.txt"  # written by hatch_build.py, beside the programs
_AGAIN = "then install Steno again (from a checkout: pip install .)"
_COMPILER_HINT = f"apt install gcc libc6-dev, {_AGAIN}"


def find_program(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    folder = Path(steno.__file__).parent / "native"
    places = [folder / name]
    variable = name.upper().replace("-", "_")
    if environ.get(variable):
        places.insert(0, Path(environ[variable]))
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    searched = ", ".join(map(str, places))
    raise _not_there(f"{name} is not there: searched {searched} and ${variable}", name, folder / WHY_NOT)


def _not_there(message: str, name: str, told: Path) -> CaptureError:
    """With the reason that the build left, where it left one: a compiler is not always what was lacking."""
    try:
        lines = told.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    why = next((line.partition(": ")[2] for line in lines if line.startswith(f"{name}: ")), None)
    if why is None:
        return CaptureError(message, hint=_COMPILER_HINT)
    if why.startswith("no C compiler found"):
        hint = _COMPILER_HINT
    elif why.endswith(" failed"):
        hint = (
            f"{told} has what the compiler said (without headers: apt install libc6-dev); mend that, {_AGAIN}"
        )
    else:
        hint = f"mend that, {_AGAIN}"
    return CaptureError(f"{message}; it was not built: {why}", hint=hint)


def spawn(program: Path, argv: list[str], environ: Mapping[str, str], given: Sequence[int]) -> int:
    """Not by fork: another thread of ours may be loading what the seal will need."""
    found = [os.get_inheritable(fd) for fd in given]
    for fd in given:
        os.set_inheritable(fd, True)
    try:
        return os.posix_spawn(program, argv, environ, setsigdef=RESTORED)
    finally:
        for fd, inheritable in zip(given, found, strict=True):
            os.set_inheritable(fd, inheritable)


PROBE = "steno-probe"
RING_VARIABLE = "STENO_RING_BYTES"
RING_BYTES, SMALLEST_RING = 16 << 20, 4096
READY, NOT_BUILT, UNKNOWN = "ready", "not_built", "unknown"
_CAPABILITIES = Path("/proc/self/status")
_SYS_ADMIN, _PERFMON, _BPF = 1 << 21, 1 << 38, 1 << 39
_CHECK_SECONDS = 10.0

# The numbers of the status record, and what would help.
STATES = {
    0: READY,
    1: "no_libbpf",
    2: "no_btf",
    3: "not_permitted",
    4: "load_failed",
    5: "attach_failed",
    6: "gone",
    7: "no_cgroup",
    8: "no_object",
}
_HINTS = {
    "no_libbpf": "apt install libbpf1, dnf install libbpf or apk add libbpf",
    "no_btf": "a kernel with CONFIG_DEBUG_INFO_BTF has /sys/kernel/btf/vmlinux",
    "not_permitted": "run as root, or with the capabilities BPF, PERFMON and NET_ADMIN",
    "no_cgroup": "`steno doctor` tells why the run can have no cgroup",
    "no_object": "install Steno again, so that its eBPF program is there (in a checkout: make bpf)",
    NOT_BUILT: "install Steno again, so that it is built for this machine (from a checkout: pip install .)",
}
_OTHER_HINT = "record with `--observer notify`, which needs no eBPF; `steno doctor` tells more"


class Probe(NamedTuple):
    """What is needed to start it."""

    program: Path
    ring_bytes: int


def find_probe(environ: Mapping[str, str]) -> Probe:
    return Probe(find_program(PROBE, environ), ring_bytes(environ))


def ring_bytes(environ: Mapping[str, str]) -> int:
    """How much of what it sees may wait to be read. The variable is for tests: a small one loses events."""
    wish = environ.get(RING_VARIABLE)
    if not wish:
        return RING_BYTES
    size = int(wish) if wish.isascii() and wish.isdigit() else 0
    if size < SMALLEST_RING or size & (size - 1) or size > 1 << 30:
        raise CaptureError(
            f"{RING_VARIABLE}={wish!r} is no size of a ring",
            hint=f"a power of two from {SMALLEST_RING} to {1 << 30}, or leave it unset",
        )
    return size


def may_load() -> bool:
    """Whether we have the capabilities that loading needs."""
    try:
        text = _CAPABILITIES.read_text()
    except OSError:
        return False
    held = next((int(line.split()[1], 16) for line in text.splitlines() if line.startswith("CapEff:")), 0)
    return bool(held & _SYS_ADMIN) or held & (_BPF | _PERFMON) == _BPF | _PERFMON


def start_probe(probe: Probe, cgroup: int, environ: Mapping[str, str]) -> int:
    """Start steno-probe for the cgroup of this descriptor; returns the other end of its socket."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = ["--to", str(its.fileno()), "--cgroup", str(cgroup), "--ring-bytes", str(probe.ring_bytes)]
    with its, suppress(OSError):  # then steno-trace finds nobody at the other end, and tells
        pid = spawn(probe.program, [PROBE, *words], environ, [its.fileno(), cgroup])
        # Unless somebody waits for its end it stays a zombie for the whole run.
        threading.Thread(target=os.waitpid, args=(pid, 0), name="steno-probe-end", daemon=True).start()
    return ours.detach()


def state_of(number: int) -> str:
    return STATES.get(number, UNKNOWN)


def hint_of(state: str) -> str:
    return _HINTS.get(state, _OTHER_HINT)


def check_probe(environ: Mapping[str, str]) -> tuple[str, str]:
    """Try it, and say its state and the words for people."""
    try:
        program = find_program(PROBE, environ)
    except CaptureError as error:
        return NOT_BUILT, str(error)
    try:
        tried = subprocess.run(
            [program, "--check"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return UNKNOWN, f"{program} does not tell what it can do ({error})"
    if tried.returncode == 0:
        return READY, ""
    word, _, text = tried.stdout.decode("utf-8", "replace").strip().partition(": ")
    return (word, text) if word in STATES.values() else (UNKNOWN, f"{program} failed without a reason")


TRACE = "steno-trace"
AUTO, NOTIFY, EBPF, BOTH, NONE = "auto", "notify", "ebpf", "both", "none"
WISHES = (AUTO, NOTIFY, EBPF, BOTH, NONE)
_PROC = Path("/proc/self/fd")
_MOST_LINKS = 40  # as the kernel follows


class Observer(NamedTuple):
    """A chosen observer: the program, what it need not keep the content of, and who is to witness."""

    program: Path
    ignored: IgnoreRules
    mode: str = NOTIFY  # or EBPF, or BOTH
    probe: Probe | None = None  # in the last two
    optional: bool = False  # without the probe it goes on as NOTIFY

    @property
    def stops(self) -> bool:
        """Whether calls wait for it: only then can it tell who writes on a terminal."""
        return self.mode != EBPF


class InScope(NamedTuple):
    """Where the command is to be born, and the end of the probe's socket; None where there is none."""

    cgroup: int | None = None
    probe: int | None = None


class Frames(NamedTuple):
    """Where and how the frames are written, and the lock that is held as long as they are."""

    folder: int  # descriptor of the directory
    lock: int
    store: Path  # closed to the run where its calls are stopped, and its content is never copied
    keys: Path | None  # closed like the store: the directory of the local keys
    run_id: str  # this run's folder in it
    key: bytes
    origin_ns: int
    max_blob: int
    allow_io_uring: bool


def why_unobserved(wish: str, environ: Mapping[str, str]) -> CaptureError | None:
    """Why `auto` has nothing to choose from: the kernel's observer is not installed."""
    if wish != AUTO:
        return None
    try:
        find_program(TRACE, environ)
    except CaptureError as error:
        return error
    return None


def choose_observer(wish: str, environ: Mapping[str, str]) -> Observer | None:
    """None: nothing is observed. `auto` takes what there is; every other wish is insisted on."""
    if wish == NONE or why_unobserved(wish, environ):
        return None
    program = find_program(TRACE, environ)
    if not _PROC.exists():
        raise CaptureError(
            f"the kernel cannot be watched: {_PROC} is not there",
            hint="mount -t proc proc /proc, or go without with --observer none",
        )
    observer = Observer(program, load(environ))
    if wish in {EBPF, BOTH}:
        return observer._replace(mode=wish, probe=find_probe(environ))
    return _with_a_probe_if_possible(observer, environ) if wish == AUTO else observer


def _with_a_probe_if_possible(observer: Observer, environ: Mapping[str, str]) -> Observer:
    if not may_load():
        return observer
    try:
        find_program(PROBE, environ)
    except CaptureError:
        return observer
    return observer._replace(mode=BOTH, probe=find_probe(environ), optional=True)


def fit_to_scope(observer: Observer, scope: Scope | Refusal) -> Observer:
    """A probe sees what happens in the run's cgroup: without one there is nothing for it to see."""
    if isinstance(scope, Scope) or observer.probe is None:
        return observer
    if not observer.optional:
        raise CaptureError(
            f"eBPF cannot watch the command: it cannot have a cgroup ({scope.reason}: {scope.detail})",
            hint=hint_of("no_cgroup"),
        )
    return observer._replace(mode=NOTIFY, probe=None)


def launch_observed(
    job: Launch,
    observer: Observer,
    frames: Frames,
    scope: InScope,
    *,
    split: int | None,
    outputs: Sequence[int],
) -> Launcher:
    """`outputs`: our ends of the command's, which steno-trace empties if we die."""
    status_read, status_write = os.pipe()
    control_read, control_write = os.pipe()
    key_read, key_write = os.pipe()
    os.write(key_write, frames.key)
    os.close(key_write)
    store, keys = _opened(frames.store), None if frames.keys is None else _opened(frames.keys)
    options = {
        "--status": status_write,
        "--leash": control_read,
        "--key": key_read,
        "--spool": frames.folder,
        "--hold": frames.lock,
        "--store": store,
        **_streams(job.on),
        **_present({"--terminal": job.terminal, "--split": split}),
        **_present({"--cgroup": scope.cgroup, "--probe-at": scope.probe, "--keys": keys}),
    }
    words = [
        *(word for name, fd in options.items() for word in (name, str(fd))),
        *(word for fd in outputs for word in ("--drain", str(fd))),
        *(word for number in job.ended_by for word in ("--ended-by", str(number))),
        *("--origin", str(frames.origin_ns), "--max-blob", str(frames.max_blob), "--cwd", job.cwd),
        *(["--allow-io-uring"] if frames.allow_io_uring else []),
        *(["--observer", observer.mode] if observer.mode != NOTIFY else []),
        *(["--probe-optional"] if observer.optional else []),
        *("--run-id", frames.run_id),
        *(word for link in _links_to(frames.store, frames.keys) for word in ("--store-link", link)),
        *(word for prefix in _unwanted(observer, frames) for word in ("--ignore", prefix)),
    ]
    argv = [TRACE, *words, "--", *job.argv]
    pid = spawn(observer.program, argv, job.environ, [*options.values(), *outputs])
    for fd in (status_write, control_read, key_read, store, keys):
        if fd is not None:
            os.close(fd)
    return Launcher(pid, status_read, control_write)


def _unwanted(observer: Observer, frames: Frames) -> list[str]:
    ignored = observer.ignored.without(observer.ignored.irreplaceable())
    return [str(frames.store.resolve()), *map(os.fsdecode, ignored.prefixes())]


def _opened(directory: Path) -> int:
    return os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _links_to(*directories: Path | None) -> list[str]:
    """The symbolic links that lead there: whoever removes one of them hides the store."""
    return [link for path in directories if path is not None for link in _links_on_the_way(path)]


def _links_on_the_way(path: Path) -> list[str]:
    found: list[str] = []
    at, left = Path("/"), list(path.absolute().parts[1:])
    while left and len(found) < _MOST_LINKS:
        step = at / left.pop(0)
        if not step.is_symlink():
            at = Path(os.path.normpath(step))
            continue
        found.append(str(step))
        target = step.readlink()
        at = Path("/") if target.is_absolute() else at
        left = [part for part in target.parts if part != "/"] + left
    return found


def _streams(on: Descriptors) -> dict[str, int]:
    return _present({f"--{name}": fd for name, fd in on._asdict().items()})


def _present(options: Mapping[str, int | None]) -> dict[str, int]:
    return {name: fd for name, fd in options.items() if fd is not None}
