"""agent-snapshot, clause by clause, as far as it speaks of the format.

Each test exports a bundle that holds exactly what the clause is about, and reads the snapshot with nothing
but `json` and pyarrow, which is also what pandas reads Parquet with.
"""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from steno.bundle.keys import read_keys
from steno.cli import export as export_command
from steno.errors import BadRequestError
from steno.evidence import layout
from steno.export import Exported
from steno.export.contracts import agent_snapshot
from support.frames_made import Found
from support.program import Steno
from support.reading import opened, sealed
from support.resealing import reseal
from support.run_builder import LINK, RUN_ID, UNKNOWN, WRITING, Content, RunBuilder

SECRET = b"correct-horse-battery-staple"
SECRET_FILE = b"user = ada\npassword = %s\nend\n" % SECRET
MANIFEST_FIELDS = {"command", "exit_status", "start_cwd", "uid", "gid", "git_repositories", "files"}
STATE_FIELDS = {"exists", "tombstone", "type", "mode", "mtime", "blob"}


class Snapshot:
    """An exported snapshot directory."""

    def __init__(self, exported: Exported) -> None:
        self.path = exported.path
        self.notes = exported.notes

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())

    @property
    def manifest(self) -> dict[str, Any]:
        found = json.loads((self.path / "manifest.json").read_bytes())
        assert isinstance(found, dict)
        return found

    def file(self, path: str) -> dict[str, Any]:
        (found,) = [one for one in self.manifest["files"] if one["path"] == path]
        assert isinstance(found, dict)
        return found

    @property
    def table(self) -> pq.ParquetFile:
        return pq.ParquetFile(self.path / "blobs.parquet")

    @property
    def blobs(self) -> dict[str, bytes]:
        rows = pq.read_table(self.path / "blobs.parquet").to_pylist()
        return {row["key"]: row["content"] for row in rows}

    @property
    def everything(self) -> bytes:
        return b"\n".join(path.read_bytes() for path in sorted(self.path.iterdir()))


def exported(run: Path, directory: Path) -> Snapshot:
    with opened(run) as found:
        return Snapshot(agent_snapshot(found, directory))


def snapshot(tmp_path: Path, run: RunBuilder) -> Snapshot:
    return exported(sealed(run, tmp_path / "store"), tmp_path / "snapshot")


def a_run(*command: str, **started: Any) -> RunBuilder:
    return RunBuilder(*command, **started).process("sh")


def git(relative_path: str) -> dict[str, Any]:
    return {
        "in_repo": True,
        "root": "/repo",
        "head": "a" * 40,
        "relative_path": relative_path,
        "tracked": True,
        "dirty": False,
        "ignored": False,
    }


CALLS: dict[str, dict[str, Any]] = {
    "read": {"op": "open", "arg": os.O_RDONLY},
    "write": {"op": "open", "arg": WRITING},
    "existence": {"op": "stat"},
    "directory": {"op": "list"},
    "delete": {"op": "unlink"},
    "execute": {"op": "exec", "extra": b"f\0", "arg": 1},
    "metadata": {"op": "chmod", "arg": 0o644},
}


# --- What Is Saved --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "ours", "theirs"),
    [
        (["read"], ["read"], ["read"]),
        (["write"], ["write"], ["write"]),
        (["existence"], ["existence"], ["existence"]),
        (["directory"], ["directory"], ["directory"]),
        (["delete"], ["delete"], ["delete"]),
        (["execute"], ["execute", "read"], ["read"]),
        (["metadata"], ["metadata"], ["write"]),
        (["execute", "metadata", "write"], ["execute", "metadata", "read", "write"], ["read", "write"]),
    ],
)
def test_operations_are_words_of_the_contract(
    tmp_path: Path, calls: list[str], ours: list[str], theirs: list[str]
) -> None:
    run = a_run()
    for one in calls:
        run.call(path="/w/f", state=Found(), result=0, **CALLS[one])
    found = snapshot(tmp_path, run.left("/w/f", Found()))
    with opened(tmp_path / "store" / RUN_ID) as made:
        assert [file.operations for file in made.files] == [ours]
    assert found.file("/w/f")["operations"] == theirs


def test_every_recorded_path_has_its_states_before_and_after(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().wrote("/w/a", before=b"x").looked("/w/b"))
    assert [one["path"] for one in found.manifest["files"]] == ["/w/a", "/w/b"]
    assert all({"path", "operations", "before", "after"} <= set(one) for one in found.manifest["files"])


