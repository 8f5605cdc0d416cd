"""Chromium, watched: what a page asks for, what it complains about and what it looks like.

In: a file or an address. Out: a Playwright page. A page that asked the network for anything, that broke its
own policy or that said an error on its console fails the test which looked at it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, expect

from support.machine import CHROMIUM

DESKTOP = (1280, 900)
PHONE = (390, 844)
MILLISECONDS = 60_000.0
expect.set_options(timeout=MILLISECONDS)  # no context gives it: it would be 5 seconds
_NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
_WATCH_POLICY = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


def launch(playwright: Playwright) -> Browser:
    """Debian's Chromium. It will not start as root with its sandbox on, and pages here are our own."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("chromium is not installed; `make programs` does it where the distribution has it")
    return playwright.chromium.launch(
        executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=MILLISECONDS
    )


class PageOf(Protocol):
    def __call__(
        self,
        html: Path,
        fragment: str = "",
        *,
        size: tuple[int, int] = DESKTOP,
        dark: bool = False,
        scripts: bool = True,
    ) -> AbstractContextManager[Page]: ...


class Watch:
    """What a page did that it must not do."""

    def __init__(self, page: Page, allowed: tuple[str, ...]) -> None:
        self.faults: list[str] = []
        self._allowed = allowed
        page.on("request", self._on_request)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", self._on_dialog)
        page.on("popup", lambda popup: self.faults.append(f"window: {popup.url}"))

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in {"data", "blob"}:
            return
        if f"{address.scheme}://{address.netloc}{address.path}" not in self._allowed and not any(
            one.endswith("/") and request.url.startswith(one) for one in self._allowed
        ):
            self.faults.append(f"request: {request.url}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")

    def _on_dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def watched_page(
    browser: Browser,
    address: str,
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    allowed: tuple[str, ...] = (),
    scripts: bool = True,
) -> Iterator[Page]:
    """A page in a profile of its own. `allowed`: what it may ask for besides; with a last /, a prefix."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
    )
    context.set_default_timeout(MILLISECONDS)
    context.add_init_script(_WATCH_POLICY)
    page = context.new_page()
    watch = Watch(page, (address.partition("#")[0], *allowed))
    try:
        page.goto(address)
        yield page
        if scripts:
            page.evaluate(_NEXT_FRAME)  # what is under way is told first
        assert not watch.faults, watch.faults
    finally:
        context.close()


def keep_screenshot(page: Page, name: str, *, whole: bool = False) -> None:
    """For whoever looks at what the tests saw: in the folder that STENO_ARTIFACTS names, or nowhere."""
    folder = os.environ.get("STENO_ARTIFACTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=whole)
