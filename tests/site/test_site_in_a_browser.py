"""The site in a real browser: the list, two runs compared, a run as it happens, and who must not see it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.axe_core import findings, is_there, load_axe
from support.browsing import DESKTOP, PHONE, keep_screenshot, watched_page
from support.program import PROGRAM
from support.reported import Reports
from support.served import Client, served
from support.waiting import SECONDS, until

COMMAND = "echo first > a; echo hello terminal; read word < gate; rm a; echo goodbye"
NAME = "</script><img src=x onerror=alert(1)>"


@contextmanager
def program(cwd: Path, env: dict[str, str], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [PROGRAM, *words], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def visited(browser: Browser, client: Client, path: str = "") -> Iterator[Page]:
    site = client.serving.url
    with watched_page(browser, f"{site}{path}", allowed=(site,)) as page:
        yield page


@pytest.fixture(scope="module")
def site(reports: Reports, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A store with two real runs, one of them hostile, and what is no run."""
    store = tmp_path_factory.mktemp("site") / "runs"
    for run in (reports.session, reports.hostile):
        shutil.copytree(run.path, store / run.path.name)
    (store / "not-a-run").symlink_to(reports.session.path)
    with served(store) as client:
        yield client


def is_for_everybody(page: Page) -> None:
    """On a desktop and on a phone: nothing serious, and nothing beyond the edge. Where axe-core is there."""
    for width, height in (DESKTOP, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if is_there():
            load_axe(page)
            assert findings(page) == []


def test_the_list_is_searched_and_filtered(browser: Browser, site: Client) -> None:
    with visited(browser, site) as page:
        rows = page.locator(".list-body .list-row")
        expect(rows).to_have_count(2)
        keep_screenshot(page, "site-list")
        page.get_by_role("searchbox").fill("greeting")
        expect(rows).to_have_count(1)
        page.get_by_role("searchbox").fill("no such run")
        expect(page.get_by_text("No run is like that.")).to_be_visible()
        page.get_by_role("searchbox").fill("")
        page.get_by_label("State").select_option("running")
        expect(rows).to_have_count(0)
        page.get_by_label("State").select_option("sealed")
        expect(page.get_by_role("status")).to_have_text("2 runs")
        began = rows.first.locator(".cell-when")
        expect(began).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$"))
        assert began.evaluate("one => one.scrollWidth <= one.clientWidth")
        is_for_everybody(page)
        expect(page.get_by_role("checkbox").first).to_be_visible()  # on a phone, too
        expect(began).to_be_visible()
        assert began.evaluate("one => one.scrollWidth <= one.clientWidth")
        keep_screenshot(page, "site-list-phone")


_COUNT_REDRAWS = """
() => {
  window.redraws = 0;
  const body = document.querySelector(".list-body");
  new MutationObserver(() => window.redraws++).observe(body, { childList: true });
}
"""


def test_the_list_is_drawn_anew_only_when_a_run_is_another(
    browser: Browser, reports: Reports, tmp_path: Path
) -> None:
    shutil.copytree(reports.session.path, tmp_path / "runs" / reports.session.path.name)
    shutil.copytree(reports.hostile.path, tmp_path / reports.hostile.path.name)
    with served(tmp_path / "runs") as client, visited(browser, client) as page:
        rows = page.locator(".list-body .list-row")
        expect(rows).to_have_count(1)
        page.evaluate(_COUNT_REDRAWS)

        def ask_again() -> None:
            with page.expect_response("**/runs.json"):
                page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

        ask_again()
        ask_again()
        (tmp_path / reports.hostile.path.name).rename(tmp_path / "runs" / reports.hostile.path.name)
        ask_again()
        expect(rows).to_have_count(2)
        assert page.evaluate("window.redraws") == 1


def test_a_click_is_not_lost_to_a_list_that_is_drawn_anew(
    browser: Browser, reports: Reports, tmp_path: Path
) -> None:
    shutil.copytree(reports.session.path, tmp_path / "runs" / reports.session.path.name)
    shutil.copytree(reports.hostile.path, tmp_path / reports.hostile.path.name)
    with served(tmp_path / "runs") as client, visited(browser, client) as page:
        page.get_by_role("checkbox").hover()
        page.mouse.down()
        (tmp_path / reports.hostile.path.name).rename(tmp_path / "runs" / reports.hostile.path.name)
        for _ in range(2):
            with page.expect_response("**/runs.json"):
                page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.mouse.up()
        expect(page.get_by_text("Choose one more to compare")).to_be_visible()


def test_two_runs_are_chosen_and_compared(browser: Browser, site: Client) -> None:
    with visited(browser, site) as page:
        boxes = page.get_by_role("checkbox")
        expect(boxes).to_have_count(2)
        for box in boxes.all():
            box.check()
        page.get_by_role("link", name="Compare the two").click()
        expect(page.locator(".live-status")).to_contain_text("B did something that A did not")
        expect(page.locator(".compare-entries.is-added li").first).to_be_visible()
        expect(page.locator(".compare-sides")).to_contain_text("sh ../report/session.sh ../mcp")
        expect(page.get_by_role("heading", name="Programs run")).to_be_visible()
        keep_screenshot(page, "site-compare")
        is_for_everybody(page)


def test_two_runs_are_chosen_with_the_keyboard(browser: Browser, site: Client) -> None:
    with visited(browser, site) as page:
        expect(page.get_by_role("checkbox")).to_have_count(2)
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        boxes = page.get_by_role("checkbox")
        boxes.first.focus()
        page.keyboard.press("Space")
        expect(boxes.first).to_be_checked()
        expect(boxes.first).to_be_focused()
        for _ in range(2):  # past the link of the same row
            page.keyboard.press("Tab")
        page.keyboard.press("Space")
        expect(page.get_by_role("link", name="Compare the two")).to_be_visible()


def test_a_run_has_the_panels_of_a_report_and_its_digests_are_checked(
    browser: Browser, site: Client, reports: Reports
) -> None:
    with visited(browser, site, f"run/{reports.session.path.name}/") as page:
        expect(page.locator("#digest-check")).to_contain_text("match")
        page.get_by_role("tab", name="Files").click()
        expect(page.locator("#panel-files .list-row").nth(1)).to_be_visible()
        with page.expect_download() as packed:
            page.get_by_role("link", name="Download the packed bundle").click()
        assert packed.value.suggested_filename == f"{reports.session.path.name}.tar.gz"
        with page.expect_download() as report:
            page.get_by_role("link", name="Download the report").click()
        assert report.value.suggested_filename.endswith(".html")
        page.get_by_role("link", name="All runs").click()
        expect(page.locator(".list-body .list-row")).to_have_count(2)


def test_what_happens_arrives_in_the_browser_while_it_happens(
    browser: Browser, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    os.mkfifo(tmp_path / "gate")
    words = ("run", "--pty", "always", "--name", NAME, "--", "sh", "-c", COMMAND)
    with (
        program(tmp_path, clean_env, *words) as run,
        program(tmp_path, clean_env, "serve", "--json") as serve,
    ):
        until((tmp_path / "a").exists)
        assert serve.stdout is not None
        url = json.loads(serve.stdout.readline())["url"]
        with watched_page(browser, url, allowed=(url,)) as page:
            page.locator(".run-running a").click()
            happenings = page.locator(".list-body")
            expect(happenings.get_by_text(str(tmp_path / "a")).first).to_be_visible()
            expect(page.locator(".live-terminal")).to_contain_text("hello terminal")
            expect(page.locator(".live-status")).to_contain_text("Running")
            expect(page.locator(".live-terminal")).not_to_contain_text("goodbye")
            (tmp_path / "gate").write_text("go\n")
            expect(page.locator(".live-terminal")).to_contain_text("goodbye")
            expect(happenings.get_by_text("deleted").first).to_be_visible()
            expect(page.locator(".live-status")).to_contain_text("exit 0")
            expect(page.locator(".live-status")).to_contain_text("sealed, complete")
            keep_screenshot(page, "site-live")
            is_for_everybody(page)
            page.get_by_label("Processes").uncheck()
            expect(happenings.get_by_text("started", exact=True)).to_have_count(0)
            page.get_by_role("link", name="Open the record").click()
            expect(page.locator("#digest-check")).to_contain_text("match")
        assert run.wait(SECONDS) == 0


def test_a_page_of_another_site_cannot_read_or_frame_this_one(browser: Browser, site: Client) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto("about:blank")
        asked = page.evaluate(
            "address => fetch(address).then(answer => answer.status, error => String(error))",
            f"{site.serving.url}runs.json",
        )
        assert asked == "TypeError: Failed to fetch"
        frame = page.evaluate_handle(
            """address => new Promise(done => {
                const frame = document.createElement("iframe");
                frame.onload = () => done(frame);
                frame.src = address;
                document.body.append(frame);
            })""",
            site.serving.url,
        ).as_element()
        assert frame is not None
        inside = frame.content_frame()
        assert inside is None or "steno-page" not in inside.content()
    finally:
        context.close()
