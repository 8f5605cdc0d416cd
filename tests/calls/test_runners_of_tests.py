"""Programs that run tests, and those that only say what they would run."""

from __future__ import annotations

import pytest

from steno.judge.calls.test_runners import may_run_tests, runs_tests


@pytest.mark.parametrize(
    "argv",
    [
        "pytest -x", "python3 -m pytest", "python3.11 -m unittest", "npm test", "npm run test", "yarn test",
        "cargo test --all", "go test ./...", "make -j2 check", "node --test", "node /x/bin/vitest.mjs",
        "node /usr/bin/npm test", "npm-cli.js test",
        "node /usr/lib/node_modules/npm/bin/npm-cli.js run test:unit",
        "node /x/pnpm.cjs test", "node /x/yarn.js test", "python3 -m coverage run -m pytest",
        "python3 -mpytest",
        "python3 manage.py test", "ruby /usr/bin/rspec", "just test",
    ],
)  # fmt: skip
def test_programs_that_run_tests_are_known_by_their_arguments(argv: str) -> None:
    words = [word.encode() for word in argv.split()]
    assert runs_tests({words[0]}, words)


@pytest.mark.parametrize(
    "argv", ["python3 pytest_helper.py", "npm install", "make", "go build", "cat test", "node x"]
)
def test_programs_that_only_look_alike_run_no_tests(argv: str) -> None:
    words = [word.encode() for word in argv.split()]
    assert not runs_tests({words[0]}, words)


@pytest.mark.parametrize(
    "argv",
    [
        "pytest --version", "python3 -m pytest --version", "python3 -m pytest -V", "pytest --collect-only -q",
        "pytest --co", "pytest -h", "python3 /x/bin/pytest --help", "make -n test", "make test --dry-run",
        "make -kn check", "make -q test", "cargo test --no-run", "cargo test -- --list", "go test -list .",
        "tox -l", "jest --listTests", "node /x/jest.js --version", "node --test --help", "ctest -N",
        "npm test -- --version", "mvn test -DskipTests", "gradle test -m",
    ],
)  # fmt: skip
def test_a_program_that_was_asked_for_something_else_runs_no_tests(argv: str) -> None:
    words = [word.encode() for word in argv.split()]
    assert not runs_tests({words[0]}, words)


@pytest.mark.parametrize(
    "argv", ["pytest -n 4", "pytest -q -v", "make -k -j4 test", "ctest -V", "go test -v"]
)
def test_an_option_that_means_something_else_there_does_not_count(argv: str) -> None:
    words = [word.encode() for word in argv.split()]
    assert runs_tests({words[0]}, words)


@pytest.mark.parametrize(
    "argv",
    [
        "./ci.sh",
        "/work/run",
        "make",
        "python3 check_all.py",
        "bash tests.sh",
        "docker run x",
        "x --check",
        "sh all",
    ],
)
def test_a_program_whose_work_is_written_elsewhere_may_run_tests(argv: str) -> None:
    words = [word.encode() for word in argv.split()]
    assert may_run_tests({words[0]}, words, b"/work")


@pytest.mark.parametrize("argv", ["/bin/ls -l", "git commit", "node /usr/lib/server.js", "cat latest.txt"])
def test_a_program_that_does_one_thing_runs_no_tests(argv: str) -> None:
    words = [word.encode() for word in argv.split()]
    assert not may_run_tests({words[0]}, words, b"/work")
