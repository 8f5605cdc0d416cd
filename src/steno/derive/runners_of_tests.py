"""Programs that run tests, known by what they are called with.

In: the name of a program and its arguments. Out: whether it runs tests. A fixed list, as docs/calls.md has
it: a program that is not in it runs no tests as far as a record can tell, nor does one that was only asked
for its version, its help, or a list of what it would run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Programs that do nothing else.
ALWAYS = frozenset(
    b"pytest py.test jest vitest mocha ava tap nose2 tox nox ctest phpunit rspec bats gotestsum".split()
)
# program -> words, one of which must be its first argument that is no option
WITH_WORD = {
    **dict.fromkeys((b"npm", b"pnpm", b"yarn", b"bun"), frozenset({b"test", b"t"})),
    b"cargo": frozenset({b"test", b"nextest"}),
    b"make": frozenset({b"test", b"tests", b"check"}),
    **dict.fromkeys((b"go", b"deno", b"dotnet", b"mix", b"swift", b"mvn"), frozenset({b"test"})),
    **dict.fromkeys((b"gradle", b"gradlew"), frozenset({b"test", b"check"})),
}
_RUN_WORD = b"run"  # npm run test
_SCRIPT_RUNNERS = frozenset({b"npm", b"pnpm", b"yarn", b"bun"})
_MODULES = frozenset({b"pytest", b"unittest", b"nose2", b"tox", b"nox"})
_MODULE_OPTION, _NODE_OPTION = b"-m", b"--test"
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
_MAKE = b"make"
_MAKES_NOTHING = re.compile(rb"-[bdeikrswBLRS]*[nqtvh][bdehiknqrstvwBLRS]*")  # options that take no argument


def runs_tests(program: bytes, argv: Sequence[bytes]) -> bool:
    words = [word for word in argv[1:] if word]
    runner = _runner(program, words)
    return runner is not None and not _runs_nothing(runner, words)


def _runs_nothing(runner: bytes, words: Sequence[bytes]) -> bool:
    if runner == _MAKE and any(map(_MAKES_NOTHING.fullmatch, words)):
        return True
    return not (_RUNS_NOTHING | _RUNS_NOTHING_OF.get(runner, frozenset())).isdisjoint(words)


def _runner(program: bytes, words: Sequence[bytes]) -> bytes | None:
    """The program that runs tests when it is called so: this one, or one that it was started with."""
    if program in ALWAYS:
        return program
    if program.startswith(b"python"):
        module, script = _first_module(words), _script(words)
        return module if module in _MODULES else script if script in ALWAYS else None
    if program in {b"node", b"nodejs"}:
        script = _script(words)
        return program if _NODE_OPTION in words else script if script in ALWAYS else None
    return program if _asks_for_tests(program, words) else None


def _asks_for_tests(program: bytes, words: Sequence[bytes]) -> bool:
    plain = [word for word in words if not word.startswith(b"-")]
    if program in _SCRIPT_RUNNERS and plain[:1] == [_RUN_WORD]:
        plain = plain[1:]
    return bool(plain) and plain[0] in WITH_WORD.get(program, ())


def _first_module(words: Sequence[bytes]) -> bytes | None:
    return words[words.index(_MODULE_OPTION) + 1] if _MODULE_OPTION in words[:-1] else None


def _script(words: Sequence[bytes]) -> bytes | None:
    """The script that an interpreter was started with."""
    script = next((word for word in words if not word.startswith(b"-")), b"")
    return script.rpartition(b"/")[2].removesuffix(b".js").removesuffix(b".mjs")
