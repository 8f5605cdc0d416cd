"""Records with something odd in them: what a panel cannot show, it says, with the reason."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from steno.model.runs import open_path
from support.browsing import PageOf, keep_screenshot
from support.program import IDENTITY, PROGRAM, SECONDS
from support.recorded import only_run
from support.report_page import PANELS, ReportPage, files_in, rows
from support.reported import Reports

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
_BEFORE = {
    "app.py": b"def greet(name):\n    return f'hello {name}'\n" + b"\n# a remark\n" * 60,
    "data.bin": bytes(range(256)),
    "gone.txt": b"nobody needs this\n",
    "old.txt": b"the same\n",
    "wide.txt": b"a" * 9000 + b"\n",
}
_ODD = r"""
sed -i 's/hello/welcome/' app.py
chmod 755 app.py
mv old.txt new.txt
rm gone.txt
ln -s app.py link
printf 'more' >>data.bin
printf 'API_KEY=ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n' >secret.env
printf 'x' >"$(printf 'bad\377name')"
head -c 70000 /dev/zero | tr '\0' 'a' >large.txt
sed -i 's/^a\{6000\}/&CHANGED/' wide.txt
mkdir folder
echo plain
echo wrong >&2
printf '\033[31mred\033[0m\a\n'
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without a terminal that leaves all kinds of files."""
    base = tmp_path_factory.mktemp("odd")
    return _recorded(base, "--observer", "notify", "--no-git", "--max-blob", "65536", "--pty", "never")


@pytest.fixture(scope="module")
def odd_page(odd: Path, reports: Reports) -> Path:
    return reports.page(odd, "odd")


@pytest.fixture(scope="module")
def unobserved_page(tmp_path_factory: pytest.TempPathFactory, reports: Reports) -> Path:
    base = tmp_path_factory.mktemp("unobserved")
    subprocess.run(["git", "init", "-q", base / "work"], check=True, timeout=SECONDS)
    return reports.page(_recorded(base, "--observer", "none", "--pty", "always"), "unobserved")


def _recorded(base: Path, *options: str) -> Path:
    work = base / "work"
    work.mkdir(exist_ok=True)
    for name, content in _BEFORE.items():
        (work / name).write_bytes(content)
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(base),
        "STENO_HOME": str(base / "runs"),
        "TERM": "xterm",
        **IDENTITY,
    }
    subprocess.run(
        [PROGRAM, "run", *options, "--", "sh", "-c", _ODD],
        cwd=work,
        env=env,
        check=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return only_run(base / "runs").path


def opened(page: Page, name: str) -> Locator:
    """A file of the run, by its name below the directory in which the run was."""
    base = re.search(r"names are below (\S+)", page.locator("#panel-files [role=status]").inner_text())
    assert base is not None
    ReportPage(page).go(f"#files/{quote(f'{base[1]}/{name}', safe='')}")
    detail = page.locator(".file-detail")
    expect(detail.locator("h3")).to_have_text(f"{base[1]}/{name}")
    expect(detail.locator(".loading")).to_have_count(0)
    return detail


def test_what_a_file_is_and_what_cannot_be_shown_of_it_is_said(page_of: PageOf, odd_page: Path) -> None:
    said = {
        "secret.env": ["created, not shown: its content holds a secret and is kept encrypted"],
        "data.bin": ["Binary files differ.", "After: 260 bytes", "00000000  00 01 02 03"],
        "large.txt": ["created, not shown: it was too large to be kept"],
        "bad\\xffname": ["The name is not UTF-8", "no newline at end of file"],
        "link": ["symlink → app.py", "+1"],
        "app.py": ["The mode changed from rw-r--r-- (0644) to rwxr-xr-x (0755)", "welcome", "hello"],
        "gone.txt": ["deleted", "nobody needs this", "What the run did with it"],
        "new.txt": ["Renamed from", "old.txt"],
        "wide.txt": ["5800 characters …", "CHANGED", "more characters in this line"],
        "folder": ["nothing before, directory after"],
    }
    with page_of(odd_page, "#files") as page:
        ReportPage(page).shown("files")
        for name, words in said.items():
            detail = opened(page, name)
            for word in words:
                expect(detail).to_contain_text(word)
        keep_screenshot(page, "odd-file")


def test_folded_lines_are_shown_when_somebody_asks(page_of: PageOf, odd_page: Path) -> None:
    with page_of(odd_page, "#files") as page:
        ReportPage(page).shown("files")
        detail = opened(page, "app.py")
        fold = detail.locator(".row-fold")
        expect(fold).to_contain_text("unchanged lines")
        before = int(detail.locator(".diff").get_attribute("aria-rowcount") or 0)
        fold.click()
        expect(detail.locator(".row-fold")).to_have_count(0)
        assert int(detail.locator(".diff").get_attribute("aria-rowcount") or 0) > before + 50


def test_files_can_be_seen_as_a_tree_that_the_keyboard_folds(page_of: PageOf, odd_page: Path) -> None:
    with page_of(odd_page, "#files") as page:
        panel = ReportPage(page).shown("files")
        panel.get_by_role("button", name="Tree").click()
        top = files_in(panel).first
        expect(top).to_have_attribute("aria-expanded", "true")
        panel.locator(".files-list").focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowLeft")
        expect(files_in(panel).first).to_have_attribute("aria-expanded", "false")


def test_a_window_narrows_the_files_to_those_used_in_it(page_of: PageOf, odd_page: Path) -> None:
    with page_of(odd_page, "#files") as page:
        panel = ReportPage(page).shown("files")
        status = panel.locator("[role=status]").first
        expect(status).to_contain_text(re.compile(r"^[1-9]\d* of"))
        end = page.get_by_role("slider", name="End of the window")
        end.focus()
        for _ in range(60):
            page.keyboard.press("ArrowLeft")
        expect(status).to_contain_text("in the selected window")
        page.keyboard.press("Escape")
        expect(status).not_to_contain_text("in the selected window")


def test_without_a_terminal_the_streams_stand_apart_as_text(page_of: PageOf, odd_page: Path) -> None:
    with page_of(odd_page, "#terminal") as page:
        panel = ReportPage(page).shown("terminal")
        expect(panel).to_contain_text("pipes; stdout and stderr recorded apart")
        expect(panel.locator(".stream-stdout").first).to_contain_text("plain")
        expect(panel.locator(".stream-stderr")).to_contain_text("wrong")
        assert panel.locator(".stream-stdout").nth(1).locator("code").inner_text() == "red\\x07"
        panel.get_by_label("spell out control characters").check()
        expect(panel.locator(".stream-stdout").nth(1)).to_contain_text("\\x1b[31mred\\x1b[0m\\x07")
        panel.get_by_label("stdout", exact=True).uncheck()
        expect(rows(panel)).to_have_count(1)


def test_without_an_observer_each_panel_says_why_it_is_empty(page_of: PageOf, unobserved_page: Path) -> None:
    with page_of(unobserved_page, "#files") as page:
        report = ReportPage(page)
        for name in ("files", "network"):
            expect(report.open(name)).to_contain_text("it was recorded with observer 'none'")
        timeline = report.open("timeline")
        for what in ("Processes", "Changes and connections"):
            expect(timeline).to_contain_text(f"{what} cannot be shown: this run has no kernel layer")
        expect(timeline.locator(".legend")).not_to_contain_text("connection")
        files = report.open("files")
        expect(files).to_contain_text("git: no commit yet")
        expect(files).to_contain_text("secret.env")
        expect(report.open("calls")).to_contain_text("No tool call is in this record")
        expect(report.open("health")).to_contain_text("stdout and stderr share one stream")
        expect(report.open("terminal").locator(".ap-term")).to_contain_text("plain")


def test_the_player_is_on_the_clock_of_the_run(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, "#terminal/@0.5") as page:
        panel = ReportPage(page).shown("terminal")
        time = panel.locator(".player-bar output")
        expect(time).to_have_text(re.compile(r"^0\.5s / "))
        panel.get_by_label("pauses at most").uncheck()
        panel.get_by_label("Speed").last.select_option("8")
        expect(time).to_have_text(re.compile(r"^0\.5s / "))
        panel.locator(".play").click()
        expect(time).not_to_have_text(re.compile(r"^0\.5s / "))
        expect(panel.locator(".play")).to_have_text("▶ Play")  # at the end: the time stands still again
        panel.get_by_label("Position").fill("0")
        expect(time).to_have_text(re.compile(r"^0\.0s / "))


def test_a_call_leads_to_what_was_seen_of_it(page_of: PageOf, reports: Reports) -> None:
    with page_of(reports.session_page, "#calls") as page:
        report = ReportPage(page)
        panel = report.shown("calls")
        row = panel.locator("tr.below").filter(has_text="read_only_tool_wrote")
        row.get_by_role("button", name="details").click()
        expect(row.locator(".detail")).to_contain_text("contradicted: only reads, it is said")
        row.get_by_role("button", name="visits.txt").click()
        expect(report.shown("files").locator(".file-detail h3")).to_contain_text("visits.txt")


@pytest.mark.parametrize(
    ("name", "panel_of_it", "words"),
    [
        ("split-terminal", "terminal", "told apart by the observer"),
        ("git", "files", "git: "),
        ("mcp-policy", "calls", "tool call"),
    ],
)
def test_a_record_of_format_1_is_checked_and_shown_as_one_of_today(
    page_of: PageOf, reports: Reports, name: str, panel_of_it: str, words: str
) -> None:
    with open_path(GOLDEN / f"{name}.tar.gz") as folder:
        html = reports.page(folder.path, f"first-{name}")
    with page_of(html) as page:
        report = ReportPage(page)
        report.has_checked("match")
        assert report.banner == "Record valid"
        for panel in PANELS:
            shown = report.open(panel).inner_text()
            assert "harmed" not in shown, panel
            assert "not in this page" not in shown, panel
        expect(report.open(panel_of_it)).to_contain_text(words)
        report.go("#terminal/text")
        assert "recorded by steno as" not in report.shown("terminal").inner_text()
