"""A report without a mouse: into a panel and its list, from a search to what fits, to where a link goes."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from support.browsing import PHONE, PageOf
from support.report_page import ReportPage, files_in, rows
from support.reported import Reports

_ROOM_ABOVE = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  return box("#panel-files .tools").top - box(".overview").bottom;
}"""
# How high the strip is, and the place that is kept for it until it is drawn.
_STRIP = """() => {
  const strip = document.querySelector(".overview");
  const drawn = strip.offsetHeight;
  strip.classList.add("is-waiting");
  const kept = strip.offsetHeight;
  strip.classList.remove("is-waiting");
  return [drawn, kept];
}"""
_FOCUSED = "document.activeElement.getAttribute('aria-label')"


def test_a_number_goes_to_a_panel_and_into_its_list(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page) as page:
        report = ReportPage(page)
        report.shown("timeline")
        for key, panel, label in (
            ("2", "processes", "Processes"),
            ("3", "files", "Files"),
            ("7", "events", "Events"),
        ):
            page.keyboard.press(key)
            shown = report.shown(panel)
            expect(shown.locator(".list").first).to_be_focused()
            page.keyboard.press("ArrowDown")
            expect(rows(shown).first).to_have_attribute("aria-selected", "true")
            assert page.evaluate(_FOCUSED) == label
        page.keyboard.press("8")
        expect(report.shown("health")).to_be_focused()
        page.keyboard.press("1")
        expect(report.shown("timeline").locator("canvas")).to_be_focused()


def test_a_search_leads_into_the_list_of_what_fits(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, "#files") as page:
        panel = ReportPage(page).shown("files")
        page.keyboard.press("/")
        page.keyboard.type("visits")
        page.keyboard.press("Enter")  # at once: what was typed counts, although nobody has paused
        expect(panel.locator(".file-detail h3")).to_contain_text("visits")
        page.keyboard.press("/")
        page.keyboard.type("greet")
        page.keyboard.press("ArrowDown")
        expect(panel.locator(".files-list")).to_be_focused()
        expect(files_in(panel).first).to_have_attribute("aria-selected", "true")
        expect(files_in(panel).first).to_contain_text("greet")


def test_the_tab_of_the_files_has_the_number_of_the_head(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, "#files") as page:
        panel = ReportPage(page).shown("files")
        changed = re.search(r"(\d+) files changed", ReportPage(page).facts)
        assert changed
        expect(page.locator("#tab-files .tab-count")).to_have_text(f" {changed[1]}")
        only = panel.get_by_label(re.compile("^only metadata"))
        if only.count() and not only.is_checked():
            expect(panel.locator("[role=status]").first).to_contain_text(f"of the {changed[1]} changed")


def test_a_link_to_a_panel_shows_it_on_a_phone(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, "#files", size=PHONE) as page:
        report = ReportPage(page)
        report.shown("files")
        report.has_checked("match")
        expect(page.get_by_role("searchbox")).to_be_in_viewport()
        assert page.evaluate(_ROOM_ABOVE) >= 0
        drawn, kept = page.evaluate(_STRIP)
        assert drawn == kept  # else what is below it moves when it comes, and under the bar
        assert abs(page.evaluate("document.getElementById('panels').getBoundingClientRect().top")) < 1


def test_a_click_on_a_tab_brings_its_panel_into_sight(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, size=(1280, 600)) as page:
        report = ReportPage(page)
        report.has_checked("match")
        page.locator("#tab-health").click()
        expect(report.shown("health")).to_be_in_viewport(ratio=0.1)
        assert page.evaluate("document.querySelector('.tabs').getBoundingClientRect().top") == 0
