"""The watch over pages: what a report must never do is noticed when a page does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.browsing import PageOf

FAULTS = {
    "request": "<img src='http://127.0.0.1:9/leak.png'>",
    "error": "<script>throw new Error('broken')</script>",
    "dialog": "<script>setTimeout(() => alert(1))</script>",
    "policy": """<meta http-equiv="Content-Security-Policy" content="script-src 'none'"><b onclick="x()">""",
    "console": "<script>console.error('something failed')</script>",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_that_does_what_it_must_not_fails(page_of: PageOf, tmp_path: Path, fault: str) -> None:
    html = tmp_path / "page.html"
    html.write_text(f"<!doctype html><title>x</title>{FAULTS[fault]}")
    with pytest.raises(AssertionError, match=fault), page_of(html):
        pass


def test_a_page_that_does_nothing_wrong_passes(page_of: PageOf, tmp_path: Path) -> None:
    html = tmp_path / "page.html"
    html.write_text("<!doctype html><title>x</title><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")
    with page_of(html) as page:
        assert page.title() == "x"
