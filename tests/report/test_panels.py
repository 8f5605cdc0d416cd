"""Every panel on a real recording: git, a compiler, npm, tools behind a policy, a connection, a secret."""

from __future__ import annotations

import gzip
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from support.browsing import PHONE, PageOf, keep_screenshot
from support.report_page import PANELS, ReportPage, files_in, rows
from support.reported import SESSION_TOKEN, Reports


@pytest.fixture(scope="module")
def report(page_of: PageOf, reports: Reports) -> Iterator[ReportPage]:
    """One page for all that only look: each goes to where it wants to look first."""
    with page_of(reports.session_page) as page:
        yield ReportPage(page)


def test_the_head_says_what_it_did_and_that_the_digests_are_right(report: ReportPage) -> None:
    report.has_checked("match")
    assert report.banner == "Record valid"
    troubles = report.page.locator("#verdict-troubles")
    expect(troubles).to_have_text(" · 1 call contradicted · 1 call denied")
    for words in (
        "exit code 0",
        "1 contradicted",
        "1 call refused by policy",
        "not signed",
        "github-token",
    ):
        assert words in report.facts
    keep_screenshot(report.page, "report")


def test_every_panel_draws_itself(report: ReportPage) -> None:
    for name in PANELS:
        panel = report.open(name)
        assert panel.locator(".alarm").count() == 0, panel.inner_text()
        assert len(panel.inner_text()) > 30
        keep_screenshot(report.page, f"panel-{name}")


def test_the_processes_are_a_tree_of_what_was_started(report: ReportPage) -> None:
    report.go("#processes")
    said = report.shown("processes").inner_text()
    assert "gcc -Wall -Wextra -o greeting greeting.c" in said
    assert "git commit" in said
    assert ("npm install" in said) == (shutil.which("npm") is not None)


def test_a_changed_file_shows_what_changed_in_both_shapes(report: ReportPage) -> None:
    report.go("#files")
    panel = report.shown("files")
    panel.get_by_role("searchbox").fill("greeting.c")
    files_in(panel).filter(has_text="greeting.c").first.click()
    detail = panel.locator(".file-detail")
    expect(detail).to_contain_text("for (int i = 0; i <= argc; i++)")
    expect(detail).to_contain_text("for (int i = 1; i < argc; i++)")
    expect(detail.locator("[class*=hljs-]").nth(3)).to_be_visible()  # syntax in colour
    keep_screenshot(report.page, "diff-unified")
    panel.get_by_role("button", name=re.compile("side", re.IGNORECASE)).click()
    expect(report.page).to_have_url(re.compile("split"))
    expect(panel.locator(".file-detail")).to_contain_text("for (int i = 1; i < argc; i++)")
    keep_screenshot(report.page, "diff-split")


def test_a_deleted_file_and_one_that_was_only_read_can_be_found(report: ReportPage) -> None:
    report.go("#files")
    panel = report.shown("files")
    search = panel.get_by_role("searchbox")
    search.fill("old-notes")
    files_in(panel).first.click()
    expect(panel.locator(".file-detail")).to_contain_text("nobody needs these any more")
    search.fill("mcp/policy.yaml")
    expect(files_in(panel)).to_have_count(0)  # it was read, and those are not shown at first
    panel.get_by_label(re.compile("^only read")).check()
    expect(files_in(panel)).to_have_count(1)


def test_the_network_is_told_by_endpoint(report: ReportPage) -> None:
    report.go("#network")
    panel = report.shown("network")
    expect(panel).to_contain_text(re.compile(r"127\.0\.0\.1:\d+"))
    sought = panel.locator("tr.is-sought")
    expect(sought).to_have_count(0)
    for names in ("data-address", "data-name"):  # as the timeline and as a call names it
        name = panel.locator(f"[{names}]").first.get_attribute(names)
        report.go(f"#network/{quote(name or '', safe='')}")
        expect(sought).to_have_count(1)
        expect(sought.locator(f"[{names}]")).to_have_attribute(names, name or "")
        report.go("#network")
        expect(sought).to_have_count(0)