def test_clean_tracked_reads_have_git_metadata_and_no_blob(tmp_path: Path) -> None:
    clean = Content(b"clean", kept="clean_git")
    found = snapshot(tmp_path, a_run().read("/repo/file.txt", clean, git=git("file.txt")))
    assert found.file("/repo/file.txt") == {
        "path": "/repo/file.txt",
        "operations": ["read"],
        "before": {"exists": True, "type": "file", "mode": 33188, "mtime": 1700000000},
        "after": {"exists": True, "type": "file", "mode": 33188, "mtime": 1700000000},
        "git": {
            "in_repo": True,
            "root": "/repo",
            "head": "a" * 40,
            "relative_path": "file.txt",
            "tracked": True,
            "dirty": False,
            "ignored": False,
        },
    }


def test_deleted_files_are_tombstones(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().deleted("/repo/deleted.txt")).file("/repo/deleted.txt")
    assert found["after"] == {"exists": False, "tombstone": True}
    assert found["before"]["blob"] == "before:/repo/deleted.txt"
    assert found["operations"] == ["delete"]


def test_what_is_ignored_is_left_out_although_the_record_has_it(tmp_path: Path) -> None:
    run = a_run("rm", ignored=["/home/ada/.claude"])
    for path in ("/home/ada/.claude", "/home/ada/.claude/settings", "/home/ada/notes"):
        run.deleted(path, b"mine")
    assert [one["path"] for one in snapshot(tmp_path, run).manifest["files"]] == ["/home/ada/notes"]


def test_what_never_was_there_is_no_tombstone(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().looked("/no", None))
    assert found.file("/no")["before"] == found.file("/no")["after"] == {"exists": False}


def test_the_manifest_is_utf8_json_and_keeps_utf8_names(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().wrote("/w/grüße").wrote("/w/日本"))
    text = (found.path / "manifest.json").read_bytes().decode("utf-8", "strict")
    assert [one["path"] for one in json.loads(text)["files"]] == ["/w/grüße", "/w/日本"]


def test_names_that_are_not_utf8_are_converted_through_latin_1(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().wrote(b"/w/caf\xe9", b"x"))
    assert found.manifest["files"][0]["path"] == "/w/café"
    assert found.blobs == {"after:/w/café": b"x"}
    assert "path_b64" not in found.manifest["files"][0]


# --- Snapshot Format ------------------------------------------------------------------------------------


def test_a_snapshot_is_a_directory_of_two_files(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().wrote("/w/f", b"x"))
    assert found.path == tmp_path / "snapshot"
    assert found.names == ["blobs.parquet", "manifest.json"]


def test_without_a_blob_there_is_no_table(tmp_path: Path) -> None:
    assert snapshot(tmp_path, a_run().read("/w/f", Found())).names == ["manifest.json"]


def test_the_table_has_a_key_and_a_binary_content_and_no_other_column(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().wrote("/w/f", bytes(range(256))))
    columns = found.table.schema_arrow
    assert [(field.name, str(field.type)) for field in columns] == [("key", "string"), ("content", "binary")]
    assert found.blobs == {"after:/w/f": bytes(range(256))}


def many(count: int) -> RunBuilder:
    run = a_run()
    for number in range(count):
        run.wrote(f"/w/{number:04d}", f"{number:04d}".encode())
    return run


def test_column_chunks_are_compressed_with_snappy(tmp_path: Path) -> None:
    metadata = snapshot(tmp_path, many(130)).table.metadata
    assert {
        metadata.row_group(group).column(column).compression
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    } == {"SNAPPY"}


def test_row_groups_have_at_most_64_rows(tmp_path: Path) -> None:
    found = snapshot(tmp_path, many(130))
    metadata = found.table.metadata
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [64, 64, 2]
    assert len(found.blobs) == 130


