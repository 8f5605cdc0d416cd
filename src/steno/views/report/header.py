"""The head of a report in plain HTML: the verdict, then three questions and their answers.

In: what a report is about. Out: escaped HTML that needs no script. A record that is not sealed, not valid
or not complete says so first and large. One that was sound when the page was made is "not checked here" until
the script has checked it: a page that was cut off or changed on its way never says more. Never writes text of
the record that it has not escaped; cuts long text, and shows that it did.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from steno.text.safe import ELLIPSIS
from steno.views.report.answers import (
    TROUBLES_APART,
    TRUE,
    WORRY,
    Fact,
    answers,
    command,
    headline,
    is_sound,
    when,
    where,
)
from steno.views.report.page import prose, text
from steno.views.report.subject import Subject

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
