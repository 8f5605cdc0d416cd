"""Packing: the same bytes every time; unpacking: only what the manifest says, or an error."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.manifest import FileDigest
from steno.bundle.pack import pack, unpacked
from steno.bundle.verify import Status, verify
from steno.errors import UnreadableBundleError
from steno.evidence import layout
from support.spools import RUN_ID, contents, sealed

HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


def packed(run: Path) -> bytes:
    out = io.BytesIO()
    with Folder(run) as folder:
        pack(folder, out)
    return out.getvalue()


def member(name: str, data: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    for info, data in members:
        out.write(info.tobuf(tarfile.USTAR_FORMAT))
        out.write(data + bytes(-len(data) % tarfile.BLOCKSIZE))
    out.write(bytes(2 * tarfile.BLOCKSIZE))
    out.write(bytes(-out.tell() % tarfile.RECORDSIZE))
    return zipped(out.getvalue())


def zipped(data: bytes) -> bytes:
    """With the header of a packed bundle, so that what is refused is refused for what follows it."""
    return HEADER + gzip.compress(data, mtime=0)[len(HEADER) :]


def manifest_for(**sizes: int) -> tuple[tarfile.TarInfo, bytes]:
    files = {name: FileDigest("0" * 64, size) for name, size in sizes.items()}
    built = manifests.build(RUN_ID, files)
    return member(layout.MANIFEST, manifests.to_bytes(built))


def refused(tmp_path: Path, data: bytes) -> str:
    (tmp_path / "packed.tar.gz").write_bytes(data)
    with pytest.raises(UnreadableBundleError) as failure, unpacked(tmp_path / "packed.tar.gz"):
        pytest.fail("it was unpacked")
    assert failure.value.exit_code == 4
    return str(failure.value)


def test_a_packed_bundle_unpacks_to_the_same_bytes_and_verifies(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    (tmp_path / "packed.tar.gz").write_bytes(packed(tmp_path / "run"))
    with unpacked(tmp_path / "packed.tar.gz") as folder:
        place = folder.path
        assert contents(place) == contents(tmp_path / "run")
        assert verify(folder).status is Status.VALID
        assert place.stat().st_mode & 0o077 == 0
    assert not place.exists()


def test_a_copy_with_other_times_owners_and_modes_packs_to_the_same_bytes(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "copy", copy_function=shutil.copyfile)
    for number, path in enumerate(sorted((tmp_path / "copy").rglob("*"))):
        path.chmod(0o755)
        os.utime(path, (number, number))
        if os.geteuid() == 0:
            os.chown(path, 1000 + number, 1000)
    assert packed(tmp_path / "copy") == packed(tmp_path / "run")


def test_the_packed_bytes_name_no_time_no_owner_and_no_operating_system(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    data = packed(tmp_path / "run")
    assert data[:10] == HEADER
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
    assert members[0].name == layout.MANIFEST
    assert [info.name for info in members][1:] == sorted(info.name for info in members[1:])
    assert {(info.mtime, info.uid, info.gid, info.uname, info.gname, info.mode) for info in members} == {
        (0, 0, 0, "", "", 0o644)
    }


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "terminal/./x", ""])
def test_a_name_that_leads_out_is_refused_even_if_the_manifest_has_it(tmp_path: Path, name: str) -> None:
    refused(tmp_path, archive_of(manifest_for(**{name: 1}), member(name, b"x")))
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.DIRTYPE,
        tarfile.GNUTYPE_SPARSE,
        tarfile.CONTTYPE,
        tarfile.AREGTYPE,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.GNUTYPE_LONGNAME,
        b"?",
    ],
)
def test_only_plain_files_are_unpacked(tmp_path: Path, kind: bytes) -> None:
    said = refused(tmp_path, archive_of(manifest_for(a=0), member("a", type=kind, linkname="/etc/passwd")))
    assert "plain file" in said
    refused(tmp_path, archive_of(member(layout.MANIFEST, type=kind, linkname="/etc/passwd")))


@pytest.mark.parametrize(
    "members",
    [
        lambda: [manifest_for(a=1), member("a", b"xx")],
        lambda: [manifest_for(a=2), member("a", b"x")],
        lambda: [manifest_for(a=1), member("b", b"x")],
        lambda: [manifest_for(a=1), member("a", b"x"), member("a", b"x")],
        lambda: [manifest_for(a=1), manifest_for(a=1)],
        lambda: [member("a", b"x"), manifest_for(a=1)],
        lambda: [member(layout.MANIFEST, b"{}")],
        list,
    ],
    ids=["longer", "shorter", "unknown", "twice", "two-manifests", "manifest-last", "no-manifest", "empty"],
)
def test_a_member_that_is_not_as_the_manifest_says_is_refused(
    tmp_path: Path, members: Callable[[], list[tuple[tarfile.TarInfo, bytes]]]
) -> None:
    refused(tmp_path, archive_of(*members()))


def test_more_than_there_is_room_for_is_refused_before_it_is_written(tmp_path: Path) -> None:
    huge = 1 << 50
    said = refused(tmp_path, archive_of(manifest_for(a=huge), member("a")))
    assert "no room" in said


def test_what_unpacks_to_far_more_than_records_do_is_refused_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steno.bundle.pack.MAX_UNPACKED", 1 << 20)
    said = refused(tmp_path, archive_of(manifest_for(a=2 << 20), member("a", bytes(2 << 20))))
    assert "times its size" in said


def test_more_files_than_a_record_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steno.bundle.pack.MAX_FILES", 1)
    said = refused(tmp_path, archive_of(manifest_for(a=1, b=1), member("a", b"x"), member("b", b"x")))
    assert "2 files, more than 1" in said


@pytest.mark.timeout(60)
def test_an_extended_header_that_unpacks_to_gigabytes_is_not_read(tmp_path: Path) -> None:
    bomb, _ = member("bomb", type=tarfile.XHDTYPE, size=8 << 30)
    data = io.BytesIO()
    with gzip.GzipFile(fileobj=data, mode="wb", mtime=0) as zipped:
        zipped.write(bomb.tobuf(tarfile.GNU_FORMAT))
        for _ in range(64):
            zipped.write(bytes(1 << 20))
    refused(tmp_path, HEADER + data.getvalue()[len(HEADER) :])


def test_a_manifest_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    big, _ = member(layout.MANIFEST, size=manifests.MAX_BYTES + 1)
    assert "too large" in refused(tmp_path, archive_of((big, b"")))


def test_a_negative_size_is_refused(tmp_path: Path) -> None:
    info, data = manifest_for()
    buffer = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    buffer[124:136] = b"\xff" * 12
    buffer[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(buffer))[0]  # type: ignore[attr-defined]
    assert "plain file" in refused(tmp_path, zipped(bytes(buffer) + data))


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_bundle_with_any_byte_changed_is_never_valid(tmp_path: Path, stride: int) -> None:
    sealed(tmp_path / "run")
    data = packed(tmp_path / "run")
    assert is_valid(tmp_path, data)
    for at in range(0, len(data), stride):
        changed = bytes([data[at] ^ 1 << at % 8])
        assert not is_valid(tmp_path, data[:at] + changed + data[at + 1 :]), at


def test_a_change_that_no_sum_can_see_is_seen(tmp_path: Path) -> None:
    """The bits that fill the last byte of the deflate stream mean nothing, and some distances are alike."""
    sealed(tmp_path / "run")
    data = packed(tmp_path / "run")
    unseen = []
    for at in range(len(HEADER), len(data)):
        for bit in range(8):
            changed = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            with suppress(OSError, zlib.error, EOFError):
                if gzip.decompress(changed) == gzip.decompress(data):
                    unseen.append(changed)
    assert unseen
    for changed in unseen[:: len(unseen) // 20 + 1]:
        assert "changed" in refused(tmp_path, changed)


def test_a_bundle_packed_by_another_zlib_is_valid(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    data = gzip.decompress(packed(tmp_path / "run"))
    for level in (0, 1, 9):
        other = HEADER + gzip.compress(data, level, mtime=0)[len(HEADER) :]
        assert level == 9 or other != packed(tmp_path / "run")
        assert is_valid(tmp_path, other)


def test_a_bundle_cut_anywhere_is_unreadable(tmp_path: Path) -> None:
    sealed(tmp_path / "run")
    data = packed(tmp_path / "run")
    for length in [*range(0, len(data), 17), *range(len(data) - 20, len(data))]:
        refused(tmp_path, data[:length])


@pytest.mark.parametrize(
    "more", [b"\0", b"x", bytes(512), gzip.compress(b"", mtime=0), gzip.compress(b"x", mtime=1)]
)
def test_nothing_may_follow_the_end(tmp_path: Path, more: bytes) -> None:
    sealed(tmp_path / "run")
    refused(tmp_path, packed(tmp_path / "run") + more)


def test_every_byte_around_the_files_is_the_one_that_packing_writes(tmp_path: Path) -> None:
    """Someone who packs by himself has the sums right; a header, padding or end of his own is refused."""
    sealed(tmp_path / "run")
    plain = gzip.decompress(packed(tmp_path / "run"))
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        members = archive.getmembers()
    inside = {at for one in members for at in range(one.offset_data, one.offset_data + one.size)}
    for at in range(0, len(plain), 97):
        if at not in inside:
            refused(tmp_path, zipped(plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1 :]))
    for changed in (plain + bytes(512), plain + bytes(10240), plain[:-512], plain[:-10240], plain + b"x"):
        refused(tmp_path, zipped(changed))


def test_the_members_are_sorted_and_all_there(tmp_path: Path) -> None:
    assert "no" in refused(tmp_path, archive_of(manifest_for(a=1, b=1), member("b", b"x"), member("a", b"x")))
    refused(tmp_path, archive_of(manifest_for(a=1, b=1), member("a", b"x")))


def is_valid(tmp_path: Path, data: bytes) -> bool:
    (tmp_path / "packed.tar.gz").write_bytes(data)
    try:
        with unpacked(tmp_path / "packed.tar.gz") as folder:
            return verify(folder).status is Status.VALID
    except UnreadableBundleError:
        return False


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"\x1f\x8b", gzip.compress(b"", mtime=0), gzip.compress(b"x" * 600, mtime=0)],
    ids=range(5),
)
def test_what_is_no_archive_is_unreadable(tmp_path: Path, data: bytes) -> None:
    refused(tmp_path, data)


def test_a_directory_that_is_gone_or_not_a_file_is_unreadable(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(UnreadableBundleError), unpacked(path):
            pytest.fail("it was unpacked")
