"""A command that works against its observer: reaches into it, signals its group, leaves what is stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from steno.capture.observer import find_program
from steno.evidence import wire
from support.cgroups import MOUNT
from support.observers import STOPPING, observers, strongest
from support.ordinary import Somebody, as_the_user, place_of_the_user
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import Recorded, only_run
from support.tracees import rows

SOURCES = Path(__file__).parents[2] / "native" / "tests" / "programs"
EPERM, EACCES = 1, 13
OUTSIDE, OURS, NOT_KNOWN = 1, 2, 3  # arg of `reach`
# A group whose leader ends while a member is stopped: the kernel hangs that member up, unless somebody of the
# session could still continue it.
ORPHANED = """
import os, signal
leader = os.fork()
if not leader:
    os.setpgid(0, 0)
    member = os.fork()
    if not member:
        os.kill(os.getpid(), signal.SIGSTOP)
        signal.pause()
    os.waitpid(member, os.WUNTRACED)
    os._exit(0)
os.waitpid(leader, 0)
print("left")
"""
WITH_NONE = ["none", *observers()]


def compiled(folder: Path, name: str, *more: str) -> Path:
    program = folder / name
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", *more]
    words = ["cc", *flags, "-o", str(program), str(SOURCES / f"{name}.c")]
    subprocess.run(words, check=True, timeout=SECONDS)
    return program


def _ignored() -> set[int]:
    """A C library leaves two of its own ignored in what it spawns, and everything below inherits that."""
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("SigIgn")
    ]
    bits = int(line.split()[1], 16)
    return {number for number in range(1, 65) if bits >> (number - 1) & 1}


def told(output: str) -> dict[tuple[str, str], int]:
    """What each way into each process gave: 0 or an errno."""
    return {(whose, way): int(errno) for whose, way, errno in (line.split() for line in output.splitlines())}


def test_an_ordinary_command_cannot_reach_into_the_observer_nor_into_the_recorder() -> None:
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        user = Somebody(base, as_the_user(base / "stash"))
        kept = base / "kept"
        kept.write_text("kept")
        words = [
            *user.recorded[:-1],
            "--observer",
            "notify",
            "--",
            str(compiled(base, "stealing")),
            str(kept),
        ]
        code, out, err, _ = user.do(words)
        assert (code, err) == (0, b"")
        assert set(told(out.decode()).values()) <= {EPERM, EACCES}
        assert kept.read_text() == "kept"
        assert user.run().is_valid
        assert "gap" not in user.run().types


def test_the_doctor_of_an_ordinary_user_finds_that_commands_can_be_observed() -> None:
    """What it tries is closed to nobody, as a command is, although the observer is."""
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        code, out, _, _ = Somebody(base, as_the_user(base / "stash")).do([str(PROGRAM), "doctor", "--json"])
        kernel = next(one for one in json.loads(out)["findings"] if one["about"] == "kernel")
        assert (code, kernel["mark"]) == (0, "ok")


@pytest.mark.parametrize("observer", WITH_NONE)
def test_the_command_itself_can_be_inspected_as_bare(steno: Steno, observer: str) -> None:
    done = steno(
        "run", "--observer", observer, "--", "sh", "-c", "cat /proc/$$/environ >/dev/null && echo read"
    )
    assert done.stdout == b"read\n"


@pytest.mark.parametrize("name", ["TERM", "HUP", "ALRM", "PROF", "32", "33"])
@pytest.mark.parametrize("observer", WITH_NONE)
def test_a_signal_to_its_own_group_at_once_costs_neither_output_nor_seal(
    clean_env: dict[str, str], tmp_path: Path, store: Path, observer: str, name: str
) -> None:
    number = int(name) if name.isdigit() else signal.Signals[f"SIG{name}"]
    if number in _ignored():
        pytest.skip("whoever started the tests ignores this signal, and so does the command, as bare")
    script = f"echo first; kill -{name} 0; sleep 60"
    done = subprocess.run(
        [PROGRAM, "run", "--no-git", "--observer", observer, "--", "sh", "-c", script],
        capture_output=True,
        cwd=tmp_path,
        env=clean_env,
        timeout=SECONDS,
        check=False,
        process_group=0,
    )
    assert (done.returncode, done.stdout) == (128 + number, b"first\n")
    assert only_run(store).is_valid
    assert "gap" not in only_run(store).types


@pytest.mark.parametrize("observer", WITH_NONE)
def test_what_is_stopped_in_an_orphaned_group_is_hung_up_as_bare(
    clean_env: dict[str, str], store: Path, observer: str
) -> None:
    """In a session of its own: who collects the orphans of the tests could else continue it."""
    if signal.SIGHUP in _ignored():
        pytest.skip("whoever started the tests ignores this signal, and so does the command, as bare")
    words = [str(PROGRAM), "run", "--no-git", "--observer", observer, "--", sys.executable, "-c", ORPHANED]
    done = subprocess.run(
        words, capture_output=True, env=clean_env, timeout=SECONDS, start_new_session=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"left\n")
    assert only_run(store).is_valid


@pytest.mark.parametrize("observer", WITH_NONE)
def test_the_command_finds_the_signals_as_bare(
    steno: Steno, clean_env: dict[str, str], observer: str
) -> None:
    program = shutil.which("grep") or "grep"
    words = [program, "-E", "^Sig(Ign|Blk|Pnd)", "/proc/self/status"]
    bare = subprocess.run(words, capture_output=True, env=clean_env, timeout=SECONDS, check=True)
    done = steno("run", "--observer", observer, "--", *words)
    assert done.stdout == bare.stdout


@pytest.mark.skipif(os.getuid() != 0 or MOUNT is None, reason="needs a cgroup that belongs to another user")
def test_the_probe_is_loaded_neither_from_another_file_nor_for_the_cgroup_of_another_user() -> None:
    program = find_program("steno-probe")
    asked = subprocess.run([program, "--check", "--object", "/dev/null"], capture_output=True, check=False)
    assert asked.returncode == 2
    assert b"unrecognized option" in asked.stderr
    assert MOUNT is not None
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    cgroup = os.open(MOUNT, os.O_RDONLY | os.O_DIRECTORY)
    ours.settimeout(SECONDS)
    with ours, its, place_of_the_user() as base:
        (base / "stash").mkdir()
        words = [str(program), "--to", str(its.fileno()), "--cgroup", str(cgroup)]
        done = subprocess.run(
            [*as_the_user(base / "stash"), *words],
            pass_fds=[its.fileno(), cgroup],
            timeout=SECONDS,
            check=False,
        )
        os.close(cgroup)
        assert done.returncode == 1
        assert b"the cgroup belongs to another user" in ours.recv(4096)


REACHING = """
import ctypes, os, sys
libc, pid = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
SEIZE, DETACH, SYS_PIDFD_GETFD = 0x4206, 17, 438
def told(result):
    print(0 if result >= 0 else ctypes.get_errno())
