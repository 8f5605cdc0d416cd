"""Usable by everybody: axe-core finds nothing serious, and the keyboard is enough."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from support.axe_core import findings, load_axe, needs_axe
from support.browsing import DESKTOP, PHONE, PageOf
from support.report_page import PANELS, ReportPage
from support.reported import Reports


@needs_axe
@pytest.mark.parametrize(
    ("size", "dark"), [(DESKTOP, False), (DESKTOP, True), (PHONE, False)], ids=["light", "dark", "phone"]
)
def test_no_panel_has_a_serious_finding(
    page_of: PageOf, reports: Reports, size: tuple[int, int], dark: bool
) -> None:
    with page_of(reports.session_page, size=size, dark=dark) as page:
        load_axe(page)
        report = ReportPage(page)
        report.has_checked("match")
        rules = ["color-contrast"] if dark else []  # all else is the same in the dark
        found = {"page": findings(page, "html", rules)}
        for name in PANELS[1:]:
            report.open(name)
            found[name] = findings(page, f"#panel-{name}", rules)
        assert not any(found.values()), found


def test_the_keyboard_is_enough(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page) as page:
        report = ReportPage(page)
        page.keyboard.press("3")
        files = report.shown("files")
        page.keyboard.press("/")
        expect(files.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("greeting.c")
        page.keyboard.press("Escape")
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.getAttribute('role')") == "treegrid":
                break
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(files.locator(".file-detail")).to_contain_text("for (int i = 1; i < argc; i++)")
        page.keyboard.press("7")
        report.shown("events")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()


def test_the_tabs_are_walked_with_the_arrows(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page) as page:
        report = ReportPage(page)
        report.open("timeline")
        for name in PANELS[1:]:
            page.keyboard.press("ArrowRight")
            report.shown(name)
            expect(page.locator(f"#tab-{name}")).to_be_focused()


def test_what_is_focused_can_be_seen(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style not in {"none", ""}
