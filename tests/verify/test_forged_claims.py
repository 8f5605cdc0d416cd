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

from steno.bundle.verify import Status
from steno.contracts.assay import manifest as assay_manifest
from steno.evidence import canonical, compat, intake, kinds, layout
from support.assay_archives import exported, failed_step, forged
from support.assay_archives import verdict_of as verdict_of_archive
from support.claims_told import POLICY, PROXY, SERVER, closed, decided, ended, opened, policy_line, sdk
from support.making import FINISHED, make_run, start
from support.recorded import Recorded
from support.resealing import reseal
from support.spools import RUN_ID
from support.told import claims_file

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
    closed_ns=50,
    end="client_closed",
    calls=2,
)
SAID = kinds.SdkIntake(shim="openai-agents", lines=2, hooks=0)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    refused = {"tool": "write_file", "decision": "deny", "tool_call_id": "tc_2"}
    calls = [decided(), ended(), decided(2, 30, **refused), ended(2, 40, outcome="denied")]
    logs = {
        POLICY: [opened(), *calls, closed(50)],
        intake.SDK: [sdk(0), sdk(1, "tool_call_completed")],
    }
    return make_run(
        tmp_path_factory.mktemp("store"),
        start(shim="auto"),
        *FINISHED[:-1],
        CONNECTION,
        SAID,
        FINISHED[-1],
        run_id=RUN_ID,
        files=[(layout.CLAIMS, claims_file(logs))],
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


def numbered(lines: list[dict[str, Any]]) -> None:
    for seq, line in enumerate(lines):
        line["seq"] = seq


def without(*numbers: int) -> Change:
    """Some lines less, and the others numbered anew."""

    def change(lines: list[dict[str, Any]]) -> None:
        lines[:] = [line for number, line in enumerate(lines) if number not in numbers]
        numbered(lines)

    return change


def one_more(line: int, **told: Any) -> Change:
    """A line like another one, behind it."""

    def change(lines: list[dict[str, Any]]) -> None:
        of_log = [one for one in lines if one["log"] == lines[line]["log"]]
        like = {**lines[line], "line": len(of_log), "told": {**lines[line]["told"], **told}}
        lines.insert(lines.index(of_log[-1]) + 1, like)
        numbered(lines)

    return change


def in_told(line: int, **fields: Any) -> Change:
    return lambda lines: lines[line]["told"].update(fields)


UNTOLD: dict[str, Change] = {
    "a decision turned": in_told(3, decision="allow"),
    "another tool": in_told(1, tool="list_files"),
    "another id": in_told(1, tool_call_id="tc_9"),
    "another window": in_told(2, at_ns=10**10),
    "an end less": without(2),
    "an id of the SDK": in_told(6, tool_call_id="call_9"),
    "a claim of another kind": in_told(7, event_type="run_failed"),
    "another number in its log": lambda lines: lines[7].update(line=9),
}
CONTRADICTED: dict[str, Change] = {
    "another server": in_told(0, server="other"),
    "another process": in_told(0, server_process=None),
    "a line less": lambda lines: lines.pop(0),
    "a call less": without(3, 4),
    "a connection less": without(0, 1, 2, 3, 4, 5),
    "an end of the connection less": without(5),
    "a call more": one_more(3, call=3),
    "a call twice": one_more(3),
    "no lines": lambda lines: lines.clear(),
    "another run": in_told(1, run_id="x"),
    "another log": lambda lines: lines[1].update(log="policy.1-1.ndjson"),
    "a log that nobody knows": lambda lines: lines[7].update(log="radio.ndjson"),
    "a claim less": without(7),
    "no claims": without(6, 7),
    "a claim more": one_more(7, seq=2),
}
# What an archive holds is put together.
IN_ARCHIVE: dict[str, tuple[str, Change]] = {
    "a decision turned": (assay_manifest.POLICY_LINES, lambda lines: lines[1].update(decision="allow")),
    "another tool": (assay_manifest.POLICY_LINES, lambda lines: lines[0].update(tool="list_files")),
    "another id": (assay_manifest.POLICY_LINES, lambda lines: lines[0].update(tool_call_id="tc_9")),
    "another window": (assay_manifest.POLICY_LINES, lambda lines: lines[0]["steno"].update(end_ns=10**10)),
    "an id of the SDK": (assay_manifest.SDK_LINES, lambda lines: lines[0].update(tool_call_id="call_9")),
    "another kind": (assay_manifest.SDK_LINES, lambda lines: lines[1].update(event_type="run_failed")),
    "another server": (assay_manifest.POLICY_LINES, lambda lines: lines[0]["steno"].update(server="other")),
    "another process": (
        assay_manifest.POLICY_LINES,
        lambda lines: lines[0]["steno"].update(server_process=None),
    ),
    "a line less": (assay_manifest.POLICY_LINES, lambda lines: lines.pop()),
    "a line more": (assay_manifest.POLICY_LINES, lambda lines: lines.append({**lines[1], "seq": 2})),
    "no lines": (assay_manifest.POLICY_LINES, lambda lines: lines.clear()),
    "another run": (assay_manifest.POLICY_LINES, lambda lines: lines[0].update(run_id="x")),
    "a claim less": (assay_manifest.SDK_LINES, lambda lines: lines.pop()),
    "no claims": (assay_manifest.SDK_LINES, lambda lines: lines.clear()),
}
TOLD_ONCE = {"shim"}  # of the events that tell of claims: what no line says again


@pytest.mark.parametrize("change", CONTRADICTED.values(), ids=CONTRADICTED.keys())
def test_a_forged_claim_that_the_events_contradict_is_invalid(bundle: Path, change: Change) -> None:
    (bundle / layout.CLAIMS).write_bytes(in_lines(change)((bundle / layout.CLAIMS).read_bytes()))
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)


