"""Reading layers: the events of an ordinary run are parsed once, and anew when they were written anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.bundle import reader
from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.evidence import kinds, layout
from support.spools import RUN_ID, small_spool


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every line that is parsed from now on."""
    lines: list[bytes] = []
    real = kinds.parse_line

    def note(line: bytes) -> kinds.Event:
        lines.append(line)
        return real(line)

    monkeypatch.setattr(kinds, "parse_line", note)
    return lines


def test_the_events_are_parsed_once(tmp_path: Path, parsed: list[bytes]) -> None:
    small_spool(tmp_path / "run")
    with Folder(tmp_path / "run/spool") as folder:
        layers = FolderLayers(folder, RUN_ID)
        assert list(layers.events()) == list(layers.events())
        count = len(parsed)
        assert count == len(list(layers.events()))
    assert len(parsed) == count


def test_a_file_of_events_too_large_to_keep_is_read_again(
    tmp_path: Path, parsed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_spool(tmp_path / "run")
    monkeypatch.setattr(reader, "MAX_KEPT_EVENTS", 10)
    with Folder(tmp_path / "run/spool") as folder:
        layers = FolderLayers(folder, RUN_ID)
        first, second = list(layers.events()), list(layers.events())
    assert first == second
    assert len(parsed) == 2 * len(first)


def test_a_file_can_be_read_at_any_place_and_a_link_is_not_followed(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    with Folder(tmp_path / "run/spool") as folder:
        layers = FolderLayers(folder, RUN_ID)
        with layers.open(layout.STDOUT) as file:
            file.seek(4)
            assert file.read() == b"two\n"
        (tmp_path / "run/spool/link").symlink_to("lock")
        with pytest.raises(OSError, match="not a regular file"):
            layers.open("link")


class Block(bytes):
    """Counts what is copied to be put before it."""

    copied = 0

    def __radd__(self, before: bytes) -> bytes:
        Block.copied += len(before) + len(self)
        return before + bytes(self)


class Cut(Folder):
    """Gives its files in small pieces."""

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        data = b"".join(super().read(path, start))
        return (Block(data[at : at + 100]) for at in range(0, len(data), 100))


def test_a_line_of_many_blocks_is_put_together_once(tmp_path: Path) -> None:
    lines = [b"x" * 100_000 + b"\n", b"\n", b"y" * 100_050]
    (tmp_path / "lines").write_bytes(b"".join(lines))
    with Cut(tmp_path) as folder:
        assert list(reader.lines_of(folder, "lines", 1 << 20, ValueError)) == lines
        with pytest.raises(ValueError, match="a line is longer than 1000 bytes"):
            list(reader.lines_of(folder, "lines", 1000, ValueError))
    assert Block.copied == 0
