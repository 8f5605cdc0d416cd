"""A run that is interrupted as its command starts, or kept from looking as it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.claims import folder as claims_folder
from steno.evidence.run_id import format_run_id
from steno.judge.facts import RunFacts
from steno.model import runs
from support.program import SECONDS

# Recording is done in a process of its own: it takes over signals, and waits for programs that it asked.
_RECORD = """\
import os, signal, sys
from pathlib import Path
from steno.capture import launcher
from steno.record import run

def interrupted():
    raise KeyboardInterrupt
    yield

def launch(job):
    started = launcher.launch(job)
    signal.raise_signal(signal.SIGINT)
    return started

here, run_id, when = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if when == "at":
    run.launch = launch
request = run.RunRequest(
    command=["sh", "-c", "touch ran; exec sleep 60"] if when == "before" else ["sleep", "60"],
    cwd=here, store=here / "store", environ=dict(os.environ), git=False, pty="always", observer="none",
    run_id=run_id, before=interrupted() if when == "before" else (),
)
try:
    outcome = run.record(request, on_sealing=lambda _: None)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    os._exit(0)
print(outcome.exit_code, outcome.manifest is not None, flush=True)
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
os._exit(0)
"""
RUN_ID = format_run_id(1_769_342_400_000, os.urandom(4))


def recorded(here: Path, script: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, here, RUN_ID, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


# Each turn of the loop comes too late, as on a machine that is busy with something else.
_LATE = """\
import os, sys
from pathlib import Path
import steno.bundle.seal
from steno.bundle.lock import is_live
from steno.capture import loop
from steno.record import run

def seal(folder, *others):
    print("held" if is_live(folder) else "let go")
    return sealed(folder, *others)

loop.GRACE_SECONDS = -1.0
sealed, steno.bundle.seal.seal = steno.bundle.seal.seal, seal
here = Path(sys.argv[1])
request = run.RunRequest(
    command=["sh", "-c", "printf %0100000d 0"], cwd=here, store=here / "store",
    environ=dict(os.environ), git=False, pty="always", shown=False, observer=sys.argv[3],
    run_id=sys.argv[2],
)
outcome = run.record(request, on_sealing=lambda _: None)
(tape,) = outcome.path.glob("evidence/terminal/output")
print(len(tape.read_bytes()), outcome.gaps)
print("held" if is_live(run.Folder(outcome.path)) else "let go", flush=True)
"""


def test_control_c_before_the_command_is_started_leaves_nothing(tmp_path: Path) -> None:
    assert recorded(tmp_path, _RECORD, "before") == "interrupted\n"
    assert not (tmp_path / "ran").exists()
    assert [path.name for path in (tmp_path / "store").iterdir() if RUN_ID in path.name] == []
    assert list(Path("/dev/shm").glob(f"{claims_folder.PREFIX}{RUN_ID}*")) == []


def test_control_c_while_the_command_is_started_reaches_the_command(tmp_path: Path) -> None:
    assert recorded(tmp_path, _RECORD, "at") == "130 True\n"


@pytest.mark.parametrize("observer", ["none", "notify"])
def test_what_was_written_before_the_end_is_read_however_late_and_the_spool_is_held_until_it_is_sealed(
    observer: str, tmp_path: Path
) -> None:
    assert recorded(tmp_path, _LATE, observer).splitlines() == ["held", "100000 []", "let go"]


_HEARD_LATE = """\
import fcntl, os, struct, sys, termios, time
from pathlib import Path
from steno.capture import launcher
from steno.record import run

def launch(job):
    started = launcher.launch(job)
    told = bytearray(4)
    while struct.unpack("i", told)[0] < 2 * launcher._RECORD.size:  # that it started, and that it ended
        fcntl.ioctl(started.status, termios.FIONREAD, told)
    print(time.monotonic_ns() - int(job.environ["STENO_CLOCK_ORIGIN_NS"]), flush=True)
    return started

here, run_id = Path(sys.argv[1]), sys.argv[2]
run.launch = launch
request = run.RunRequest(
    command=["true"], cwd=here, store=here / "store", environ=dict(os.environ), git=False, pty="never",
    observer="none", run_id=run_id,
)
run.record(request, on_sealing=lambda _: None)
os._exit(0)
"""


def test_a_command_took_from_its_own_start_to_its_own_end_however_late_the_recorder_hears_of_them(
    tmp_path: Path,
) -> None:
    heard_ns = int(recorded(tmp_path, _HEARD_LATE))
    with Folder(tmp_path / "store" / RUN_ID) as run:
        layers = FolderLayers(run, RUN_ID)
        facts = RunFacts.of(layers)
        moments = [event.mono_ns for event in layers.events() if event.type.startswith("command_")]
    assert facts.command_started_ns is not None
    assert facts.command_finished_ns is not None
    assert facts.command_started_ns < facts.command_finished_ns < heard_ns < min(moments)
    assert facts.command_ns == facts.command_finished_ns - facts.command_started_ns
    assert runs.row(tmp_path / "store", RUN_ID).command_ns == facts.command_ns


def test_what_is_needed_only_when_the_command_is_over_is_not_loaded_before_it_starts() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import steno.cli.run, sys; print(*sys.modules)"],
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    loaded = set(told.stdout.decode().split())
    late = {"pyarrow", "cryptography", "steno.bundle.seal", "steno.record.kernel", "steno.claims.layers"}
    assert late & loaded == set()
