"""Every command: its help, its page in the docs, its usage errors, its completion."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from steno.cli.main import COMMANDS, steno
from steno.cli.options import complete_run
from support.making import RUN_ID, make_run
from support.program import PROGRAM, SECONDS, Steno

ROOT = Path(__file__).parents[2]
READERS = [
    "list",
    "show",
    "tree",
    "files",
    "net",
    "events",
    "surface",
    "diff",
    "baseline",
    "report",
    "play",
    "verify",
    "recover",
    "export",
    "pack",
    "doctor",
]


def command_named(name: str) -> click.Command:
    found = steno.get_command(click.Context(steno), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself_with_examples(name: str) -> None:
    command = command_named(name)
    text = command.get_help(click.Context(command, info_name=name))
    assert "Examples:" in text
    assert command.help
    assert all(option.help for option in command.params if isinstance(option, click.Option))


@pytest.mark.parametrize("name", READERS)
def test_every_reading_command_has_json(name: str) -> None:
    assert any("--json" in option.opts for option in command_named(name).params)


def words(text: str) -> list[str]:
    """Click's versions wrap lines differently; the words are what must be fresh."""
    return re.sub(r"\s+", " ", text).split()


def test_the_page_of_the_command_line_is_fresh() -> None:
    script = ROOT / "docs" / "generate_cli.py"
    page = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=SECONDS, check=True
    ).stdout
    assert words((ROOT / "docs" / "cli.md").read_text(encoding="utf-8")) == words(page), (
        "run `python docs/generate_cli.py --write`"
    )


@pytest.mark.parametrize(
    "line",
    [
        ["list", "--limit", "-1"],
        ["show"],
        ["show", "@last", "extra"],
        ["show", "nothing-like-this"],
        ["tree"],
        ["tree", "@last"],
        ["files", "@last"],
        ["files", "@last", "--json"],
        ["net", "@last"],
        ["events", "@last"],
        ["events", "@last", "--op", "nonsense"],
        ["events", "@last", "--category", "nonsense"],
        ["events", "@last", "--process", "-1"],
        ["events", "@last", "--limit", "-1"],
        ["surface"],
        ["diff", "@last"],
        ["diff", "@last", "nothing-like-this"],
        ["diff", "@last", "@last", "--format", "nonsense"],
        ["baseline"],
        ["baseline", "nothing-like-this"],
        ["play", "@last", "--speed", "0"],
        ["play", "@last", "--speed", "-1"],
        ["play", "@last", "--speed", "nan"],
        ["play", "@last", "--speed", "inf"],
        ["play", "@last", "--speed", "fast"],
        ["play", "@last", "--idle-limit", "-1"],
        ["play", "@last", "--idle-limit", "nan"],
        ["verify"],
        ["verify", "nothing-like-this"],
        ["recover"],
        ["recover", "@last", "--all"],
        ["export", "@last"],
        ["export", "@last", "--as", "nonsense"],
        ["export", "@last", "--as", "otlp", "--output", "-"],
        ["pack", "@last", "-o", "-", "--json"],
        ["completion", "tcsh"],
        ["nonsense"],
        ["list", "--nonsense"],
    ],
)
def test_a_wrong_command_line_is_a_usage_error_with_a_hint(
    steno: Steno, store: Path, line: list[str]
) -> None:
    make_run(store)
    done = steno(*line)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"steno: ")
    assert done.stderr.count(b"\nhint: ") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(steno: Steno, shell: str) -> None:
    done = steno("completion", shell)
    assert done.returncode == 0
    assert b"_STENO_COMPLETE" in done.stdout


def completed(line: str, env: dict[str, str]) -> list[tuple[str, str]]:
    """The kind and the text of every answer that a shell gets for the last word of a line."""
    asked = {"_STENO_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [PROGRAM], env={**env, **asked}, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return [(kind, text) for kind, _, text in (answer.partition(",") for answer in done.stdout.splitlines())]


def test_the_shell_completes_runs_and_commands(store: Path, clean_env: dict[str, str]) -> None:
    make_run(store)
    assert completed("steno show 2026", clean_env) == [("plain", RUN_ID)]
    assert completed("steno verify @", clean_env) == [("plain", "@last")]
    assert ("plain", "export") in completed("steno ex", clean_env)


def test_the_shell_completes_a_path_in_the_place_of_a_run(store: Path, clean_env: dict[str, str]) -> None:
    make_run(store)
    assert completed("steno show ./ru", clean_env) == [("file", "./ru")]


def test_the_shell_completes_the_command_to_run_as_one_of_its_own(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    for name, mode in (("ours-one", 0o755), ("ours-two", 0o755), ("ours-no-program", 0o644)):
        (tmp_path / name).touch(mode=mode)
    (tmp_path / "ours-folder").mkdir()
    env = {**clean_env, "PATH": f"{clean_env['PATH']}:{tmp_path}:{tmp_path / 'none'}"}
    assert completed("steno run -- ours-", env) == [("plain", "ours-one"), ("plain", "ours-two")]
    assert completed("steno run --no-git ours-o", env) == [("plain", "ours-one")]
    assert completed("steno run -- ./ours-", env) == [("file", "./ours-")]
    assert completed("steno run -- make ours-", env) == [("file", "ours-")]


def test_completion_never_fails(tmp_path: Path) -> None:
    context = click.Context(steno)
    (tmp_path / "file").write_bytes(b"")
    for store in ("none", "file"):
        context.params["store"] = str(tmp_path / store)
        (found,) = complete_run(context, click.Argument(["run"]), "2026")
        assert (found.type, found.value) == ("file", "2026")


def test_the_module_runs_as_the_program(clean_env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "steno", "--version"],
        env=clean_env,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout.startswith(b"steno ")
