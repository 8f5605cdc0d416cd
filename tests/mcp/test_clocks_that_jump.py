"""Clocks that jump: decisions are on the monotonic clock, and no step of the wall clock moves them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import steno
from steno.bundle.verify import Status
from steno.evidence import intake, layout
from support.mcp_wrapped import told_in
from support.program import PROGRAM, SECONDS
from support.recorded import Recorded, only_run

SOURCES = Path(steno.__file__).parent
SERVER = Path(__file__).parents[1] / "support" / "mcp_raw_server.py"
CLIENT = Path(__file__).parents[1] / "workloads" / "mcp-policy-agent.py"
CALLS = json.dumps([{"tool": "read_x", "arguments": {}}] * 3)
POLICY = """\
version: 1
rules:
  - {tools: [read_x], action: allow, rate: {calls: 2, seconds: 3600}}
"""
# Every look at the wall clock is a day before or after the last one, for every program of the run.
STEPPING = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long step(void) { static int looks; return __sync_add_and_fetch(&looks, 1) % 2 ? 86400 : -86400; }
int clock_gettime(clockid_t clock, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += step();
    return failed;
}
int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec, at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""


@pytest.fixture(scope="module")
def stepping(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that makes the wall clock jump under whatever is started with it."""
    place = tmp_path_factory.mktemp("clock")
    (place / "step.c").write_text(STEPPING)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", place / "step.so", place / "step.c"], check=True, timeout=SECONDS
    )
    return str(place / "step.so")


def called(*options: str) -> list[str]:
    """Three calls through the wrap, by a client that waits for each answer."""
    wrap = [str(PROGRAM), "mcp", "wrap", "--policy", "policy.yaml", *options, "--"]
    return [sys.executable, str(CLIENT), CALLS, *wrap, sys.executable, str(SERVER), "kept"]


def wrapped(place: Path, env: dict[str, str], *before: str) -> list[intake.PolicyTold]:
    """Three calls through the wrap, and what it told."""
    (place / "policy.yaml").write_text(POLICY)
    subprocess.run(
        [*before, *called("--log", "log")],
        stdout=subprocess.PIPE,
        env=env,
        cwd=place,
        check=True,
        timeout=SECONDS,
    )
    return told_in(place / "log")


def test_the_library_makes_the_wall_clock_jump(stepping: str, clean_env: dict[str, str]) -> None:
    looks = "import time; print(abs(time.time() - time.time()) > 86400, time.monotonic() > 0)"
    done = subprocess.run(
        [sys.executable, "-c", looks], env={**clean_env, "LD_PRELOAD": stepping}, check=True, stdout=-1
    )
    assert done.stdout == b"True True\n"


def test_a_wall_clock_that_jumps_moves_no_decision_and_no_limit(
    tmp_path: Path, stepping: str, clean_env: dict[str, str]
) -> None:
    told = wrapped(tmp_path, {**clean_env, "LD_PRELOAD": stepping})
    times = [line.at_ns for line in told]
    assert times == sorted(times)
    assert times[-1] - times[0] < SECONDS * 10**9
    reasons = [line.reason for line in told if isinstance(line, intake.Decided)]
    assert reasons == ["allowed_by_rule", "allowed_by_rule", "rate_limited"]


def recorded(place: Path, env: dict[str, str], *before: str) -> Recorded:
    """A run with the same three calls."""
    (place / "policy.yaml").write_text(POLICY)
    run = [str(PROGRAM), "run", "--no-git", "--observer", "none", "--store", "store", "--"]
    subprocess.run(
        [*run, *before, *called()],
        env=env,
        cwd=place,
        check=True,
        timeout=SECONDS,
        capture_output=True,
    )
    return only_run(place / "store")


def test_a_recorded_run_under_a_jumping_wall_clock_has_its_windows_in_order(
    tmp_path: Path, stepping: str, clean_env: dict[str, str]
) -> None:
    run = recorded(tmp_path, {**clean_env, "LD_PRELOAD": stepping})
    lines = [line["steno"] for line in run.decided]
    windows = [(line["start_ns"], line["end_ns"]) for line in lines]
    assert len(windows) == 3
    assert windows == sorted(windows)
    assert all(0 <= begin <= end < SECONDS * 10**9 for begin, end in windows)


@pytest.fixture
def shift() -> list[str]:
    """What starts a command with a monotonic clock of its own."""
    words = ["unshare", "--user", "--time", "--monotonic", "1000000", "--fork"]
    if subprocess.run([*words, "true"], check=False, capture_output=True, timeout=SECONDS).returncode:
        pytest.skip("a clock of its own is not allowed here; the machine's own clock is not ours to change")
    return words


def test_what_a_proxy_with_a_monotonic_clock_of_its_own_tells_is_a_gap_in_the_record(
    tmp_path: Path, shift: list[str], clean_env: dict[str, str]
) -> None:
    run = recorded(tmp_path, clean_env, *shift)
    assert run.evidence(layout.CLAIMS) == b""
    assert "policy_log_damaged" in run.verdict().gaps
    assert run.verdict().status == Status.INCOMPLETE


def test_a_monotonic_clock_of_its_own_is_told_as_it_is(
    tmp_path: Path, shift: list[str], clean_env: dict[str, str]
) -> None:
    (tmp_path / "usual").mkdir()
    usual = wrapped(tmp_path / "usual", clean_env)
    shifted = wrapped(tmp_path, clean_env, *shift)
    assert shifted[0].at_ns - usual[0].at_ns > 999_999 * 10**9
    times = [line.at_ns for line in shifted]
    assert times == sorted(times)


@pytest.mark.parametrize(
    "part",
    ["mcp/**/*.py", "claims/client.py", "judge/calls/*.py", "evidence/claims.py"],
)
def test_nothing_that_makes_or_joins_windows_looks_at_the_wall_clock(part: str) -> None:
    wall = {
        "time",
        "time_ns",
        "now",
        "utcnow",
        "today",
        "CLOCK_REALTIME",
        "fromtimestamp",
        "localtime",
        "gmtime",
    }
    sources = list(SOURCES.glob(part))
    assert sources
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = f"{node.value.id}.{node.attr}"
                assert node.value.id not in {"time", "datetime", "date"} or node.attr not in wall, (
                    source,
                    name,
                )
