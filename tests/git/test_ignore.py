"""The ignore configuration: where it lies, what is made of it, and when it stops a run."""

from __future__ import annotations

import errno
import json
import os
import pwd
import socket
from pathlib import Path

import pytest

from steno.capture import ignore
from steno.capture.ignore import load
from steno.errors import CaptureError
from steno.evidence.ignore_rules import IgnoreRules, git_directory

PLACE = Path("agent-snapshot", "ignore.json")


def configured(home: Path, *entries: str) -> IgnoreRules:
    path = home / ".config" / PLACE
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(entries))
    return load({"HOME": str(home)})


def broken(home: Path, content: bytes) -> Path:
    path = home / ".config" / PLACE
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{}", id="object"),
        pytest.param(b"null", id="null"),
        pytest.param(b'"/tmp"', id="string"),
        pytest.param(b'["/tmp", 7]', id="number in it"),
        pytest.param(b'["/tmp", null]', id="null in it"),
        pytest.param(b'[["/tmp"]]', id="nested"),
        pytest.param(b'["/tmp"', id="cut"),
        pytest.param(b'["/tmp"] []', id="two values"),
        pytest.param(b'["/tmp/\xff"]', id="not UTF-8"),
        pytest.param(b'["/tmp/\\udcff"]', id="half a character"),
        pytest.param(b"[" * 500_000, id="deep"),
        pytest.param(b"[" + b'"/a",' * 300_000 + b'"/a"]', id="huge"),
    ],
)
def test_a_malformed_file_is_an_error_with_a_hint_and_stays_as_it_is(home: Path, content: bytes) -> None:
    path = broken(home, content)
    with pytest.raises(CaptureError, match="ignore configuration") as raised:
        load({"HOME": str(home)})
    assert raised.value.hint
    assert path.read_bytes() == content


def test_a_fifo_in_its_place_is_an_error_and_not_a_wait(home: Path) -> None:
    path = broken(home, b"")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CaptureError, match="not a regular file"):
        load({"HOME": str(home)})


def test_a_directory_or_socket_in_its_place_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = broken(home, b"")
    path.unlink()
    path.mkdir()
    with pytest.raises(CaptureError, match="not a regular file"):
        load({"HOME": str(home)})
    path.rmdir()
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(path.parent)  # the address has room for a short name only
        server.bind(path.name)
        with pytest.raises(CaptureError):
            load({"HOME": str(home)})


def test_a_dangling_link_in_its_place_is_an_error(home: Path) -> None:
    path = broken(home, b"")
    path.unlink()
    path.symlink_to("nowhere")
    with pytest.raises(CaptureError):
        load({"HOME": str(home)})
    assert [entry.name for entry in path.parent.iterdir()] == ["ignore.json"]


def test_a_link_to_a_file_is_followed_because_people_keep_their_files_elsewhere(home: Path) -> None:
    path = broken(home, b"")
    path.unlink()
    (home / "mine.json").write_text('["/somewhere"]')
    path.symlink_to(home / "mine.json")
    rules = load({"HOME": str(home)})
    assert rules.ignores(b"/somewhere/else")
    assert rules.ignores(os.fsencode(home / "mine.json"))


def as_by_default(rules: IgnoreRules, home: Path) -> bool:
    seen = [rules.ignores(path) for path in (b"/usr/bin/env", os.fsencode(home / ".cache" / "x"), b"/etc")]
    return seen == [True, True, False]


def test_a_home_that_takes_no_file_gets_the_default_list(home: Path) -> None:
    (home / ".config").write_text("in the way")
    assert as_by_default(load({"HOME": str(home)}), home)
    assert ignore.why_not_made(home / ".config" / PLACE) == f"{home / '.config'} is not a directory"


