"""Two witnesses of one run: they agree on real work, disagreements are told, and a probe knows more.

The filter stops calls before they happen; the probe sees how they ended, in the cgroup of the run.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steno.evidence import wire
from support.cgroups import MOUNT, kill_all_in, needs_scope
from support.observers import PROBING, observers, working
from support.ordinary import Somebody, as_the_user, place_of_the_user
from support.program import Steno
from support.programs import compiled
from support.recorded import Recorded, only_run
from support.tracees import Row, rows

ROOT = Path(__file__).parents[2]
CANNOT = 77
# Where the probe does not see it.
LEAVE = """
here=$(sed -n s/^0:://p /proc/self/cgroup)
echo $$ > "$1/cgroup.procs"
echo changed > elsewhere
"""
COME_BACK = LEAVE + f'echo $$ > "{MOUNT}/$here/cgroup.procs"; echo changed > back\n'
# A name server that answers each question with one address, and a client that asks two questions.
LOOKUPS = """
import socket, struct, threading

def question(name, kind):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + b"\\0" + struct.pack(">HH", kind, 1)

def answer(server):
    for _ in range(2):
        asked, client = server.recvfrom(512)
        kind = struct.unpack(">H", asked[-4:-2])[0]
        address = socket.inet_aton("127.0.0.1") if kind == 1 else socket.inet_pton(socket.AF_INET6, "::1")
        record = b"\\xc0\\x0c" + struct.pack(">HHIH", kind, 1, 60, len(address)) + address
        server.sendto(struct.pack(">6H", 7, 0x8180, 1, 1, 0, 0) + asked[12:] + record, client)

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
threading.Thread(target=answer, args=(server,)).start()
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.sendto(question("Four.example", 1), ("127.0.0.1", 53))
client.recvfrom(512)
client.connect(("127.0.0.1", 53))
client.send(question("six.example", 28))
client.recv(512)
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    socket.socket(family, socket.SOCK_DGRAM).connect((host, 9))
"""
# Many messages in one call, each to a port of its own.
PORTS = range(9001, 9101)
MANY = f"""
import ctypes, socket, struct

ports = {PORTS!r}
host = socket.inet_aton("127.0.0.1")
names = [struct.pack("=H", 2) + struct.pack(">H", port) + host + bytes(8) for port in ports]
rooms = [ctypes.create_string_buffer(name, 16) for name in names]
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(rooms[0]), 1)
messages = b"".join(
    struct.pack("=QI4xQQQQi4xI4x", ctypes.addressof(room), 16, ctypes.addressof(vector), 1, 0, 0, 0, 0)
    for room in rooms
)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
assert ctypes.CDLL(None).sendmmsg(udp.fileno(), messages, len(ports), 0) == len(ports)
"""
FAILING = """
import os, socket

for attempt in (
    lambda: os.open("absent", os.O_RDONLY),
    lambda: os.mkdir("there"),
    lambda: os.unlink("absent"),
    lambda: os.rename("absent", "other"),
    lambda: socket.create_connection(("127.0.0.1", 1)),
):
    try:
        attempt()
    except OSError:
        pass
os.mkdir("made")
"""
# Signals come while calls wait for the filter; Python asks again.
INTERRUPTED = """
import os, signal

signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
for _ in range(2000):
    os.close(os.open("made", os.O_WRONLY | os.O_CREAT))
