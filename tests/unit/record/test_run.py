"""A run that is interrupted before its command has started, or just as it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import SECONDS
from steno.events.run_id import format_run_id
from steno.record import intake

# Recording is done in a process of its own: it takes over signals, and waits for programs that it asked.
_RECORD = """\
import os, signal, sys
from pathlib import Path
from steno.capture import keeper
from steno.record import run

def interrupted():
    raise KeyboardInterrupt
    yield

def launch(job):
    started = keeper.launch(job)
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


def recorded(here: Path, when: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _RECORD, here, RUN_ID, when],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_control_c_before_the_command_is_started_leaves_nothing(tmp_path: Path) -> None:
    assert recorded(tmp_path, "before") == "interrupted\n"
    assert not (tmp_path / "ran").exists()
    assert [path.name for path in (tmp_path / "store").iterdir() if RUN_ID in path.name] == []
    assert list(Path("/dev/shm").glob(f"{intake.PREFIX}{RUN_ID}*")) == []


def test_control_c_while_the_command_is_started_reaches_the_command(tmp_path: Path) -> None:
    assert recorded(tmp_path, "at") == "130 True\n"