def test_not_every_blob_is_kept_in_memory(tmp_path: Path) -> None:
    size, count = 4 << 20, 24
    made = a_run()
    for number in range(count):
        made.wrote(f"/w/{number}", f"{number:08d}".encode() * (size // 8))
    run = made.seal(tmp_path / "store")
    tracemalloc.start()
    exported(run, tmp_path / "snapshot")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * size


def test_the_manifest_has_the_fields_of_the_contract(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run("make", "test", cwd="/home/ada/work").ended(3)).manifest
    assert set(found) == MANIFEST_FIELDS
    assert found["command"] == ["make", "test"]
    assert found["exit_status"] == 3
    assert found["start_cwd"] == "/home/ada/work"


def test_uid_and_gid_are_those_of_the_recording_user(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run(uid=1000, gid=1001)).manifest
    assert (found["uid"], found["gid"]) == (1000, 1001)


def test_git_repositories_have_root_head_and_dirty(tmp_path: Path) -> None:
    repositories = [
        {"root": "/repo", "head": "a" * 40, "dirty": True},
        {"root": "/young", "head": None, "dirty": False},
    ]
    run = a_run().in_repository("/repo", dirty=True).in_repository("/young", head=None)
    assert snapshot(tmp_path, run).manifest["git_repositories"] == repositories


def test_states_have_no_other_fields_than_those_of_the_contract(tmp_path: Path) -> None:
    run = a_run().wrote("/w/f", Content(b"abc", kept="raced"), before=b"x").deleted("/w/d")
    run.call("symlink", "/w/l", extra="f", state=None, result=0).left("/w/l", Found(mode=LINK, target="f"))
    found = snapshot(tmp_path, run)
    states = [one[when] for one in found.manifest["files"] for when in ("before", "after")]
    assert {name for one in states for name in one} <= STATE_FIELDS
    assert all({"exists", "type", "mode", "mtime"} <= set(one) for one in states if one["exists"])
    assert found.file("/w/l")["after"]["type"] == "symlink"


def test_git_is_there_only_where_it_applies(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().read("/repo/a", git=git("a")).read("/etc/b"))
    assert "git" in found.file("/repo/a")
    assert "git" not in found.file("/etc/b")


def test_mtime_is_in_whole_seconds(tmp_path: Path) -> None:
    old, new = Found(mtime_ns=-4_000_000_001), Found(mtime_ns=1_770_000_000_999_999_999)
    found = snapshot(tmp_path, a_run().wrote("/w/f", new, before=old)).file("/w/f")
    assert (found["before"]["mtime"], found["after"]["mtime"]) == (-5, 1770000000)


def test_captured_contents_are_blob_references(tmp_path: Path) -> None:
    key = "after:/repo/generated.txt"
    found = snapshot(tmp_path, a_run().wrote("/repo/generated.txt", b"generated"))
    assert found.file("/repo/generated.txt") == {
        "path": "/repo/generated.txt",
        "operations": ["write"],
        "before": {"exists": False},
        "after": {"exists": True, "type": "file", "mode": 33188, "mtime": 1700000000, "blob": key},
    }
    assert found.blobs[key] == b"generated"


def test_every_blob_that_is_named_is_in_the_table_and_no_other(tmp_path: Path) -> None:
    run = a_run().read("/w/read", b"r", before_blob="after:/w/read")
    run.wrote("/w/.git/index", b"what a snapshot leaves out")
    found = snapshot(tmp_path, run)
    read = found.file("/w/read")
    assert read["before"]["blob"] == read["after"]["blob"] == "after:/w/read"
    assert found.blobs == {"after:/w/read": b"r"}


def test_a_blob_that_is_nowhere_is_not_named(tmp_path: Path) -> None:
    run = a_run().wrote("/w/gone").seal(tmp_path / "store")
    (run / layout.BLOBS).unlink()
    reseal(run)
    found = exported(run, tmp_path / "snapshot")
    assert "blob" not in found.file("/w/gone")["after"]
    assert found.names == ["manifest.json"]


def test_a_state_that_was_not_recorded_is_not_made_up(tmp_path: Path) -> None:
    found = snapshot(tmp_path, a_run().wrote("/w/f", UNKNOWN))
    assert found.file("/w/f")["after"] == {"exists": None}


# --- Secrets, of which it does not speak ----------------------------------------------------------------


def with_secret(tmp_path: Path) -> Path:
    return a_run().wrote("/w/.env", Content(SECRET_FILE, secret=True)).seal(tmp_path / "store")


def test_a_content_with_a_secret_is_left_out_also_where_the_key_is_at_hand(tmp_path: Path) -> None:
    run = with_secret(tmp_path)
    assert read_keys(run.parent)
    found = exported(run, tmp_path / "snapshot")
    assert "blob" not in found.file("/w/.env")["after"]
    assert found.names == ["manifest.json"]
    assert found.notes == ("contents left out, because they hold secrets: after:/w/.env",)
    assert SECRET not in found.everything


# --- Usage ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--snapshot-dir", "--output", "-o"])
def test_output_is_an_alias_for_snapshot_dir(tmp_path: Path, option: str) -> None:
    run = a_run().read("/w/f").seal(tmp_path / "store")
    target = tmp_path / "snapshot-dir"
    words = [str(run), "--as", "agent-snapshot", option, str(target)]
    done = CliRunner().invoke(export_command.export_command, words, catch_exceptions=False)
    assert done.stdout == f"{target}\n"
    assert (target / "manifest.json").exists()


def test_a_secret_is_told_of_on_stderr(tmp_path: Path) -> None:
    words = [str(with_secret(tmp_path)), "--as", "agent-snapshot", "-o", str(tmp_path / "snapshot")]
    done = CliRunner().invoke(export_command.export_command, words, catch_exceptions=False)
    assert done.stderr == "steno: contents left out, because they hold secrets: after:/w/.env\n"


def test_without_a_place_it_is_named_after_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run().seal(tmp_path / "store")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        export_command.export_command, [str(run), "--as", "agent-snapshot"], catch_exceptions=False
    )
    assert done.stdout == f"{tmp_path / f'snapshot-{RUN_ID}'}\n"


def test_exporting_again_gives_the_same_bytes_and_overwrites_nothing_else(tmp_path: Path) -> None:
    first = snapshot(tmp_path, many(3))
    before = first.everything
    again = exported(tmp_path / "store" / RUN_ID, tmp_path / "snapshot")
    assert again.everything == before
    (first.path / "manifest.json").write_bytes(b"mine")
    with pytest.raises(BadRequestError, match="something else"):
        exported(tmp_path / "store" / RUN_ID, tmp_path / "snapshot")
    assert (first.path / "manifest.json").read_bytes() == b"mine"


def test_a_run_without_a_kernel_layer_cannot_be_a_snapshot(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match="no kernel layer"):
        snapshot(tmp_path, RunBuilder())
    assert not (tmp_path / "snapshot").exists()


@contextmanager
def counting_calls() -> Iterator[Counter[str]]:
    """How many functions are called meanwhile: `call`, and `c_call` of those in C."""
    counted: Counter[str] = Counter()

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        counted[event] += 1

    sys.setprofile(count)
    try:
        yield counted
    finally:
        sys.setprofile(None)


def test_twenty_thousand_paths_are_written_in_good_time(tmp_path: Path) -> None:
    count = 20_000
    made = a_run()
    for number in range(count):
        made.looked(f"/w/{number}", Found())
    run = made.seal(tmp_path / "store")
    with counting_calls() as counted:
        found = exported(run, tmp_path / "snapshot")
    assert (
        counted["call"] + counted["c_call"] < 250 * count
    )  # 232 of them, most to conclude what became of it
    assert len(found.manifest["files"]) == count


def test_a_written_file_above_max_blob_has_no_content_after_and_everybody_says_so(
    steno: Steno, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    script = "head -c 2000 /dev/zero > large; echo small > small"
    assert steno("run", "--observer", "notify", "--max-blob", "1000", "--", "sh", "-c", script, cwd=work)
    told = f"1 written file without the content at the end (larger than --max-blob): {work / 'large'}"
    exported = steno("export", "@last", "--as", "agent-snapshot", "-o", tmp_path / "snapshot")
    assert told in exported.stderr.decode()
    assert told in steno("show", "@last").stdout.decode()
    verdict = steno("verify", "@last")
    assert (verdict.returncode, verdict.stdout.decode().split()[0]) == (0, "valid"), verdict.stdout
    assert told in verdict.stdout.decode()
    missing = [{"path": str(work / "large"), "why": "larger than --max-blob"}]
    assert json.loads(steno("verify", "@last", "--json").stdout)["verdicts"][0]["content_missing"] == missing
    assert json.loads(steno("show", "@last", "--json").stdout)["kernel"]["content_missing"] == missing
    listed = steno("files", "@last").stdout.decode().splitlines()
    assert [line.endswith("/large (content larger than --max-blob)") for line in listed] == [True, False]
