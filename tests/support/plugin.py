"""A pytest plugin: what level a test is of, where the time of a run went, and what failed, last and short."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from operator import itemgetter
from pathlib import Path

import pytest


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
