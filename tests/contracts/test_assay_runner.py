"""assay-runner: its acceptance, S1, S2, S3 and S6: one test a line, by the installed program."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from steno.bundle.verify import Status
from steno.contracts.assay import manifest as assay_manifest
from support.assay_archives import (
    Measure,
    Measured,
    exported,
    lines_in,
    run_id_of,
    run_measured,
    steno_in,
    taken_apart,
    verdict_of,
)
from support.machine import a_cgroup_can_be_made
from support.making import FINISHED, HOST, make_run, start
from support.observers import observers
from support.once import Once
from support.program import Steno

AGENT = Path(__file__).parent.parent / "workloads" / "kernel-only-agent.sh"
FILES = [
    "manifest.json",
    "events.ndjson",
    "layers/kernel.ndjson",
    "layers/policy.ndjson",
    "layers/sdk.ndjson",
    "capability-surface.json",
    "observation-health.json",
    "correlation-report.json",
]
REACH = """
import socket, sys
words = iter(sys.argv[1:])
for family, kind, host, port, how in zip(words, words, words, words, words):
    with socket.socket(getattr(socket, family), getattr(socket, kind)) as one:
        if how == "connect":
            one.connect((host, int(port)))
        else:
            one.sendto(b"x", (host, int(port)))
"""
SMALL = "cat known.txt; /usr/bin/env true; exit 3"


@contextmanager
def listener(family: socket.AddressFamily, kind: socket.SocketKind, host: str) -> Iterator[int]:
    with socket.socket(family, kind) as one:
        try:
            one.bind((host, 0))
        except OSError as error:
            pytest.skip(f"{host} cannot be bound here: {error}")
        if kind == socket.SOCK_STREAM:
            one.listen()
        yield one.getsockname()[1]


@pytest.fixture(scope="module", params=observers())
def observer(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Agent(NamedTuple):
    """Three runs of the fixture in one place, each time an empty one, with somebody who listens."""

    place: Path
    port: int
    runs: list[Measured]


@pytest.fixture(scope="module")
def agent(once: Once, observer: str) -> Agent:
    return once(f"kernel-only-agent-{observer}", lambda home: run_the_agent(home, observer))


def run_the_agent(home: Path, observer: str) -> Agent:
    place, steno = home / "place", steno_in(home)
    found = []
    with listener(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1") as port:
        for _ in range(3):
            place.mkdir()
            words = ("bash", str(AGENT))
            env = {"PORT": str(port)}
            found.append(run_measured(steno, home / "out", observer, *words, cwd=place, env=env))
            shutil.rmtree(place)
    return Agent(place, port, found)


@pytest.fixture
def one(agent: Agent) -> Measured:
    return agent.runs[0]


def without_run_id(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "run_id"}


# --- S1: runner boundary and run_id --------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(once: Once, observer: str) -> Measured:
    """A run that opens a known file, executes a known binary and ends with 3."""

    def run(home: Path) -> Measured:
        (home / "known.txt").write_text("x")
        return run_measured(steno_in(home), home / "out", observer, "sh", "-c", SMALL, cwd=home)

    return once(f"small-{observer}", run)


def test_s1_one_command_run_produces_one_archive(small: Measured) -> None:
    assert [path.name for path in small.path.parent.iterdir()] == [
        f"assay-runner-spike-{small.run_id}.tar.gz"
    ]
    assert sorted(small.files) == sorted([*FILES, "steno/syscalls.parquet"])


def test_s1_the_archive_includes_run_id_in_every_file_that_has_a_run_identity(small: Measured) -> None:
    for path, data in ((path, small.files[path]) for path in FILES):
        found = lines_in(data) if path.endswith(".ndjson") else [small.json(path)]
        assert {one["run_id"] for one in found} <= {small.run_id}
    assert {path for path, data in small.files.items() if not data} == {
        "layers/policy.ndjson",
        "layers/sdk.ndjson",
    }


def test_s1_non_linux_produces_a_degraded_bundle_with_kernel_layer_absent(tmp_path: Path) -> None:
    host = msgspec.structs.replace(HOST, os="Darwin", platform="darwin")
    run = make_run(tmp_path / "store", start(host=host), *FINISHED)
    archive = exported(run, tmp_path)
    files = taken_apart(archive)
    health = msgspec.json.decode(files[assay_manifest.HEALTH])
    assert (health["platform"], health["kernel_layer"]) == ("darwin", "absent")
    assert files[assay_manifest.KERNEL_LINES] == b""
    assert verdict_of(archive).status is Status.INCOMPLETE
    assert run_id_of(files) == run.name


def test_s1_the_window_and_the_end_of_the_command_are_recorded(small: Measured) -> None:
    began, ended = lines_in(small.files[assay_manifest.EVENTS])
    assert (began["type"], began["seq"], began["window_elapsed_ms"]) == ("run_started", 0, 0)
    assert (began["agent_shim"], began["command"]) == ("none", ["sh", "-c", SMALL])
    assert (ended["type"], ended["seq"]) == ("run_finished", 1)
    assert (ended["exit_code"], ended["signal"], ended["success"]) == (3, None, False)
    assert ended["window_elapsed_ms"] >= 0


# --- S2: kernel layer and health -----------------------------------------------------------------------


def test_s2_a_fixture_that_opens_a_known_file_records_that_file_prefix(
    small: Measured, observer: str
) -> None:
    known = small.path.parents[1] / "known.txt"
    assert str(known) in small.surface["filesystem_paths"]
    assert f"{known.parent}/" in small.surface["filesystem_prefixes"]
    (line,) = [line for line in small.kernel if line["value"] == str(known) and line["event_type"] == 1]
    assert (line["kind"], line["access_mode"]) == ("openat", "read")
    assert line.get("status") == (None if observer == "notify" else "success")


def test_s2_a_fixture_that_executes_a_known_binary_records_that_binary(small: Measured) -> None:
    binary = str(Path("/usr/bin/env").resolve())
    assert binary in small.surface["process_execs"]
    assert [line for line in small.kernel if line["value"] == binary and line["kind"] == "exec"]


CONNECT = 2
ENDPOINTS = [
    ("AF_INET", "SOCK_STREAM", "127.0.0.1", "127.0.0.1:{}", "connect", 2),
    ("AF_INET6", "SOCK_STREAM", "::1", "[::1]:{}", "connect", 2),
    ("AF_INET", "SOCK_DGRAM", "127.0.0.1", "127.0.0.1:{}", "sendto", 6),
    ("AF_INET6", "SOCK_DGRAM", "::1", "[::1]:{}", "sendto", 6),
    ("AF_INET", "SOCK_DGRAM", "127.0.0.1", "127.0.0.1:{}", "connect", 2),
]


def test_s2_a_fixture_that_reaches_a_local_endpoint_records_that_endpoint(
    measure: Measure, observer: str
) -> None:
    reached, expected = [], set()
    with ExitStack() as listening:
        for family, kind, host, endpoint, how, number in ENDPOINTS:
            server = listener(socket.AddressFamily[family], socket.SocketKind[kind], host)
            port = listening.enter_context(server)
            reached += [family, kind, host, str(port), how]
            told = "connect" if number == CONNECT else f"event_{number}"
            expected.add((number, told, endpoint.format(port)))
        measured = measure(observer, sys.executable, "-I", "-S", "-c", REACH, *reached)
    assert measured.done.returncode == 0, measured.done.stderr
    assert measured.surface["network_endpoints"] == sorted(endpoint for _, _, endpoint in expected)
    assert expected <= {(line["event_type"], line["kind"], line["value"]) for line in measured.kernel}


def test_s2_three_repeated_runs_produce_the_same_health_metadata_and_the_same_capability_set(
    agent: Agent,
) -> None:
    first = agent.runs[0]
    for other in agent.runs[1:]:
        assert without_run_id(other.health) == without_run_id(first.health)
        assert without_run_id(other.surface) == without_run_id(first.surface)
        assert without_run_id(other.correlation) == without_run_id(first.correlation)
    assert len({run.run_id for run in agent.runs}) == 3


# --- S3: none + kernel-only ----------------------------------------------------------------------------


def test_s3_the_sdk_layer_is_absent(one: Measured) -> None:
    assert one.health["sdk_layer"] == "absent"
    assert one.files["layers/sdk.ndjson"] == b""


def test_s3_the_policy_layer_is_absent(one: Measured) -> None:
    assert one.health["policy_layer"] == "absent"
    assert one.files["layers/policy.ndjson"] == b""


def test_s3_the_kernel_layer_is_complete_when_no_drops_occur(one: Measured) -> None:
    assert one.health["ringbuf_drops"] == 0
    assert one.health["kernel_layer"] == "complete"


def test_s3_the_correlation_by_the_cgroup_is_clean(one: Measured) -> None:
    if not a_cgroup_can_be_made():
        pytest.skip("a run has no cgroup of its own here; steno doctor says why")
    assert one.health["cgroup_correlation"] == "clean"


def test_s3_the_bundle_verifies(one: Measured) -> None:
    assert one.status == "valid", one.verified


def test_s3_three_repeated_fixture_runs_verify(agent: Agent) -> None:
    assert [run.status for run in agent.runs] == ["valid"] * 3


def test_s3_what_the_fixture_did_is_in_the_surface(agent: Agent, one: Measured) -> None:
    surface, place = one.surface, agent.place
    assert {f"{place}/agent/input.txt", f"{place}/agent/output.txt"} <= set(surface["filesystem_paths"])
    assert f"{place}/agent/output.txt" in surface["steno"]["files"]["written"]
    assert str(Path("/usr/bin/env").resolve()) in surface["process_execs"]
    assert surface["network_endpoints"] == [f"127.0.0.1:{agent.port}"]


# --- S6: correlation report ----------------------------------------------------------------------------


def test_s6_the_report_has_the_shape_of_the_contract(one: Measured) -> None:
    report = one.correlation
    assert sorted(report) == ["ambiguities", "bindings", "run_id", "schema", "status"]
    assert report["schema"] == "assay.runner.correlation_report.v0"


def test_s6_a_run_of_which_the_kernel_alone_was_to_tell_is_clean_and_binds_nothing(one: Measured) -> None:
    assert one.correlation["bindings"] == []
    notes = set(one.correlation["ambiguities"])
    if a_cgroup_can_be_made():
        assert (one.correlation["status"], notes) == ("clean", set())
    else:
        assert one.correlation["status"] == "partial"
        assert {"policy_layer_absent", "sdk_layer_absent"} < notes
        assert all(note.startswith("cgroup_") for note in notes - {"policy_layer_absent", "sdk_layer_absent"})


def test_s1_the_run_id_of_whoever_runs_it_is_taken_once(steno: Steno, store: Path) -> None:
    chosen = "2026-01-25T12-00-00-000Z_0123abcd"
    words = ("run", "--observer", "none", "--run-id", chosen, "--", "true")
    assert steno(*words).returncode == 0
    assert (store / chosen / "manifest.json").is_file()
    before = (store / chosen / "manifest.json").read_bytes()
    again = steno(*words)
    assert (again.returncode, b"there is a run" in again.stderr) == (125, True)
    assert (store / chosen / "manifest.json").read_bytes() == before
    refused = steno("run", "--run-id", "../x", "--", "true")
    assert (refused.returncode, b"cannot be the id" in refused.stderr) == (125, True)
