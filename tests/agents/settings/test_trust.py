from __future__ import annotations

import fcntl
import json
import os
import threading
import tomllib
from pathlib import Path

import pytest

from steno.agents.catalog import Catalogue
from steno.agents.definition import AgentDefinition
from steno.bundle.folder import Folder
from steno.errors import AgentSetupError
from steno.launch import settings_file
from steno.launch.agent_settings import apply_trust

CODEX = b"""# my settings
model = "m"  # the fast one

[projects."/elsewhere"]
trust_level = "untrusted"

# at the end
"""
CLAUDE = b'{"numStartups": 3,\n   "projects": {\n      "/elsewhere": {"tools": []}\n   }, "tipsHistory": {}}'
GEMINI = b'// folders\n{\n  "/elsewhere": "DO_NOT_TRUST" // never\n}\n'


def agent(name: str) -> AgentDefinition:
    return Catalogue.load({}).get(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_codex_trusts_the_directory(home: Path, work: Path) -> None:
    file = put(home / ".codex" / "config.toml", CODEX)
    applied = apply_trust(agent("codex"), home, work, {})
    assert applied is not None
    assert not applied.already_there
    assert file.read_bytes() == CODEX + f'\n[projects."{work}"]\ntrust_level = "trusted"\n'.encode()


def test_claude_trusts_the_directory(home: Path, work: Path) -> None:
    file = put(home / ".claude.json", CLAUDE)
    apply_trust(agent("claude"), home, work, {})
    wanted = json.loads(CLAUDE)
    wanted["projects"][str(work)] = {"hasTrustDialogAccepted": True}
    assert json.loads(file.read_bytes()) == wanted
    assert list(json.loads(file.read_bytes())) == list(wanted)


def test_gemini_trusts_the_directory_and_comments_stay(home: Path, work: Path) -> None:
    file = put(home / ".gemini" / "trustedFolders.json", GEMINI)
    apply_trust(agent("gemini"), home, work, {})
    assert file.read_text() == GEMINI.decode().replace(
        'ST" // never\n', f'ST", // never\n  "{work}": "TRUST_FOLDER"\n'
    )


@pytest.mark.parametrize("name", ["opencode", "iflow"])
def test_an_agent_without_trust_gets_none(home: Path, work: Path, name: str) -> None:
    assert apply_trust(agent(name), home, work, {}) is None
    assert os.listdir(home) == []


@pytest.mark.parametrize("name", ["codex", "claude", "gemini"])
def test_a_second_time_changes_no_byte(home: Path, work: Path, name: str) -> None:
    first = apply_trust(agent(name), home, work, {})
    assert first is not None
    file = Path(first.file)
    before = file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino
    second = apply_trust(agent(name), home, work, {})
    assert second is not None
    assert (first.already_there, second.already_there) == (False, True)
    assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_new_files_and_folders_are_private(home: Path, work: Path) -> None:
    apply_trust(agent("codex"), home, work, {})
    assert (home / ".codex").stat().st_mode & 0o777 == 0o700
    assert (home / ".codex" / "config.toml").stat().st_mode & 0o777 == 0o600
    assert tomllib.loads((home / ".codex" / "config.toml").read_text()) == {
        "projects": {str(work): {"trust_level": "trusted"}}
    }


def test_a_file_keeps_its_mode_and_nothing_else_is_left_beside_it(home: Path, work: Path) -> None:
    file = put(home / ".codex" / "config.toml", CODEX)
    file.chmod(0o644)
    apply_trust(agent("codex"), home, work, {})
    assert file.stat().st_mode & 0o777 == 0o644
    assert os.listdir(file.parent) == ["config.toml"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change a file of somebody else")
def test_a_file_of_somebody_else_stays_theirs_when_root_changes_it(home: Path, work: Path) -> None:
    file = put(home / ".codex" / "config.toml", CODEX)
    os.chown(file, 4711, 4712)
    file.chmod(0o4640)
    apply_trust(agent("codex"), home, work, {})
    found = file.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (4711, 4712, 0o4640)


def test_a_file_whose_owner_cannot_be_kept_is_left_as_it_is(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(home / ".codex" / "config.toml", CODEX)

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(settings_file, "_give", refused)
    with pytest.raises(AgentSetupError, match="Operation not permitted"):
        apply_trust(agent("codex"), home, work, {})
    assert file.read_bytes() == CODEX
    assert os.listdir(file.parent) == ["config.toml"]


def test_the_directory_is_trusted_by_its_real_name(home: Path, work: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(work)
    applied = apply_trust(agent("codex"), home, tmp_path / "link", {})
    assert applied is not None
    assert applied.key == ["projects", str(work), "trust_level"]


def test_a_variable_moves_the_file_as_it_does_for_the_agent(home: Path, work: Path, tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    applied = apply_trust(agent("codex"), home, work, {"CODEX_HOME": str(tmp_path / "moved")})
    assert applied is not None
    assert applied.file == str(tmp_path / "moved" / "config.toml")


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("codex", ".codex/config.toml", b"model = \n"),
        ("codex", ".codex/config.toml", b"\xff\xfe"),
        ("codex", ".codex/config.toml", b"projects = 7\n"),
        ("claude", ".claude.json", b'{"projects": {'),
        ("claude", ".claude.json", b"[]"),
        ("claude", ".claude.json", b'{"projects": []}'),
        ("gemini", ".gemini/trustedFolders.json", b"{'a': 1}"),
    ],
)
def test_a_file_that_is_not_valid_is_left_untouched(
    home: Path, work: Path, name: str, file: str, content: bytes
) -> None:
    path = put(home / file, content)
    with pytest.raises(AgentSetupError, match=r"cannot be used") as caught:
        apply_trust(agent(name), home, work, {})
    assert str(path) in str(caught.value)
    assert "left as it is" in caught.value.hint
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("planted", [".codex", ".codex/config.toml"])
def test_a_planted_link_is_not_followed(home: Path, work: Path, tmp_path: Path, planted: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_bytes(CODEX)
    link = home / planted
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if planted == ".codex" else outside / "config.toml")
    with pytest.raises(AgentSetupError, match="is refused"):
        apply_trust(agent("codex"), home, work, {})
    assert (outside / "config.toml").read_bytes() == CODEX


def test_a_fifo_in_the_place_of_the_file_is_not_waited_for(home: Path, work: Path) -> None:
    os.mkfifo(home / ".claude.json")
    with pytest.raises(AgentSetupError, match="is refused"):
        apply_trust(agent("claude"), home, work, {})


def test_a_directory_whose_name_is_not_utf8_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(AgentSetupError, match="not UTF-8"):
        apply_trust(agent("claude"), home, Path(os.fsdecode(bytes(tmp_path) + b"/\xff")), {})


def test_two_starts_at_once_both_leave_their_trust(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_file, "LOCK_SECONDS", 60)  # a slow disk may keep each of them for long
    works = [tmp_path / f"work-{number}" for number in range(8)]
    threads = [
        threading.Thread(target=apply_trust, args=(agent("claude"), home, directory, {}))
        for directory in works
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(json.loads((home / ".claude.json").read_bytes())["projects"]) == set(map(str, works))


def test_a_home_that_somebody_holds_is_not_waited_for_without_end(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_file, "LOCK_SECONDS", 0)
    with Folder(home) as folder:
        fcntl.flock(folder.fd, fcntl.LOCK_EX)
        with pytest.raises(AgentSetupError, match="somebody holds"):
            apply_trust(agent("codex"), home, work, {})


def test_what_the_agent_writes_in_the_meantime_is_not_lost(home: Path) -> None:
    file = put(home / "settings.json", b"1")
    seen: list[bytes] = []

    def changed(text: bytes) -> bytes:
        seen.append(text)
        if len(seen) == 1:
            file.write_bytes(b"1, and of the agent")
        return text + b", ours"

    assert settings_file.change(home, "settings.json", changed)
    assert file.read_bytes() == b"1, and of the agent, ours"


def test_a_file_that_never_rests_is_given_up(home: Path) -> None:
    file = put(home / "settings.json", b"")

    def changed(text: bytes) -> bytes:
        file.write_bytes(text + b"x")
        return text + b"ours"

    with pytest.raises(AgentSetupError, match="changes all the time"):
        settings_file.change(home, "settings.json", changed)
    assert os.listdir(home) == ["settings.json"]


@pytest.mark.parametrize("named", ["elsewhere/folders.json", "/ROOT/elsewhere/folders.json"])
def test_a_variable_that_names_the_file_itself_is_heeded_before_one_that_moves_the_home(
    home: Path, work: Path, named: str
) -> None:
    """A relative name is one below the directory that the agent works in."""
    file = put(work / "elsewhere" / "folders.json", GEMINI)
    environ = {
        "GEMINI_CLI_HOME": str(home / "other"),
        "GEMINI_CLI_TRUSTED_FOLDERS_PATH": named.replace("/ROOT", str(work)),
    }
    applied = apply_trust(agent("gemini"), home, work, environ)
    assert applied is not None
    assert applied.file == str(file)
    assert f'"{work}": "TRUST_FOLDER"' in file.read_text()
    assert list(home.iterdir()) == []
