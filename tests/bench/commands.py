"""The commands whose slow-down is measured, and what the budgets allow them.

In: a scratch directory and the environment. Out: workloads, each with its words, its directory, and how to
make the next round start where the first did. A workload whose program is not there is told of, not faked.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import materials

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
STARTS = 5
SHORT_RUNS = 500
MICRO_CALLS = 100_000
SPINS = 1_500_000

ORDINARY = 1.3  # design budgets: compile, git, imports, installs
WORST = 2.5  # find, grep, cp, and four at once
BUSY = 1.03  # nothing but the CPU
START_TO_END = 0.35

# What testers set and users do not: without it, modules that changed would be compiled at every start.
_NOT_FOR_USERS = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}


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


def make_workloads(place: Path, env: Mapping[str, str]) -> Workloads:
    calls, files = materials.compile_calls(place), materials.many_files(place)
    found = [
        Workload(
            "true, in a small git repository",
            ["true"],
            materials.small_repository(place, env),
            most_seconds=START_TO_END,
            quick=True,
        ),
        *_compiles(place),
        _git(place, env),
        Workload(
            f"{SHORT_RUNS} x /bin/true",
            _shell(f"i=0; while [ $i -lt {SHORT_RUNS} ]; do /bin/true; i=$((i+1)); done"),
            place,
            quick=True,
        ),
        *_walks(place),
        Workload(
            f"python imports, {STARTS} x {len(IMPORTS)}",
            _shell(_repeated(f"{shlex.quote(sys.executable)} -c 'import {', '.join(IMPORTS)}'")),
            place,
            ORDINARY,
            quick=True,
        ),
        _pip(place),
        Workload("CPU loop", [str(calls), "spin", str(SPINS)], place, BUSY, quick=True),
        *(_micro(place, calls, files, mode) for mode in ("stat", "open")),
    ]
    missing = []
    for program, make in (("node", _node), ("npm", _npm)):
        if shutil.which(program):
            found.append(make(place))
        else:
            missing.append(f"{program} is not installed: its row is left out")
    return Workloads(found, missing)


def _shell(line: str) -> list[str]:
    return ["sh", "-c", line]


def _repeated(line: str) -> str:
    return f"for i in {' '.join(map(str, range(STARTS)))}; do {line} || exit 1; done"


def _compiles(place: Path) -> list[Workload]:
    folder = materials.c_project(place)
    made = (*(folder / f"part{part}.o" for part in range(materials.SOURCE_FILES)), folder / "program")
    return [
        Workload(f"compile {materials.SOURCE_FILES} files", ["make", "-s"], folder, ORDINARY, made=made),
        Workload("compile, make -j4", ["make", "-s", "-j4"], folder, ORDINARY, made=made),
    ]


def _git(place: Path, env: Mapping[str, str]) -> Workload:
    origin, copy = materials.git_repository(place, env), place / "copy"
    line = f"git clone -q file://{origin} {copy} && cd {copy} && git status --short && git log --stat"
    return Workload(
        "git clone, status, log",
        _shell(f"{{ {line}; }} >/dev/null"),
        place,
        ORDINARY,
        made=(copy,),
        quick=True,
    )


def _walks(place: Path) -> list[Workload]:
    walk = (
        f"grep -rs nothing_has_this_name {TREE}; find {TREE} -type f -size +1 -newer /etc/passwd >/dev/null"
    )
    copied = place / "copied"
    return [
        Workload("grep -r, find", _shell(f"{walk}; true"), place, WORST, quick=True),
        Workload("grep -r, find, 4 at once", _shell(f"{f'{{ {walk}; }} & ' * 4} wait"), place, WORST),
        Workload(f"cp -r {TREE}", ["cp", "-r", str(TREE), str(copied)], place, WORST, made=(copied,)),
    ]


def _pip(place: Path) -> Workload:
    target = place / "installed"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-cache-dir"]
    words += ["--disable-pip-version-check", "--target", str(target), str(materials.wheel(place))]
    return Workload("pip install a wheel", words, place, ORDINARY, made=(target,))


def _node(place: Path) -> Workload:
    folder = materials.node_project(place)
    line = _repeated("node main.js >/dev/null")
    return Workload(f"node script, {STARTS} x", _shell(line), folder, ORDINARY)


def _npm(place: Path) -> Workload:
    package, target = materials.npm_package(place), place / "npm"
    words = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", "--install-links"]
    words += ["--cache", str(place / "npm-cache"), "--prefix", str(target), str(package)]
    return Workload("npm install a folder", words, place, ORDINARY, made=(target,))


def _micro(place: Path, calls: Path, files: Path, mode: str) -> Workload:
    result = place / f"{mode}.ns"
    words = [str(calls), mode, str(MICRO_CALLS), str(files), str(result)]
    name = {"stat": "stat", "open": "open + close"}[mode]
    return Workload(f"{name}, per call", words, place, result=result, quick=True)


def clean_environment(place: Path) -> dict[str, str]:
    """As the user has it, with a home of its own and no recorder asking anybody anything."""
    home = place / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_USERS}
    return {
        **kept,
        "HOME": str(home),
        "SHELL": "/bin/sh",
        "STENO_HOME": str(place / "runs"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "REPROZIP_USAGE_STATS": "off",
    }
