"""Records that are not sound: each says so first and large, and none leaves a blank page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from steno.evidence import kinds, layout
from support.browsing import PageOf, keep_screenshot
from support.making import FINISHED, PTY, make_run, start
from support.report_page import PANELS, ReportPage
from support.reported import Reports
from support.resealing import event_lines, put_events, reseal

GAP = kinds.Gap(reason="stream_lost", detail="the disk was full", lost_bytes=7)


def broken_kernel_table(run: Path) -> None:
    (run / layout.KERNEL_TABLE).write_bytes(b"PAR1 no table PAR1")


def forged_result(run: Path) -> None:
    *lines, last = event_lines(run)
    put_events(run, [*lines, last.replace(b'"exit_code":0', b'"exit_code":7')])
    reseal(run)


def no_manifest(run: Path) -> None:
    (run / layout.MANIFEST).unlink()


def nonsense_everywhere(run: Path) -> None:
    for path in run.rglob("*"):
        if path.is_file() and path.name not in {layout.MANIFEST, layout.EVENTS}:
            path.write_bytes(b'{"schema": 1, "files": {"a": [null, "\xff"]}}\n[1,2\n')


HARMS = {
    "tampered": (broken_kernel_table, "Invalid", "does not match"),
    "forged": (forged_result, "Invalid", "match"),
    "no-manifest": (no_manifest, "Unverified", "not checked"),
    "nonsense": (nonsense_everywhere, "Invalid", "does not match"),
}


@pytest.mark.parametrize("name", HARMS)
def test_a_harmed_record_says_so_and_shows_what_it_can(page_of: PageOf, reports: Reports, name: str) -> None:
    harm, banner, checked = HARMS[name]
    run = reports.copy_of_session(name)
    harm(run)
    with page_of(reports.page(run, name)) as page:
        report = ReportPage(page)
        assert report.banner == banner
        report.has_checked(checked)
        if checked == "does not match":
            expect(page.get_by_role("alert").first).to_contain_text("does not hold what was sealed")
        for panel in PANELS:
            assert report.open(panel).inner_text().strip(), panel
        keep_screenshot(page, f"bad-{name}")


def test_an_incomplete_record_names_its_gap(page_of: PageOf, reports: Reports, tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), *FINISHED[:2], GAP, FINISHED[2])
    with page_of(reports.page(run, "incomplete")) as page:
        report = ReportPage(page)
        report.has_checked("match")
        assert report.banner == "Record incomplete"
        assert "stream_lost: the disk was full (7 B lost)" in report.facts
        for panel in PANELS:
            assert report.open(panel).inner_text().strip(), panel
        keep_screenshot(page, "bad-incomplete")


def test_a_run_that_is_not_sealed_shows_what_came_so_far(
    page_of: PageOf, reports: Reports, tmp_path: Path
) -> None:
    tapes = [(layout.OUTPUT, 1_000_000_000, b"so far\r\n")]
    run = make_run(tmp_path, start(terminal=PTY), FINISHED[0], tapes=tapes, sealed=False)
    with page_of(reports.page(run, "unsealed")) as page:
        report = ReportPage(page)
        assert report.banner == "Not sealed"
        report.has_checked("not checked")
        for panel in PANELS:
            assert report.open(panel).inner_text().strip(), panel
        report.go("#terminal/@3600")
        expect(page.locator(".ap-term")).to_contain_text("so far")
        keep_screenshot(page, "bad-unsealed")
