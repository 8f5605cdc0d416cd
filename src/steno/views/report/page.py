"""A page: one HTML document with its style, its script, its data and nothing from elsewhere.

In: a header that is HTML already, data, and blocks of embedded parts. Out: blocks of bytes, the same for
the same input. The policy of the page (CSP) names the only script and the only style that may work, by
digest; text of a record that gets in as markup would still be nothing but text. Never writes text that it
has not escaped: the header is the business of whoever made it (`header.py`).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from steno.evidence import canonical
from steno.text.safe import utf8, visible

SCHEMA = "steno.page.v1"
_NO_SCRIPT = (
    "Scripts are off here, so this browser has not checked anything: the check and the panels are made by "
    "the script of this page. What stands above was written when the page was made."
)
# The style is long, and hides this: a page that ends before it, or in it, is not an empty one.
_BEFORE_STYLE = (
    '<p class="before-style">Not checked here. If this is all that you see, '
    "the rest of this page is missing, or still on its way.</p>"
)
# The player of the terminal is WebAssembly, carried in the script; compiling it is all that this allows.
_POLICY = (
    "default-src 'none'; script-src '{script}' 'wasm-unsafe-eval'; style-src '{style}'; "
    "img-src data:; font-src data:; {connect}base-uri 'none'; form-action 'none'"
)


_BEGINS = "<!doctype html>\n"
_OWN_CODE = re.compile("`([^`]+)`")


class Asset(NamedTuple):
    text: str
    digest: str  # as a policy names it


@cache
def asset(name: str) -> Asset:
    """A built file of the front end; `make web` builds it."""
    data = (files("steno.views.report") / "assets" / name).read_bytes()
    return Asset(data.decode(), f"sha256-{b64encode(sha256(data).digest()).decode()}")


def policy(*, connect: bool) -> str:
    """What a page may do. Only one that a server gives may ask for more, and only that server."""
    return _POLICY.format(
        script=asset("report.js").digest,
        style=asset("report.css").digest,
        connect="connect-src 'self'; " if connect else "",
    )


def html(
    title: str, header: str, data: dict[str, Any], parts: Iterable[bytes] = (), *, connect: bool = False
) -> Iterator[bytes]:
    """The whole document. `data` is what the script finds in `#steno-page`; `header` is escaped HTML."""
    yield (
        f"{_BEGINS}"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(connect=connect))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"</head>\n<body>\n{_BEFORE_STYLE}\n"
        f"<style>{asset('report.css').text}</style>\n"
        f'{header}\n<main id="panels"></main>\n<noscript><p>{_NO_SCRIPT}</p></noscript>\n'
    ).encode()
    yield b'<script type="application/json" id="steno-page">%s</script>\n' % json_in_html(data)
    yield from parts
    yield f"<script>{asset('report.js').text}</script>\n</body>\n</html>\n".encode()


def is_page(path: Path) -> bool:
    """Whether a file begins like one; it need not be one of ours."""
    try:
        with path.open("rb") as file:
            return file.read(len(_BEGINS)) == _BEGINS.encode()
    except OSError:
        return False


def text(value: str) -> str:
    """Text of a record as HTML, in an element or an attribute: it marks up nothing, and hides nothing."""
    return escape(visible(value))


def prose(sentence: str) -> str:
    """A sentence of our own as HTML, never one of the record: what stands in backticks is code."""
    return _OWN_CODE.sub(r"<code>\1</code>", text(sentence))


def json_in_html(value: Any) -> bytes:
    """JSON that cannot end the element it stands in."""
    return canonical.encode(utf8(value)).replace(b"<", b"\\u003c")
