"""Contents of files in a bundle: written with flat memory, read back whole, secrets encrypted."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.bundle import blobs
from steno.bundle.blobs import BlobsError, BlobWriter, open_blobs
from steno.bundle.folder import Folder
from support.sought import assert_nowhere

KEY = bytes(range(32))
OTHER_KEY = bytes(32)
SECRET = b"the password of the run is hunter2-hunter2"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / blobs.BLOBS).parent.mkdir()
    with Folder(tmp_path) as opened:
        yield opened


def write(folder: Folder, *rows: tuple[str, bytes], secret: bool = False) -> None:
    writer = BlobWriter(folder, KEY)
    for key, content in rows:
        writer.add(key, content, secret=secret)
    writer.close()


def read_blob(folder: Folder, key: str, *secret_keys: bytes) -> bytes:
    with open_blobs(folder) as opened:
        return opened.read(key, secret_keys)


def test_what_is_written_is_read_back(folder: Folder) -> None:
    write(folder, ("before:/a", b"old"), ("after:/a", b""), ("after:/b\u00e9", bytes(range(256))))
    with open_blobs(folder) as opened:
        assert opened.keys() == ["before:/a", "after:/a", "after:/b\u00e9"]
        assert "after:/a" in opened
        assert "after:/c" not in opened
        assert [opened.read(key) for key in opened.keys()] == [b"old", b"", bytes(range(256))]  # noqa: SIM118
        assert list(opened.contents()) == [(key, opened.read(key)) for key in opened.keys()]  # noqa: SIM118


def test_a_cipher_of_a_newer_steno_makes_that_content_unreadable_and_is_told_as_such(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "ENCRYPTED", "of-a-newer-steno")
    write(folder, ("before:/a", SECRET), secret=True)
    monkeypatch.undo()
    with open_blobs(folder) as opened:
        assert opened.is_encrypted("before:/a")
        assert list(opened.contents([KEY])) == [("before:/a", None)]
        for keys in ([], [KEY]):
            with pytest.raises(BlobsError, match="newer Steno knows: 'of-a-newer-steno'"):
                opened.read("before:/a", keys)


def test_without_a_blob_there_is_no_file(folder: Folder) -> None:
    write(folder)
    assert [entry.path for entry in folder.entries() if entry.regular] == []
    with pytest.raises(BlobsError), open_blobs(folder):
        pass


def test_the_file_appears_only_when_it_is_whole(folder: Folder) -> None:
    writer = BlobWriter(folder, KEY)
    for number in range(100):
        writer.add(f"after:/{number}", b"x", secret=False)
    assert not folder.has(blobs.BLOBS)
    writer.close()
    assert [entry.path for entry in folder.entries()] == [blobs.BLOBS]


def test_a_discarded_file_leaves_nothing(folder: Folder) -> None:
    writer = BlobWriter(folder, KEY)
    for number in range(100):
        writer.add(f"after:/{number}", b"x", secret=False)
    writer.discard()
    assert [entry.path for entry in folder.entries() if entry.regular] == []
    assert writer.count == 0


def test_the_draft_of_a_killed_recorder_is_in_nobodys_way(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / f"{blobs.BLOBS}.sealing").write_bytes(b"half")
    write(folder, ("after:/a", b"new"))
    assert read_blob(folder, "after:/a") == b"new"
    assert [entry.path for entry in folder.entries()] == [blobs.BLOBS]


def test_row_groups_have_at_most_64_rows_and_are_snappy_as_the_contract_says(
    folder: Folder, tmp_path: Path
) -> None:
    from pyarrow import parquet

    write(folder, *((f"after:/{number}", b"content") for number in range(130)))
    found = parquet.ParquetFile(tmp_path / blobs.BLOBS).metadata
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    assert [group.num_rows for group in groups] == [64, 64, 2]
    assert {group.column(at).compression for group in groups for at in range(3)} == {"SNAPPY"}
    assert not any(group.column(at).is_stats_set for group in groups for at in range(3))


def test_row_groups_are_bounded_in_bytes_too(folder: Folder, tmp_path: Path) -> None:
    from pyarrow import parquet

    half = os.urandom(blobs.GROUP_BYTES // 2)
    write(folder, *((f"after:/{number}", half) for number in range(6)))
    assert parquet.ParquetFile(tmp_path / blobs.BLOBS).metadata.num_row_groups == 3
    assert read_blob(folder, "after:/5") == half


def test_a_content_larger_than_a_row_group_stands_alone(folder: Folder) -> None:
    large = os.urandom(blobs.GROUP_BYTES + 1)
    write(folder, ("after:/large", large), ("after:/small", b"x"))
    assert read_blob(folder, "after:/large") == large
    assert read_blob(folder, "after:/small") == b"x"


def test_a_disk_without_room_is_known_before_it_is_full(folder: Folder) -> None:
    writer = BlobWriter(folder, KEY)
    assert writer.has_room(1)
    assert not writer.has_room(1 << 60)


def test_memory_stays_flat_however_many_contents_there_are(folder: Folder) -> None:
    content = bytes(1 << 20)
    writer = BlobWriter(folder, KEY)
    writer.add("after:/first", content, secret=False)
    tracemalloc.start()
    try:
        for number in range(100):
            writer.add(f"after:/{number}", bytes(content), secret=False)
        assert tracemalloc.get_traced_memory()[1] < 3 * blobs.GROUP_BYTES
    finally:
        tracemalloc.stop()
        writer.discard()


# --- secrets -----------------------------------------------------------------------------------------


def test_a_secret_content_is_not_in_the_file_and_its_owner_can_read_it(
    folder: Folder, tmp_path: Path
) -> None:
    write(folder, ("before:/.env", SECRET), secret=True)
    assert_nowhere(["hunter2"], tmp_path / blobs.BLOBS)
    assert read_blob(folder, "before:/.env", KEY) == SECRET
    with open_blobs(folder) as opened:
        assert opened.is_encrypted("before:/.env")
        assert list(opened.contents([KEY])) == [("before:/.env", SECRET)]


def test_nobody_else_can_read_a_secret_content(folder: Folder) -> None:
    write(folder, ("before:/.env", SECRET), secret=True)
    with pytest.raises(BlobsError, match="holds a secret"):
        read_blob(folder, "before:/.env")
    with pytest.raises(BlobsError, match="cannot be opened"):
        read_blob(folder, "before:/.env", OTHER_KEY)
    with open_blobs(folder) as opened:
        assert list(opened.contents([OTHER_KEY])) == [("before:/.env", None)]


def test_a_secret_content_cannot_be_moved_to_another_path(folder: Folder) -> None:
    from pyarrow import parquet

    write(folder, ("before:/.env", SECRET), secret=True)
    path = folder.path / blobs.BLOBS
    table = parquet.read_table(path, schema=blobs._schema())  # noqa: SLF001 - with its own schema
    moved = table.set_column(0, table.schema.field(0), [["before:/public"]])
    parquet.write_table(moved, path, store_schema=False)
    with pytest.raises(BlobsError, match="cannot be opened"):
        read_blob(folder, "before:/public", KEY)


# --- files that were made to hurt --------------------------------------------------------------------


def judged(folder: Folder) -> None:
    """Everything that a reader does: contents or one error."""
    try:
        with open_blobs(folder) as opened:
            for key in opened.keys():  # noqa: SIM118 - a list
                opened.read(key, [KEY])
            list(opened.contents([KEY]))
    except BlobsError:
        pass


@given(st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_damaged_file_is_one_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("damaged")
    with Folder(path) as folder:
        write(folder, *((f"after:/{number}", bytes(number)) for number in range(70)))
        data = bytearray((path / blobs.BLOBS).read_bytes())
        for at, value in changes:
            data[-1 - at % len(data)] = value
        (path / blobs.BLOBS).write_bytes(data)
        judged(folder)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 3, bytes(1000), b"PAR1\xff\xff\xff\x7fPAR1"])
def test_a_file_that_is_no_table_is_one_error(folder: Folder, tmp_path: Path, content: bytes) -> None:
    (tmp_path / blobs.BLOBS).write_bytes(content)
    with pytest.raises(BlobsError), open_blobs(folder):
        pass


def test_a_link_in_place_of_the_file_is_not_followed(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with Folder(tmp_path / "elsewhere") as other:
        write(other, ("after:/a", b"x"))
    (tmp_path / blobs.BLOBS).symlink_to(tmp_path / "elsewhere" / blobs.BLOBS)
    with pytest.raises(BlobsError), open_blobs(folder):
        pass


def test_a_table_with_other_columns_is_refused(folder: Folder, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    for table in (
        pa.table({"key": ["a"], "content": [b"x"]}),
        pa.table({"key": ["a"], "content": ["x"], "cipher": [""]}),
        pa.table({"key": [None], "content": [b"x"], "cipher": [""]}, schema=None),
    ):
        parquet.write_table(table, tmp_path / blobs.BLOBS)
        with pytest.raises(BlobsError, match="columns"), open_blobs(folder):
            pass


def test_a_key_that_is_there_twice_is_refused(folder: Folder) -> None:
    write(folder, ("after:/a", b"one"), ("after:/a", b"two"))
    with pytest.raises(BlobsError, match="twice"), open_blobs(folder):
        pass


def test_a_row_group_larger_than_ours_is_refused(folder: Folder, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = [[f"after:/{number}" for number in range(65)], [b""] * 65, [""] * 65]
    table = pa.table(columns, schema=blobs._schema())  # noqa: SLF001 - with its own schema
    parquet.write_table(table, tmp_path / blobs.BLOBS, store_schema=False)
    with pytest.raises(BlobsError, match="row group"), open_blobs(folder):
        pass


def test_an_encrypted_content_that_is_too_short_is_one_error(folder: Folder, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table([["after:/a"], [b"short"], [blobs.ENCRYPTED]], schema=blobs._schema())  # noqa: SLF001
    parquet.write_table(table, tmp_path / blobs.BLOBS, store_schema=False)
    with pytest.raises(BlobsError, match="too short"):
        read_blob(folder, "after:/a", KEY)


def test_a_key_that_is_not_there_is_an_error(folder: Folder) -> None:
    write(folder, ("after:/a", b"x"))
    with pytest.raises(BlobsError, match="no blob"):
        read_blob(folder, "after:/b")
