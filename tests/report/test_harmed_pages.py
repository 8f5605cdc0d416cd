"""Pages that were changed or cut on their way, and records that hold something else than they should."""

from __future__ import annotations

import errno
import gzip
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from steno import __version__
from steno.bundle.folder import Folder
from steno.evidence import layout
from steno.judge.rules import RULES
from steno.model import table_documents
from steno.model.tables import types_of
from steno.report.parts import JUDGED
from support.browsing import PageOf, keep_screenshot
from support.documents import of_folder
from support.report_page import PANELS, ReportPage
from support.reported import Reports
from support.run_builder import RunBuilder

# Every element with a text of its own in the green that says: shown to be right.
_GREEN = """
() => {
  const probe = document.createElement("span");
  probe.className = "check-match";
  const root = document.documentElement.classList;
  const isUntrusted = root.contains("is-untrusted");
  root.remove("is-untrusted");
  document.body.append(probe);
  const green = getComputedStyle(probe).color;
  probe.remove();
  if (isUntrusted) root.add("is-untrusted");
  return [...document.querySelectorAll("header *, #panels *")]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((one) => getComputedStyle(one).color === green)
    .map((one) => one.textContent);
}
"""


def part_of(whole: str, path: str) -> str:
    found = re.search(rf'"id":"(part-\d+)","path":"{path}"', whole)
    assert found
    part = re.search(rf'id="{found[1]}">([^<]*)<', whole)
    assert part
    return part[1]


def with_content(whole: str, path: str, change: Callable[[bytes], bytes]) -> str:
    part = part_of(whole, path)
    changed = change(gzip.decompress(b64decode(part)))
    return whole.replace(part, b64encode(gzip.compress(changed)).decode())


def with_another_result(whole: str, path: str) -> str:
    return with_content(whole, path, lambda old: old.replace(b'"exit_code":0', b'"exit_code":7'))


