"""The picture of a report in README.md, made from a real run: `make screenshot` writes report.png and report-
dark.png.

Records the session of `examples/report` in a place of its own, makes the report, and opens it in Chromium.
Needs `tests` on the path, where the recording and the browser are.
"""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from support.browsing import launch, watched_page
from support.report_page import ReportPage
from support.reported import Reports

DOCS = Path(__file__).parent
SIZE = (1280, 850)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ada-") as scratch, sync_playwright() as playwright:
        address = Reports(Path(scratch)).session_page.as_uri()
        browser = launch(playwright)
        for name, dark in (("report.png", False), ("report-dark.png", True)):
            with watched_page(browser, address, size=SIZE, dark=dark) as page:
                report = ReportPage(page)
                report.has_checked("match")
                report.shown("timeline")
                page.screenshot(path=DOCS / name)
                print(DOCS / name)
        browser.close()


if __name__ == "__main__":
    main()
