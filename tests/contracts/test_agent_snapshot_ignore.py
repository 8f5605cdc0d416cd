"""agent-snapshot: its configuration and its exceptions, clause by clause, as far as files can show them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from steno.capture.ignore import load
from steno.errors import CaptureError
from steno.evidence.ignore_rules import IgnoreRules

SEED_LIST = [
    "$HOME/.cache",
    "$HOME/.claude",
    "$HOME/.codex",
    "$HOME/.cursor",
    "$XDG_CONFIG_HOME/agent-snapshot/ignore.json",
    "/tmp/scratch-output",
    "/proc",
    "/dev",
    "/usr",
    "/bin",
]


def place(config_home: Path) -> Path:
    return config_home / "agent-snapshot" / "ignore.json"


def configured(home: Path, *entries: str) -> IgnoreRules:
    place(home / ".config").parent.mkdir(parents=True)
    place(home / ".config").write_text(json.dumps(entries))
    return load({"HOME": str(home)})


def test_the_file_lies_in_xdg_config_home(home: Path) -> None:
    load({"HOME": str(home), "XDG_CONFIG_HOME": str(home / "xdg")})
    assert place(home / "xdg").exists()
    assert not (home / ".config").exists()


def test_without_xdg_config_home_it_lies_in_the_home(home: Path) -> None:
    load({"HOME": str(home)})
    assert place(home / ".config").exists()


def test_an_empty_xdg_config_home_counts_as_unset(home: Path) -> None:
    load({"HOME": str(home), "XDG_CONFIG_HOME": ""})
    assert place(home / ".config").exists()


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "", "XDG_CONFIG_HOME": ""}])
def test_neither_of_them_and_a_user_without_a_home_is_an_error(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # the system does not know the user
    with pytest.raises(CaptureError, match="HOME and XDG_CONFIG_HOME are unset") as raised:
        load(environ)
    assert raised.value.hint


def test_a_missing_file_is_made_with_the_default_list_and_its_directory_too(home: Path) -> None:
    load({"HOME": str(home)})
    assert json.loads(place(home / ".config").read_text()) == SEED_LIST


def test_a_run_goes_on_with_the_default_list(home: Path) -> None:
    rules = load({"HOME": str(home)})
    for path in ("/proc/1/maps", "/dev/null", "/usr", "/bin/sh", "/tmp/scratch-output", f"{home}/.codex/x"):
        assert rules.ignores(os.fsencode(path)), path
    assert not rules.ignores(b"/etc/passwd")


def test_a_file_that_is_there_is_used_and_not_changed(home: Path) -> None:
    rules = configured(home, "/only/this")
    assert rules.ignores(b"/only/this")
    assert not rules.ignores(b"/usr/bin/env")
    assert json.loads(place(home / ".config").read_text()) == ["/only/this"]


@pytest.mark.parametrize("content", ["{}", "[1]", "[", "", '"/tmp"', "null"])
def test_a_file_that_is_no_array_of_strings_aborts(home: Path, content: str) -> None:
    place(home / ".config").parent.mkdir(parents=True)
    place(home / ".config").write_text(content)
    with pytest.raises(CaptureError):
        load({"HOME": str(home)})


def test_home_at_the_start_of_an_entry_is_expanded(home: Path) -> None:
    assert configured(home, "$HOME/x").ignores(os.fsencode(home / "x"))


def test_xdg_config_home_at_the_start_of_an_entry_is_expanded(home: Path) -> None:
    place(home / "xdg").parent.mkdir(parents=True)
    place(home / "xdg").write_text('["$XDG_CONFIG_HOME/x"]')
    rules = load({"HOME": str(home), "XDG_CONFIG_HOME": str(home / "xdg")})
    assert rules.ignores(os.fsencode(home / "xdg" / "x"))


def test_an_unset_xdg_config_home_expands_to_the_one_in_the_home(home: Path) -> None:
    assert configured(home, "$XDG_CONFIG_HOME/x").ignores(os.fsencode(home / ".config" / "x"))


def test_an_exact_match_is_ignored(home: Path) -> None:
    assert configured(home, "/tmp/work").ignores(b"/tmp/work")


def test_what_lies_below_an_entry_is_ignored(home: Path) -> None:
    assert configured(home, "/tmp/work").ignores(b"/tmp/work/output.txt")


def test_the_ignore_file_itself_is_always_ignored(home: Path) -> None:
    assert configured(home).ignores(os.fsencode(place(home / ".config")))


def test_any_path_inside_a_git_directory_is_ignored(home: Path) -> None:
    rules = configured(home)
    assert rules.ignores(b"/repo/.git/index")
    assert rules.ignores(b"/repo/sub/.git/modules/x/HEAD")
    assert rules.ignores(b"/repo/.git")


def test_names_that_only_look_like_a_git_directory_are_not_ignored(home: Path) -> None:
    rules = configured(home)
    for path in (b"/repo/.gitignore", b"/repo/.github/workflows/x", b"/repo/x.git/y", b"/repo/.git2"):
        assert not rules.ignores(path), path
