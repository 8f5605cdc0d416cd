"""A pytest plugin: what level a test is of, where the time of a run went, and what failed, last and short."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from pathlib import Path

import pytest

from support import machine

# A test is of the first level of which it uses something: a fixture, or what its file imports.
_LEVELS = {
    "agent": {"support.javascript", "support.real_agents"},
    "browser": {"browser", "playwright.sync_api", "reports"},
    "kernel": {
        "support.cgroups",
        "support.observer_processes",
        "support.observers",
        "support.strace",
        "support.tracees",
    },
    "process": {
        "clean_git",
        "multiprocessing",
        "original",
        "pexpect",
        "repo",
        "small_disk",
        "steno",
        "subprocess",
        "support.mcp_proxied",
        "support.ordinary",
        "support.program",
        "support.programs",
        "support.screen",
        "support.stand_in_agent",
        "support.watched",
    },
}
_IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)(?: import (\([^)]*\)|.*))?$", re.MULTILINE)
_STARTING = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
_running_pure = False


def pytest_configure(config: pytest.Config) -> None:
    for level in filter(None, os.environ.get("STENO_REQUIRE", "").split(",")):
        if level not in machine.LEVELS:
            raise pytest.UsageError(f"STENO_REQUIRE knows {', '.join(machine.LEVELS)}, and not {level}")
        if missing := machine.lacking(level):
            raise pytest.UsageError(f"{level} is required (STENO_REQUIRE), and lacks {', '.join(missing)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.get_closest_marker(level) for level in (*_LEVELS, "pure")):
            used = {*getattr(item, "fixturenames", ()), *_imported(item.path)}
            item.add_marker(next((level for level, marks in _LEVELS.items() if used & marks), "pure"))


@cache
def _imported(path: Path) -> frozenset[str]:
    """Modules, and what is taken from them: `from support import x` is `support.x`."""
    found = set()
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        found |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))}
    return frozenset(found - {"steno"})  # the fixture is called so, too


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _running_pure  # noqa: PLW0603 - an audit hook is told nothing of the test
    _running_pure = item.get_closest_marker("pure") is not None
    return (yield)


def _no_process_of_a_pure_test(event: str, _: object) -> None:
    if event in _STARTING and _running_pure:
        pytest.fail(f"this test is taken for pure, and starts a process ({event}): mark it `process`")


sys.addaudithook(_no_process_of_a_pure_test)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where the time went: by folder, of both workers together."""
    seconds: defaultdict[str, float] = defaultdict(float)
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                folder = "/".join(Path(report.nodeid.partition("::")[0]).parent.parts[:3])
                seconds[folder] += report.duration
                tests[folder] += report.when == "call"
    if len(seconds) > 1:
        terminalreporter.write_sep("=", "time by folder")
        for folder, taken in sorted(seconds.items(), key=itemgetter(1), reverse=True):
            terminalreporter.write_line(f"{taken:8.1f}s {tests[folder]:6} tests  {folder}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """What failed comes last and short, where the end of a log is all that is seen of it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    for report in (*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())):
        crash = getattr(report.longrepr, "reprcrash", None)
        print(f"failed: {report.nodeid}: {' '.join(crash.message.split())[:300] if crash else ''}")
