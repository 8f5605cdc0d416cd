"""The timeline, the window of time, the process tree and the table of events, as a reader uses them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from support.browsing import PHONE, PageOf, keep_screenshot
from support.report_page import ReportPage, rows
from support.reported import Reports

LANE = 20
_WHOLE_RUN = re.compile("drag to select a window")
_INK = "() => document.querySelector('.timeline-stage canvas').toDataURL()"


@pytest.fixture(scope="module")
def page(page_of: PageOf, reports: Reports) -> Iterator[Page]:
    """One page for all: each test leaves it with the whole run, at the timeline."""
    with page_of(reports.session_page) as opened:
        ReportPage(opened).has_checked("match")
        yield opened


@pytest.fixture
def timeline(page: Page) -> Iterator[Locator]:
    report = ReportPage(page)
    panel = report.open("timeline")
    page.mouse.move(0, 0)  # what it rests on is drawn in another colour
    page.evaluate("() => document.getElementById('panels').scrollIntoView()")
    expect(panel.locator("[aria-busy]")).to_have_count(0)
    yield panel
    report.open("timeline")
    panel.locator("canvas").press("Escape")
    panel.locator("canvas").press("0")


def box_of(part: Locator) -> FloatRect:
    found = part.bounding_box()
    assert found is not None
    return found


def ink(page: Page) -> str:
    """What the timeline shows, as one word: two pictures differ when their words do."""
    return str(page.evaluate(_INK))


def settled(page: Page) -> None:
    """What was asked for in this frame has been drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def drag(page: Page, part: Locator, start: float, end: float, *, shift: bool = False) -> None:
    box = box_of(part)
    middle = box["y"] + box["height"] / 2
    if shift:
        page.keyboard.down("Shift")
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=4)
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


def first_lane(page: Page, timeline: Locator) -> tuple[float, float]:
    """A point on the command's own process, which lives the longest: the first lane below the tracks."""
    box = box_of(timeline.locator("canvas"))
    lanes = page.evaluate("() => document.querySelector('.timeline-room').clientHeight")
    count = int(timeline.locator("canvas").get_attribute("data-lanes") or 0)
    return box["x"] + box["width"] / 2, box["y"] + lanes - 8 - count * LANE + LANE / 2


def test_the_timeline_is_zoomed_and_moved_by_wheel_drag_and_keys(page: Page, timeline: Locator) -> None:
    canvas = timeline.locator("canvas")
    settled(page)
    seen = [ink(page)]
    box = box_of(canvas)
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 10)
    acts: list[Callable[[], None]] = [
        lambda: page.mouse.wheel(0, -300),
        lambda: drag(page, canvas, 0.5, 0.3),
        lambda: canvas.press("+"),
        lambda: canvas.press("ArrowLeft"),
    ]
    for act in acts:
        act()
        page.wait_for_function(f"before => ({_INK})() !== before", arg=seen[-1])
        settled(page)
        seen.append(ink(page))
    assert len(set(seen)) == len(seen)
    canvas.press("0")
    page.mouse.move(0, 0)
    page.wait_for_function(f"before => ({_INK})() === before", arg=seen[0])


def test_a_process_tells_of_itself_and_a_click_goes_to_it(page: Page, timeline: Locator) -> None:
    x, y = first_lane(page, timeline)
    page.mouse.move(x, y)
    expect(timeline.locator(".tip")).to_contain_text("session.sh")
    keep_screenshot(page, "timeline-tip")
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile(r"#processes/1$"))
    processes = ReportPage(page).shown("processes")
    expect(processes.locator(".details")).to_contain_text("session.sh")
    expect(processes.locator(".list-row.is-active")).to_contain_text("session.sh")