def opened():
    try:
        return os.open(f"/proc/{pid}/mem", os.O_RDWR)
    except OSError as error:
        ctypes.set_errno(error.errno)
        return -1
told(opened())
told(libc.process_vm_writev(pid, (ctypes.c_ulong * 2)(id(pid), 8), 1, (ctypes.c_ulong * 2)(4096, 8), 1, 0))
told(libc.syscall(SYS_PIDFD_GETFD, os.pidfd_open(pid), 0, 0))
told(libc.ptrace(SEIZE, pid, 0, 0))
"""
# a process that is killed right after it forked, and whose child makes no call
KILLED = """
import mmap, os, signal
shared = mmap.mmap(-1, 8)
forker = os.fork()
if not forker:
    child = os.fork()
    if child:
        shared[:4] = child.to_bytes(4, "little")
    while True:
        pass
while not (child := int.from_bytes(shared[:4], "little")):
    pass
os.kill(forker, signal.SIGKILL)
os.waitpid(forker, 0)
os.kill(child, signal.SIGKILL)
print(forker, child)
"""


def reaches(run: Recorded) -> list[tuple[int, int | None, bool]]:
    """Whose process, the result, and whether we refused it."""
    refused = wire.NOTES["refused"]
    return [(row.arg, row.result, bool(row.notes & refused)) for row in rows(run) if row.op == "reach"]


def gaps(run: Recorded) -> set[str]:
    return {event["data"]["reason"] for event in run.events if event["type"] == "gap"}


@pytest.mark.skipif(os.getuid() != 0, reason="the kernel lets only root reach into what is not dumpable")
@pytest.mark.parametrize("observer", observers())
def test_root_is_refused_to_reach_into_the_observer_or_it_is_a_gap(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    stealing = [str(compiled(tmp_path, "stealing")), str(kept)]
    done = steno("run", "--no-git", "--observer", observer, "--", *stealing)
    run = only_run(store)
    ways = ("mem", "process_vm_writev", "ptrace", "pidfd_getfd")
    results = {errno for (_, way), errno in told(done.stdout.decode()).items() if way in ways}
    assert kept.read_text() == "kept"
    if observer == "ebpf":  # whose a descriptor was that is closed by now is not known
        assert gaps(run) == {"recorder_reached", "outside_reached"}
    else:
        assert {whose for whose, _, _ in reaches(run)} == {OURS}
        assert results == {EPERM, EACCES}
        assert all(refused for _, _, refused in reaches(run))
        assert gaps(run) == set()


# Opens the pipes between the observer and the recorder, to tell what did not happen.
PIPES = """
import os
observer = os.getppid()
with open(f"/proc/{observer}/cmdline", "rb") as file:
    words = file.read().split(b"\\0")