signal.setitimer(signal.ITIMER_REAL, 0)
"""

pytestmark = [
    pytest.mark.skipif("both" not in working(), reason="no probe here; `steno doctor` says why"),
    needs_scope,
]


def _health(run: Recorded) -> dict[str, Any]:
    found = run.json("observation-health.json")
    assert isinstance(found, dict)
    return found


def _of(run: Recorded, *operations: str) -> list[Row]:
    return [row for row in rows(run) if row.op in operations]


# --- they agree -----------------------------------------------------------------------------------------


def test_a_call_that_a_signal_ends_before_the_filter_takes_it_is_no_disagreement(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    steno("run", "--no-git", "--observer", "both", "--", sys.executable, "-c", INTERRUPTED)
    run = only_run(store)
    made = str(tmp_path / "made")
    assert {row.result for row in _of(run, "open") if row.where == made} == {0, -errno.EINTR}
    assert _health(run)["steno"]["witness_disagreements"]["count"] == 0
    assert _health(run)["kernel_layer"] == "complete"


# --- they disagree --------------------------------------------------------------------------------------


@pytest.fixture
def outside() -> Iterator[Path]:
    """A cgroup that is not the run's."""
    assert MOUNT is not None
    place = MOUNT / f"outside-{os.getpid()}"
    place.mkdir()
    yield place
    kill_all_in(place)
    place.rmdir()


@pytest.mark.parametrize("script", [LEAVE, COME_BACK], ids=["for good", "and comes back"])
def test_what_a_process_does_outside_the_cgroup_is_seen_by_one_witness_and_listed(
    steno: Steno, store: Path, tmp_path: Path, outside: Path, script: str
) -> None:
    steno("run", "--no-git", "--observer", "both", "--", "sh", "-c", script, "sh", outside)
    run = only_run(store)
    told = _health(run)["steno"]["witness_disagreements"]
    assert told["count"] >= 1
    changed = {"op": "open", "path": str(tmp_path / "elsewhere"), "seen_by": "notify"}
    assert changed in told["listed"]
    (opened,) = [row for row in _of(run, "open") if row.where == str(tmp_path / "elsewhere")]
    assert opened.notes & wire.NOTES["unconfirmed"]
    assert {"witness_disagreement", "processes_escaped"} <= set(run.verdict().gaps)
    assert steno("verify", run.path).returncode == 3
    if script == COME_BACK:
        (back,) = [row for row in _of(run, "open") if row.where == str(tmp_path / "back")]
        assert back.notes & wire.NOTES["confirmed"]


@pytest.mark.parametrize("script", [LEAVE, COME_BACK], ids=["for good", "and comes back"])
def test_a_probe_alone_tells_that_a_process_has_left_the_cgroup(
    steno: Steno, store: Path, outside: Path, script: str
) -> None:
    steno("run", "--no-git", "--observer", "ebpf", "--", "sh", "-c", script, "sh", outside)
    run = only_run(store)
    health = _health(run)
    assert health["steno"]["counters"]["escaped"] == 1
    assert health["kernel_layer"] == "partial_ringbuf_drops"
    assert health["cgroup_correlation"] == "partial"
    assert "processes_escaped" in run.verdict().gaps
    assert steno("verify", run.path).returncode == 3


