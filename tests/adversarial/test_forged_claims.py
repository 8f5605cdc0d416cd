"""A bundle with claims in the hands of a forger who puts digests and root right.

What the events contradict is invalid. The rest has another root, which is what a signature holds.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay_archives import exported, failed_step, forged
from assay_archives import verdict_of as verdict_of_archive
from claims_told import PROXY, SERVER, policy_line, sdk_line
from making import FINISHED, make_run, start
from recorded import Recorded
from resealing import reseal
from spools import RUN_ID
from steno.bundle.verify import Status
from steno.contracts.assay import manifest as assay_manifest
from steno.evidence import canonical, kinds, layout

Change = Callable[[list[dict[str, Any]]], object]
CONNECTION = kinds.McpConnection(
    connection="c1",
    source="steno.mcp.wrap",
    server="files",
    policy="0" * 64,
    dry_run=False,
    server_process=SERVER,
    proxy_process=PROXY,
    opened_ns=1,
    calls=2,
)
SAID = kinds.SdkIntake(shim="openai-agents", lines=2, hooks=0)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    policy = policy_line(0) + policy_line(
        1, start_ns=30, tool="write_file", decision="deny", tool_call_id="tc_2", outcome="denied"
    )
    sdk = sdk_line(0) + sdk_line(1, event_type="tool_call_completed")
    return make_run(
        tmp_path_factory.mktemp("store"),
        start(shim="auto"),
        *FINISHED[:-1],
        CONNECTION,
        SAID,
        FINISHED[-1],
        run_id=RUN_ID,
        files=[(layout.POLICY_LINES, policy), (layout.SDK_LINES, sdk)],
    )


@pytest.fixture(scope="module")
def archive(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(original, tmp_path_factory.mktemp("archive"))


@pytest.fixture
def bundle(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / original.name))


def in_lines(change: Change) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        lines = [json.loads(line) for line in data.splitlines()]
        change(lines)
        return b"".join(map(canonical.encode_line, lines))

    return changed


def test_the_original_is_valid_and_so_is_its_archive(original: Path, archive: Path) -> None:
    assert Recorded(original).verdict().status is Status.VALID
    health = Recorded(original).json(layout.HEALTH)
    assert (health["policy_layer"], health["sdk_layer"]) == ("present", "self_reported")
    # Nothing but what has no observer here is missing from it.
    assert failed_step(archive)[:2] == ("incomplete", 9)
    assert [step.number for step in verdict_of_archive(archive).steps if not step.passed] == [9]


UNTOLD: dict[str, tuple[str, Change]] = {
    "a decision turned": (layout.POLICY_LINES, lambda lines: lines[1].update(decision="allow")),
    "another tool": (layout.POLICY_LINES, lambda lines: lines[0].update(tool="list_files")),
    "another id": (layout.POLICY_LINES, lambda lines: lines[0].update(tool_call_id="tc_9")),
    "another window": (layout.POLICY_LINES, lambda lines: lines[0]["steno"].update(end_ns=10**10)),
    "an id of the SDK": (layout.SDK_LINES, lambda lines: lines[0].update(tool_call_id="call_9")),
    "a claim of another kind": (layout.SDK_LINES, lambda lines: lines[1].update(event_type="run_failed")),
}
CONTRADICTED: dict[str, tuple[str, Change]] = {
    "another server": (layout.POLICY_LINES, lambda lines: lines[0]["steno"].update(server="other")),
    "another process": (layout.POLICY_LINES, lambda lines: lines[0]["steno"].update(server_process=None)),
    "a line less": (layout.POLICY_LINES, lambda lines: lines.pop()),
    "a line more": (
        layout.POLICY_LINES,
        lambda lines: lines.append({**lines[1], "seq": 2}),
    ),
    "no lines": (layout.POLICY_LINES, lambda lines: lines.clear()),
    "another run": (layout.POLICY_LINES, lambda lines: lines[0].update(run_id="x")),
    "a claim less": (layout.SDK_LINES, lambda lines: lines.pop()),
    "no claims": (layout.SDK_LINES, lambda lines: lines.clear()),
}
FORGED = UNTOLD | CONTRADICTED
# Of the events that tell of claims: what no line says again.
TOLD_ONCE = {"opened_ns", "shim"}


@pytest.mark.parametrize(("path", "change"), CONTRADICTED.values(), ids=CONTRADICTED.keys())
def test_a_forged_claim_that_the_events_contradict_is_invalid(
    bundle: Path, path: str, change: Change
) -> None:
    (bundle / path).write_bytes(in_lines(change)((bundle / path).read_bytes()))
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)


@pytest.mark.parametrize(("path", "change"), UNTOLD.values(), ids=UNTOLD.keys())
def test_a_forged_claim_that_no_event_contradicts_has_another_root(
    bundle: Path, path: str, change: Change
) -> None:
    genuine = Recorded(bundle).verdict().root
    (bundle / path).write_bytes(in_lines(change)((bundle / path).read_bytes()))
    assert Recorded(bundle).verdict().status is Status.INVALID
    reseal(bundle)
    assert Recorded(bundle).verdict().root not in {genuine, None}


@pytest.mark.parametrize("data", [b"x\n", b"{}\n", b"\n", b"[" * 9999 + b"\n"])
@pytest.mark.parametrize("path", layout.CLAIM_LAYERS)
def test_a_layer_that_is_none_is_invalid(bundle: Path, path: str, data: bytes) -> None:
    (bundle / path).write_bytes(data)
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)


@pytest.mark.parametrize("path", layout.CLAIM_LAYERS)
def test_a_layer_that_was_taken_away_is_missed(bundle: Path, path: str) -> None:
    (bundle / path).unlink()
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)
    assert verdict.steps[-1].problems[0].startswith(f"{path}: ")


@pytest.mark.parametrize(("path", "change"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_claim_in_an_archive_is_invalid(
    archive: Path, tmp_path: Path, path: str, change: Change
) -> None:
    bad = forged(archive, tmp_path / "forged", assay_manifest.CLAIM_LAYERS[path], in_lines(change))
    status, step, _ = failed_step(bad)
    assert (status, step in {6, 8}) == ("invalid", True)


@pytest.mark.parametrize("kind", [kinds.McpConnection.type, kinds.SdkIntake.type])
def test_the_facts_of_an_event_that_tells_of_claims_are_held_by_the_lines(bundle: Path, kind: str) -> None:
    lines = (bundle / layout.EVENTS).read_bytes().splitlines(keepends=True)
    (at,) = [at for at, line in enumerate(lines) if canonical.decode_line(line)["type"] == kind]
    for name, value in canonical.decode_line(lines[at])["data"].items():
        if name in TOLD_ONCE:
            continue
        changed = canonical.decode_line(lines[at])
        changed["data"][name] = not value if isinstance(value, bool) else None
        if isinstance(value, int | str) and not isinstance(value, bool):
            changed["data"][name] = value + 1 if isinstance(value, int) else f"{value}x"
        (bundle / layout.EVENTS).write_bytes(
            b"".join([*lines[:at], canonical.encode_line(changed), *lines[at + 1 :]])
        )
        reseal(bundle)
        assert Recorded(bundle).verdict().status is Status.INVALID, name
