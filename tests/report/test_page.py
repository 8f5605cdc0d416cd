"""The page: one script and one style that work, by digest, and data that cannot end its element."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from steno.report import page
from steno.text.safe import utf8

ASSETS = Path(page.__file__).parent / "assets"


class Elements(HTMLParser):
    """The elements of a document, and the text in each of its scripts and styles."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self._inside = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag in {"script", "style"}:
            (self.scripts if tag == "script" else self.styles).append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - as its parser calls it
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in {"script", "style"}:
            (self.scripts if self._inside == "script" else self.styles)[-1] += data


def made(*, connect: bool = False) -> str:
    return b"".join(page.html("A <title>", "<header></header>", {}, connect=connect)).decode()


def policy_of(document: str) -> dict[str, list[str]]:
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', document)
    assert found
    words = [directive.split() for directive in unescape(found[1]).split(";")]
    return {name: values for name, *values in words}


def digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else() -> None:
    document = made()
    elements, policy = Elements(document), policy_of(document)
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == [digest(elements.scripts[-1]), "'wasm-unsafe-eval'"]
    assert policy["style-src"] == [digest(elements.styles[0])]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert policy["img-src"] == policy["font-src"] == ["data:"]
    assert "connect-src" not in policy


def test_only_a_page_that_a_server_gives_may_ask_that_server() -> None:
    assert policy_of(made(connect=True))["connect-src"] == ["'self'"]


def test_the_policy_stands_before_everything_that_it_is_about() -> None:
    names = [tag for tag, _ in Elements(made()).tags]
    assert names[:4] == ["html", "head", "meta", "meta"]
    assert names.index("style") > names.index("meta") + 1


def test_a_page_that_ends_in_its_style_is_not_an_empty_one() -> None:
    document = made()
    before_style = document[: document.index("<style>")]
    assert before_style.index("<body>") < before_style.index("Not checked here. If this is all that you see")
    assert ".before-style{display:none}" in document


def test_no_element_names_anything_that_is_not_in_the_page() -> None:
    for tag, attributes in Elements(made()).tags:
        assert "src" not in attributes, tag
        assert attributes.get("href", "data:,") == "data:,"


def test_the_built_files_cannot_end_the_elements_they_stand_in() -> None:
    script, style = ((ASSETS / name).read_text(encoding="utf-8") for name in ("report.js", "report.css"))
    assert not re.search(r"</script|<!--", script, re.IGNORECASE)
    assert "</style" not in style.lower()


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_data_comes_out_of_the_page_as_it_went_in(value: object) -> None:
    try:
        packed = page.json_in_html(value)
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte: never from a record
        return
    assert b"<" not in packed
    assert json.loads(packed) == json.loads(json.dumps(utf8(value)))


def test_text_of_a_record_marks_up_nothing_and_hides_nothing() -> None:
    said = page.text("<b onclick='x'>\"&\x1b[31m\u202e\udcff")
    assert said == "&lt;b onclick=&#x27;x&#x27;&gt;&quot;&amp;\\x1b[31m\\u202e\\udcff"


def test_the_title_is_escaped() -> None:
    assert "<title>A &lt;title&gt;</title>" in made()
