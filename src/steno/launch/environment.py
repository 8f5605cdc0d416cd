"""Isolation: the home and the environment that an agent gets.

In: the environment of the user, the managed root, the description of an agent, and which home was asked for.
Out: a home that exists and can be written to, and an environment made from a list of what may pass. Nothing
is passed on because nobody thought of it: keys of others, agents above us, editors and daemons stay outside.
Below the managed root no link is followed, step by step from its descriptor, so that what an earlier run left
there cannot lead this one out of it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple

from steno.agents.definition import AgentDefinition
from steno.bundle.folder import Folder
from steno.errors import AgentSetupError, BadRequestError

# What says how to show and reach things, and tells nothing of the user's other programs.
PASSED = (
    "ALL_PROXY",
    "COLORFGBG",
    "COLORTERM",
    "CURL_CA_BUNDLE",
    "FORCE_COLOR",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_COLOR",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TZ",
    "USER",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
XDG = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_DATA_HOME": ".local/share",
    "XDG_CACHE_HOME": ".cache",
}
_FALLBACK_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_LEFT_OUT = {errno.ELOOP, errno.ENOTDIR}

Kind = Literal["default", "isolated", "given"]


class ManagedPaths(NamedTuple):
    """The folder of Steno in which agents live; all of it is below `root`."""

    root: Path
    home: str = "home"
    bin: str = "bin"
    not_a_home: tuple[str, ...] = ("bin", "metadata", "runs")


class Home(NamedTuple):
    path: Path
    kind: Kind


def check_home(choice: str, paths: ManagedPaths) -> None:
    """What `--home` has, before anything is made: no home is where Steno keeps what it goes by."""
    if not choice or "\0" in choice:
        raise BadRequestError("--home is empty or no path", hint="give default, isolated or a directory")
    if choice in {"default", "isolated"}:
        return
    root, given = Path(os.path.realpath(paths.root)), Path(os.path.realpath(choice))
    if given in {root, Path("/")} or any(given.is_relative_to(root / own) for own in paths.not_a_home):
        raise BadRequestError(
            f"{choice} cannot be the home of an agent: others keep their things there",
            hint="give a directory of its own, or --home isolated",
        )


def open_home(choice: str, paths: ManagedPaths, environ: Mapping[str, str]) -> Home:
    """`choice` is `default`, `isolated` or a path, as `--home` has it. The home can be written to."""
    if choice == "default":
        home = Home(_users_home(environ), "default")
    elif choice == "isolated":
        home = Home(inside(paths.root, paths.home), "isolated")
    else:
        below = _below(paths.root, Path(choice))
        given = _given(Path(choice)) if below is None else inside(paths.root, below)
        users = environ.get("HOME")
        home = Home(given, "default" if users and given == Path(users).resolve() else "given")
    _require_writable(home.path)
    return home


def build_environment(
    environ: Mapping[str, str], paths: ManagedPaths, description: AgentDefinition, home: Home
) -> dict[str, str]:
    allowed = (*PASSED, *description.launch.env_allow)
    built = {name: value for name, value in environ.items() if _matches(name, allowed)}
    own = {*description.launch.home_variables, *XDG, "HOME", "PATH"}
    built = {name: value for name, value in built.items() if name not in own}
    inside(paths.root, paths.bin)
    built["PATH"] = search_path(environ, paths)
    built["HOME"] = str(home.path)
    if home.kind == "default":
        # It is the user's own world: what leads to its parts leads there still.
        built |= {
            name: environ[name] for name in (*XDG, *description.launch.home_variables) if name in environ
        }
    else:
        built |= {name: str(inside(home.path, below)) for name, below in XDG.items()}
    return built | _own_variables(description, home)


def search_path(environ: Mapping[str, str], paths: ManagedPaths) -> str:
    """Without what depends on the folder of the agent: a program that lies there is nobody's choice."""
    folders = environ.get("PATH", "").split(":")
    absolute = [folder for folder in folders if folder.startswith("/")] or [*_FALLBACK_PATH]
    return ":".join([str(paths.root.resolve() / paths.bin), *absolute])


def inside(root: Path, below: str) -> Path:
    """The folder `below` (a plain relative path) in `root`: made if missing, refused if not really there."""
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        real = root.resolve()
        with Folder(real, follow=False) as folder:
            folder.make_folders(below)
            folder.sub(below).close()  # it is a folder, and no link
    except (ValueError, OSError) as error:
        raise _refused(root / below, error) from error
    return real / below


def _own_variables(description: AgentDefinition, home: Home) -> dict[str, str]:
    variables: dict[str, str] = {}
    for name, value in description.launch.env.items():
        filled = value.replace("{home}", str(home.path))
        if name in {*description.launch.home_variables, *XDG, "HOME"} and home.kind != "default":
            filled = str(_inside_home(name, filled, home))
        variables[name] = filled
    return variables


def _inside_home(name: str, value: str, home: Home) -> Path:
    if value == str(home.path):
        return home.path
    if not value.startswith(f"{home.path}/"):
        raise AgentSetupError(
            f"{name} would lead out of the agent's home: {value}",
            hint="in the description of the agent, let it begin with {home}",
        )
    return inside(home.path, value.removeprefix(f"{home.path}/"))


def _users_home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        raise AgentSetupError(
            "HOME is not set, so there is no home to use", hint="use --home isolated, or --home PATH"
        )
    return Path(home)


def _below(root: Path, path: Path) -> str | None:
    """The words of a path that lead on from the managed root; None when they do not lead into it."""
    real = os.path.realpath(root)
    above = next((folder for folder in (path, *path.parents) if os.path.realpath(folder) == real), None)
    words = None if above is None else path.relative_to(above).parts
    return "/".join(words) if words and words[0] != ".." else None


def _given(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path.resolve(strict=True)
    except OSError as error:
        raise _refused(path, error) from error


def _require_writable(home: Path) -> None:
    name = f".steno-{os.urandom(8).hex()}"
    try:
        with Folder(home) as folder:
            os.close(folder.create(name))
            folder.remove(name)
    except OSError as error:
        raise AgentSetupError(
            f"the agent's home {home} cannot be written to: {error.strerror}",
            hint="the agent was not started; make it writable, or give another --home",
        ) from error


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _refused(path: Path, error: OSError | ValueError) -> AgentSetupError:
    if isinstance(error, ValueError) or error.errno in _LEFT_OUT:
        return AgentSetupError(
            f"{path} is refused: it would lead out of the managed folder, or is no folder",
            hint="give a path without `..`, and remove the link that stands there",
        )
    return AgentSetupError(
        f"{path} cannot be used: {error.strerror}", hint="it must be yours and writable; see --home"
    )
