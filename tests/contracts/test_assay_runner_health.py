"""assay-runner: health, surface and correlation; each rule of its contract is one test, by name.

"Observation Health Contract", "Capability Surface V0" and "S6: Correlation Report". Driven by real runs where
a real run can be made to show the rule, else by records that are made by hand and sealed as any other.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from steno.bundle.folder import Folder
from steno.bundle.seal import Sweeper, seal
from steno.bundle.verify import Status
from steno.contracts.assay import archive
from steno.contracts.assay.documents import in_their_words
from steno.evidence import canonical, kinds, layout, wire
from steno.evidence.kinds import EventData
from support.assay_archives import steno_in
from support.frames_made import FakeFrames
from support.kernel_tables import lines_of, write_table
from support.machine import a_cgroup_can_be_made
from support.observers import observers
from support.once import Once
from support.program import Steno
from support.recorded import Recorded, runs
from support.spools import FINISH, HOST, RUN_ID, open_spool, start

HEALTH_FIELDS = {
    "schema", "run_id", "platform", "kernel_layer", "ringbuf_drops", "policy_layer", "sdk_layer",
    "cgroup_correlation", "notes",
}  # fmt: skip
ALLOWED = {
    "kernel_layer": {"complete", "partial_ringbuf_drops", "absent"},
    "policy_layer": {"present", "absent"},
    "sdk_layer": {"present", "self_reported", "absent"},
    "cgroup_correlation": {"clean", "partial", "failed"},
}
SETS = ("filesystem_prefixes", "network_endpoints", "process_execs", "mcp_tools", "policy_decisions")
SCOPE = kinds.CgroupScope(hierarchy="unified", path="/x", cgroup_id=7)
EMPTY = kinds.CgroupEnded(empty=True, removed=True)
BORN = wire.FEATURES["notify"] | wire.FEATURES["cgroup"]
FIXTURE = 'cat "$PLACE/input"; echo out >"$PLACE/output"; /usr/bin/env true; cat "$PLACE/absent"; true'

Runner = Callable[..., Recorded]


@pytest.fixture(params=["none", *observers()])
def observer(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Runs(NamedTuple):
    """Three runs of the kernel-only fixture in one place."""

    place: Path
    found: list[Path]

    @property
    def all(self) -> list[Recorded]:
        return [Recorded(path) for path in self.found]

    @property
    def first(self) -> Recorded:
        return self.all[0]


def recorded(home: Path, observer: str, script: str) -> Recorded:
    """Another run in the same place; there is nothing of an earlier one."""
    place = home / "place"
    place.mkdir(exist_ok=True)
    (place / "input").write_text("in\n")
    (place / "output").unlink(missing_ok=True)
    words = ("run", "--no-git", "--observer", observer, "--", "sh", "-c", script)
    done = steno_in(home)(*words, env={"PLACE": str(place)})
    assert done.returncode == 0, done.stderr
    return runs(home / "runs")[-1]


@pytest.fixture
def fixture_runs(once: Once, observer: str) -> Runs:
    return once(
        f"kernel-only-{observer}",
        lambda home: Runs(home / "place", [recorded(home, observer, FIXTURE).path for _ in range(3)]),
    )


@pytest.fixture
def run(fixture_runs: Runs) -> Recorded:
    return fixture_runs.first


@pytest.fixture
def made(tmp_path: Path) -> Runner:
    """A record made by hand: what stands before the command's end, after it, and the observer's header."""

    def sealed(
        *events: EventData,
        end: EventData | None = None,
        features: int = BORN,
        begin: kinds.RunStart | None = None,
        gaps: tuple[str, ...] = (),
        **header: int,
    ) -> Recorded:
        path = tmp_path / RUN_ID
        spool = open_spool(path)
        for event in (begin or start(observer="notify"), *events):
            spool.event(event)
        frames = FakeFrames().process().event("open", "/a").header(features=features, **header)
        observed = write_table(frames, path / layout.SPOOL)
        (path / layout.SPOOL / layout.FILE_LINES).write_bytes(lines_of([]))
        spool.event(kinds.CommandFinished(exit_code=0))
        if end is not None:
            spool.event(end)
        spool.event(observed)
        for reason in gaps:
            spool.event(kinds.Gap(reason, "why"))
        spool.event(FINISH)
        spool.close()
        with Folder(path) as folder:
            seal(folder, RUN_ID, Sweeper())
        return Recorded(path)

    return sealed


def archived(recorded: Recorded, name: str) -> dict[str, Any]:
    """One of these three as an archive has it, of a run with policy or a shim."""
    own = canonical.encode(recorded.json(name))
    found: dict[str, Any] = canonical.decode(in_their_words(archive.CONCLUDED[name], own, "a shim"))
    return found


def health_of(recorded: Recorded) -> dict[str, Any]:
    return archived(recorded, layout.HEALTH)


def surface_of(recorded: Recorded) -> dict[str, Any]:
    return archived(recorded, layout.SURFACE)


def report_of(recorded: Recorded) -> dict[str, Any]:
    return archived(recorded, layout.CORRELATION)


# --- Observation Health Contract -------------------------------------------------------------------------


def test_health_has_the_v0_shape_and_ours_under_one_key(run: Recorded) -> None:
    health = health_of(run)
    assert set(health) == HEALTH_FIELDS | {"steno"}
    assert health["schema"] == "assay.runner.observation_health.v0"
    assert health["run_id"] == run.path.name
    assert health["platform"] == "linux"
    assert isinstance(health["ringbuf_drops"], int)
    assert all(isinstance(note, str) for note in health["notes"])


def test_health_uses_the_allowed_values_only(run: Recorded) -> None:
    health = health_of(run)
    assert {name: health[name] in values for name, values in ALLOWED.items()} == dict.fromkeys(ALLOWED, True)


def test_a_normal_run_is_complete_where_there_is_an_observer(run: Recorded, observer: str) -> None:
    health = health_of(run)
    expected = "absent" if observer == "none" else "complete"
    assert (health["kernel_layer"], health["ringbuf_drops"]) == (expected, 0)
    assert health["steno"]["observer"] == observer
    assert health["steno"]["witness_disagreements"] == {"count": 0, "listed": []}


def test_drops_force_partial_ringbuf_drops(made: Runner) -> None:
    recorded = made(SCOPE, end=EMPTY, ring_lost=3, gaps=("ring_buffer_drops",))
    health = health_of(recorded)
    assert (health["ringbuf_drops"], health["kernel_layer"]) == (3, "partial_ringbuf_drops")
    verdict = recorded.verdict()
    assert (verdict.status, verdict.gaps) == (Status.INCOMPLETE, ["ring_buffer_drops"])


def test_drops_force_partial_ringbuf_drops_even_if_no_gap_is_declared(made: Runner) -> None:
    assert health_of(made(ring_lost=1))["kernel_layer"] == "partial_ringbuf_drops"


def test_a_run_that_is_not_on_linux_forces_kernel_layer_absent(made: Runner) -> None:
    elsewhere = msgspec.structs.replace(HOST, os="Darwin", platform="darwin")
    recorded = made(begin=start(host=elsewhere, observer="notify"))
    assert health_of(recorded)["kernel_layer"] == "absent"
    assert recorded.is_valid


def test_shim_none_forces_sdk_layer_absent(run: Recorded) -> None:
    assert run.json(layout.RUN)["shim"] == "none"
    assert health_of(run)["sdk_layer"] == "absent"
    assert run.evidence(layout.CLAIMS) == b""


def test_a_shim_alone_never_makes_the_sdk_layer_present(made: Runner) -> None:
    recorded = made(begin=start(shim="openai-agents", observer="notify"))
    assert health_of(recorded)["sdk_layer"] in {"absent", "self_reported"}


def test_a_failed_cgroup_correlation_is_a_failing_run_even_if_the_bundle_verifies(
    made: Runner, steno: Steno
) -> None:
    recorded = made(SCOPE, end=EMPTY, features=wire.FEATURES["notify"])
    assert recorded.is_valid
    assert health_of(recorded)["cgroup_correlation"] == report_of(recorded)["status"] == "failed"
    assert b"CANNOT be tied to this run's cgroup" in steno("show", recorded.path).stdout


def test_cgroup_correlation_is_clean_only_with_a_scope_that_the_command_was_born_into(made: Runner) -> None:
    assert health_of(made(SCOPE, end=EMPTY))["cgroup_correlation"] == "clean"


@pytest.mark.parametrize("observer", observers(("notify",)))
def test_a_run_has_a_clean_correlation_or_says_why_not(run: Recorded) -> None:
    health = health_of(run)
    notes = [note for note in health["notes"] if note.startswith("cgroup_")]
    if a_cgroup_can_be_made():
        assert (health["cgroup_correlation"], notes) == ("clean", [])
    else:
        assert health["cgroup_correlation"] == "partial"
        assert [note.partition(":")[0] for note in notes] == ["cgroup_scope_absent"]


def test_three_runs_have_identical_health_metadata(fixture_runs: Runs) -> None:
    found = [health_of(run) for run in fixture_runs.all]
    assert len({health.pop("run_id") for health in found}) == 3
    assert found[0] == found[1] == found[2]


# --- Capability Surface V0 -------------------------------------------------------------------------------


def test_the_surface_has_the_v0_shape(run: Recorded) -> None:
    surface = surface_of(run)
    assert set(surface) == {"schema", "run_id", "filesystem_paths", "steno", *SETS}
    assert surface["schema"] == "assay.runner.capability_surface.v0"
    assert surface["run_id"] == run.path.name


def lists_in(value: Any) -> Iterator[list[str]]:
    if isinstance(value, list):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from lists_in(item)


def test_every_set_is_sorted_and_says_a_thing_once(run: Recorded) -> None:
    for names in lists_in(surface_of(run)):
        assert names == sorted(set(names), key=str.encode)


@pytest.mark.parametrize("observer", observers())
def test_paths_are_normalised_and_stable(observer: str, tmp_path: Path) -> None:
    script = 'cd "$PLACE/.."; cat ./place/../place//input; read -r _ </proc/self/stat; true'
    surface = surface_of(recorded(tmp_path, observer, script))
    assert f"{tmp_path}/place/input" in surface["filesystem_paths"]
    assert f"{tmp_path}/place/" in surface["filesystem_prefixes"]
    assert "/proc/PID/stat" in surface["filesystem_paths"]
    for path in surface["filesystem_paths"]:
        assert re.fullmatch(r"/|(/[^/]+)+", path)
        assert not re.match(r"/proc/\d", path)
    assert all(prefix.endswith("/") for prefix in surface["filesystem_prefixes"])


@pytest.mark.parametrize("observer", observers())
def test_endpoints_are_host_and_port(observer: str, tmp_path: Path) -> None:
    families = [(socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "[::1]")]
    code, expected = "import socket", set()
    with ExitStack() as servers:
        for family, address, written in families:
            server = servers.enter_context(socket.create_server((address, 0), family=family))
            port = server.getsockname()[1]
            code += f"; socket.create_connection(({address!r}, {port})).close()"
            expected.add(f"{written}:{port}")
        surface = surface_of(recorded(tmp_path, observer, f'python3 -c "{code}"'))
    assert expected <= set(surface["network_endpoints"])
    assert expected <= set(surface["steno"]["endpoints"]["connected"])


@pytest.mark.parametrize("observer", observers())
def test_what_is_known_to_have_failed_is_an_attempt_and_no_capability(fixture_runs: Runs) -> None:
    surface = surface_of(fixture_runs.first)
    absent = f"{fixture_runs.place}/absent"
    assert absent in surface["steno"]["files"]["attempted"]
    assert absent not in surface["filesystem_paths"]


@pytest.mark.parametrize("observer", observers())
def test_three_runs_have_one_capability_set_without_times_or_order(fixture_runs: Runs) -> None:
    """No time stands in an entry and no order is claimed, so nothing but the run's id differs."""
    found = [surface_of(run) for run in fixture_runs.all]
    for surface in found:
        del surface["run_id"]
    assert found[0] == found[1] == found[2]
    assert "/usr/bin/env" in found[0]["process_execs"]