def with_broken_part(whole: str, path: str) -> str:
    part = part_of(whole, path)
    return whole.replace(part, part[: len(part) // 2] + "A" * (len(part) - len(part) // 2))


def with_cut_part(whole: str, path: str) -> str:
    part = part_of(whole, path)
    return whole.replace(part, part[: len(part) // 2])


def without_it(whole: str, path: str) -> str:
    """As if the page never had it."""
    changed, count = re.subn(rf'\{{"bytes":\d+,"id":"part-\d+","path":"{path}",[^}}]*\}},', "", whole)
    assert count == 1
    return changed


def as_another_file(whole: str, path: str) -> str:
    """The patch of git, told to be something else of the same record."""
    sealed = f'"sealed_as":"evidence/{path}"'
    assert sealed in whole
    return whole.replace(sealed, '"sealed_as":"evidence/git/diff.patch"')


UNPACKED = "what the page holds of it cannot be unpacked"
SEALED, CONCLUDED = "Not what was sealed", "What was concluded was changed"
CHANGES = {
    "another-event": (with_another_result, "events.ndjson", "events.ndjson is not what was sealed", SEALED),
    "broken-event": (with_broken_part, "events.ndjson", f"events.ndjson: {UNPACKED}", SEALED),
    "broken-manifest": (with_cut_part, "manifest.json", f"manifest.json: {UNPACKED}", SEALED),
    "no-index": (
        without_it,
        "terminal/index",
        "terminal/index is in the manifest and not in this page",
        SEALED,
    ),
    "another-file": (
        as_another_file,
        "terminal/stdout",
        "terminal/stdout is not taken from the file",
        SEALED,
    ),
    "another-result": (with_another_result, "run.json", "run.json is not what was concluded", CONCLUDED),
    "broken-result": (with_broken_part, "run.json", f"run.json: {UNPACKED}", CONCLUDED),
    "no-result": (without_it, "run.json", "run.json was concluded, and is not in this page", CONCLUDED),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_page_that_was_changed_after_it_was_made_says_nothing_good(
    page_of: PageOf, reports: Reports, name: str
) -> None:
    change, path, problem, banner = CHANGES[name]
    changed = reports.session_page.with_name(f"changed-{name}.html")
    changed.write_text(change(reports.session_page.read_text(encoding="utf-8"), path), encoding="utf-8")
    with page_of(changed, "#health") as page:
        report = ReportPage(page)
        report.has_checked("does not match")
        alarm = page.get_by_role("alert").first
        expect(alarm).to_contain_text(problem)
        assert "TypeError" not in alarm.inner_text()
        assert report.banner == banner
        assert page.title().startswith(f"{banner}: ")
        report.shown("health")
        assert page.evaluate(_GREEN) == []
        keep_screenshot(page, f"bad-changed-{name}")


HEADS = {
    "result": ("<dt>Result</dt><dd>exit code 0<", "<dt>Result</dt><dd>exit code 7<", "Result"),
    "contradicted": (
        r"<dt>Contradicted</dt><dd>[^<]*<",
        "<dt>Contradicted</dt><dd>no call, and nothing that was said<",
        "Contradicted",
    ),
    "headline": (r'<span id="verdict-troubles">[^<]*<', '<span id="verdict-troubles"><', "Headline"),
    "command": (
        r'<h1 class="verdict-command"><code>[^<]*<',
        '<h1 class="verdict-command"><code>true<',
        "Command",
    ),
}


def test_a_head_that_was_changed_after_it_was_made_is_found_out(page_of: PageOf, reports: Reports) -> None:
    whole = reports.session_page.read_text(encoding="utf-8")
    for pattern, other, _ in HEADS.values():
        whole, count = re.subn(pattern, other, whole, count=1)
        assert count == 1, pattern
    changed = reports.session_page.with_name("changed-head.html")
    changed.write_text(whole, encoding="utf-8")
    with page_of(changed) as page:
        report = ReportPage(page)
        report.has_checked("match")
        assert report.banner == "The head was changed"
        assert page.title().startswith("The head was changed: ")
        for problem, (*_, label) in zip(
            sorted(page.locator(".alarm li").all_inner_texts()),
            sorted(HEADS.values(), key=lambda one: one[2]),
            strict=True,
        ):
            assert problem.startswith(f"{label}: the head says ")
        keep_screenshot(page, "bad-changed-head")
        report.open("health")
        assert page.evaluate(_GREEN) == []


@pytest.mark.parametrize("place", ["<style>", "@media"])
def test_a_page_that_ends_before_its_style_does_is_not_blank(
    browser: Browser, reports: Reports, tmp_path: Path, place: str
) -> None:
    whole = reports.session_page.read_bytes()
    cut = tmp_path / "cut-in-style.html"
    cut.write_bytes(whole[: whole.index(place.encode())])
    page = browser.new_page()  # unwatched: half of the style is not the one that the policy allows
    try:
        page.goto(cut.as_uri())
        expect(page.get_by_text("Not checked here")).to_be_visible()
        assert page.title().startswith("Not checked here")
    finally:
        page.close()


@pytest.mark.parametrize("kept", [0.99, 0.3])
def test_a_page_whose_end_was_lost_is_not_checked(page_of: PageOf, reports: Reports, kept: float) -> None:
    whole = reports.session_page.read_bytes()
    cut = reports.session_page.with_name(f"cut-{kept}.html")
    cut.write_bytes(whole[: int(len(whole) * kept)])
    with page_of(cut) as page:
        assert ReportPage(page).banner == "Not checked here"
        assert page.title().startswith("Not checked here · ")
        assert page.evaluate(_GREEN) == []
        said = page.evaluate('getComputedStyle(document.getElementById("panels"), "::before").content')
        assert "the end of this page is missing" in said
        keep_screenshot(page, f"bad-cut-{kept}")


def test_a_sound_page_turns_green_only_when_it_was_checked(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page) as page:
        report = ReportPage(page)
        report.has_checked("match")
        assert page.title().startswith(f"{report.banner} · 1 call contradicted")
        assert report.banner not in page.evaluate(_GREEN)
        expect(page.locator("#verdict")).to_have_class(re.compile("verdict-checked"))
        assert "exit code 0" in page.evaluate(_GREEN)
    with page_of(reports.session_page, scripts=False) as page:
        assert ReportPage(page).banner == "Not checked here"


def said_in(page: Page, panel: str) -> Locator:
    ReportPage(page).open(panel)
    return page.locator(f"#panel-{panel}")


def test_a_file_of_the_record_that_is_gone_or_holds_something_else_is_named(
    page_of: PageOf, reports: Reports
) -> None:
    run = reports.copy_of_session("other-contents")
    (run / layout.KERNEL_TABLE).write_bytes(b"PAR1 no table PAR1")
    (run / layout.INDEX).unlink()
    with page_of(reports.page(run, "other-contents")) as page:
        processes = said_in(page, "processes")
        expect(processes).to_contain_text(
            "tables/processes.json: it is not in this page: it cannot be made: "
        )
        expect(processes).not_to_contain_text("steno doctor")
        expect(said_in(page, "files")).to_contain_text(
            "tables/files.json: it is not in this page: it cannot be made: "
        )
        expect(said_in(page, "health")).to_contain_text("NOT what was sealed")
        timeline = said_in(page, "timeline")
        expect(timeline).to_contain_text(
            "Processes cannot be shown: tables/processes.json: it is not in this page"
        )
        expect(timeline).to_contain_text("Changes and connections cannot be shown: syscalls.parquet: ")
        expect(timeline).to_contain_text("Output cannot be shown: the record has none of its times.")
        expect(timeline.locator(".legend")).not_to_contain_text("change")
        assert "reading '" not in page.locator("body").inner_text()
        keep_screenshot(page, "bad-other-contents")


def test_without_the_table_of_the_kernel_what_follows_from_it_is_not_told(
    page_of: PageOf, reports: Reports
) -> None:
    run = reports.copy_of_session("no-kernel-table")
    (run / layout.KERNEL_TABLE).unlink()
    gone = "syscalls.parquet: the manifest names it, and the record has no such file"
    with page_of(reports.page(run, "no-kernel-table")) as page:
        for panel in ("processes", "files", "network", "timeline"):
            expect(said_in(page, panel)).to_contain_text(gone)
            expect(said_in(page, panel)).not_to_contain_text("steno doctor")


def test_a_conclusion_of_another_shape_is_named_and_the_other_panels_go_on(
    page_of: PageOf, reports: Reports
) -> None:
    whole = reports.session_page.read_text(encoding="utf-8")
    whole = with_content(whole, "tables/files.json", lambda _: b"[[1]]")
    whole = with_content(whole, "observation-health.json", lambda _: b"1")
    changed = reports.session_page.with_name("other-shapes.html")
    changed.write_text(whole, encoding="utf-8")
    with page_of(changed) as page:
        expect(said_in(page, "files")).to_contain_text(
            "tables/files.json: it does not hold what a record has there"
        )
        health = said_in(page, "health")
        expect(health).to_contain_text("observation-health.json: it does not hold what a record has there")
        expect(health).to_contain_text("tables/files.json is not what was concluded")
        expect(said_in(page, "processes")).to_contain_text("git")
        assert "reading '" not in page.locator("body").inner_text()


_EVIL = "constructor\u202e</script><img src=x onerror=alert(1)>"
_HOSTILE: dict[str, tuple[str, int, bool]] = {  # a text, a number, and whether what may be missing is
    "large": (_EVIL, 2**53 - 1, False),
    "below nothing": ("", -(2**53 - 1), False),
    "nothing": ("__proto__", 0, True),
    "one and the same": (_EVIL * 100, 1, False),
}


def hostile(value: Any, text: str, number: int, *, missing: bool) -> Any:
    match value:
        case dict():
            return {name: hostile(one, text, number, missing=missing) for name, one in value.items()}
        case list():
            return [hostile(one, text, number, missing=missing) for one in value]
        case bool() | None:
            return value
        case int():
            return number
        case _ if re.fullmatch("-?[0-9]{16,}", value):
            return str(number)  # a number that JSON has as text
        case _:
            return text


@pytest.mark.parametrize("name", _HOSTILE)
def test_tables_of_hostile_values_stop_no_panel(page_of: PageOf, reports: Reports, name: str) -> None:
    text, number, missing = _HOSTILE[name]
    whole = reports.session_page.read_text(encoding="utf-8")
    for table, row in table_documents.ROWS.items():
        hints = types_of(row)

        def forged(old: bytes, hints: dict[str, Any] = hints) -> bytes:
            columns = hostile(json.loads(old), text, number, missing=missing)
            for column, hint in hints.items():
                if missing and type(None) in get_args(hint):
                    columns[column] = [None] * len(columns[column])
            return json.dumps(columns).encode()

        whole = with_content(whole, table_documents.path_of(table), forged)
    changed = reports.session_page.with_name(f"hostile-{name.replace(' ', '-')}.html")
    changed.write_text(whole, encoding="utf-8")
    with page_of(changed) as page:
        report = ReportPage(page)
        for panel in PANELS:
            report.open(panel)
            expect(page.locator(f"#panel-{panel} [role=alert]")).to_have_count(0)
        assert "reading '" not in page.locator("body").inner_text()
        assert page.locator("#panels img").count() == 0
        keep_screenshot(page, f"bad-hostile-{name}")


def test_it_is_said_what_is_evidence_and_what_was_concluded_from_it(
    page_of: PageOf, reports: Reports
) -> None:
    with page_of(reports.session_page) as page:
        report = ReportPage(page)
        report.has_checked("evidence: ")
        report.has_checked(
            f"concluded: {len(JUDGED)} files as rules {RULES} of Steno {__version__} gave them"
        )
        health = said_in(page, "health")
        expect(health).to_contain_text(
            re.compile("digests of (\\d+) of \\1 files of evidence: all are those of the manifest")
        )
        expect(health).to_contain_text(f"by Steno {__version__}, rules {RULES}: capability-surface.json, ")


def test_without_a_manifest_what_is_there_is_still_told(page_of: PageOf, reports: Reports) -> None:
    run = reports.copy_of_session("manifest-gone")
    (run / layout.MANIFEST).unlink()
    with Folder(reports.session.path) as folder:
        calls = json.loads(of_folder(folder).read_all(layout.CALLS, 1 << 20))["calls"]
    with page_of(reports.page(run, "manifest-gone")) as page:
        expect(said_in(page, "calls")).to_contain_text(f"{len(calls)} tool calls")
        health = said_in(page, "health")
        expect(health).to_contain_text("kernel layer")
        expect(health).not_to_contain_text("told when it is")


def test_a_connection_that_was_refused_is_not_told_as_one(
    page_of: PageOf, reports: Reports, tmp_path: Path
) -> None:
    run = RunBuilder().process("curl").connected("inet:192.0.2.1:1", -errno.ECONNREFUSED)
    run.connected("inet:192.0.2.1:2", -errno.EINPROGRESS).connected("inet:192.0.2.1:3")
    with page_of(reports.page(run.seal(tmp_path), "refused")) as page:
        rows = said_in(page, "network").locator("tbody tr")
        for row, outcome in enumerate(
            ["refused or failed: ECONNREFUSED", "attempted, outcome not seen", "connected"]
        ):
            expect(rows.nth(row).locator("td").nth(2)).to_have_text(outcome)