@pytest.mark.parametrize("refusal", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_home_that_cannot_be_written_gets_the_default_list(
    home: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert as_by_default(load({"HOME": str(home)}), home)
    assert not (home / ".config").exists()


def test_a_home_that_may_not_be_looked_into_gets_the_default_list(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert as_by_default(load({"HOME": str(home)}), home)


def test_a_file_that_is_there_and_may_not_be_read_is_an_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    broken(home, b"[]")
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CaptureError, match="Permission denied"):
        load({"HOME": str(home)})


def test_a_missing_file_that_can_be_made_is_not_said_to_be_impossible(home: Path) -> None:
    assert ignore.why_not_made(home / ".config" / PLACE) is None
    assert list(home.iterdir()) == []
    broken(home, b"{}")
    assert ignore.why_not_made(home / ".config" / PLACE) is None


def test_a_file_system_without_hard_links_gets_the_file_too(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    load({"HOME": str(home)})
    assert json.loads((home / ".config" / PLACE).read_text()) == list(ignore.DEFAULT_LIST)


def test_the_other_run_that_makes_the_file_at_the_same_time_wins(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / ".config" / PLACE
    link = Path.hardlink_to

    def late(self: Path, target: Path) -> None:
        path.write_text('["/theirs"]')
        link(self, target)

    monkeypatch.setattr(Path, "hardlink_to", late)
    assert load({"HOME": str(home)}).ignores(b"/theirs")
    assert [entry.name for entry in path.parent.iterdir()] == ["ignore.json"]


def test_an_entry_is_matched_by_whole_names(home: Path) -> None:
    rules = configured(home, "/tmp/work")
    assert not rules.ignores(b"/tmp/workshop")
    assert not rules.ignores(b"/tmp")
    assert not rules.ignores(b"/other/tmp/work")


def test_slashes_and_dots_in_an_entry_do_not_matter(home: Path) -> None:
    rules = configured(home, "/tmp//work/", "//opt/./x/../data")
    assert rules.ignores(b"/tmp/work/file")
    assert rules.ignores(b"/opt/data")


def test_an_entry_that_is_no_absolute_path_matches_nothing(home: Path) -> None:
    rules = configured(home, "", ".", "relative", "$NOWHERE/x", "/with\0nul")
    own = os.fsencode(home / ".config" / PLACE)
    assert rules.prefixes() == [own]


def test_a_name_that_only_begins_like_a_variable_is_not_expanded(home: Path) -> None:
    rules = configured(home, "$HOMEWORK/x", "/data/$HOME")
    assert not rules.ignores(os.fsencode(home) + b"WORK/x")
    assert rules.ignores(b"/data/$HOME/x")


def test_without_the_variable_the_home_is_that_of_the_password_database(home: Path) -> None:
    of_the_system = pwd.getpwuid(os.getuid()).pw_dir
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HOME", raising=False)
        rules = load({"XDG_CONFIG_HOME": str(home)})
    assert os.fsencode(f"{of_the_system}/.cache") in rules.prefixes()


def test_home_in_an_entry_names_nothing_when_there_is_no_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    rules = load({"XDG_CONFIG_HOME": str(home)})
    assert not any(b"$" in prefix or prefix.endswith(b".cache") for prefix in rules.prefixes())


def test_the_root_as_an_entry_ignores_everything(home: Path) -> None:
    rules = configured(home, "/")
    assert rules.ignores(b"/")
    assert rules.ignores(b"/any/file")


def test_an_entry_that_leads_through_a_link_stands_for_both_names(home: Path) -> None:
    (home / "real").mkdir()
    (home / "name").symlink_to("real")
    rules = configured(home, "$HOME/name")
    assert rules.ignores(os.fsencode(home / "name"))
    assert rules.ignores(os.fsencode(home / "real" / "file"))


def test_names_that_are_not_utf8_are_compared_as_bytes(home: Path) -> None:
    assert configured(home, "/tmp/work").ignores(b"/tmp/work/\xff\xfe")


def test_a_relative_home_is_taken_from_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    rules = load({"HOME": "."})
    assert rules.ignores(os.fsencode(home / ".cache" / "x"))
    assert (home / ".config" / PLACE).exists()


def test_the_prefixes_are_what_is_ignored_sorted_and_without_variables(home: Path) -> None:
    rules = configured(home, "/b", "$HOME/a", "/b")
    own = os.fsencode(home / ".config" / PLACE)
    assert rules.prefixes() == sorted({b"/b", os.fsencode(home / "a"), own})


def test_the_page_has_the_default_list() -> None:
    page = (Path(__file__).parents[2] / "docs" / "ignore.md").read_text()
    (block,) = page.split("```json\n")[1:]
    assert json.loads(block.partition("```")[0]) == list(ignore.DEFAULT_LIST)


@pytest.mark.parametrize(
    ("path", "git"),
    [
        (b"/a/.git", b"/a/.git"),
        (b"/a/.git/x", b"/a/.git"),
        (b"/.git/modules/b/.git/x", b"/.git"),
        (b"/a/.gitignore", None),
        (b"/a/.github/.git/x", b"/a/.github/.git"),
        (b"/a/x.git/y", None),
        (b"/a", None),
    ],
)
def test_the_outermost_git_directory_of_a_path_is_found(path: bytes, git: bytes | None) -> None:
    assert git_directory(path) == git
