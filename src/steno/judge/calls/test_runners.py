"""Programs that run tests, known by what they are called with: docs/calls.md lists them.

One that was only asked for its version, its help, or a list of what it would run runs none. A program that is
not in the list may run tests all the same when somebody else wrote what it does: a script, a build tool.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

# Programs that do nothing else.
ALWAYS = frozenset(
    b"pytest py.test jest vitest mocha ava tap nose2 tox nox ctest phpunit rspec bats gotestsum"
    b" playwright cypress karma prove".split()
)
# program -> words, one of which must be its first argument that is no option
WITH_WORD = {
    **dict.fromkeys((b"npm", b"pnpm", b"yarn", b"bun"), frozenset({b"test", b"t"})),
    b"cargo": frozenset({b"test", b"nextest"}),
    b"make": frozenset({b"test", b"tests", b"check"}),
    **dict.fromkeys((b"go", b"deno", b"dotnet", b"mix", b"swift", b"mvn"), frozenset({b"test"})),
    **dict.fromkeys(
        (b"bazel", b"hatch", b"meson", b"just", b"task", b"rake", b"rails"), frozenset({b"test"})
    ),
    **dict.fromkeys((b"gradle", b"gradlew"), frozenset({b"test", b"check"})),
}
_RUN_WORD = b"run"  # npm run test
_SCRIPT_RUNNERS = frozenset({b"npm", b"pnpm", b"yarn", b"bun"})
_MODULES = frozenset({b"pytest", b"unittest", b"nose2", b"tox", b"nox"})
_MODULE_OPTION, _NODE_OPTION = b"-m", b"--test"
_MANAGE, _TEST = b"manage.py", b"test"  # of Django
# With one of these nothing is run.
_RUNS_NOTHING = frozenset(
    b"--version --help -h --dry-run --collect-only --collectonly --co --fixtures --fixtures-per-test"
    b" --markers --setup-plan --cache-show --list --list-tests --listTests --listenvs --listenvs-all"
    b" --show-only --showConfig --clearCache --no-run --just-print --recon --question --touch".split()
)
# Of single programs: short options that mean something else elsewhere.
_RUNS_NOTHING_OF = {
    **dict.fromkeys((b"pytest", b"py.test"), frozenset({b"-V"})),
    **dict.fromkeys((b"tox", b"nox"), frozenset({b"-l", b"list"})),
    b"ctest": frozenset({b"-N"}),
    b"go": frozenset({b"-list", b"-c", b"-n"}),
    **dict.fromkeys((b"gradle", b"gradlew"), frozenset({b"-m"})),
    b"mvn": frozenset({b"-DskipTests", b"-DskipTests=true", b"-Dmaven.test.skip=true"}),
    b"vitest": frozenset({b"list"}),
    b"bats": frozenset({b"-c", b"--count"}),
}
_SUFFIXES = (b".js", b".mjs", b".cjs", b"-cli")
# What they do is told elsewhere: in a file, on another machine, in a container.
_BUILD_TOOLS = frozenset(
    b"make gmake cmake ninja just task rake bazel npm npx pnpm yarn bun bunx deno cargo gradle gradlew"
    b" mvn mvnw sbt tox nox invoke hatch poetry pdm uv uvx turbo nx docker podman ssh kubectl".split()
)
_INTERPRETER = re.compile(
    rb"(?:python|pypy|node|ruby|perl|php|lua|Rscript|julia|(?:ba|da|z|k|fi|)sh)[0-9.]*|nodejs|java"
)
_TEST_WORD = re.compile(rb"(?:\A|[^a-z])(?:tests?|specs?|checks?|verify|ci)(?:[^a-z]|\Z)", re.IGNORECASE)
_MAKE = b"make"
_MAKES_NOTHING = re.compile(rb"-[bdeikrswBLRS]*[nqtvh][bdehiknqrstvwBLRS]*")  # options that take no argument


def runs_tests(names: Collection[bytes], argv: Sequence[bytes]) -> bool:
    """`names`: what it was asked for as, and what was found there: npm is a link to npm-cli.js."""
    words = [word for word in argv[1:] if word]
    runners = (_runner(_plain(name), words) for name in names)
    return any(runner is not None and not _runs_nothing(runner, words) for runner in runners)


def may_run_tests(names: Collection[bytes], argv: Sequence[bytes], cwd: bytes) -> bool:
    """Whether what it does is written in a file of the project, or somewhere that nobody sees."""
    below = (cwd.rstrip(b"/") + b"/", b"./", b"../")
    if any(name.startswith(below) for name in names):
        return True
    programs = {_plain(name.rpartition(b"/")[2]) for name in names}
    words = [word for word in argv[1:] if word and not any(space in word for space in b" \t\n")]
    if programs & _BUILD_TOOLS or any(map(_TEST_WORD.search, (*programs, *words))):
        return True
    script = next((word for word in words if not word.startswith(b"-")), b"")
    is_of_project = script.startswith(below) or not script.startswith(b"/")
    return bool(script) and is_of_project and any(map(_INTERPRETER.fullmatch, programs))


def _runs_nothing(runner: bytes, words: Sequence[bytes]) -> bool:
    if runner == _MAKE and any(map(_MAKES_NOTHING.fullmatch, words)):
        return True
    return not (_RUNS_NOTHING | _RUNS_NOTHING_OF.get(runner, frozenset())).isdisjoint(words)


def _runner(program: bytes, words: Sequence[bytes]) -> bytes | None:
    """The program that runs tests when it is called so: this one, or one that it was started with."""
    if program in ALWAYS:
        return program
    if program.startswith(b"python"):
        modules = (module for module in _modules(words) if module in _MODULES)
        return next(modules, None) or _of_script(words)
    if program in {b"node", b"nodejs", b"bun", b"ruby", b"perl"} and (found := _of_script(words)):
        return found
    if program in {b"node", b"nodejs"}:
        return program if _NODE_OPTION in words else None
    return program if _asks_for_tests(program, words) else None


def _asks_for_tests(program: bytes, words: Sequence[bytes]) -> bool:
    plain = [word for word in words if not word.startswith(b"-")]
    if program in _SCRIPT_RUNNERS:
        plain = plain[1:] if plain[:1] == [_RUN_WORD] else plain
        if plain and plain[0].startswith(_TEST + b":"):  # npm run test:unit
            return True
    return bool(plain) and plain[0] in WITH_WORD.get(program, ())


def _modules(words: Sequence[bytes]) -> Iterator[bytes]:
    """What is run as a module, also by a module: `python -m coverage run -m pytest`."""
    for word, following in pairwise((*words, b"")):
        if word == _MODULE_OPTION:
            yield following
        elif word.startswith(_MODULE_OPTION):
            yield word.removeprefix(_MODULE_OPTION)


def _of_script(words: Sequence[bytes]) -> bytes | None:
    """The runner that is the script with which an interpreter was started."""
    place = next((place for place, word in enumerate(words) if not word.startswith(b"-")), None)
    if place is None:
        return None
    script, rest = _plain(words[place].rpartition(b"/")[2]), words[place + 1 :]
    if script == _MANAGE:
        return script if rest[:1] == [_TEST] else None
    return script if script in ALWAYS or _asks_for_tests(script, rest) else None


def _plain(program: bytes) -> bytes:
    """A program without what its package adds to its name."""
    for suffix in _SUFFIXES:
        program = program.removesuffix(suffix)
    return program
