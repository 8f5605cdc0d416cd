"""Compiles a program: `python native/compile.py OUTPUT [FLAG...]`, named by the last part of OUTPUT.

`$CC`, `$CFLAGS` and `$LDFLAGS` are heeded. OUTPUT is replaced as a whole, so that one that runs is not
disturbed. Without a compiler, when it fails, or
where OUTPUT cannot be written, says so in its last line and exits with 1; an older program is then removed
rather than left to speak another language than its reader.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

NATIVE = Path(__file__).parent
PROGRAMS = {
    "steno-trace": (["trace/*.c", "generated/*.c"], []),
    "steno-probe": (["probe/loader.c"], ["-ldl"]),
}
FLAGS = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-Wmissing-prototypes",
    "-fstack-protector-strong",
    "-pthread",
]
COMPILERS = ("cc", "gcc", "clang")


def compiler() -> list[str] | None:
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        return chosen
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    return [found] if found else None


def main(output: Path, extra: list[str]) -> int:
    try:
        failure = _build(output, extra)
    except OSError as error:
        failure = f"{error.filename or output}: {error.strerror}"
    if failure:
        print(f"steno: {output.name} is not built: {failure}", file=sys.stderr)
    return 1 if failure else 0


def _build(output: Path, extra: list[str]) -> str | None:
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        unfinished.touch()  # where that is refused we can say why; a compiler only fails
        unfinished.unlink()
        failure = _compile(output.name, unfinished, extra)
        if failure:
            output.unlink(missing_ok=True)
        else:
            unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
    return failure


def _compile(program: str, output: Path, extra: list[str]) -> str | None:
    command = compiler()
    if command is None:
        return f"no C compiler found ($CC, {', '.join(COMPILERS)})"
    sources, libraries = PROGRAMS[program]
    command += [*FLAGS, *shlex.split(os.environ.get("CFLAGS", "")), *extra, "-o", str(output)]
    command += [
        *(str(path) for pattern in sources for path in sorted(NATIVE.glob(pattern))),
        *libraries,
        *shlex.split(os.environ.get("LDFLAGS", "")),
    ]
    try:
        done = subprocess.run(command, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    return f"{command[0]} failed" if done.returncode else None


if __name__ == "__main__":
    if len(sys.argv) == 1 or Path(sys.argv[1]).name not in PROGRAMS:
        sys.exit("usage: python native/compile.py OUTPUT [FLAG...]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