# --- S6: Correlation Report ------------------------------------------------------------------------------


def test_the_report_has_the_v0_shape(run: Recorded) -> None:
    report = report_of(run)
    assert set(report) == {"schema", "run_id", "status", "bindings", "ambiguities"}
    assert report["schema"] == "assay.runner.correlation_report.v0"
    assert report["run_id"] == run.path.name


def test_clean_needs_all_joins_so_a_report_without_a_binding_is_never_clean(
    made: Runner,
) -> None:
    report = report_of(made(SCOPE, end=EMPTY))
    assert (report["status"], report["bindings"]) == ("partial", [])


def test_partial_declares_the_layer_that_is_absent(run: Recorded, observer: str) -> None:
    report = report_of(run)
    assert report["status"] == "partial"
    assert {"policy_layer_absent", "sdk_layer_absent"} <= set(report["ambiguities"])
    assert ("kernel_layer_absent" in report["ambiguities"]) == (observer == "none")


def test_failed_is_an_attribution_that_is_too_ambiguous(made: Runner) -> None:
    features = BORN | wire.FEATURES["ebpf"]
    report = report_of(made(SCOPE, end=EMPTY, features=features, unknown_parents=1))
    assert report["status"] == "failed"
    assert "cgroup_correlation_failed:processes_of_unknown_origin" in report["ambiguities"]


def test_no_successful_run_has_a_failed_report(run: Recorded) -> None:
    assert report_of(run)["status"] != "failed"


def test_ambiguities_are_deterministic_strings(fixture_runs: Runs) -> None:
    found = [report_of(run)["ambiguities"] for run in fixture_runs.all]
    assert found[0] == found[1] == found[2] == sorted(set(found[0]))
    assert all(re.fullmatch(r"[a-z_]+(:[a-z0-9_]+)?", ambiguity) for ambiguity in found[0])
