"""A browser for the tests of a file, and reports of real recordings, each made once.

The `conftest.py` of a folder whose tests look at pages imports these fixtures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from support.browsing import DESKTOP, PageOf, launch, watched_page
from support.reported import Reports


@pytest.fixture(scope="module")  # not longer: while it is there, nobody else in the process may run asyncio
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture(scope="module")
def page_of(browser: Browser) -> PageOf:
    """A page of a file, which fails for a request, an error or a breach of the policy."""

    def opened(
        html: Path,
        fragment: str = "",
        *,
        size: tuple[int, int] = DESKTOP,
        dark: bool = False,
        scripts: bool = True,
    ) -> AbstractContextManager[Page]:
        address = html.as_uri() + fragment
        return watched_page(browser, address, size=size, dark=dark, scripts=scripts)

    return opened


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    own = tmp_path_factory.getbasetemp()
    return Reports((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "reports")
