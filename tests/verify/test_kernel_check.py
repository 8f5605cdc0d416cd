"""A bundle with a kernel layer: sealed whole, verified against its event, recovered from its frames."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steno.bundle import manifest as manifests
from steno.bundle.blobs import BlobWriter
from steno.bundle.folder import Folder
from steno.bundle.manifest import FileDigest, completeness_of
from steno.bundle.reader import digest_of
from steno.bundle.recover import Keepers, recover
from steno.bundle.seal import Sweeper, seal
from steno.bundle.verify import Status, Verdict, verify
from steno.evidence import canonical, kinds, layout
from steno.evidence.syscalls import ADDED
from support.frames_made import ABSENT, KEY, FakeFrames, Found
from support.kernel_tables import lines_of, observed_spool, older_table, table_of, write_table
from support.recorded import Recorded
from support.resealing import event_lines
from support.spools import RUN_ID, START, contents, open_spool

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
LINES = [{"path": "/a", "after": {"exists": False}}]


def made() -> FakeFrames:
    fake = FakeFrames().process().exec("/bin/sh", ["sh"], result=0, state=Found(mode=0o100755))
    return fake.event("open", "/a", state=ABSENT, arg=CREATE).event("unlink", "/a", state=Found()).exit()


def sealed(run: Path, **changed: Any) -> None:
    observed_spool(run, made(), LINES, **changed)
    with Folder(run) as folder:
        seal(folder, RUN_ID, Sweeper())


def verdict_of(run: Path) -> Verdict:
    with Folder(run) as folder:
        return verify(folder)


def forge(run: Path, path: str, data: bytes) -> None:
    """Put other bytes into a sealed bundle, with a manifest that fits them."""
    (run / path).write_bytes(data)
    manifest = manifests.parse((run / layout.MANIFEST).read_bytes())
    files = {**manifest.files, path: FileDigest(digest_of([data]), len(data))}
    forged = manifests.build(manifest.run_id, files)
    (run / layout.MANIFEST).write_bytes(manifests.to_bytes(forged))


def forge_event(run: Path, kind: str, **changed: Any) -> None:
    lines = [canonical.decode_line(line) for line in event_lines(run)]
    for line in lines:
        if line["type"] == kind:
            line["data"] |= changed
    forge(run, layout.EVENTS, b"".join(map(canonical.encode_line, lines)))


def problem_of(run: Path) -> str:
    verdict = verdict_of(run)
    assert verdict.status is Status.INVALID
    assert verdict.steps[-1].number == 7
    return "; ".join(verdict.steps[-1].problems)


def test_the_layer_is_sealed_and_valid_and_the_frames_are_gone(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    assert verdict_of(tmp_path / "run").status is Status.VALID
    found = contents(tmp_path / "run")
    assert {layout.KERNEL_TABLE, layout.FILE_LINES} <= set(found)
    assert not [path for path in found if "kernel/" in path]
    run = Recorded(tmp_path / "run")
    assert len(run.judged(layout.KERNEL_LINES).splitlines()) == 5
    assert run.json(layout.HEALTH)["kernel_layer"] == "complete"
    assert run.json(layout.RUN)["kernel"]["events"] == 5


@pytest.mark.parametrize(
    ("field", "value"), [("unreadable", 1), ("unseen_exits", 2), ("closed", False), ("ring_lost", 3)]
)
def test_what_was_not_seen_makes_the_layer_partial(tmp_path: Path, field: str, value: Any) -> None:
    sealed(tmp_path / "run", **{field: value})
    health = Recorded(tmp_path / "run").json(layout.HEALTH)
    assert (health["kernel_layer"], health["steno"]["kernel_layer"]) == ("partial_ringbuf_drops", "partial")
    assert any(note.startswith("kernel_layer_partial:") for note in health["notes"])
    assert health["ringbuf_drops"] == (3 if field == "ring_lost" else 0)


def test_a_table_that_no_event_tells_of_is_invalid(tmp_path: Path) -> None:
    sealed(tmp_path / "run", told=False)
    assert "no event tells of it" in problem_of(tmp_path / "run")


def test_another_number_of_rows_than_the_event_tells_is_invalid(tmp_path: Path) -> None:
    sealed(tmp_path / "run", events=6)
    assert "5 rows, the event tells of 6" in problem_of(tmp_path / "run")


def test_another_table_is_another_record_with_another_root(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    before = verdict_of(tmp_path / "run").root
    other = made()
    other.events[2] = other.events[2]._replace(process=2)
    forge(tmp_path / "run", layout.KERNEL_TABLE, table_of(other))
    assert verdict_of(tmp_path / "run").status is Status.VALID
    assert verdict_of(tmp_path / "run").root != before


def test_a_column_that_only_a_newer_steno_knows_is_passed_over(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    before = Recorded(tmp_path / "run").judged(layout.FILES)
    table = pq.read_table(tmp_path / "run" / layout.KERNEL_TABLE)
    wider = io.BytesIO()
    pq.write_table(table.append_column("added_later", [range(table.num_rows)]), wider)
    forge(tmp_path / "run", layout.KERNEL_TABLE, wider.getvalue())
    assert verdict_of(tmp_path / "run").status is Status.VALID
    assert Recorded(tmp_path / "run").judged(layout.FILES) == before


def test_an_operation_that_only_a_newer_steno_knows_is_told_of_and_changes_no_answer(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    before = Recorded(tmp_path / "run").judged(layout.FILES)
    table = pq.read_table(tmp_path / "run" / layout.KERNEL_TABLE)
    rows = table.to_pylist()
    rows.insert(4, {**rows[3], "op": "teleport"})
    newer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), newer)
    forge(tmp_path / "run", layout.KERNEL_TABLE, newer.getvalue())
    forge_event(tmp_path / "run", kinds.KernelObserved.type, events=6)
    verdict = verdict_of(tmp_path / "run")
    assert verdict.status is Status.VALID, verdict.steps[-1]
    assert verdict.notes == ["teleport: a call that only a newer Steno knows"]
    assert Recorded(tmp_path / "run").judged(layout.FILES) == before
    for name in (layout.KERNEL_LINES, layout.SURFACE, layout.HEALTH, layout.PROCESSES):
        assert Recorded(tmp_path / "run").judged(name)


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "flipped", "columns"])
def test_a_damaged_table_is_invalid_and_nothing_worse(tmp_path: Path, damage: str) -> None:
    sealed(tmp_path / "run")
    table = (tmp_path / "run" / layout.KERNEL_TABLE).read_bytes()
    few = io.BytesIO()
    pq.write_table(pq.read_table(io.BytesIO(table)).select(["op"]), few)
    forged = {
        "empty": b"",
        "cut": table[: len(table) // 2],
        "text": b"not a table",
        "flipped": table[:40] + bytes(byte ^ 0x55 for byte in table[40:400]) + table[400:],
        "columns": few.getvalue(),
    }
    forge(tmp_path / "run", layout.KERNEL_TABLE, forged[damage])
    assert layout.KERNEL_TABLE in problem_of(tmp_path / "run")


def test_lines_out_of_order_are_invalid(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    forge(tmp_path / "run", layout.FILE_LINES, lines_of([*LINES, {"path": "/", "after": {}}]))
    assert "not in its place" in problem_of(tmp_path / "run")


def test_a_missing_file_of_lines_is_invalid(tmp_path: Path) -> None:
    observed_spool(tmp_path / "run", made(), LINES)
    (tmp_path / "run/spool" / layout.FILE_LINES).unlink()
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper())
    assert f"{layout.FILE_LINES}: should be there" in problem_of(tmp_path / "run")


@pytest.mark.parametrize(("kept", "valid"), [("after:/a", True), ("after:/b", False), (None, False)])
def test_the_blobs_are_those_that_the_lines_name(tmp_path: Path, kept: str | None, *, valid: bool) -> None:
    observed_spool(tmp_path / "run", made(), [{**LINES[0], "after_blob": "after:/a"}])
    with Folder(tmp_path / "run") as folder, folder.sub(layout.SPOOL) as spool:
        writer = BlobWriter(spool, KEY)
        if kept:
            writer.add(kept, b"content", secret=False)
        writer.close()
        seal(folder, RUN_ID, Sweeper())
    if valid:
        assert verdict_of(tmp_path / "run").status is Status.VALID
    else:
        assert "has not all that" in problem_of(tmp_path / "run")


def test_a_blob_that_no_row_and_no_line_names_is_invalid(tmp_path: Path) -> None:
    observed_spool(tmp_path / "run", made(), LINES)
    with Folder(tmp_path / "run") as folder, folder.sub(layout.SPOOL) as spool:
        writer = BlobWriter(spool, KEY)
        writer.add("before:/a", b"content", secret=False)
        writer.close()
        seal(folder, RUN_ID, Sweeper())
    assert "has more than rows and lines name" in problem_of(tmp_path / "run")


@pytest.mark.parametrize("kept", [True, False])
def test_a_blob_that_a_row_names_is_there(tmp_path: Path, *, kept: bool) -> None:
    sealed(tmp_path / "run")
    rows = pq.read_table(tmp_path / "run" / layout.KERNEL_TABLE)
    named = io.BytesIO()
    keys = pa.array([None] * (rows.num_rows - 1) + ["before:/a"], pa.string())
    pq.write_table(rows.set_column(rows.schema.get_field_index("blob"), "blob", keys), named)
    forge(tmp_path / "run", layout.KERNEL_TABLE, named.getvalue())
    if kept:
        with Folder(tmp_path / "run") as folder:
            writer = BlobWriter(folder, KEY)
            writer.add("before:/a", b"content", secret=False)
            writer.close()
        forge(tmp_path / "run", layout.BLOBS, (tmp_path / "run" / layout.BLOBS).read_bytes())
        assert verdict_of(tmp_path / "run").status is Status.VALID
    else:
        assert "has not all that rows and lines name" in problem_of(tmp_path / "run")


def test_a_table_made_before_looks_had_their_contents_is_one_that_tells_of_none(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    before = Recorded(tmp_path / "run").judged(layout.FILES)
    table = (tmp_path / "run" / layout.KERNEL_TABLE).read_bytes()
    forge(tmp_path / "run", layout.KERNEL_TABLE, older_table(table))
    assert verdict_of(tmp_path / "run").status is Status.VALID
    assert Recorded(tmp_path / "run").judged(layout.FILES) == before


@pytest.mark.parametrize("name", [*ADDED])
def test_a_column_that_may_be_missing_may_not_be_another(tmp_path: Path, name: str) -> None:
    sealed(tmp_path / "run")
    rows = pq.read_table(tmp_path / "run" / layout.KERNEL_TABLE)
    other = io.BytesIO()
    column = pa.array([1.5] * rows.num_rows)
    pq.write_table(rows.set_column(rows.schema.get_field_index(name), name, column), other)
    forge(tmp_path / "run", layout.KERNEL_TABLE, other.getvalue())
    assert f"its column {name} is there, and not as" in problem_of(tmp_path / "run")


# --- recovery --------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    event: kinds.KernelObserved | None
    gaps: list[tuple[str, str]]


def killed_spool(run: Path) -> None:
    """A recorder that was killed while the command ran: there are frames, and no table."""
    spool = open_spool(run)
    spool.event(START)
    spool.close()


def keep(spool: Folder) -> Kept:
    event = write_table(made().header(closed=0), spool.path)
    (spool.path / layout.FILE_LINES).write_bytes(lines_of([{"path": "/a", "after": {"unknown": True}}]))
    return Kept(event, [("observer_killed", "killed"), ("after_unknown", "nobody looked")])


def test_the_frames_of_a_killed_run_become_its_layer(tmp_path: Path) -> None:
    killed_spool(tmp_path / "run")
    (tmp_path / "run/spool/kernel").mkdir()

    def keeper(spool: Folder) -> Kept:
        (spool.path / "kernel").rmdir()
        return keep(spool)

    with Folder(tmp_path / "run") as folder:
        recovered = recover(folder, Keepers(keeper))
    assert completeness_of(recovered.facts).gaps == ["after_unknown", "observer_killed", "recorder_killed"]
    assert verdict_of(tmp_path / "run").status is Status.INCOMPLETE
    files = Recorded(tmp_path / "run").json(layout.FILES)
    assert files["files"][0]["after"] == {"unknown": True}
    health = Recorded(tmp_path / "run").json(layout.HEALTH)
    assert health["kernel_layer"] == "partial_ringbuf_drops"


def test_frames_that_nobody_reads_are_a_gap(tmp_path: Path) -> None:
    killed_spool(tmp_path / "run")
    made().write(tmp_path / "run/spool")
    with Folder(tmp_path / "run") as folder:
        recovered = recover(folder)
    assert completeness_of(recovered.facts).gaps == ["kernel_record_damaged", "recorder_killed"]
    assert verdict_of(tmp_path / "run").status is Status.INCOMPLETE
    assert not [path for path in contents(tmp_path / "run") if "kernel/" in path]


def test_a_table_whose_event_was_never_written_is_made_again(tmp_path: Path) -> None:
    killed_spool(tmp_path / "run")
    write_table(made(), tmp_path / "run/spool")
    for path in (layout.KERNEL_TABLE, layout.FILE_LINES, layout.BLOBS):
        (tmp_path / "run/spool" / path).write_bytes(b"half")
    with Folder(tmp_path / "run") as folder:
        recover(folder, Keepers(lambda _: Kept(None, [("kernel_record_damaged", "cannot be read")])))
    assert verdict_of(tmp_path / "run").status is Status.INCOMPLETE
    assert layout.KERNEL_TABLE not in contents(tmp_path / "run")


def test_a_run_that_was_recorded_to_its_end_keeps_the_layer_it_has(tmp_path: Path) -> None:
    observed_spool(tmp_path / "run", made(), LINES)

    def refuse(_: Folder) -> Kept:
        raise AssertionError

    with Folder(tmp_path / "run") as folder:
        assert completeness_of(recover(folder, Keepers(refuse)).facts).complete
    assert verdict_of(tmp_path / "run").status is Status.VALID
