from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents.catalog import Catalogue, find_program
from steno.agents.known import parse_definition
from steno.agents.stream import parser, parser_names
from steno.errors import BadRequestError

MINE = """
program = "mine"
install = "ask me"
[launch]
start = ["go", "{prompt}"]
resume = ["on", "{session}", "{message}"]
"""
BUILT_IN = ("claude", "cline", "codex", "gemini", "iflow", "opencode", "qwen")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "config" / "steno" / "agents"
    folder.mkdir(parents=True)
    return folder


def loaded(folder: Path) -> Catalogue:
    return Catalogue.load({"XDG_CONFIG_HOME": str(folder.parents[1])})


def test_the_agents_are_there_without_any_configuration() -> None:
    catalogue = Catalogue.load({})
    assert tuple(catalogue.known) == BUILT_IN
    assert not catalogue.problems
    assert {description.stream.parser for description in catalogue.known.values()} <= set(parser_names())


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_session_field_is_the_one_of_the_parser(name: str) -> None:
    description = Catalogue.load({}).get(name)
    known = parser(description.stream.parser).session_field
    assert (description.stream.session_field or "") == known


def test_a_file_of_the_user_describes_another_agent(folder: Path) -> None:
    (folder / "mine.toml").write_text(MINE)
    description = loaded(folder).get("mine")
    assert (description.name, description.stream.parser) == ("mine", "plain")
    assert description.launch.start_words("say hi", ["-x"]) == ["go", "say hi", "-x"]


def test_the_folder_is_found_below_home_when_nothing_else_is_said(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "steno" / "agents"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(MINE)
    assert "mine" in Catalogue.load({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative"}).known


def test_a_file_of_the_user_counts_more_than_a_built_in_one(folder: Path) -> None:
    (folder / "codex.toml").write_text(MINE)
    assert loaded(folder).get("codex").program == "mine"


def test_a_bad_file_of_the_user_stands_for_the_name_as_well(folder: Path) -> None:
    (folder / "codex.toml").write_text("program = 7")
    catalogue = loaded(folder)
    assert "codex" not in catalogue.known
    assert "codex" in catalogue.problems


def test_an_unknown_agent_is_refused_and_the_nearest_names_are_offered() -> None:
    with pytest.raises(BadRequestError, match="no agent 'cladue'") as caught:
        Catalogue.load({}).get("cladue")
    assert "did you mean claude" in caught.value.hint
    with pytest.raises(BadRequestError) as caught:
        Catalogue.load({}).get("zzzzzz")
    assert caught.value.hint.startswith(
        "agents: claude, cline, codex, gemini, iflow, opencode, qwen. A file "
    )


def test_an_agent_like_no_other_is_answered_with_all_names() -> None:
    with pytest.raises(BadRequestError) as caught:
        Catalogue.load({}).get("zzz")
    assert all(name in caught.value.hint for name in BUILT_IN)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("program = ", "it is not TOML"),
        (MINE + "colour = 1\n", "colour"),
        (MINE.replace("program", "programs"), "programs"),
        ('name = "other"\n' + MINE, "it describes 'other'"),
        (MINE + '[stream]\nparser = "telex"\n', "there is no parser 'telex', only: claude"),
        (MINE.replace("{prompt}", "{promt}"), "{promt}"),
        (MINE.replace('"{prompt}"', '"x"'), "{prompt} is missing"),
        (MINE.replace('"{session}", ', ""), "{session} is missing"),
        (MINE + 'skills_dir = "../skills"\n', "not a plain relative path"),
        (MINE + 'home_variables = ["A=B"]\n', "not a name for a variable"),
        (MINE + 'env_allow = ["*"]\n', "not a name for a variable"),
        (
            MINE + '[settings.trust]\nfile = "/etc/x"\nformat = "json"\nkey = ["a"]\nvalue = true\n',
            "plain relative",
        ),
        (MINE + '[settings.trust]\nfile = "x"\nformat = "ini"\nkey = ["a"]\nvalue = true\n', "ini"),
        (
            MINE + '[[stream.signals]]\nstream = "stdout"\nkind = "json"\nmatch = "x"\nmeans = "failed"\n',
            "the match of a json signal is a table",
        ),
        (
            MINE + '[[stream.signals]]\nstream = "stdout"\nkind = "text"\nmatch = "x"\nmeans = "failed"\n'
            'unless = { a = "b" }\n',
            "a text signal has no fields",
        ),
        (MINE + '[hooks]\nfile = "x"\n', "like those of another agent, or name"),
        (MINE + '[hooks]\nlike = "claude"\n', "in a file or in a folder"),
        ("\xff", "UTF-8"),
    ],
)
def test_a_bad_file_is_an_error_of_its_own_agent_only(folder: Path, content: str, told: str) -> None:
    (folder / "bad.toml").write_bytes(content.encode("latin-1"))
    (folder / "mine.toml").write_text(MINE)
    catalogue = loaded(folder)
    assert catalogue.get("mine").program == "mine"
    with pytest.raises(BadRequestError) as caught:
        catalogue.get("bad")
    assert str(folder / "bad.toml") in str(caught.value)
    assert told in str(caught.value)


def test_a_fifo_among_the_descriptions_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.toml")
    assert "not a regular file" in loaded(folder).problems["pipe"]


@pytest.mark.parametrize("name", ["My Agent", "Mine", "mine-", ".mine", "m" * 65])
def test_a_file_whose_name_is_no_name_is_a_problem(folder: Path, name: str) -> None:
    (folder / f"{name}.toml").write_text(MINE)
    assert "not a name for an agent" in loaded(folder).problems[name]


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: (MINE + text).encode()))
def test_any_bytes_are_a_description_or_refused(content: bytes) -> None:
    try:
        parse_definition("mine", content)
    except ValueError:
        return


def test_what_a_user_says_is_never_looked_through_for_places() -> None:
    codex = Catalogue.load({}).get("codex")
    assert codex.launch.start_words("{arguments} {session}")[-1] == "{arguments} {session}"
    assert codex.launch.start_words("-v")[-2:] == ["--", "-v"]
    assert codex.launch.resume_words("{message}", "{session}", ["-m", "x"]) == [
        *("exec", "resume", "--json", "--skip-git-repo-check", "-m", "x", "--", "{message}", "{session}"),
    ]


def test_without_a_prompt_the_agent_is_interactive() -> None:
    catalogue = Catalogue.load({})
    assert catalogue.get("claude").launch.start_words(None, ["--model", "x"]) == ["--model", "x"]
    assert catalogue.get("codex").launch.start_words(None) == ["--no-daemon"]
    assert catalogue.get("gemini").launch.resume_words("id", None) == ["--resume=id"]


def test_an_agent_that_cannot_go_on_without_a_message_says_so(folder: Path) -> None:
    (folder / "mine.toml").write_text(MINE)
    assert loaded(folder).get("mine").launch.resume_words("id", None) is None


def test_an_agent_that_is_not_installed_is_refused_with_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match="gemini is not installed") as caught:
        find_program(Catalogue.load({}).get("gemini"), str(tmp_path))
    assert "npm install -g @google/gemini-cli" in caught.value.hint


def test_a_program_is_found_on_the_path_that_the_agent_will_have(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_program(Catalogue.load({}).get("codex"), str(tmp_path)) == program


def test_the_descriptions_are_files_of_the_package() -> None:
    code = "from steno.agents.catalog import Catalogue; print(*Catalogue.load({}).known)"
    told = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert told.stdout.split() == list(BUILT_IN)
