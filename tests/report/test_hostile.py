"""A recording that attacks its reader: nothing of it runs, nothing leaves, everything is shown as text."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from support.browsing import PageOf, keep_screenshot
from support.report_page import PANELS, ReportPage, files_in, rows
from support.reported import IMAGE, SCRIPT, VECTORS, Reports

_MOST_FILES = 40


def test_no_panel_runs_or_asks_for_anything(page_of: PageOf, reports: Reports) -> None:
    """The page is watched: a dialog, a request, a window or a breach of the policy fails."""
    with page_of(reports.hostile_page) as page:
        report = ReportPage(page)
        report.has_checked("match")
        for name in PANELS:
            panel = report.open(name)
            assert panel.locator(".alarm").count() == 0, panel.inner_text()
            keep_screenshot(page, f"hostile-{name}")
        assert page.locator("script").count() == page.locator("body > script").count()
        assert page.locator("img, iframe, object, embed, base, form").count() == 0


def test_every_file_can_be_looked_at(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.hostile_page, "#files") as page:
        panel = ReportPage(page).shown("files")
        count = min(files_in(panel).count(), _MOST_FILES)
        assert count > 2 * len(VECTORS)
        for number in range(count):
            files_in(panel).nth(number).click()
            detail = panel.locator(".file-detail")
            expect(detail.locator(".loading")).to_have_count(0)
            assert detail.locator(".alarm").count() == 0
        assert SCRIPT in panel.inner_text()  # where a link leads
        assert page.locator("img, iframe, svg[onload]").count() == 0


def test_markup_in_names_arguments_and_calls_is_shown_as_it_is(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.hostile_page) as page:
        report = ReportPage(page)
        assert IMAGE in report.facts  # the directory
        assert IMAGE in report.open("processes").inner_text()
        assert IMAGE in report.open("calls").inner_text()
        panel = report.open("events")
        panel.get_by_role("searchbox").fill("onerror")
        expect(rows(panel).filter(has_text=IMAGE).first).to_be_visible()


def test_what_hides_text_is_spelled_out(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.hostile_page, "#files") as page:
        said = ReportPage(page).shown("files").inner_text()
        assert "\\u202egnp.exe" in said
        assert "\\xff" in said
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e\u2066-\u2069]", page.locator("body").inner_text())


def test_the_terminal_shows_the_text_and_no_link_of_it_runs(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.hostile_page) as page:
        report = ReportPage(page)
        report.go("#terminal/@3600")
        terminal = report.shown("terminal").locator(".ap-term")
        expect(terminal).to_contain_text("yyyy")
        for link in page.locator("#panel-terminal a").all():
            assert not (link.get_attribute("href") or "").startswith("javascript:")
        page.locator("#panel-terminal").get_by_role("button", name="Text").click()
        expect(page.locator("#panel-terminal")).to_contain_text("<img src=x onerror=alert(8)>")
        assert page.title().startswith("Record valid")


def test_an_address_that_somebody_made_up_breaks_nothing(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.hostile_page, "#files/%3Cimg%20src=x%20onerror=alert(9)%3E") as page:
        report = ReportPage(page)
        expect(report.shown("files")).to_contain_text("The record has no file")
        for fragment in (
            "#nothing",
            "#files/%zz",
            "#terminal/@NaN",
            "#events/row:99999999",
            "#calls/<b>",
            "#",
        ):
            report.go(fragment)
        report.open("health")
