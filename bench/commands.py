"""The commands whose slow-down is measured, and what the budgets allow them.

In: a scratch directory and the environment. Out: workloads, each with its words, its directory, and how to
make the next round start where the first did. A workload whose program is not there is told of, not faked.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import materials
from steno.capture import ignore

TREE = Path("/usr/include")
IMPORTS = [
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "bisect",
    "calendar",
    "collections",
    "concurrent.futures",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "doctest",
    "email.message",
    "enum",
    "fractions",
    "ftplib",
    "functools",
    "getpass",
    "gzip",
    "hashlib",
    "heapq",
    "html.parser",
    "http.client",
    "http.server",
    "imaplib",
    "inspect",
    "ipaddress",
    "json",
    "logging",
    "logging.handlers",
    "lzma",
    "mailbox",
    "multiprocessing.pool",
    "optparse",
    "pathlib",
    "pdb",
    "pickle",
    "platform",
    "plistlib",
    "pprint",
    "pydoc",
    "queue",
    "random",
    "sched",
    "shelve",
    "shutil",
    "smtplib",
    "socket",
    "socketserver",
    "sqlite3",
    "ssl",
    "statistics",
    "subprocess",
    "tarfile",
    "tempfile",
    "textwrap",
    "threading",
    "timeit",
    "tomllib",
    "trace",
    "traceback",
    "typing",
    "unittest.mock",
    "urllib.request",
    "uuid",
    "venv",
    "wave",
    "webbrowser",
    "xml.dom.minidom",
    "xml.etree.ElementTree",
    "xmlrpc.client",
    "zipfile",
    "zoneinfo",
]
ORDINARY = 1.3  # design budgets, with notify: compile, git, imports, installs
WORST = 2.5  # likewise: find, grep, cp, and four at once
BUSY = 1.03  # nothing but the CPU
NEARLY_FREE = 1.10  # with ebpf or both: every row
START_TO_END = 0.35
START_UP_OVER_NOTIFY = 0.15

# What testers set and users do not: without it, modules that changed would be compiled at every start.
_NOT_FOR_USERS = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}


class Sizes(NamedTuple):
    """How often a workload does its thing: by these, the bare command takes 0.5 to 1.5 s on two slow cores.

    The loops that measure themselves are shorter: a tracer needs 200 µs for what takes 1 µs.
    """

    functions: int = 5  # in each C file: real ones have more, and feel an observer less
    clones: int = 2
    short_runs: int = 500
    walks: int = 2
    walks_at_once: int = 1
    python_starts: int = 3
    node_starts: int = 3
    spins: int = 500_000
    calls: int = 20_000

    def times(self, factor: float) -> Sizes:
        return Sizes(*(max(1, round(size * factor)) for size in self))


class Workload(NamedTuple):
    """`most` is the budget, as a multiple of the bare command. `result`: it measures itself, per call."""

    name: str
    words: list[str]
    cwd: Path
    most: float | None = None
    most_seconds: float | None = None  # from the start of the recorder to its end
    made: tuple[Path, ...] = ()
    result: Path | None = None
    quick: bool = False

    def clear(self) -> None:
        if self.made:
            subprocess.run(["rm", "-rf", "--", *self.made], check=True)


class Workloads(NamedTuple):
    all: list[Workload]
    missing: list[str]


def make_workloads(place: Path, env: Mapping[str, str], sizes: Sizes) -> Workloads:
    calls, files = materials.compile_calls(place), materials.many_files(place)
    found = [
        Workload(
            "true, in a small git repo",
            ["true"],
            materials.small_repository(place, env),
            most_seconds=START_TO_END,
            quick=True,
        ),
        *_compiles(place, sizes),
        _git(place, env, sizes),
        Workload(
            f"{sizes.short_runs} x /bin/true",
            _shell(f"i=0; while [ $i -lt {sizes.short_runs} ]; do /bin/true; i=$((i+1)); done"),
            place,
            quick=True,
        ),
        *_walks(place, sizes),
        Workload(
            f"cp -r {TREE}",
            ["cp", "-r", str(TREE), str(place / "copied")],
            place,
            WORST,
            made=(place / "copied",),
        ),
        Workload(
            f"python, {len(IMPORTS)} imports, {sizes.python_starts} x",
            _shell(
                _repeated(
                    f"{shlex.quote(sys.executable)} -c 'import {', '.join(IMPORTS)}'", sizes.python_starts
                )
            ),
            place,
            ORDINARY,
            quick=True,
        ),
        _pip(place),
        Workload("CPU loop", [str(calls), "spin", str(sizes.spins)], place, BUSY, quick=True),
        *(_micro(place, calls, files, mode, sizes) for mode in ("stat", "open")),
    ]
    missing = []
    for program, make in (("node", _node), ("npm", _npm)):
        if shutil.which(program):
            found.append(make(place, sizes))
        else:
            missing.append(f"{program} is not installed: its row is left out")
    return Workloads(found, missing)


def _shell(line: str) -> list[str]:
    return ["sh", "-c", line]


def _repeated(line: str, times: int) -> str:
    return f"for i in {' '.join(map(str, range(times)))}; do {line} || exit 1; done"


def _compiles(place: Path, sizes: Sizes) -> list[Workload]:
    folder = materials.c_project(place, sizes.functions)
    made = (*(folder / f"part{part}.o" for part in range(materials.SOURCE_FILES)), folder / "program")
    return [
        Workload(f"compile {materials.SOURCE_FILES} files", ["make", "-s"], folder, ORDINARY, made=made),
        Workload("compile, make -j4", ["make", "-s", "-j4"], folder, ORDINARY, made=made),
    ]


def _git(place: Path, env: Mapping[str, str], sizes: Sizes) -> Workload:
    origin, copies = materials.git_repository(place, env), place / "copies"
    line = (
        f"git clone -q file://{origin} {copies}/$i && cd {copies}/$i && git status --short && git log --stat"
    )
    return Workload(
        f"git clone, status, log, {sizes.clones} x",
        _shell(f"{{ {_repeated(line, sizes.clones)}; }} >/dev/null"),
        place,
        ORDINARY,
        made=(copies,),
        quick=True,
    )


def _walks(place: Path, sizes: Sizes) -> list[Workload]:
    walk = (
        f"{{ grep -rs nothing_has_this_name {TREE};"
        f" find {TREE} -type f -size +1 -newer /etc/passwd >/dev/null; true; }}"
    )
    at_once = _repeated(walk, sizes.walks_at_once)
    return [
        Workload(
            f"grep -r, find, {sizes.walks} x",
            _shell(_repeated(walk, sizes.walks)),
            place,
            WORST,
            quick=True,
        ),
        Workload(
            f"four at once, {sizes.walks_at_once} x",
            _shell(f"{f'{{ {at_once}; }} & ' * 4} wait"),
            place,
            WORST,
        ),
    ]


def _pip(place: Path) -> Workload:
    target = place / "installed"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-cache-dir"]
    words += ["--disable-pip-version-check", "--target", str(target), str(materials.wheel(place))]
    return Workload("pip install a wheel", words, place, ORDINARY, made=(target,))


def _node(place: Path, sizes: Sizes) -> Workload:
    folder = materials.node_project(place)
    line = _repeated("node main.js >/dev/null", sizes.node_starts)
    return Workload(f"node script, {sizes.node_starts} x", _shell(line), folder, ORDINARY)


def _npm(place: Path, _: Sizes) -> Workload:
    package, target = materials.npm_package(place), place / "npm"
    words = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", "--install-links"]
    words += ["--cache", str(place / "npm-cache"), "--prefix", str(target), str(package)]
    return Workload("npm install a folder", words, place, ORDINARY, made=(target,))


def _micro(place: Path, calls: Path, files: Path, mode: str, sizes: Sizes) -> Workload:
    result = place / f"{mode}.ns"
    words = [str(calls), mode, str(sizes.calls), str(files), str(result)]
    name = {"stat": "stat", "open": "open + close"}[mode]
    return Workload(f"{name}, per call", words, place, result=result, quick=True)


def clean_environment(place: Path) -> dict[str, str]:
    """As the user has it, with a home of its own and no recorder asking anybody anything.

    Workloads may lie below /dev/shm, which users ignore with the rest of /dev: here it is recorded as any
    other place, or less would be done.
    """
    home = place / "home"
    rules = home / ".config" / "agent-snapshot" / "ignore.json"
    rules.parent.mkdir(parents=True)
    rules.write_text(json.dumps([each for each in ignore.DEFAULT_LIST if each != "/dev"]))
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_USERS}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "SHELL": "/bin/sh",
        "STENO_HOME": str(place / "runs"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "REPROZIP_USAGE_STATS": "off",
    }
