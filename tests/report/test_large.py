"""100,000 events and 5,000 files: only what is seen is in the document, and the page stays small."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import expect

from steno.bundle.folder import Folder
from steno.bundle.pack import pack
from support.browsing import PageOf, keep_screenshot
from support.report_page import ReportPage, files_in, rows
from support.reported import EVENTS, FILES, Reports

MOST_ROWS = 120
MOST_ELEMENTS = 2000
MEGABYTE = 1_000_000
# How long until the next frame after an event has been handled, with everything that it caused in between.
_TIMED = """
async ([selector, act]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const target = document.querySelector(selector);
  await frame();
  const began = performance.now();
  if (act.scroll !== undefined) target.scrollTop = act.scroll;
  if (act.value !== undefined) {
    target.value = act.value;
    target.dispatchEvent(new Event("input", { bubbles: true }));
    target.dispatchEvent(new Event("change", { bubbles: true })); // does what a pause in typing does
  }
  if (act.key !== undefined) {
    target.dispatchEvent(new KeyboardEvent("keydown", { key: act.key, bubbles: true }));
  }
  if (act.click) target.click();
  await frame();
  return performance.now() - began;
}
"""
_ARROWS = ("ArrowDown", "PageDown", "End", "Home")
Acts = list[dict[str, object]]
INTERACTIONS: dict[str, tuple[str, str, Acts]] = {  # what is open, what is acted on, and how
    "events: scroll": ("events", "#panel-events .list", [{"scroll": 90_000 * n} for n in range(1, 9)]),
    "events: keys": ("events", "#panel-events .list", [{"key": key} for key in _ARROWS]),
    "events: filter": (
        "events",
        "#panel-events input[type=search]",
        [{"value": text} for text in ("t", "tree/4", "op:open", "")],
    ),
    "events: window of time": (
        "events",
        ".overview-handle.is-to",
        [{"key": key} for key in ["ArrowLeft"] * 4 + ["ArrowRight"] * 4 + ["Escape"]],
    ),
    "files: scroll": ("files", "#panel-files .list", [{"scroll": 9_000 * n} for n in range(1, 9)]),
    "files: search": (
        "files",
        "#panel-files input[type=search]",
        [{"value": text} for text in ("f", "file-49", "")],
    ),
    "processes: keys": ("processes", "#panel-processes .list", [{"key": key} for key in _ARROWS]),
    "timeline: zoom and pan": (
        "timeline",
        "#panel-timeline canvas",
        [{"key": key} for key in ("+", "+", "ArrowRight", "-", "0")],
    ),
    "tabs": ("files", "#tab-events", [{"click": True}]),
}


def packed_size(run: Path) -> int:
    out = io.BytesIO()
    with Folder(run) as folder:
        pack(folder, out)
    return len(out.getvalue())


@pytest.mark.parametrize("name", ["session", "large", "hostile"])
def test_a_page_is_at_most_half_as_large_again_as_the_packed_bundle_and_a_megabyte(
    reports: Reports, name: str
) -> None:
    run, page = getattr(reports, name), getattr(reports, f"{name}_page")
    assert page.stat().st_size <= 1.5 * packed_size(run.path) + MEGABYTE


@pytest.fixture(scope="module")
def report(page_of: PageOf, reports: Reports) -> Iterator[ReportPage]:
    with page_of(reports.large_page) as page:
        yield ReportPage(page)


def test_lists_of_any_length_have_few_rows_in_the_document(report: ReportPage) -> None:
    report.has_checked("match")
    events = report.open("events")
    events.get_by_role("searchbox").fill("")
    expect(events.locator(".status")).to_have_text(re.compile(r"^[\d,]+ events$"))
    assert int(re.sub(r"\D", "", events.locator(".status").inner_text())) > EVENTS
    assert 10 < rows(events).count() < MOST_ROWS
    files = report.open("files")
    files.get_by_role("searchbox").fill("")
    assert int(files.locator(".files-list").get_attribute("aria-rowcount") or 0) > FILES
    assert 10 < files_in(files).count() < MOST_ROWS
    keep_screenshot(report.page, "large-files")


def test_the_end_of_a_long_list_is_reached(report: ReportPage) -> None:
    panel = report.open("events")
    panel.get_by_role("searchbox").fill("")
    expect(panel.locator(".status")).to_have_text(re.compile(r"^[\d,]+ events$"))
    panel.locator(".list").press("End")
    expect(rows(panel).last).to_contain_text("run_finish")
    assert rows(panel).count() < MOST_ROWS


def test_a_long_run_has_a_timeline_and_a_tree_of_few_elements(report: ReportPage) -> None:
    timeline = report.open("timeline")
    assert timeline.locator("canvas").count() >= 1
    assert timeline.locator("*").count() < MOST_ELEMENTS
    processes = report.open("processes")
    expect(rows(processes).first).to_be_visible()
    assert rows(processes).count() < MOST_ROWS
    keep_screenshot(report.page, "large-processes")


def test_interactions_are_measured(report: ReportPage, capsys: pytest.CaptureFixture[str]) -> None:
    """No assertion on the time: the figures are for whoever runs this with -s, and for docs/report.md."""
    found = {name: measured(report, *interaction) for name, interaction in INTERACTIONS.items()}
    keep_screenshot(report.page, "large-timeline")
    with capsys.disabled():
        for name, times in found.items():
            print(f"\n{name}: median {median(times):.0f} ms, slowest {max(times):.0f} ms", end="")


def measured(report: ReportPage, panel: str, selector: str, acts: Acts) -> list[float]:
    """Milliseconds from each event to the end of the frame after it."""
    report.open(panel)
    return [report.page.evaluate(_TIMED, [selector, act]) for act in acts]