BORN_ELSEWHERE = """
import ctypes, os, sys

CLONE3, INTO_CGROUP = 435, 0x200000000
place = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
words = (ctypes.c_uint64 * 11)(INTO_CGROUP, 0, 0, 0, 17, 0, 0, 0, 0, 0, place)
child = ctypes.CDLL(None).syscall(CLONE3, ctypes.byref(words), ctypes.sizeof(words))
if child == 0:
    os._exit(0)
assert child > 0
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("observer", observers(PROBING))
def test_a_process_that_is_born_outside_the_cgroup_has_left_it(
    steno: Steno, store: Path, outside: Path, observer: str
) -> None:
    command: list[str | Path] = [sys.executable, "-S", "-c", BORN_ELSEWHERE, outside]
    done = steno("run", "--no-git", "--observer", observer, "--", *command)
    assert done.returncode == 0, done.stderr
    assert "processes_escaped" in only_run(store).verdict().gaps


@pytest.mark.parametrize("observer", observers(PROBING))
def test_a_cgroup_below_that_of_the_run_is_no_way_out(steno: Steno, store: Path, observer: str) -> None:
    script = (
        f'own="{MOUNT}/$(sed -n s/^0:://p /proc/self/cgroup)"; mkdir "$own/below"; '
        'echo $$ > "$own/below/cgroup.procs"; echo changed > below'
    )
    steno("run", "--no-git", "--observer", observer, "--", "sh", "-c", script)
    run = only_run(store)
    assert run.is_valid
    assert _health(run)["steno"]["counters"]["escaped"] == 0


@pytest.mark.parametrize("observer", observers(PROBING))
def test_processes_of_others_that_are_moved_are_none_of_ours(
    steno: Steno, store: Path, outside: Path, observer: str
) -> None:
    """Moved by the command, but not of this run."""
    with subprocess.Popen(["sleep", "60"]) as stranger:
        script = f'echo {stranger.pid} > "$1/cgroup.procs"'
        steno("run", "--no-git", "--observer", observer, "--", "sh", "-c", script, "sh", outside)
        stranger.kill()
    assert only_run(store).is_valid


# --- results ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("observer", observers(PROBING))
def test_the_result_of_every_call_is_the_kernels(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    (tmp_path / "there").mkdir()
    command = [sys.executable, "-S", "-c", FAILING]
    assert steno("run", "--no-git", "--observer", observer, "--", *command).returncode == 0
    run = only_run(store)
    found = {(row.op, row.where.removeprefix(f"{tmp_path}/")): row.result for row in rows(run)}
    assert found["open", "absent"] == -errno.ENOENT
    assert found["mkdir", "there"] == -errno.EEXIST
    assert found["unlink", "absent"] == found["rename", "absent"] == -errno.ENOENT
    assert found["mkdir", "made"] == 0
    (connected,) = _of(run, "connect")
    assert connected.result == -errno.ECONNREFUSED
    surface = run.json("capability-surface.json")
    assert surface["steno"]["endpoints"]["attempted"] == ["127.0.0.1:1"]
    assert surface["network_endpoints"] == []


@pytest.mark.parametrize("observer", observers(PROBING))
def test_a_call_that_the_programs_own_filter_refuses_is_told_with_its_error(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    """The filter of the observer is never asked: only the probe sees that there was such a call."""
    mkdir = str(next(number for number, name in _numbers() if name == "mkdir"))
    words: list[str | Path] = [compiled("refusing"), mkdir, sys.executable, "-S", "-c"]
    script = "import os\ntry: os.mkdir('made')\nexcept PermissionError: print('refused')"
    done = steno("run", "--no-git", "--observer", observer, "--", *words, script)
    assert done.stdout == b"refused\n"
    run = only_run(store)
    (made,) = _of(run, "mkdir")
    assert (made.where, made.result) == (str(tmp_path / "made"), -errno.EPERM)
    assert _health(run)["steno"]["witness_disagreements"]["count"] == 0
    assert run.is_valid


def _numbers() -> Iterator[tuple[int, str]]:
    for line in (ROOT / "native" / "numbers" / f"{os.uname().machine}.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            number, name = line.split()[:2]
            yield int(number), name


# --- the network ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("observer", observers(PROBING))
def test_what_a_name_server_answers_names_the_endpoints(steno: Steno, store: Path, observer: str) -> None:
    own_network = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if shutil.which("ip") is None:
        pytest.skip("there is no ip(8) here to bring a network of our own up")
    done = steno("run", "--no-git", "--observer", observer, "--", *own_network, sys.executable, "-c", LOOKUPS)
    assert done.returncode == 0, done.stderr
    run = only_run(store)
    answers = [(row.path, row.extra) for row in _of(run, "answer")]
    assert answers == [(b"four.example", b"127.0.0.1"), (b"six.example", b"::1")]
    names = run.json("capability-surface.json")["steno"]["names"]
    assert names == {"127.0.0.1": ["four.example"], "::1": ["six.example"]}


@pytest.mark.parametrize("observer", observers())
def test_every_destination_of_many_messages_in_one_call_is_told(
    steno: Steno, store: Path, observer: str
) -> None:
    done = steno("run", "--no-git", "--observer", observer, "--", sys.executable, "-c", MANY)
    assert done.returncode == 0, done.stderr
    run = only_run(store)
    assert [row.text for row in _of(run, "send")] == [f"send inet:127.0.0.1:{port}" for port in PORTS]
    told = run.json("capability-surface.json")["network_endpoints"]
    assert told == sorted(f"127.0.0.1:{port}" for port in PORTS)
    assert run.is_valid


@pytest.mark.parametrize("options", [("ebpf",), ("both", "--allow-io-uring")], ids=lambda options: options[0])
def test_a_connection_that_no_system_call_names_is_told_nevertheless(
    steno: Steno, store: Path, options: tuple[str, ...]
) -> None:
    """All in one submission of a ring: the cgroup is asked for each of them."""
    program = compiled("ring_connect")
    done = steno("run", "--no-git", "--observer", *options, "--", program, "1", "2", "3")
    if done.returncode == CANNOT:
        pytest.skip("io_uring is not for us here")
    assert done.stdout.split() == [str(-errno.ECONNREFUSED).encode()] * 3
    run = only_run(store)
    assert [row.text for row in _of(run, "connect")] == [
        f"connect inet:127.0.0.1:{port}" for port in (1, 2, 3)
    ]
    assert run.json("capability-surface.json")["network_endpoints"] == [
        f"127.0.0.1:{port}" for port in (1, 2, 3)
    ]
    assert "io_uring_unobserved" in run.verdict().gaps


# --- what one of them saw otherwise -----------------------------------------------------------------------


@pytest.mark.parametrize("observer", observers(("both",)))
def test_a_program_that_is_swapped_during_the_call_is_told_as_the_kernel_ran_it(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    """By a thread that is not the first one, which is no disagreement by itself."""
    for name in ("true", "fail"):
        shutil.copy(shutil.which("true" if name == "true" else "false") or "", tmp_path / name)
    words = ("exec", "40", tmp_path / "true", tmp_path / "fail")
    done = steno("run", "--no-git", "--observer", observer, "--", compiled("swapping"), *words)
    ran = [row for row in _of(only_run(store), "exec") if row.result in {0, None}]
    told = sum(row.text.startswith(f"exec {tmp_path}/true") for row in ran)
    assert told == int(done.stdout)
    assert len(ran) == 1 + 40


@pytest.mark.parametrize("observer", observers())
def test_a_script_of_a_script_is_told_down_to_the_program_that_runs(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    above = shutil.which("true") or ""
    for name in ("third", "second", "first"):
        script = tmp_path / name
        script.write_text(f"#!{above}\n")
        script.chmod(0o755)
        above = str(script)
    steno("run", "--no-git", "--observer", observer, "--", above)
    told = [Path(os.fsdecode(row.resolved)) for row in _of(only_run(store), "interpreter")]
    assert told == [tmp_path / "second", tmp_path / "third", Path(shutil.which("true") or "").resolve()]


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("observer", observers())
def test_a_mount_that_fails_takes_no_state_away(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    (tmp_path / "kept").write_text("before")
    script = f"mount -t tmpfs -o size=nonsense none {tmp_path}; echo after > {tmp_path}/kept"
    steno("run", "--no-git", "--observer", observer, "--", "sh", "-c", script)
    run = only_run(store)
    assert _of(run, "mount")
    assert "changes_unresolved" not in run.verdict().gaps


# --- for whom there is no probe ---------------------------------------------------------------------------


@pytest.mark.skipif(os.getuid() != 0, reason="the tests are not run by root")
def test_an_ordinary_user_is_observed_by_the_filter_alone() -> None:
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        user = Somebody(base, as_the_user(base / "stash"))
        code, _, errors, _ = user.do([*user.recorded, "sh", "-c", "echo x > made; exit 4"])
        assert (code, errors) == (4, b"")
        run = user.run()
        assert run.is_valid
        health = _health(run)
        assert (health["kernel_layer"], health["steno"]["observer"]) == ("complete", "notify")
        assert json.dumps(str(base / "work" / "made")) in json.dumps(run.json("files.json"))