def test_what_only_a_newer_steno_tells_makes_no_bundle_invalid(bundle: Path) -> None:
    def newer(lines: list[dict[str, Any]]) -> None:
        lines[0]["told"]["colour"] = "blue"
        lines[1]["heard_ns"] = 7
        lines.append({"seq": len(lines), "log": "radio.ndjson", "line": 0, "told": {"a": 1}})

    asked = Recorded(bundle).judged(layout.CALLS)
    (bundle / layout.CLAIMS).write_bytes(in_lines(newer)((bundle / layout.CLAIMS).read_bytes()))
    reseal(bundle)
    assert Recorded(bundle).is_valid
    assert Recorded(bundle).judged(layout.CALLS) == asked


@pytest.mark.parametrize("change", UNTOLD.values(), ids=UNTOLD.keys())
def test_a_forged_claim_that_no_event_contradicts_has_another_root(bundle: Path, change: Change) -> None:
    genuine = Recorded(bundle).verdict().root
    (bundle / layout.CLAIMS).write_bytes(in_lines(change)((bundle / layout.CLAIMS).read_bytes()))
    assert Recorded(bundle).verdict().status is Status.INVALID
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.root not in {genuine, None}) == (Status.VALID, True)


@pytest.mark.parametrize("data", [b"x\n", b"{}\n", b"\n", b"[" * 9999 + b"\n"])
def test_claims_that_are_none_are_invalid(bundle: Path, data: bytes) -> None:
    (bundle / layout.CLAIMS).write_bytes(data)
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)


def test_claims_that_were_taken_away_are_missed(bundle: Path) -> None:
    (bundle / layout.CLAIMS).unlink()
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)
    assert verdict.steps[-1].problems[0].startswith(f"{layout.CLAIMS}: ")


@pytest.mark.parametrize("name", compat.FOLDED_CLAIMS)
def test_what_only_format_1_has_has_no_place_in_a_bundle_of_today(bundle: Path, name: str) -> None:
    asked = Recorded(bundle).judged(layout.CALLS)
    (bundle / name).parent.mkdir()
    (bundle / name).write_bytes(policy_line(0))
    reseal(bundle)
    verdict = Recorded(bundle).verdict()
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)
    assert Recorded(bundle).judged(layout.CALLS) == asked


@pytest.mark.parametrize(("path", "change"), IN_ARCHIVE.values(), ids=IN_ARCHIVE.keys())
def test_a_forged_claim_in_an_archive_is_invalid(
    archive: Path, tmp_path: Path, path: str, change: Change
) -> None:
    bad = forged(archive, tmp_path / "forged", path, in_lines(change))
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
