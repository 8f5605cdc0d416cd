"""What the workloads work on, made afresh in a scratch directory: sources, a repository, packages, files.

In: the scratch directory and the environment the workloads run in. Out: paths. The same call makes the same
files on every machine; nothing is fetched from the network.
"""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

CALLS = Path(__file__).with_name("calls.c")
SOURCE_FILES = 50
COMMITS = 300
TRACKED_FILES = 1500
MODULES = 200
LOOKED_AT = 1000  # as many as calls.c goes through

_HEADERS = ("stdio", "string")
_MAKEFILE = """objects := $(patsubst %.c,%.o,$(wildcard *.c))
program: $(objects)
\t$(CC) -o $@ $^
%.o: %.c shared.h
\t$(CC) -O0 -c -o $@ $<
"""
_FUNCTION = """int part{part}_{number}(const char *text, int limit) {{
    int sum = limit * {number};
    for (const char *at = text; *at && sum < {part}000; at++) sum += *at ^ shared_value(limit);
    if (sum % 7 == {number} % 7) fprintf(stderr, "part {part} %d %zu\\n", sum, strlen(text));
    return sum;
}}
"""
_NODE_SCRIPT = """
const fs = require("fs");
let sum = 0;
for (let number = 0; number < MODULES; number++) sum += require(`./parts/part${number}.js`).value;
for (let number = 0; number < MODULES; number++) {
  fs.writeFileSync(`out/${number}.json`, JSON.stringify({ number, sum }));
  sum += JSON.parse(fs.readFileSync(`out/${number}.json`, "utf8")).number;
}
if (!fs.existsSync("out/absent.json")) console.log(sum);
"""


def compile_calls(place: Path) -> Path:
    program = place / "calls"
    subprocess.run(["gcc", "-O2", "-o", program, CALLS], check=True)
    return program


def many_files(place: Path) -> Path:
    folder = place / "many"
    folder.mkdir()
    for number in range(LOOKED_AT):
        (folder / str(number)).write_text(f"{number}\n")
    return folder


def c_project(place: Path, functions_each: int) -> Path:
    folder = place / "project"
    folder.mkdir()
    (folder / "Makefile").write_text(_MAKEFILE)
    (folder / "shared.h").write_text("static inline int shared_value(int value) { return value * 31 + 7; }\n")
    includes = "".join(f"#include <{name}.h>\n" for name in _HEADERS) + '#include "shared.h"\n'
    for part in range(SOURCE_FILES):
        functions = "".join(_FUNCTION.format(part=part, number=number) for number in range(functions_each))
        start = 'int main(void) { return part0_0("text", 3) == 0; }\n' if part == 0 else ""
        (folder / f"part{part}.c").write_text(f"{includes}{functions}{start}")
    return folder


def git_repository(place: Path, env: Mapping[str, str]) -> Path:
    folder = place / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", folder], env=env, check=True)
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=folder, env=env, input=_history().encode(), check=True
    )
    return folder


def _history() -> str:
    """As `git fast-import` reads it: all files in the first commit, a few of them in each that follows."""
    lines = []
    for commit in range(COMMITS):
        changed = range(TRACKED_FILES) if commit == 0 else range(commit, TRACKED_FILES, TRACKED_FILES // 7)
        message = f"change {commit}"
        who = f"Bench <bench@example.org> {1_700_000_000 + commit * 60} +0000"
        lines += ["commit refs/heads/main", f"committer {who}", f"data {len(message)}", message]
        for number in changed:
            text = f"file {number}\n" * (1 + number % 40) + f"change {commit}\n"
            lines += [f"M 644 inline src/d{number % 30}/f{number}.txt", f"data {len(text)}", text]
    return "\n".join([*lines, ""])


def small_repository(place: Path, env: Mapping[str, str]) -> Path:
    folder = place / "repo"
    folder.mkdir()
    for number in range(40):
        (folder / f"file{number}.txt").write_text(f"{number}\n" * 20)
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)
    return folder


def wheel(place: Path) -> Path:
    path = place / "benched-1.0-py3-none-any.whl"
    info = "benched-1.0.dist-info"
    files = {f"benched/part{number}.py": _python_module(number) for number in range(MODULES)}
    files["benched/__init__.py"] = ""
    files[f"{info}/METADATA"] = "Metadata-Version: 2.1\nName: benched\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def _python_module(number: int) -> str:
    return "".join(f"def f{each}(x):\n    return x * {number} + {each}\n\n\n" for each in range(20))


def node_project(place: Path) -> Path:
    folder = place / "node"
    for name in ("parts", "out"):
        (folder / name).mkdir(parents=True)
    for number in range(MODULES):
        (folder / "parts" / f"part{number}.js").write_text(f"exports.value = {number};\n")
    (folder / "main.js").write_text(_NODE_SCRIPT.replace("MODULES", str(MODULES)))
    return folder


def npm_package(place: Path) -> Path:
    folder = place / "package"
    (folder / "lib").mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": "benched", "version": "1.0.0"}))
    for number in range(MODULES):
        (folder / "lib" / f"part{number}.js").write_text(f"exports.value = {number};\n" * 20)
    return folder
