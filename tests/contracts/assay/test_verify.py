"""Archives of assay-runner are verified as hostile input: no forged fact is valid, and nothing crashes."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steno.bundle.verify import Status
from steno.contracts.assay import manifest as assay_manifest
from steno.contracts.assay import verify as assay
from steno.evidence import canonical, layout
from support.assay_archives import (
    exported,
    failed_step,
    forged,
    lines_in,
    put_together,
    raw_tar,
    sealed_run,
    taken_apart,
    verdict_of,
)
from support.frames_made import ABSENT, FakeFrames, Found
from support.spools import RUN_ID, sealed

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
OPENAT, CONNECT, SENDTO = 257, 42, 44
ENOENT = -2


def frames() -> FakeFrames:
    made = (
        FakeFrames()
        .process(pid=4711)
        .exec("/bin/sh", ["sh", "-c", "x"], result=0, state=Found(mode=0o100755))
    )
    made.event("open", "/a", state=ABSENT, arg=CREATE, arg2=0o644, call=OPENAT, result=0)
    made.event("open", b"/caf\xe9", state=Found(), arg=0, call=OPENAT)
    made.event("open", "/gone", state=ABSENT, arg=0, call=OPENAT, result=ENOENT)
    made.event("connect", "inet:127.0.0.1:80", resolved=b"", call=CONNECT, result=0)
    made.event("send", "inet6:[::1]:53", resolved=b"", call=SENDTO, result=0)
    made.event("unlink", "/a", state=Found(), result=0)
    return made.exit()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("archive")
    return exported(sealed_run(place / "run", frames()), place)


def in_json(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """A change of one value, written canonically again."""

    def changed(data: bytes) -> bytes:
        value = canonical.decode(data)
        replaced = change(value)
        return canonical.encode(value if replaced is None else replaced)

    return changed


def in_line(number: int, change: Callable[[Any], None]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        lines = [canonical.decode_line(line) for line in data.splitlines(keepends=True)]
        change(lines[number])
        return b"".join(map(canonical.encode_line, lines))

    return changed


def test_an_archive_of_a_whole_run_is_valid(original: Path) -> None:
    verdict = verdict_of(original)
    assert verdict.status is Status.VALID, verdict.steps[-1]
    assert verdict.run_id == RUN_ID
    assert [step.number for step in verdict.steps] == list(assay.STEPS)


def test_the_page_tells_the_steps() -> None:
    page = (Path(__file__).parents[3] / "docs" / "contracts" / "assay-runner.md").read_text()
    for number, says in assay.STEPS.items():
        assert f"{number}. {says}\n" in page


def test_an_archive_is_known_by_its_manifest(original: Path, tmp_path: Path) -> None:
    assert assay.is_archive(original)
    (tmp_path / "other").write_bytes(b"\x1f\x8b")
    assert not assay.is_archive(tmp_path / "other")


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (assay_manifest.SURFACE, in_json(lambda found: found["filesystem_paths"].remove("/a"))),
        (assay_manifest.SURFACE, in_json(lambda found: found["network_endpoints"].append("[::2]:1"))),
        (assay_manifest.SURFACE, in_json(lambda found: found["process_execs"].clear())),
        (assay_manifest.SURFACE, in_json(lambda found: found["steno"]["files"]["attempted"].clear())),
        (assay_manifest.HEALTH, in_json(lambda found: found["notes"].clear())),
        (assay_manifest.HEALTH, in_json(lambda found: found.update(cgroup_correlation="clean"))),
        (assay_manifest.HEALTH, in_json(lambda found: found["steno"].update(observer="both"))),
        (assay_manifest.CORRELATION, in_json(lambda found: found.update(status="failed"))),
        (assay_manifest.CORRELATION, in_json(lambda found: found["ambiguities"].clear())),
    ],
)
def test_what_does_not_follow_from_the_lines_is_invalid_whatever_its_digest(
    original: Path, tmp_path: Path, path: str, change: Callable[[bytes], bytes]
) -> None:
    status, step, says = failed_step(forged(original, tmp_path / "forged", path, change))
    assert (status, step) == ("invalid", 8)
    assert path in says


@pytest.mark.parametrize(
    ("path", "change", "says"),
    [
        (assay_manifest.HEALTH, {"kernel_layer": "perfect"}, "kernel_layer"),
        (assay_manifest.HEALTH, {"kernel_layer": "partial"}, "kernel_layer"),
        (assay_manifest.HEALTH, {"policy_layer": "some"}, "policy_layer"),
        (assay_manifest.HEALTH, {"sdk_layer": "trusted"}, "sdk_layer"),
        (assay_manifest.HEALTH, {"cgroup_correlation": "fine"}, "cgroup_correlation"),
        (assay_manifest.HEALTH, {"ringbuf_drops": 3}, "3 events dropped"),
        (assay_manifest.HEALTH, {"ringbuf_drops": -1}, "ringbuf_drops"),
        (assay_manifest.HEALTH, {"platform": "darwin"}, "darwin"),
        (assay_manifest.HEALTH, {"sdk_layer": "self_reported"}, "there was no shim"),
        (assay_manifest.HEALTH, {"kernel_layer": "absent", "cgroup_correlation": "clean"}, "clean"),
        (assay_manifest.HEALTH, {"run_id": "another"}, "another run"),
        (assay_manifest.HEALTH, {"schema": "v1"}, "schema"),
        (assay_manifest.HEALTH, {"more": 1}, "more"),
        (assay_manifest.CORRELATION, {"status": "clean"}, "binds nothing"),
        (assay_manifest.CORRELATION, {"ambiguities": ["b", "a"]}, "sorted"),
        (assay_manifest.CORRELATION, {"run_id": "another"}, "another run"),
    ],
)
def test_a_value_that_the_contract_does_not_allow_is_invalid(
    original: Path, tmp_path: Path, path: str, change: dict[str, Any], says: str
) -> None:
    bad = forged(original, tmp_path / "forged", path, in_json(lambda found: found.update(change)))
    status, step, said = failed_step(bad)
    assert (status, step) == ("invalid", 7)
    assert says in said


@pytest.mark.parametrize(
    "change",
    [
        in_line(2, lambda line: line.update(seq=7)),
        in_line(2, lambda line: line.update(run_id="2026-01-25T12-00-00-000Z_ffffffff")),
        in_line(2, lambda line: line.update(pid=1)),
        in_line(2, lambda line: line.update(value="/b")),
        in_line(2, lambda line: line.update(status="error")),
        in_line(2, lambda line: line.update(kind="event_100")),
        in_line(2, lambda line: line.update(more=1)),
        in_line(2, lambda line: line.pop("status")),
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda data: data.replace(b'"kind":"openat",', b'"kind": "openat",'),
        lambda data: b"".join(data.splitlines(keepends=True)[:-1]),
        lambda data: b"".join(data.splitlines(keepends=True)[1:]),
        lambda data: data + data.splitlines(keepends=True)[-1],
        lambda _: b"",
        lambda _: b"[" * 100_000,
        lambda _: b"\xff\n",
    ],
)
def test_a_kernel_line_that_is_not_what_its_row_gives_is_invalid(
    original: Path, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    status, step, _ = failed_step(forged(original, tmp_path / "forged", assay_manifest.KERNEL_LINES, change))
    assert (status, step) == ("invalid", 6)


def in_table(number: int, **changed: Any) -> Callable[[bytes], bytes]:
    """A change of one row of the table."""

    def change(data: bytes) -> bytes:
        table = pq.read_table(io.BytesIO(data))
        rows = table.to_pylist()
        rows[number].update(changed)
        out = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), out)
        return out.getvalue()

    return change


@pytest.mark.parametrize(
    "change",
    [
        in_table(2, path=b"/b", resolved=b"/b"),
        in_table(2, op="teleport"),
        in_table(2, result=-13),
        in_table(2, process=9),
        lambda data: data[:-1],
        lambda data: data + b"PAR1",
        lambda _: b"",
        lambda _: b"[" * 100_000,
    ],
)
def test_a_table_that_does_not_give_the_kernel_lines_is_invalid(
    original: Path, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    status, step, _ = failed_step(forged(original, tmp_path / "forged", assay_manifest.KERNEL_TABLE, change))
    assert (status, step) == ("invalid", 6)


def test_a_table_of_another_number_of_rows_than_the_run_tells_is_invalid(
    original: Path, tmp_path: Path
) -> None:
    in_lines = forged(
        original,
        tmp_path / "lines",
        assay_manifest.KERNEL_LINES,
        lambda data: b"".join(data.splitlines(keepends=True)[:-1]),
    )

    def without_the_last(data: bytes) -> bytes:
        table, out = pq.read_table(io.BytesIO(data)), io.BytesIO()
        pq.write_table(table.slice(0, table.num_rows - 1), out)
        return out.getvalue()

    bad = forged(in_lines, tmp_path / "forged", assay_manifest.KERNEL_TABLE, without_the_last)
    status, step, says = failed_step(bad)
    assert (status, step) == ("invalid", 6)
    assert "rows, the run tells of" in says


def test_another_call_with_its_right_line_gives_another_surface(original: Path, tmp_path: Path) -> None:
    in_lines = in_line(2, lambda line: line.update(value="/b"))
    half = forged(original, tmp_path / "half", assay_manifest.KERNEL_LINES, in_lines)
    row = in_table(2, path=b"/b", resolved=b"/b")
    bad = forged(half, tmp_path / "forged", assay_manifest.KERNEL_TABLE, row)
    assert failed_step(bad)[:2] == ("invalid", 8)


@pytest.mark.parametrize(
    "change",
    [
        in_line(0, lambda line: line["command"].append("--harmless")),
        in_line(0, lambda line: line["env_keys"].clear()),
        in_line(0, lambda line: line.update(agent_shim="openai-agents")),
        in_line(1, lambda line: line.update(exit_code=1)),
        in_line(1, lambda line: line.update(success=False)),
        in_line(1, lambda line: line.update(window_elapsed_ms=5_000_000)),
        in_line(1, lambda line: line.update(seq=2)),
        in_line(1, lambda line: line.pop("steno")),
        in_line(1, lambda line: line["steno"]["events"].clear()),
        in_line(1, lambda line: line["steno"]["events"].reverse()),
        in_line(1, lambda line: line["steno"]["events"][1].update(run_id="x")),
        in_line(
            1, lambda line: line["steno"]["events"][1].update(type="tool_versions", data={"versions": {}})
        ),
        in_line(1, lambda line: line["steno"]["events"].insert(1, line["steno"]["events"][1])),
        lambda data: data + data,
        lambda data: data.splitlines(keepends=True)[0],
        lambda _: b"",
    ],
)
def test_a_run_event_that_does_not_follow_is_invalid(
    original: Path, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    status, step, _ = failed_step(forged(original, tmp_path / "forged", assay_manifest.EVENTS, change))
    assert (status, step) == ("invalid", 5)


@pytest.mark.parametrize("path", [assay_manifest.POLICY_LINES, assay_manifest.SDK_LINES])
def test_lines_of_a_layer_that_is_absent_are_invalid(original: Path, tmp_path: Path, path: str) -> None:
    bad = forged(original, tmp_path / "forged", path, lambda data: data + b"{}\n")
    assert failed_step(bad)[:2] == ("invalid", 6)


def test_a_digest_that_does_not_fit_is_invalid(original: Path, tmp_path: Path) -> None:
    files = taken_apart(original)
    data = files[assay_manifest.SURFACE].replace(b"/gone", b"/hone")
    bad = put_together({**files, assay_manifest.SURFACE: data}, tmp_path / "bad", anew=False)
    assert failed_step(bad)[:2] == ("invalid", 4)


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (lambda found: found.update(schema="assay.runner.archive_manifest.v1"), 2),
        (lambda found: found.update(run_id="../../x"), 2),
        (lambda found: found.update(more=1), 2),
        (lambda found: found["files"][assay_manifest.SURFACE].update(path="x"), 2),
        (lambda found: found["files"][assay_manifest.SURFACE].update(bytes=-1), 2),
    ],
)
def test_a_manifest_of_another_shape_is_invalid(
    original: Path, tmp_path: Path, change: Callable[[Any], None], step: int
) -> None:
    files = taken_apart(original)
    files[layout.MANIFEST] = in_json(change)(files[layout.MANIFEST])
    bad = put_together(files, tmp_path / "bad", anew=False)
    assert failed_step(bad)[:2] == ("invalid", step)


def with_listed(files: dict[str, bytes], change: Callable[[dict[str, Any]], None]) -> dict[str, bytes]:
    manifest = json.loads(files[layout.MANIFEST])
    change(manifest["files"])
    kept = {path: data for path, data in files.items() if path in manifest["files"]}
    return {**kept, layout.MANIFEST: canonical.encode(manifest)}


def test_a_file_too_few_is_invalid(original: Path, tmp_path: Path) -> None:
    files = with_listed(taken_apart(original), lambda listed: listed.pop(assay_manifest.SDK_LINES))
    bad = put_together(files, tmp_path / "bad", anew=False)
    assert failed_step(bad) == ("invalid", 3, "layers/sdk.ndjson: missing")


def test_a_file_too_many_is_invalid(original: Path, tmp_path: Path) -> None:
    files = {**taken_apart(original), "notes.txt": b"x"}
    listed = {"path": "notes.txt", "sha256": "sha256:" + "0" * 64, "bytes": 1}
    files = with_listed(files, lambda found: found.update({"notes.txt": listed}))
    bad = put_together(files, tmp_path / "bad", anew=False)
    assert failed_step(bad)[:2] == ("invalid", 3)


@pytest.mark.parametrize("name", ["../escape", "/tmp/escape", "a/../../escape", "a//b", "."])
def test_no_file_leaves_the_place_it_is_unpacked_to(tmp_path: Path, name: str) -> None:
    listed = {"path": name, "sha256": "sha256:" + "0" * 64, "bytes": 1}
    manifest = {"schema": assay_manifest.SCHEMA, "run_id": RUN_ID, "files": {name: listed}}
    data = canonical.encode(manifest)
    bad = tmp_path / "inner" / "bad"
    bad.parent.mkdir()
    bad.write_bytes(raw_tar([member(layout.MANIFEST, data), member(name, b"x")]))
    assert failed_step(bad)[0] == "unreadable"
    assert not list(tmp_path.rglob("escape"))


def member(name: str, data: bytes, **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


@pytest.mark.parametrize(
    "fields",
    [
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.LNKTYPE, "linkname": "manifest.json"},
        {"type": tarfile.DIRTYPE},
        {"type": tarfile.CHRTYPE},
        {"mode": 0o755},
        {"uid": 1},
        {"mtime": 1},
        {"uname": "ada"},
    ],
)
def test_a_member_that_is_not_a_plain_file_is_unreadable(
    original: Path, tmp_path: Path, fields: dict[str, Any]
) -> None:
    files = taken_apart(original)
    members = [
        member(path, data, **(fields if path == assay_manifest.SURFACE else {}))
        for path, data in files.items()
    ]
    (tmp_path / "bad").write_bytes(raw_tar(members))
    assert failed_step(tmp_path / "bad")[0] == "unreadable"


def test_a_manifest_that_promises_more_than_there_is_room_for_is_unreadable(tmp_path: Path) -> None:
    listed = {"path": "x", "sha256": "sha256:" + "0" * 64, "bytes": 1 << 52}
    manifest = {"schema": assay_manifest.SCHEMA, "run_id": RUN_ID, "files": {"x": listed}}
    (tmp_path / "bomb").write_bytes(raw_tar([member(layout.MANIFEST, canonical.encode(manifest))]))
    status, _, says = failed_step(tmp_path / "bomb")
    assert status == "unreadable"
    assert "no room" in says


def test_a_manifest_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    data = b" " * (assay_manifest.MAX_BYTES + 1)
    (tmp_path / "bomb").write_bytes(raw_tar([member(layout.MANIFEST, data)]))
    assert not assay.is_archive(tmp_path / "bomb")
    assert failed_step(tmp_path / "bomb")[0] == "unreadable"


def test_no_byte_can_be_changed_without_notice(original: Path, tmp_path: Path) -> None:
    data = original.read_bytes()
    bad = tmp_path / "bad"
    for at in range(len(data)):
        bad.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        assert verdict_of(bad).status in {Status.INVALID, Status.UNREADABLE}, at


def test_no_byte_of_the_content_can_be_changed_without_notice(original: Path, tmp_path: Path) -> None:
    """With digests that are right again: what is left to find is that the facts do not fit each other."""
    files = taken_apart(original)
    for path in (assay_manifest.SURFACE, assay_manifest.HEALTH, assay_manifest.CORRELATION):
        for at in range(0, len(files[path]), 7):
            changed = bytearray(files[path])
            changed[at] ^= 1
            bad = put_together({**files, path: bytes(changed)}, tmp_path / "bad")
            assert verdict_of(bad).status is Status.INVALID, (path, at)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"lost_events": 2}, "kernel_layer:partial_ringbuf_drops"),
        ({"ring_lost": 2}, "kernel_layer:partial_ringbuf_drops"),
        ({"unreadable": 1}, "kernel_layer:partial_ringbuf_drops"),
        ({"closed": False}, "kernel_layer:partial_ringbuf_drops"),
    ],
)
def test_an_archive_whose_health_is_degraded_is_incomplete(
    tmp_path: Path, changed: dict[str, Any], says: str
) -> None:
    archive = exported(sealed_run(tmp_path / "run", frames(), **changed), tmp_path)
    status, step, said = failed_step(archive)
    assert (status, step) == ("incomplete", 9)
    assert says in said


def test_an_archive_of_a_run_that_nobody_observed_is_incomplete(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    archive = exported(tmp_path / "run", tmp_path)
    assert taken_apart(archive)[assay_manifest.KERNEL_LINES] == b""
    assert failed_step(archive) == ("incomplete", 9, "kernel_layer:absent")


def test_kernel_lines_of_a_run_that_nobody_observed_are_invalid(original: Path, tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    archive = exported(tmp_path / "run", tmp_path)
    lines = taken_apart(original)[assay_manifest.KERNEL_LINES]
    bad = forged(archive, tmp_path / "forged", assay_manifest.KERNEL_LINES, lambda _: lines)
    assert failed_step(bad)[:2] == ("invalid", 6)


def test_a_table_of_a_run_that_nobody_observed_is_invalid(original: Path, tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    archive = exported(tmp_path / "run", tmp_path)
    table = taken_apart(original)[assay_manifest.KERNEL_TABLE]
    bad = forged(archive, tmp_path / "forged", assay_manifest.KERNEL_TABLE, lambda _: table)
    assert failed_step(bad)[:2] == ("invalid", 6)


def test_no_line_is_read_further_than_the_one_that_its_row_gives(original: Path, tmp_path: Path) -> None:
    bad = forged(original, tmp_path / "forged", assay_manifest.KERNEL_LINES, lambda data: data + b"x" * 2000)
    assert failed_step(bad)[:2] == ("invalid", 6)
    assert "more lines than rows" in failed_step(bad)[2]


BYTES_OF_FILES = st.sampled_from([*assay_manifest.FILES, layout.MANIFEST])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=BYTES_OF_FILES, data=st.binary(max_size=300), tail=st.booleans())
def test_any_bytes_in_place_of_a_file_end_with_a_verdict(
    original: Path, tmp_path: Path, path: str, data: bytes, *, tail: bool
) -> None:
    files = taken_apart(original)
    changed = files[path] + data if tail else data
    if changed == files[path]:
        return
    bad = put_together({**files, path: changed}, tmp_path / "bad", anew=path != layout.MANIFEST)
    assert verdict_of(bad).status in {Status.INVALID, Status.UNREADABLE}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=2000))
def test_any_bytes_in_place_of_an_archive_end_with_a_verdict(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "any").write_bytes(data)
    assert not assay.is_archive(tmp_path / "any")
    assert verdict_of(tmp_path / "any").status is Status.UNREADABLE


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(0, 7), field=st.integers(0, 30), value=JSON)
def test_any_value_in_a_kernel_line_is_invalid(
    original: Path, tmp_path: Path, number: int, field: int, value: Any
) -> None:
    files = taken_apart(original)
    lines = lines_in(files[assay_manifest.KERNEL_LINES])
    name = [*lines[number]][field % len(lines[number])]
    lines[number][name] = value
    changed = b"".join(map(canonical.encode_line, lines))
    if changed == files[assay_manifest.KERNEL_LINES]:
        return
    bad = put_together({**files, assay_manifest.KERNEL_LINES: changed}, tmp_path / "bad")
    assert verdict_of(bad).status is Status.INVALID
