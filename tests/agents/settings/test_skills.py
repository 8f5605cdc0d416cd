from __future__ import annotations

import os
from pathlib import Path

import pytest

from steno.contracts.agent_audit.log_scan import done_signals
from steno.errors import AgentSetupError, BadRequestError
from steno.launch import skills

TEXT = b"---\nname: greet\ndescription: Says hello.\n---\n\nSay hello.\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return skill(tmp_path / "source" / "greet").parent


def skill(folder: Path, text: bytes = TEXT) -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(text)
    return folder


def seen(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_skill_of_a_folder_is_copied_with_all_that_is_in_it(source: Path, run: Path) -> None:
    (source / "greet" / "tools").mkdir()
    (source / "greet" / "tools" / "wave.sh").write_bytes(b"#!/bin/sh\n")
    (source / "greet" / "tools" / "wave.sh").chmod(0o755)
    (source / "greet" / "empty").mkdir()
    skill(source / "part")
    (source / "README.md").write_text("not a skill")
    (source / ".git").mkdir()
    assert skills.inject([source], run, ".claude/skills").names == ["greet", "part"]
    place = run / ".claude" / "skills"
    assert sorted(os.listdir(place)) == ["greet", "part"]
    assert (place / "greet" / "tools" / "wave.sh").stat().st_mode & 0o777 == 0o700
    assert (place / "greet" / "SKILL.md").stat().st_mode & 0o777 == 0o600
    assert (place / "greet" / "empty").is_dir()


def test_a_folder_that_is_a_skill_is_copied_as_one(source: Path, run: Path) -> None:
    assert skills.inject([source / "greet"], run, "skills").names == ["greet"]


def test_the_copy_says_how_to_say_done_and_the_source_is_untouched(source: Path, run: Path) -> None:
    before = seen(source)
    injection = skills.inject([source], run, "skills")
    copied = (run / "skills" / "greet" / "SKILL.md").read_bytes()
    assert seen(source) == before
    assert copied.startswith(TEXT.rstrip())
    assert b'"__SKILL_DONE__": true' in copied
    assert injection.texts == [copied]


def test_the_example_of_the_contract_is_a_done_signal_of_this_skill(source: Path, run: Path) -> None:
    skills.inject([source], run, "skills")
    lines = (run / "skills" / "greet" / "SKILL.md").read_bytes().splitlines()
    told = [said for line in lines for said in done_signals(line)]
    assert len(told) == 1
    assert told[0].signal is not None
    assert (told[0].signal.state, told[0].signal.skill) == ("completed", "greet")


@pytest.mark.parametrize("name", ['a "quoted" one', "schön", "{braces}", "back\\slash"])
def test_any_name_of_a_skill_makes_a_done_signal(name: str) -> None:
    told = [said for line in skills.with_contract(TEXT, name).splitlines() for said in done_signals(line)]
    assert [said.signal.skill for said in told if said.signal] == [name]


def test_the_contract_is_appended_once() -> None:
    once = skills.with_contract(TEXT, "greet")
    assert skills.with_contract(once, "greet") == once


def test_the_same_skill_a_second_time_changes_nothing(source: Path, run: Path) -> None:
    skills.inject([source], run, "skills")
    before = (run / "skills" / "greet").stat().st_ino
    skills.inject([source], run, "skills")
    assert (run / "skills" / "greet").stat().st_ino == before


def test_what_an_earlier_attempt_was_given_can_be_known_again(source: Path, run: Path) -> None:
    given = skills.inject([source], run, "skills").texts
    (run / "skills" / "link").symlink_to(source)
    assert skills.texts_there(run, "skills") == given
    assert skills.texts_there(run, "none") == []


def test_a_skill_that_is_there_and_differs_is_not_overwritten(source: Path, run: Path) -> None:
    mine = skill(run / "skills" / "greet", b"mine")
    with pytest.raises(AgentSetupError, match="another skill greet"):
        skills.inject([source], run, "skills")
    assert seen(mine) == {"SKILL.md": b"mine"}


def test_a_skill_without_its_file_is_named(source: Path, run: Path) -> None:
    (source / "bare").mkdir()
    with pytest.raises(BadRequestError, match=r"bare has no SKILL\.md"):
        skills.inject([source], run, "skills")
    assert os.listdir(run) == []


def test_a_folder_without_skills_is_named(tmp_path: Path, run: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(BadRequestError, match=r"none has no SKILL\.md"):
        skills.inject([tmp_path / "none"], run, "skills")


@pytest.mark.parametrize("name", ["missing", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, run: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadRequestError, match="cannot be used as a folder of skills"):
        skills.inject([tmp_path / name], run, "skills")


def test_two_skills_of_one_name_are_refused(source: Path, tmp_path: Path, run: Path) -> None:
    skill(tmp_path / "other" / "greet")
    with pytest.raises(BadRequestError, match="two skills called greet"):
        skills.inject([source, tmp_path / "other"], run, "skills")


@pytest.mark.parametrize("target", ["/etc/passwd", "../part", "..", "a/../../x", "up/../../../x"])
def test_a_link_that_leads_out_of_its_skill_is_refused(source: Path, run: Path, target: str) -> None:
    (source / "greet" / "link").symlink_to(target)
    with pytest.raises(BadRequestError, match="leads out of the skill"):
        skills.inject([source], run, "skills")
    assert os.listdir(run) == []


def test_a_link_within_a_skill_is_copied_as_a_link(source: Path, run: Path) -> None:
    (source / "greet" / "deep").mkdir()
    (source / "greet" / "deep" / "link").symlink_to("../SKILL.md")
    skills.inject([source], run, "skills")
    assert (run / "skills" / "greet" / "deep" / "link").readlink() == Path("../SKILL.md")


def test_a_skill_file_that_is_a_link_is_none(source: Path, run: Path) -> None:
    skill(source / "part")
    (source / "part" / "SKILL.md").rename(source / "part" / "OTHER.md")
    (source / "part" / "SKILL.md").symlink_to("OTHER.md")
    with pytest.raises(BadRequestError, match=r"part has no SKILL\.md"):
        skills.inject([source], run, "skills")


def test_a_special_file_is_refused_and_not_waited_for(source: Path, run: Path) -> None:
    os.mkfifo(source / "greet" / "pipe")
    with pytest.raises(BadRequestError, match="no regular file"):
        skills.inject([source], run, "skills")


def test_a_skill_has_a_largest_size(source: Path, run: Path) -> None:
    with (source / "greet" / "big").open("wb") as big:
        big.truncate(skills.MOST_BYTES)
    with pytest.raises(BadRequestError, match="more than 64 MiB"):
        skills.inject([source], run, "skills")


def test_a_skill_has_a_greatest_depth_and_number_of_files(
    source: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skills, "MOST_ENTRIES", 3)
    for number in range(3):
        (source / "greet" / str(number)).touch()
    with pytest.raises(BadRequestError, match="more than 3 files"):
        skills.inject([source], run, "skills")


def test_a_planted_link_in_the_run_is_not_followed(source: Path, run: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (run / ".claude").symlink_to(tmp_path / "outside")
    with pytest.raises(AgentSetupError, match="greet cannot be put into the run"):
        skills.inject([source], run, ".claude/skills")
    assert os.listdir(tmp_path / "outside") == []


def test_a_link_to_another_skill_of_the_folder_is_copied_under_its_own_name(source: Path, run: Path) -> None:
    skill(source / ".more" / "wave")
    (source / "alias").symlink_to("greet")
    (source / "wave").symlink_to(source / ".more" / "wave")
    (source / "notes").symlink_to("greet/SKILL.md")
    assert skills.inject([source], run, "skills").names == ["alias", "greet", "wave"]
    assert not (run / "skills" / "alias").is_symlink()
    assert b'"skill":"alias"' in (run / "skills" / "alias" / "SKILL.md").read_bytes()


@pytest.mark.parametrize("target", ["../elsewhere", ".", "nowhere", "loop"])
def test_a_linked_skill_that_is_not_in_the_folder_is_refused_with_words(
    source: Path, run: Path, target: str
) -> None:
    skill(source.parent / "elsewhere")
    (source / "loop").symlink_to(target)
    with pytest.raises(BadRequestError, match="loop is a link that leads") as caught:
        skills.inject([source], run, "skills")
    assert "--skills" in caught.value.hint
    assert os.listdir(run) == []


def test_a_folder_that_holds_the_world_is_not_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("steno.launch.skills._Reader.read", read)
    with pytest.raises(BadRequestError, match=r"^/.* has no SKILL\.md"):
        skills.inject([Path("/")], run, "skills")


@pytest.mark.parametrize("closed", ["greet", "greet/tools"])
def test_a_folder_that_cannot_be_looked_into_is_named(
    source: Path, run: Path, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source / "greet" / "tools").mkdir()
    really_open = os.open

    def opened(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == Path(closed).name:
            raise PermissionError(13, "Permission denied", path)
        return really_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(BadRequestError, match=f"{closed} cannot be .*: Permission denied"):
        skills.inject([source], run, "skills")
    assert os.listdir(run) == []
