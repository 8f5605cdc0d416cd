"""Who may have colour: NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM."""

from __future__ import annotations

import pytest

from steno.text.style import Paint, columns_shown, paint_for

TERM = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("environ", "on_terminal", "colour"),
    [
        (TERM, True, True),
        (TERM, False, False),
        ({}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({**TERM, "NO_COLOR": "1"}, True, False),
        ({**TERM, "NO_COLOR": ""}, True, True),
        ({**TERM, "CLICOLOR": "0"}, True, False),
        ({**TERM, "CLICOLOR": "1"}, True, True),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({**TERM, "CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, True, False),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, False, True),
    ],
)
def test_colour_is_where_it_is_wanted(environ: dict[str, str], on_terminal: bool, colour: bool) -> None:
    assert paint_for(environ, on_terminal=on_terminal) == Paint(colour)


def test_colours_take_no_room() -> None:
    assert columns_shown(Paint(colour=True)("bad", f"a{Paint(colour=True).strong('漢')}")) == 3
