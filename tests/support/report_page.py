"""A report in a browser, used as a reader would: its tabs, its lists, its verdict."""

from __future__ import annotations

from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

PANELS = ("timeline", "processes", "files", "network", "terminal", "calls", "events", "health")

_NEXT_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class ReportPage(NamedTuple):
    page: Page

    def open(self, panel: str) -> Locator:
        """The panel, drawn. No mouse: the alarm of a harmed page may move a tab away while it is pressed."""
        tab = self.page.locator(f"#tab-{panel}")
        tab.focus()
        tab.dispatch_event("click")
        return self.shown(panel)

    def shown(self, panel: str) -> Locator:
        content = self.page.locator(f"#panel-{panel}")
        expect(content).to_be_visible()
        expect(content.locator(".loading")).to_have_count(0)
        self.page.evaluate(_NEXT_FRAMES)  # a list has its rows once it has been given its size
        return content

    def go(self, fragment: str) -> None:
        """As a link to a place in the report does."""
        self.page.evaluate("(fragment) => { location.hash = fragment; }", fragment)

    @property
    def banner(self) -> str:
        return self.page.locator(".verdict-banner strong").inner_text()

    @property
    def facts(self) -> str:
        return self.page.locator("#verdict").inner_text()

    def has_checked(self, words: str) -> None:
        """The browser has computed the digests, and says so in these words."""
        expect(self.page.locator("#digest-check")).to_contain_text(words)


def rows(panel: Locator, among: str = ".list") -> Locator:
    """Those of a list that are in the document."""
    return panel.locator(f"{among} .list-body .list-row")


def files_in(panel: Locator) -> Locator:
    """The list of files, not the lines of the one that is looked at."""
    return rows(panel, ".files-list")
