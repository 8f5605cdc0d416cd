"""The report of a real agent: Claude Code, whose model is a script, makes two calls and says it is done."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.browsing import PageOf, keep_screenshot
from support.program import PROGRAM, SECONDS
from support.real_agents import CLAUDE, Place, claude, needs
from support.recorded import only_run
from support.report_page import PANELS, ReportPage
from support.reported import Reports
from support.scripted_models import MessagesModel, Say, Use


def recorded_agent(base: Path) -> Path:
    place = Place.below(base)
    settings = subprocess.run(
        [PROGRAM, "hook", "claude", "--print-settings"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    ).stdout
    script: list[Use | Say] = [
        Use("call_shell", "Bash", {"command": "echo hello > made.txt", "description": "Make a file"}),
        Use("call_write", "Write", {"file_path": str(place.work / "written.txt"), "content": "a line\n"}),
        Say("All is done."),
    ]
    store = place.home / "runs"
    with MessagesModel(script) as model:
        agent = claude(place, model.url, settings, {})
        env = {"PATH": os.environ["PATH"], "HOME": str(place.home), "STENO_HOME": str(store), **agent.env}
        subprocess.run(
            [PROGRAM, "run", "--max-blob", "100000", "--", *agent.command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=place.work,
            env=env,
            timeout=2 * SECONDS,
            check=True,
        )
    return only_run(store).path


@needs(CLAUDE)
def test_every_panel_shows_what_a_real_agent_did(
    page_of: PageOf, reports: Reports, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = recorded_agent(tmp_path_factory.mktemp("agent"))
    with page_of(reports.page(run, "agent")) as page:
        report = ReportPage(page)
        report.has_checked("match")
        assert "2 calls" in report.facts
        for name in PANELS:
            panel = report.open(name)
            assert panel.locator(".alarm").count() == 0, panel.inner_text()
            keep_screenshot(page, f"agent-{name}")
        calls = report.open("calls")
        expect(calls).to_contain_text("Write")
        calls.get_by_role("button", name="call_shell: details").click()
        expect(calls).to_contain_text("echo hello > made.txt")
        files = report.open("files")
        for words in ("made.txt", "written.txt"):
            files.get_by_role("searchbox").fill(words)
            expect(files).to_contain_text(words)
