from __future__ import annotations

import os
from pathlib import Path

import pytest

from steno.agents.catalog import Catalogue
from steno.agents.definition import AgentDefinition
from steno.agents.known import parse_definition
from steno.errors import AgentSetupError, BadRequestError
from steno.launch.environment import Home, ManagedPaths, build_environment, check_home, inside, open_home

USER = {
    "HOME": "/home/user",
    "PATH": "/usr/bin:/bin",
    "TERM": "xterm-256color",
    "LANG": "de_DE.UTF-8",
    "LC_TIME": "C",
    "TZ": "UTC",
    "https_proxy": "http://proxy:3128",
    "XDG_CONFIG_HOME": "/home/user/.config",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "CODEX_HOME": "/home/user/.codex",
    "OPENAI_API_KEY": "sk-own",
    "ANTHROPIC_API_KEY": "sk-other",
    "AWS_SECRET_ACCESS_KEY": "of the user",
    "SSH_AUTH_SOCK": "/run/ssh",
    "LD_PRELOAD": "/home/user/evil.so",
    "NODE_OPTIONS": "--require /home/user/x.js",
    "CLAUDECODE": "1",
}


def agent(name: str) -> AgentDefinition:
    return Catalogue.load({}).get(name)


def world(root: Path, choice: str = "isolated", name: str = "codex") -> dict[str, str]:
    paths = ManagedPaths(root)
    return build_environment(USER, paths, agent(name), open_home(choice, paths, USER))


def test_the_environment_is_what_is_allowed_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert world(tmp_path) == {
        "HOME": str(home),
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "de_DE.UTF-8",
        "LC_TIME": "C",
        "TZ": "UTC",
        "https_proxy": "http://proxy:3128",
        "OPENAI_API_KEY": "sk-own",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_CACHE_HOME": f"{home}/.cache",
    }


def test_everything_of_the_isolated_home_is_private_and_there(tmp_path: Path) -> None:
    environment = world(tmp_path / "root")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        assert Path(environment[name]).stat().st_mode & 0o777 == 0o700


def test_the_default_home_is_the_users_with_what_leads_to_its_parts(tmp_path: Path) -> None:
    paths = ManagedPaths(tmp_path / "root")
    user = {**USER, "HOME": str(tmp_path)}
    environment = build_environment(user, paths, agent("codex"), open_home("default", paths, user))
    assert environment["HOME"] == str(tmp_path)
    assert environment["XDG_CONFIG_HOME"] == "/home/user/.config"
    assert environment["CODEX_HOME"] == "/home/user/.codex"
    assert "XDG_STATE_HOME" not in environment
    assert "AWS_SECRET_ACCESS_KEY" not in environment


@pytest.mark.parametrize(
    "choice",
    ["", "a\0b", "/", "{root}", "{root}/metadata", "{root}/runs/x", "{root}/home/../bin", "{link}/runs"],
)
def test_a_home_that_is_none_or_where_steno_keeps_what_it_goes_by_is_refused(
    tmp_path: Path, choice: str
) -> None:
    root, link = tmp_path / "root", tmp_path / "link"
    link.symlink_to(root)
    with pytest.raises(BadRequestError):
        check_home(choice.format(root=root, link=link), ManagedPaths(root))
    assert not root.exists()


@pytest.mark.parametrize("choice", ["default", "isolated", "{root}/home", "{root}/other", "{root}-runs"])
def test_other_homes_are_not_refused(tmp_path: Path, choice: str) -> None:
    check_home(choice.format(root=tmp_path), ManagedPaths(tmp_path))


def test_a_given_home_is_made_and_used(tmp_path: Path) -> None:
    environment = world(tmp_path / "root", str(tmp_path / "other" / "home"))
    assert environment["HOME"] == str(tmp_path / "other" / "home")
    assert "CODEX_HOME" not in environment
    assert not (tmp_path / "root" / "home").exists()


def test_the_users_home_is_the_users_by_whatever_name_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path)
    user = {**USER, "HOME": str(tmp_path)}
    assert open_home(str(tmp_path / "alias"), ManagedPaths(tmp_path / "root"), user).kind == "default"


@pytest.mark.parametrize(
    ("path", "made"), [(".:/usr/bin::bin:/bin", "/usr/bin:/bin"), ("", "/usr/local/bin:/usr/bin:/bin")]
)
def test_no_program_is_looked_for_where_the_agent_works(tmp_path: Path, path: str, made: str) -> None:
    paths = ManagedPaths(tmp_path)
    home = open_home("isolated", paths, {})
    assert build_environment({"PATH": path}, paths, agent("codex"), home)["PATH"] == f"{tmp_path}/bin:{made}"


def test_what_the_agent_needs_is_set(tmp_path: Path) -> None:
    assert world(tmp_path, name="claude")["DISABLE_AUTOUPDATER"] == "1"


def described_with(variables: str) -> AgentDefinition:
    words = 'program = "x"\ninstall = ""\n[launch]\nstart = ["{prompt}"]\nresume = ["{session}"]\n'
    return parse_definition(
        "mine", f'{words}home_variables = ["X_HOME"]\n[launch.env]\n{variables}\n'.encode()
    )