def test_the_terminal_plays_and_can_be_read(report: ReportPage) -> None:
    report.go("#terminal/@3600")  # beyond its end: everything was written by then
    panel = report.shown("terminal")
    screen = panel.locator(".ap-term")
    expect(screen).to_contain_text("Cleaning up")
    report.go("#terminal/@0")
    expect(screen).not_to_contain_text("Cleaning up")
    report.go("#terminal/@3600")
    expect(screen).to_contain_text("Cleaning up")
    keep_screenshot(report.page, "terminal")
    panel.get_by_role("button", name="Text").click()
    expect(panel).to_contain_text("Mending greeting.c")


def test_a_call_tells_what_was_said_decided_and_seen(report: ReportPage) -> None:
    report.go("#calls")
    panel = report.shown("calls")
    for words in ("1 contradicted", "1 denied", "1 confirmed", "count_list", "visits.txt"):
        expect(panel).to_contain_text(words)
    opener = panel.locator("[data-call]").first
    for _ in range(2):  # who comes again finds it as it was
        report.go(f"#calls/{quote(opener.get_attribute('data-call') or '', safe='')}")
        expect(opener).to_have_attribute("aria-expanded", "true")
        report.go("#calls")


def test_every_line_of_a_contradiction_is_as_red_as_the_first(report: ReportPage) -> None:
    colours = report.page.evaluate(
        """() => {
            const fact = document.querySelector("dt").parentElement.cloneNode(false);
            fact.className = "fact fact-bad";
            for (const name of ["dt", "dd", "dd", "dd"]) fact.append(document.createElement(name));
            document.querySelector("dt").parentElement.after(fact);
            const found = [...fact.querySelectorAll("dd")].map((one) => getComputedStyle(one).color);
            fact.remove();
            return found;
        }"""
    )
    assert len(colours) == 3
    assert len(set(colours)) == 1


def test_events_can_be_filtered(report: ReportPage) -> None:
    report.go("#events")
    panel = report.shown("events")
    panel.get_by_role("searchbox").fill("")
    status = panel.locator(".status")
    expect(status).to_have_text(re.compile(r"^[\d,]+ events$"))
    panel.get_by_role("searchbox").fill("old-notes.txt op:unlink")
    expect(status).to_have_text(re.compile(r"^[1-9]\d? of "))
    rows(panel).first.click()
    expect(panel.locator(".details")).to_contain_text("old-notes.txt")


def test_a_window_on_the_time_filters_the_rest(report: ReportPage) -> None:
    report.go("#events")
    panel = report.shown("events")
    panel.get_by_role("searchbox").fill("")
    status = panel.locator(".status")
    expect(status).to_have_text(re.compile(r"^[\d,]+ events$"))
    end = report.page.get_by_role("slider", name="End of the window")
    end.focus()
    for _ in range(5):
        report.page.keyboard.press("ArrowLeft")
    expect(status).to_have_text(re.compile("of .* in the window"))
    report.page.locator("body").click(position={"x": 1, "y": 1})
    report.page.keyboard.press("Escape")
    expect(status).to_have_text(re.compile(r"^[\d,]+ events$"))


def test_what_was_masked_is_told_and_the_secret_is_nowhere(report: ReportPage, reports: Reports) -> None:
    carried = re.findall(rb'id="part-\d+">([^<]*)<', reports.session_page.read_bytes())
    assert len(carried) > 20
    assert not any(SESSION_TOKEN.encode() in gzip.decompress(b64decode(part)) for part in carried)
    report.go("#health")
    expect(report.shown("health")).to_contain_text("github-token")
    terminal = report.open("terminal")
    terminal.get_by_role("button", name="Text").click()
    expect(terminal).to_contain_text("pushing with ghp_****")
    assert SESSION_TOKEN not in report.page.content()


def test_without_scripts_the_head_is_there_and_says_why_nothing_else_is(
    page_of: PageOf, reports: Reports
) -> None:
    with page_of(reports.session_page, scripts=False) as page:
        assert "exit code 0" in page.locator("#verdict").inner_text()
        assert "Scripts are off here" in page.content()


def test_on_a_phone_nothing_is_wider_than_the_screen(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, size=PHONE, dark=True) as page:
        report = ReportPage(page)
        for name in PANELS:
            report.open(name)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE[0], name
            keep_screenshot(page, f"phone-{name}")
