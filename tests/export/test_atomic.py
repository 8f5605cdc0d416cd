"""What is written appears whole, replaces nothing, and follows no link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from steno.errors import BadRequestError, StoreError
from steno.export.atomic import place_file, place_tree

FILES = {"a.txt": [b"one", b"two"], "below/b.txt": [b""]}


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_a_tree_appears_with_every_file(tmp_path: Path) -> None:
    made = place_tree(tmp_path / "new", "art/run/id", FILES)
    assert made == tmp_path / "new" / "art" / "run" / "id"
    assert (made / "a.txt").read_bytes() == b"onetwo"
    assert names(made) == ["a.txt", "below", "below/b.txt"]
    assert names(made.parent) == ["id", "id/a.txt", "id/below", "id/below/b.txt"]


def test_a_tree_may_stand_in_the_directory_itself(tmp_path: Path) -> None:
    assert place_tree(tmp_path / "new", "id", FILES) == place_tree(tmp_path / "new", "id", FILES)
    assert names(tmp_path / "new") == ["id", "id/a.txt", "id/below", "id/below/b.txt"]


def test_the_same_tree_again_is_fine(tmp_path: Path) -> None:
    assert place_tree(tmp_path, "art/id", FILES) == place_tree(tmp_path, "art/id", FILES)
    assert names(tmp_path / "art") == ["id", "id/a.txt", "id/below", "id/below/b.txt"]


@pytest.mark.parametrize("change", ["content", "more", "less", "link", "file"])
def test_another_tree_is_never_overwritten(tmp_path: Path, change: str) -> None:
    made = place_tree(tmp_path, "art/id", FILES)
    match change:
        case "content":
            (made / "a.txt").write_bytes(b"ONETWO")
        case "more":
            (made / "c.txt").write_bytes(b"")
        case "less":
            (made / "a.txt").unlink()
        case "link":
            (made / "a.txt").rename(tmp_path / "a.txt")
            (made / "a.txt").symlink_to(tmp_path / "a.txt")
        case "file":
            made.rename(tmp_path / "moved")
            made.write_bytes(b"a file")
    before = names(tmp_path)
    with pytest.raises(BadRequestError, match="something else"):
        place_tree(tmp_path, "art/id", FILES)
    assert names(tmp_path) == before


@pytest.mark.parametrize("planted", ["art", "art/run", "art/run/id"])
def test_a_planted_link_leads_nowhere(tmp_path: Path, planted: str) -> None:
    elsewhere, directory = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    (directory / planted).parent.mkdir(parents=True)
    (directory / planted).symlink_to(elsewhere)
    with pytest.raises((StoreError, BadRequestError)):
        place_tree(directory, "art/run/id", FILES)
    assert names(elsewhere) == []


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[bytes]:
        yield b"half"
        raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match="No space left"):
        place_tree(tmp_path, "art/id", {"a.txt": [b"one"], "b.txt": failing()})
    assert names(tmp_path) == ["art"]


def place(target: Path, data: bytes) -> int:
    def write(out: IO[bytes]) -> None:
        out.write(data)

    return place_file(target, write).bytes


def test_a_file_appears_and_the_same_again_is_fine(tmp_path: Path) -> None:
    assert place(tmp_path / "run.tar.gz", b"data") == 4
    assert place(tmp_path / "run.tar.gz", b"data") == 4
    assert names(tmp_path) == ["run.tar.gz"]


@pytest.mark.parametrize("there", ["other", "link", "directory"])
def test_whatever_else_is_there_stays(tmp_path: Path, there: str) -> None:
    target, victim = tmp_path / "run.tar.gz", tmp_path / "victim"
    victim.write_bytes(b"data")
    match there:
        case "other":
            target.write_bytes(b"DATA")
        case "link":
            target.symlink_to(victim)
        case "directory":
            target.mkdir()
    with pytest.raises(BadRequestError, match="something else"):
        place(target, b"data")
    assert victim.read_bytes() == b"data"
    assert names(tmp_path) == ["run.tar.gz", "victim"]


def test_a_place_that_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write"):
        place(tmp_path / "none" / "run.tar.gz", b"data")