for option in (b"--status", b"--leash"):
    descriptor = int(words[words.index(option) + 1])
    try:
        print(os.write(os.open(f"/proc/{observer}/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK), bytes(29)))
    except OSError as error:
        print(error.errno)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="the kernel lets only root open what others have open")
@pytest.mark.parametrize("observer", observers(STOPPING))
def test_root_is_refused_the_pipes_of_the_observer(steno: Steno, store: Path, observer: str) -> None:
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", PIPES)
    assert done.stdout == b"13\n13\n"
    run = only_run(store)
    assert reaches(run) == [(OURS, -EACCES, True)] * 2
    assert run.is_valid


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
@pytest.mark.parametrize("observer", observers(STOPPING))
def test_a_debugger_that_is_set_on_the_observer_is_refused_and_hangs_nothing(
    steno: Steno, store: Path, observer: str
) -> None:
    script = "gdb -batch -nx -p $PPID </dev/null 2>&1; echo over"
    done = steno("run", "--no-git", "--observer", observer, "--", "sh", "-c", script)
    assert b"Operation not permitted" in done.stdout
    assert done.stdout.endswith(b"over\n")
    assert only_run(store).is_valid


@pytest.mark.parametrize("observer", observers())
def test_a_process_outside_the_run_that_is_reached_is_a_gap(steno: Steno, store: Path, observer: str) -> None:
    with subprocess.Popen(["sleep", "600"]) as outside:
        try:
            words = [sys.executable, "-c", REACHING, str(outside.pid)]
            done = steno("run", "--no-git", "--observer", observer, "--", *words)
        finally:
            outside.kill()
    run = only_run(store)
    assert done.stdout == b"0\n14\n0\n0\n"  # there is nothing at that address
    told = [whose for whose, _, _ in reaches(run)]
    if observer == "ebpf" and told[2] == NOT_KNOWN:  # it may be closed when the call is told
        told[2] = OUTSIDE
    assert told == [OUTSIDE] * 4
    assert gaps(run) == {"outside_reached"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a process of another user, whose number is known")
def test_what_an_ordinary_user_may_not_reach_is_no_gap() -> None:
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        user = Somebody(base, as_the_user(base / "stash"))
        words = [*user.recorded[:-1], "--observer", "notify", "--", user.env["PYTHON"], "-c", REACHING, "1"]
        code, out, _, _ = user.do(words)
        run = user.run()
        assert (code, set(out.split())) == (0, {b"1", b"13"})
        assert gaps(run) == set()
        assert {whose for whose, _, _ in reaches(run)} == {OUTSIDE}


@pytest.mark.parametrize("observer", observers())
def test_the_child_of_a_process_that_is_killed_while_it_forks_is_told(
    steno: Steno, store: Path, observer: str
) -> None:
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", KILLED)
    forker, child = map(int, done.stdout.split())
    numbers = {
        row.arg & 0xFFFFFFFF: (row.process, row.arg >> 32)
        for row in rows(only_run(store))
        if row.op == "process"
    }
    assert numbers[child][1] == numbers[forker][0]


ATTRIBUTED = """
import os
os.setxattr("kept", "user.note", b"after")
for name in ("nonsense.note", "trusted."):
    try:
        os.setxattr("other", name, b"after")
    except OSError:
        pass
"""


@pytest.mark.parametrize("observer", observers())
def test_an_extended_attribute_that_is_set_is_a_change_of_the_file_and_one_that_is_refused_is_none(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    for name in ("kept", "other"):
        (tmp_path / name).write_text(name)
    os.setxattr(tmp_path / "kept", "user.note", b"before")
    steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", ATTRIBUTED)
    run = only_run(store)
    changes = {one["path"]: one["change"] for one in run.json("files.json")["files"]}
    assert run.is_valid
    if observer == "ebpf":  # it looks when the call is over
        assert changes[str(tmp_path / "kept")] == "unknown"
        return
    assert changes[str(tmp_path / "kept")] == "metadata"
    assert changes[str(tmp_path / "other")] == "none"
    assert f"not undone: {tmp_path}/kept: its extended attributes".encode() in steno("undo", "@last").stderr


# Stops and kills the observer, the recorder, and the observer by its descriptor and its group.
ENDING = """
import os, signal
observer = os.getppid()
with open(f"/proc/{observer}/stat") as file:
    recorder = int(file.read().rpartition(")")[2].split()[1])
by_descriptor = lambda pid, number: signal.pidfd_send_signal(os.pidfd_open(pid), number)
for send, number in ((os.kill, signal.SIGSTOP), (os.kill, signal.SIGKILL), (by_descriptor, signal.SIGSTOP)):
    for pid in (observer, recorder, -observer):
        if pid < 0 and send is by_descriptor:
            continue
        try:
            send(pid, number)
            print("sent")
        except OSError as error:
            print(error.errno)
os.kill(observer, signal.SIGTERM)
"""


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_nobody_of_the_run_stops_or_kills_the_observer_or_the_recorder(
    steno: Steno, store: Path, observer: str
) -> None:
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", ENDING)
    assert (done.returncode, set(done.stdout.split())) == (0, {b"1"})
    run = only_run(store)
    assert run.is_valid
    signals = [
        (row.result, bool(row.notes & wire.NOTES["refused"])) for row in rows(run) if row.op == "signal"
    ]
    assert signals[:-1] == [(-EPERM, True)] * 8
    assert not signals[-1][1]


# Has a socket and a terminal signal each, by its number and by a group; then itself, as any program may.
OWNING = """
import fcntl, os, pty, signal, socket, struct, termios
observer = os.getppid()
with open(f"/proc/{observer}/stat") as file:
    recorder = int(file.read().rpartition(")")[2].split()[1])
ours, theirs = socket.socketpair()
F_SETOWN_EX, F_OWNER_PID, F_OWNER_PGRP, FIOSETOWN, SIOCSPGRP = 15, 1, 2, 0x8901, 0x8902
group = os.getpgid(recorder)
os.setsid()
fcntl.ioctl(os.open(os.ttyname(pty.openpty()[1]), os.O_RDWR), termios.TIOCSCTTY, 0)

def own(to):
    fcntl.fcntl(ours, fcntl.F_SETOWN, to)

def own_as_told(to):
    kind, number = (F_OWNER_PGRP, -to) if to < 0 else (F_OWNER_PID, to)
    fcntl.fcntl(ours, F_SETOWN_EX, struct.pack("ii", kind, number))

def own_by_ioctl(what):
    return lambda to: fcntl.ioctl(ours, what, struct.pack("i", to))

ways = [own, own_as_told, own_by_ioctl(FIOSETOWN), own_by_ioctl(SIOCSPGRP)]
for way in ways:
    for to in (observer, recorder, -observer, -group):
        try:
            way(to)
            print("set")
        except PermissionError:
            print("refused")
terminal = os.open("/dev/tty", os.O_RDWR)
try:
    fcntl.ioctl(terminal, termios.TIOCSPGRP, struct.pack("i", observer))
    print("set")
except PermissionError:
    print("refused")
fcntl.ioctl(terminal, termios.TIOCSPGRP, struct.pack("i", os.getpgrp()))
fcntl.fcntl(ours, fcntl.F_SETSIG, signal.SIGUSR1)
for way in ways:
    for to in (os.getpid(), -os.getpgrp()):
        way(to)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC)
        theirs.send(b"x")
        assert signal.sigwait([signal.SIGUSR1]) == signal.SIGUSR1
"""


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_nobody_of_the_run_has_a_descriptor_signal_the_observer_or_the_recorder(
    steno: Steno, store: Path, observer: str
) -> None:
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", OWNING)
    assert (done.returncode, done.stdout.split()) == (0, [b"refused"] * 17), done.stderr
    run = only_run(store)
    assert (run.is_valid, run.verdict().gaps) == (True, [])
    refused = wire.NOTES["refused"]
    told = [(row.arg, row.result, bool(row.notes & refused)) for row in rows(run) if row.op == "reach"]
    assert told == [(OURS, -EPERM, True)] * 17


@pytest.mark.parametrize("observer", [*observers(("ebpf",)), "none"])
def test_a_keeper_that_is_stopped_all_the_same_is_continued(steno: Steno, store: Path, observer: str) -> None:
    done = steno(
        "run", "--no-git", "--observer", observer, "--", "sh", "-c", "kill -STOP $PPID; echo over; exit 3"
    )
    assert (done.returncode, done.stdout) == (3, b"over\n")
    assert only_run(store).is_valid


@pytest.mark.parametrize("seconds", ["100000", "-50"])
@pytest.mark.parametrize("by", ["library", "namespace"])
def test_a_clock_that_is_made_up_for_the_recorder_is_one_clock_for_all_witnesses(
    clean_env: dict[str, str], tmp_path: Path, store: Path, by: str, seconds: str
) -> None:
    if by == "namespace" and subprocess.run(["unshare", "--time", "true"], check=False).returncode:
        pytest.skip("a time namespace can be made by root with CAP_SYS_ADMIN only, where the kernel has them")
    library = compiled(tmp_path, "shifting", "-shared", "-fPIC")
    made_up = {"LD_PRELOAD": str(library), "SHIFT": seconds} if by == "library" else {}
    before = (
        ["unshare", "--time", "--fork", "--monotonic", seconds, "--boottime", "7000"] if not made_up else []
    )
    words = [
        *before,
        str(PROGRAM),
        "run",
        "--no-git",
        "--observer",
        strongest(),
        "--",
        "sh",
        "-c",
        "echo x >made; ls",
    ]
    done = subprocess.run(
        words, capture_output=True, cwd=tmp_path, env={**clean_env, **made_up}, timeout=SECONDS, check=False
    )
    run = only_run(store)
    assert (done.returncode, done.stderr, gaps(run)) == (0, b"", set())
    assert run.is_valid
    last = run.events[-1]["mono_ns"]
    assert all(0 < row.mono_ns <= int(last) for row in rows(run))


def test_a_clock_that_goes_back_is_a_gap(clean_env: dict[str, str], tmp_path: Path, store: Path) -> None:
    made_up = {"LD_PRELOAD": str(compiled(tmp_path, "shifting", "-shared", "-fPIC")), "SHIFT": "back"}
    words = [
        str(PROGRAM),
        "run",
        "--no-git",
        "--observer",
        strongest(),
        "--",
        "sh",
        "-c",
        "echo x; ls; exit 3",
    ]
    done = subprocess.run(
        words, capture_output=True, cwd=tmp_path, env={**clean_env, **made_up}, timeout=SECONDS, check=False
    )
    assert done.returncode == 3
    assert "clock_disturbed" in only_run(store).verdict().gaps


@pytest.mark.parametrize("observer", observers(("ebpf",)))
def test_a_recorder_that_is_stopped_by_its_number_is_continued(
    steno: Steno, store: Path, observer: str
) -> None:
    script = "kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); echo over; exit 3"
    done = steno("run", "--no-git", "--observer", observer, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (3, b"over\n")
    assert only_run(store).is_valid
