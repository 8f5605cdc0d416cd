"""The live log of a proxy in the hands of a forger, under a real run: whatever he does, it is never clean."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.assay_archives import steno_in
from support.mcp_wrapped import tool_call
from support.observers import observers, strongest
from support.ordinary import may_mount
from support.program import PROGRAM
from support.recorded import Recorded, only_run

SERVER = """
import json, sys
for line in sys.stdin:
    open(__file__).close()
    said = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"content": []}}
    print(json.dumps(said), flush=True)
"""
# Runs a client of the proxy to its end; then the decision that was refused was never made, if it has its way.
FORGER = """
import ctypes, glob, json, os, shutil, subprocess, sys
how, intake, calls = sys.argv[1], os.environ["STENO_INTAKE"], json.loads(sys.argv[2])
with subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
    client.stdin.write(calls.encode())
    client.stdin.flush()
    assert all(client.stdout.readline() for _ in calls.splitlines())  # without input it has little time
(log,) = glob.glob(intake + "/policy.*.ndjson")
lines = [json.loads(line) for line in open(log)]
up, name = os.path.dirname(intake), os.path.basename(log)
aside = f"{intake}-aside"

def text(found):
    return "".join(json.dumps(line, separators=(",", ":")) + "\\n" for line in found)

def rewrite(path, found=None):
    with open(path, "w") as file:
        file.write(text(found or [line for line in lines if line.get("call") != 2]))

def own_log():
    ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
    opened = {**lines[0], "proxy_process": {"pid": os.getpid(), "start_ticks": ticks}, "connection": "evil"}
    return f"{intake}/policy.{os.getpid()}-{ticks}.ndjson", opened

if how == "plain":
    rewrite(log)
elif how == "append":
    with open(log, "a") as file:
        file.write(text([{**lines[1], "call": 3, "tool_call_id": "made-up"}]))
elif how == "hard link":
    os.link(log, aside); rewrite(aside); os.unlink(aside)
elif how == "bind mount":
    os.mkdir("mounted")
    rewrite("forged")
    script = f"mount --bind {intake} mounted && cat forged > mounted/{name}"
    subprocess.run(["unshare", "-m", "sh", "-c", script], check=True)
elif how == "link to the folder":
    os.symlink(intake, aside); rewrite(f"{aside}/{name}"); os.unlink(aside)
elif how == "root of a process":
    rewrite("/proc/self/root" + log)
elif how == "folder moved":
    os.rename(intake, aside); rewrite(f"{aside}/{name}"); os.rename(aside, intake)
elif how == "folders exchanged":
    exchange = lambda: ctypes.CDLL(None).renameat2(-100, intake.encode(), -100, aside.encode(), 2)
    os.mkdir(aside, 0o700)
    assert exchange() == 0
    rewrite(f"{aside}/{name}")
    assert exchange() == 0
    os.rmdir(aside)
elif how == "put in its place":
    rewrite(intake + "/new"); os.rename(intake + "/new", log)
elif how == "removed":
    os.unlink(log)
elif how == "a proxy of its own":
    path, opened = own_log()
    decided = {**lines[1], "connection": "evil", "tool_call_id": "made-up"}
    rewrite(path, [opened, decided])
elif how == "a proxy among others":
    path, opened = own_log()
    rewrite(log, [line for line in lines if line.get("call") != 2] + [opened])
"""
EMPTIED = {"policy_log_rewritten", "policy_log_written_by_another_process"}
# What each must be told by at least; beside it there may be more.
WAYS = {
    "hard link": EMPTIED,
    "bind mount": {*EMPTIED, "intake_moved"},
    "a proxy of its own": {"proxy_is_another_program:evil"},
}
MORE_WAYS = {
    "plain": EMPTIED,
    "append": {"policy_log_written_by_another_process"},
    "link to the folder": EMPTIED,
    "root of a process": EMPTIED,
    "folder moved": {*EMPTIED, "intake_moved"},
    "folders exchanged": {*EMPTIED, "intake_moved"},
    "put in its place": {"policy_log_written_by_another_process"},
    "removed": {"policy_log_lost", "policy_log_written_by_another_process"},
    "a proxy among others": {*EMPTIED, "claims_incomplete:policy_log_damaged"},
}


def forged(home: Path, how: str, observer: str) -> Recorded:
    server, forger, policy = home / "server.py", home / "forger.py", home / "policy.yaml"
    server.write_text(SERVER)
    forger.write_text(FORGER)
    policy.write_text('version: 1\ndefault: deny\nrules:\n  - tools: ["read_*"]\n    action: allow\n')
    calls = json.dumps((tool_call(1, "read_x") + tool_call(2, "write_x")).decode())
    wrap = [str(PROGRAM), "mcp", "wrap", "--policy", str(policy), "--", sys.executable, str(server)]
    words = ["run", "--no-git", "--observer", observer, "--", sys.executable, str(forger), how, calls, *wrap]
    done = steno_in(home)(*words)
    assert done.returncode == 0, done.stderr
    assert not list(Path("/dev/shm").glob(f"*{only_run(home / 'runs').path.name}*"))
    return only_run(home / "runs")


def ambiguities(run: Recorded) -> list[str]:
    return [
        one for one in run.json("correlation-report.json")["ambiguities"] if not one.startswith("cgroup_")
    ]


@pytest.mark.parametrize("observer", observers())
def test_a_log_that_nobody_touched_is_clean(tmp_path: Path, observer: str) -> None:
    run = forged(tmp_path, "nothing", observer)
    assert ambiguities(run) == []
    decided = [one["policy_decision"] for one in run.json("correlation-report.json")["bindings"]]
    assert decided == ["allow", "deny"]


@pytest.mark.parametrize("observer", observers())
@pytest.mark.parametrize("how", WAYS)
def test_a_forger_is_seen_by_every_observer(tmp_path: Path, how: str, observer: str) -> None:
    if how == "bind mount" and not may_mount():
        pytest.skip("only root may mount, and not everywhere")
    run = forged(tmp_path, how, observer)
    assert WAYS[how] <= set(ambiguities(run))
    assert run.json("correlation-report.json")["status"] == "partial"


@pytest.mark.parametrize("how", MORE_WAYS)
def test_no_other_way_to_the_log_is_unseen(tmp_path: Path, how: str) -> None:
    run = forged(tmp_path, how, strongest())
    assert MORE_WAYS[how] <= set(ambiguities(run))
    assert run.json("correlation-report.json")["status"] == "partial"