def test_a_window_that_is_dragged_filters_every_panel(page: Page, timeline: Locator) -> None:
    report = ReportPage(page)
    every = rows(report.open("processes")).count()
    report.open("timeline")
    drag(page, timeline.locator("canvas"), 0.1, 0.3, shift=True)
    expect(page.locator(".overview-words")).to_contain_text("selected")
    expect(report.open("processes").locator(".status")).to_contain_text(f"of {every}")
    expect(report.open("events").locator(".status")).to_contain_text("in the window")
    page.keyboard.press("Escape")
    expect(page.locator(".overview-words")).to_have_text(_WHOLE_RUN)
    expect(report.open("events").locator(".status")).to_have_text(re.compile(r"^[\d,]+ events$"))


def test_the_strip_selects_a_window_in_any_panel_and_its_handles_are_sliders(
    page: Page, timeline: Locator
) -> None:
    report = ReportPage(page)
    report.open("events")
    drag(page, page.locator(".overview-track"), 0.6, 0.9)
    handle = page.get_by_role("slider", name="End of the window")
    before = int(handle.get_attribute("aria-valuenow") or 0)
    handle.press("ArrowLeft")
    assert int(handle.get_attribute("aria-valuenow") or 0) < before
    expect(page.locator(".overview-words")).to_contain_text("selected")
    page.get_by_role("button", name="Whole run").first.click()
    expect(page.locator(".overview-words")).to_have_text(_WHOLE_RUN)
    expect(timeline).to_be_hidden()


def test_the_timeline_is_told_to_whoever_steps_along_it(page: Page, timeline: Locator) -> None:
    canvas = timeline.locator("canvas")
    canvas.press("ArrowDown")
    said = timeline.locator(".timeline-said")
    expect(said).to_contain_text("session.sh")
    canvas.press("ArrowDown")
    expect(said).not_to_contain_text("session.sh /")
    timeline.locator("summary").click()
    listed = timeline.locator(".as-list")
    expect(listed.locator(".list-body")).to_contain_text("process")
    timeline.locator("summary").click()
    canvas.press("ArrowUp")
    canvas.press("Enter")
    expect(page).to_have_url(re.compile(r"#processes/1$"))


def test_a_row_of_the_events_shows_all_its_columns(page: Page, timeline: Locator) -> None:
    report = ReportPage(page)
    events = report.open("events")
    page.keyboard.press("/")
    expect(events.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("op:exec greeting.c result:ok")
    expect(rows(events).first).to_contain_text("greeting.c")
    events.locator(".list").press("ArrowDown")
    events.locator(".list").press("Enter")
    expect(events.locator(".details")).to_contain_text("mono_ns")
    expect(events.locator(".details")).to_contain_text("notes")
    events.get_by_role("button", name="Its process").click()
    expect(page).to_have_url(re.compile(r"#processes/\d+$"))
    report.open("events").get_by_role("searchbox").fill("")
    expect(timeline).to_be_hidden()


def test_keys_open_panels_and_the_page_of_keys(page: Page, timeline: Locator) -> None:
    page.locator("body").press("2")
    ReportPage(page).shown("processes")
    page.locator("body").press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(timeline).to_be_hidden()


def test_the_reader_chooses_light_or_dark(page: Page, timeline: Locator) -> None:
    def paper() -> str:
        return str(page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor"))

    button = page.get_by_role("button", name=re.compile("^Colours"))
    system = paper()
    found = []
    for _ in range(3):
        button.click()
        found.append(paper())
    light, dark, again = found
    assert light == again == system
    assert dark != light
    expect(timeline).to_be_visible()


def test_everything_has_room_on_a_phone(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, "#timeline", size=PHONE) as phone:
        report = ReportPage(phone)
        for name in ("timeline", "processes", "events"):
            panel = report.open(name)
            overflow = phone.evaluate(
                "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow <= 0, name
            expect(panel).to_be_visible()
            keep_screenshot(phone, f"phone-{name}")
        events = report.open("events")
        events.get_by_role("searchbox").fill("result:ENOENT")
        expect(rows(events).first.locator(".cell-what")).to_have_text(re.compile("^ENOENT /"))
        expect(rows(events).first.locator(".if-narrow")).to_be_visible()
