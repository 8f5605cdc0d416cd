"""The page: one HTML file that needs no network, with what it carries and a script that checks it."""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from steno import __version__
from steno.evidence import canonical
from steno.model.run import Run
from steno.report.overview import (
    TROUBLES_APART,
    TRUE,
    WORRY,
    Fact,
    Subject,
    answers,
    command,
    headline,
    is_sound,
    when,
    where,
)
from steno.report.parts import parts_of
from steno.text.safe import ELLIPSIS, utf8, visible

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
    data = (files("steno.report") / "assets" / name).read_bytes()
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


KIND = "report"


def document(run: Run, found: Subject) -> Iterator[bytes]:
    """The run stays open for as long as the blocks are asked for."""
    parts = parts_of(run)
    data = {
        "schema": SCHEMA,
        "kind": KIND,
        "steno": __version__,
        "run_id": found.run_id,
        "state": str(found.state),
        "verdict": found.verdict,
        "summary": found.summary_in_page,
        **parts.data,
    }
    yield from html(title(found), header(found), data, parts.embedded())


_MOST_CHARACTERS = 300
_MOST_LINES = 12
_IN_TITLE = 80
_NOT_CHECKED = "Not checked here"
# What the script fills in: the browser's own check, which is no word of ours.
_DIGEST_CHECK = (
    '<div class="fact"><dt>In this browser</dt>'
    '<dd><span id="digest-check" role="status">this browser has not checked anything</span></dd></div>'
)


def title(found: Subject) -> str:
    """The name of the page: the verdict first, because tabs are narrow."""
    first = TROUBLES_APART.join([_unchecked(found)[0], *headline(found).troubles])
    return f"{first}: {_about_what(found)}"


def header(found: Subject) -> str:
    word, sentence = _unchecked(found)
    return "\n".join(
        [
            _opening(found),
            f'<p class="verdict-run">{text(_name(found))}</p>',
            '<p class="verdict-banner">',
            f'<span><strong id="verdict-word">{text(word)}</strong>{_troubles(found)}</span>',
            f'<span id="verdict-sentence">{prose(sentence)}</span></p>',
            *_problems(found.problems),
            *_about(found),
            '<div class="verdict-groups">',
            *(_group(question, facts) for question, facts in answers(found).items()),
            "</div>",
            "</header>",
        ]
    )


def _opening(found: Subject) -> str:
    """How the whole is to be taken. What a sound record is called the script says, once it has checked."""
    first = headline(found)
    classes = f"verdict verdict-{found.status} verdict-is-{first.role}"
    if is_sound(found):
        classes += " verdict-unchecked"
    return f'<header id="verdict" class="{text(classes)}" data-about="{text(_about_what(found))}">'


def _troubles(found: Subject) -> str:
    troubles = "".join(f"{TROUBLES_APART}{trouble}" for trouble in headline(found).troubles)
    return f'<span id="verdict-troubles">{text(troubles)}</span>'


def _unchecked(found: Subject) -> tuple[str, str]:
    """The banner before any check; bad news needs none."""
    if not is_sound(found):
        return headline(found)[:2]
    return _NOT_CHECKED, (
        "This browser has not checked anything yet. "
        f"When this page was made, `steno verify` said: {found.status}."
    )


def _about_what(found: Subject) -> str:
    if found.summary:
        return _cut(command(found.summary), _IN_TITLE)
    return _cut(shlex.join(found.command) if found.command else found.run_id or "a record", _IN_TITLE)


def _name(found: Subject) -> str:
    given = found.summary["run"]["name"] if found.summary else None
    return f"Steno {found.run_id or 'record'}" + (f": {_cut(given, _IN_TITLE)}" if given else "")


def _problems(problems: list[str]) -> Iterator[str]:
    if problems:
        items = "".join(f"<li>{text(line)}</li>" for line in _some(problems))
        yield f'<ul class="verdict-problems">{items}</ul>'


def _about(found: Subject) -> Iterator[str]:
    if found.summary is None and found.command is None:
        yield '<h1 class="verdict-command">What the command was cannot be read</h1>'
        return
    if found.summary is None:
        yield _command(shlex.join(found.command or []))
        yield '<p class="verdict-when">This is what the first event says. Nothing vouches for it.</p>'
        return
    run = found.summary["run"]
    yield _command(command(found.summary))
    yield f'<p class="verdict-when">{text(when(found, run))}, in {text(_cut(where(run)))}</p>'


def _command(words: str) -> str:
    return f'<h1 class="verdict-command"><code>{text(_cut(words))}</code></h1>'


def _group(question: str, facts: list[Fact]) -> str:
    shown = [_definition(fact) for fact in facts]
    if question == TRUE:
        shown.insert(1, _DIGEST_CHECK)
    worry = " verdict-worry" if question == WORRY else ""
    return (
        f'<section class="verdict-group{worry}"><h2>{text(question)}</h2><dl>{"".join(shown)}</dl></section>'
    )


def _definition(fact: Fact) -> str:
    role = f" fact-{fact.role}" if fact.role else ""
    lines = "".join(f"<dd>{text(line)}</dd>" for line in _some(fact.lines))
    return f'<div class="fact{role}"><dt>{text(fact.label)}</dt>{lines}</div>'


def _some(lines: list[str]) -> list[str]:
    shown = [_cut(line) for line in lines[:_MOST_LINES]]
    more = len(lines) - _MOST_LINES
    return [*shown, f"and {more} more"] if more > 0 else shown


def _cut(line: str, most: int = _MOST_CHARACTERS) -> str:
    return line if len(line) <= most else line[:most] + ELLIPSIS