def test_a_home_variable_may_be_set_below_the_home(tmp_path: Path) -> None:
    paths = ManagedPaths(tmp_path)
    home = open_home("isolated", paths, {})
    environment = build_environment({}, paths, described_with('X_HOME = "{home}/x/y"'), home)
    assert environment["X_HOME"] == f"{tmp_path}/home/x/y"
    assert Path(environment["X_HOME"]).is_dir()


@pytest.mark.parametrize("value", ["/etc", "{home}/../other", "{home}-2/x", "relative", "{home}/a//b"])
def test_a_home_variable_that_leads_out_of_the_home_is_refused(tmp_path: Path, value: str) -> None:
    paths = ManagedPaths(tmp_path)
    home = open_home("isolated", paths, {})
    with pytest.raises(AgentSetupError):
        build_environment({}, paths, described_with(f'X_HOME = "{value}"'), home)


def test_a_home_variable_is_not_passed_on_with_those_that_begin_like_it(tmp_path: Path) -> None:
    words = 'program = "x"\ninstall = ""\n[launch]\nstart = ["{prompt}"]\nresume = ["{session}"]\n'
    mine = parse_definition(
        "mine", f'{words}home_variables = ["X_HOME"]\nenv_allow = ["X_*", "HOME"]\n'.encode()
    )
    paths = ManagedPaths(tmp_path)
    user = {"X_HOME": "/home/user/x", "X_KEY": "k", "HOME": "/home/user"}
    environment = build_environment(user, paths, mine, open_home("isolated", paths, user))
    assert "X_HOME" not in environment
    assert environment["X_KEY"] == "k"
    assert environment["HOME"] == f"{tmp_path}/home"


@pytest.mark.parametrize("name", ["HOME", "XDG_DATA_HOME"])
def test_a_description_cannot_move_the_home_out(tmp_path: Path, name: str) -> None:
    paths = ManagedPaths(tmp_path)
    home = open_home("isolated", paths, {})
    with pytest.raises(AgentSetupError, match="lead out of the agent's home"):
        build_environment({}, paths, described_with(f'{name} = "/home/user"'), home)


@pytest.mark.parametrize("planted", ["home", "home/.config", "home/.local", "home/.local/share", "bin"])
def test_a_planted_link_is_refused_and_nothing_is_made_behind_it(tmp_path: Path, planted: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    link = root / planted
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(AgentSetupError, match="lead out of the managed folder"):
        world(root)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "planted"),
    [
        ("{root}/home", "home"),
        ("{root}/homes/mine", "homes"),
        ("{alias}/home", "home"),
        ("{root}/other/../home", "home"),
    ],
)
def test_a_home_that_is_given_below_the_root_follows_no_link_either(
    tmp_path: Path, given: str, planted: str
) -> None:
    root, alias, outside = tmp_path / "root", tmp_path / "alias", tmp_path / "outside"
    outside.mkdir()
    (root / "other").mkdir(parents=True)
    alias.symlink_to(root)
    (root / planted).symlink_to(outside)
    for managed in (root, alias):
        with pytest.raises(AgentSetupError, match="lead out of the managed folder"):
            open_home(given.format(root=root, alias=alias), ManagedPaths(managed), {})
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("given", ["{root}/homes/mine", "{root}/../beside", "{root}/../root/home"])
def test_a_home_may_be_given_below_the_root_and_beside_it(tmp_path: Path, given: str) -> None:
    (tmp_path / "root").mkdir()
    path = given.format(root=tmp_path / "root")
    home = open_home(path, ManagedPaths(tmp_path / "root"), {})
    assert home == Home(Path(path).resolve(), "given")
    assert home.path.stat().st_mode & 0o777 == 0o700


def test_a_dangling_link_is_refused_as_well(tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(tmp_path / "nowhere")
    with pytest.raises(AgentSetupError):
        world(tmp_path)
    assert not (tmp_path / "nowhere").exists()


def test_the_root_itself_may_be_reached_through_a_link_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert world(tmp_path / "link")["HOME"] == str(tmp_path / "real" / "home")


@pytest.mark.parametrize("below", ["../x", "/etc", "a/../../x", "", "a//b"])
def test_a_path_that_leaves_the_root_by_its_words_is_refused(tmp_path: Path, below: str) -> None:
    with pytest.raises(AgentSetupError):
        inside(tmp_path, below)


def test_a_home_that_cannot_be_written_to_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    # /proc refuses new files to root as well.
    for choice in ("default", "/proc"):
        with pytest.raises(AgentSetupError) as caught:
            open_home(choice, ManagedPaths(tmp_path), {"HOME": "/proc"})
        assert "/proc" in str(caught.value)
        assert caught.value.hint


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AgentSetupError):
        open_home(str(tmp_path / "file"), ManagedPaths(tmp_path), {})


def test_a_user_without_a_home_is_told_of_the_others(tmp_path: Path) -> None:
    with pytest.raises(AgentSetupError) as caught:
        open_home("default", ManagedPaths(tmp_path), {})
    assert "--home isolated" in caught.value.hint


def test_looking_whether_a_home_can_be_written_to_leaves_nothing_there(tmp_path: Path) -> None:
    assert open_home(str(tmp_path), ManagedPaths(tmp_path / "x"), {}) == Home(tmp_path, "given")
    assert os.listdir(tmp_path) == []
