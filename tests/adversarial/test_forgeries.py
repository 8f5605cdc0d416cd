"""A forger who knows the format and puts digests and root right: the primary files give something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resealing import caught, event_lines, put_events, reseal, verdict_of
from spools import small_spool
from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.manifest import Completeness, FileDigest
from steno.bundle.recover import recover
from steno.bundle.verify import Status
from steno.evidence import canonical, index, layout
from steno.evidence.index import Arrival


def change_json(path: Path, change: Callable[[Any], None]) -> None:
    value = canonical.decode(path.read_bytes())
    change(value)
    path.write_bytes(canonical.encode(value))


def renumbered(lines: list[bytes]) -> list[bytes]:
    return [
        canonical.encode_line({**canonical.decode_line(line), "seq": seq}) for seq, line in enumerate(lines)
    ]


def test_the_forger_can_do_his_work(bundle: Path) -> None:
    reseal(bundle)
    assert verdict_of(bundle).status is Status.VALID


@pytest.mark.parametrize("number_again", [False, True], ids=["as-numbered", "numbered-again"])
def test_events_cannot_be_removed_doubled_or_moved(bundle: Path, number_again: bool) -> None:
    lines = event_lines(bundle)
    for at in range(len(lines)):
        for forged in (
            lines[:at] + lines[at + 1 :],
            [*lines[: at + 1], *lines[at:]],
            [*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]],
        ):
            if forged == lines or (number_again and repeats_a_tally(forged)):
                continue
            put_events(bundle, renumbered(forged) if number_again else forged)
            assert caught(bundle), at
    put_events(bundle, lines)
    reseal(bundle)
    assert verdict_of(bundle).status is Status.VALID


def repeats_a_tally(lines: list[bytes]) -> bool:
    """Said twice it says the same: of these events the last one counts, so nothing is forged."""
    types = [canonical.decode_line(line)["type"] for line in lines]
    return any(types.count(kind) > 1 for kind in ("redaction_tally", "tool_versions"))


def test_every_fact_of_every_event_is_held_by_another_file_or_by_a_rule(bundle: Path) -> None:
    """What is not is listed here: it stands in the events alone, and only a signature could protect it."""
    alone = {"recorder_pid", "scratch", "core_dumped", "max_blob", "ignored", "at_ns"}
    lines = event_lines(bundle)
    free = set()
    for at, line in enumerate(lines):
        for name in canonical.decode_line(line)["data"]:
            forged = canonical.decode_line(line)
            forged["data"][name] = other_value(forged["data"][name])
            put_events(bundle, [*lines[:at], canonical.encode_line(forged), *lines[at + 1 :]])
            if not caught(bundle):
                free.add(name)
    assert free <= alone


def other_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value + "x"
        case list():
            return [*value, "x"]
        case dict():
            name = next(iter(value), "x")
            return {**value, name: other_value(value.get(name, 0))}
        case _:
            return "x"


DERIVED_JSON: dict[str, Callable[[Any], None]] = {
    layout.RUN: lambda run: run.update(exit_code=1),
    layout.HASHES: lambda hashes: hashes.update(stdout_tail_hash="0" * 64),
    layout.REDACTION_REPORT: lambda report: report.update(total=0),
    layout.HEALTH: lambda health: health.update(kernel_layer="absent"),
    layout.SURFACE: lambda surface: surface["steno"]["files"]["read"].pop(),
    layout.CORRELATION: lambda report: report.update(status="clean", ambiguities=[]),
    layout.PROCESSES: lambda processes: processes["processes"].pop(),
    layout.FILES: lambda files: files["files"].pop(),
    layout.REPO_BEFORE: lambda before: before.update(head="0" * 40),
    layout.REPO_AFTER: lambda after: after.update(changed=0),
}


@pytest.mark.parametrize("name", DERIVED_JSON)
def test_a_summary_that_says_something_else_is_refused(bundle: Path, name: str) -> None:
    change_json(bundle / name, DERIVED_JSON[name])
    assert caught(bundle, step=7)


FORGED_CAPABILITIES: list[tuple[str, Callable[[Any], None]]] = [
    (layout.SURFACE, lambda surface: surface["process_execs"].clear()),
    (layout.SURFACE, lambda surface: surface["filesystem_paths"].append("/zzz")),
    (layout.SURFACE, lambda surface: surface["network_endpoints"].append("1.2.3.4:80")),
    (layout.SURFACE, lambda surface: surface["steno"].update(kernel_layer="absent")),
    (layout.SURFACE, lambda surface: surface["steno"]["roots"].update(cwd="/elsewhere")),
    (layout.HEALTH, lambda health: health.update(cgroup_correlation="failed")),
    (layout.HEALTH, lambda health: health.update(ringbuf_drops=1)),
    (layout.HEALTH, lambda health: health["notes"].clear()),
    (layout.HEALTH, lambda health: health["steno"]["witness_disagreements"].update(count=1)),
    (layout.CORRELATION, lambda report: report["bindings"].append({"tool_call_id": "tc_001"})),
]


@pytest.mark.parametrize(("name", "forge"), FORGED_CAPABILITIES)
def test_forged_capabilities_with_digests_and_a_root_that_match_are_invalid(
    bundle: Path, name: str, forge: Callable[[Any], None]
) -> None:
    change_json(bundle / name, forge)
    reseal(bundle)
    verdict = verdict_of(bundle)
    assert (verdict.status, verdict.steps[-1].number) == (Status.INVALID, 7)
    assert verdict.steps[-1].problems == [f"{name}: is not what the recorded events and streams give"]


@pytest.mark.parametrize("name", [layout.TIMING, layout.CAST, layout.OUTPUT, layout.KERNEL_LINES])
def test_a_replay_or_a_layer_that_shows_something_else_is_refused(bundle: Path, name: str) -> None:
    data = (bundle / name).read_bytes()
    (bundle / name).write_bytes(data[:-3] + b"9" + data[-2:])
    assert caught(bundle, step=7)


@pytest.mark.parametrize(
    "name", [layout.STDIN, layout.STDOUT, layout.STDERR, layout.DIFF, layout.WORKTREE_DIFF]
)
def test_a_stream_or_a_patch_of_equal_length_is_refused(bundle: Path, name: str) -> None:
    data = (bundle / name).read_bytes()
    (bundle / name).write_bytes(data[:-2] + b"X" + data[-1:])
    assert caught(bundle, step=7)


ENTRY = b'{"added":1,"binary":false,"deleted":0,"path":"kept.txt","status":"M"}'


@pytest.mark.parametrize(
    "data",
    [b"[]", b"[" + ENTRY + b"," + ENTRY + b"]", b"{}", ENTRY, b"[1]", b"[{}]", b"[" + ENTRY + b"]\n", b"",
     b"x", b'[{"path":"a"}]', b'[{"path":1,"status":"M"}]', b'[{"path":"a","status":"M","x":1}]',
     b'[{"added":"1","path":"a","status":"M"}]', b"[" * 70 + b"]" * 70, b"[" * 200_000,
     b"[" * 200_000 + b"]" * 200_000],
    ids=range(16),
)  # fmt: skip
def test_a_list_of_changes_that_is_none_or_of_another_length_is_refused(bundle: Path, data: bytes) -> None:
    (bundle / layout.CHANGES).write_bytes(data)
    assert caught(bundle, step=7)


@pytest.mark.parametrize("name", [layout.STDIN, layout.STDOUT, layout.STDERR])
def test_a_stream_that_its_index_does_not_cover_is_refused(bundle: Path, name: str) -> None:
    data = (bundle / name).read_bytes()
    for changed in (data + b"x", data[:-1]):
        (bundle / name).write_bytes(changed)
        assert caught(bundle, step=6)


def test_a_header_line_of_another_run_is_refused(bundle: Path) -> None:
    data = (bundle / layout.STDIN).read_bytes()
    (bundle / layout.STDIN).write_bytes(data.replace(b"Script started", b"Script stopped"))
    assert caught(bundle, step=6)


@pytest.mark.parametrize("name", [layout.STDIN, layout.STDOUT, layout.STDERR])
def test_an_index_with_other_times_or_lengths_is_refused(bundle: Path, name: str) -> None:
    path = bundle / layout.index_of(name)
    first, *rest = index.unpack([path.read_bytes()])
    for forged in (
        [Arrival(first.mono_ns + 10**6, first.length), *rest],
        [Arrival(first.mono_ns, first.length + 1), *rest],
        [Arrival(first.mono_ns, 1), Arrival(first.mono_ns, first.length - 1), *rest],
        [Arrival(first.mono_ns, 2**32 - 1), *rest],
    ):
        path.write_bytes(index.pack(forged))
        assert caught(bundle)
    path.write_bytes(index.pack([first, *rest])[:-1])
    assert caught(bundle, step=6)


@pytest.mark.parametrize(
    "name",
    [layout.STATUS_BEFORE, layout.STATUS_AFTER, layout.DIFF, layout.WORKTREE_DIFF, layout.CHANGES, layout.RUN,
     layout.CAST, layout.STDOUT, layout.index_of(layout.STDOUT)],
)  # fmt: skip
def test_a_file_cannot_be_taken_out_of_bundle_and_manifest_together(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    assert caught(bundle)


@pytest.mark.parametrize(
    "name", ["added", "terminal/added.idx", "repo/added.json", layout.index_of(layout.OUTPUT)]
)
def test_a_file_cannot_be_added_to_bundle_and_manifest_together(bundle: Path, name: str) -> None:
    (bundle / name).write_bytes(b"")
    assert caught(bundle)


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "terminal/../run.json", "", ".", "a\0b", "x" * 5000]
)
def test_a_manifest_that_names_a_file_outside_is_refused(bundle: Path, name: str) -> None:
    before = manifests.parse((bundle / layout.MANIFEST).read_bytes())
    built = manifests.build(
        before.run_id, before.completeness, {**before.files, name: FileDigest("0" * 64, 0)}
    )
    (bundle / layout.MANIFEST).write_bytes(manifests.to_bytes(built))
    assert verdict_of(bundle).status is Status.INVALID


def test_a_complete_run_cannot_be_called_incomplete_nor_the_other_way_round(
    bundle: Path, tmp_path: Path
) -> None:
    for forged in (
        Completeness(complete=False, completed=True, gaps=["stream_lost"]),
        Completeness(complete=False, completed=True, gaps=[]),
        Completeness(complete=True, completed=False, gaps=[]),
    ):
        reseal(bundle, forged)
        assert verdict_of(bundle).status is Status.INVALID
    killed = tmp_path / "killed"
    small_spool(killed, finished=False)
    with Folder(killed) as folder:
        recover(folder)
    assert verdict_of(killed).status is Status.INCOMPLETE
    reseal(killed, Completeness(complete=True, completed=True, gaps=[]))
    assert verdict_of(killed).status is Status.INVALID


def test_events_of_another_run_are_refused(bundle: Path) -> None:
    other = bundle.name[:-1] + ("0" if bundle.name[-1] != "0" else "1")
    put_events(bundle, [line.replace(bundle.name.encode(), other.encode()) for line in event_lines(bundle)])
    assert caught(bundle, step=5)


def test_events_that_go_back_in_time_are_refused(bundle: Path) -> None:
    lines = event_lines(bundle)
    late = canonical.decode_line(lines[1])
    late["mono_ns"] = 10**15
    put_events(bundle, [lines[0], canonical.encode_line(late), *lines[2:]])
    assert caught(bundle, step=5)
