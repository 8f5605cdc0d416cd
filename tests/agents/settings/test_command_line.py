"""Which words are said to the model, and which are the agent's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.errors import BadRequestError
from steno.launch.start import Words, prompt_and_arguments


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ([], Words(None, [])),
        (["Fix it."], Words("Fix it.", [])),
        (["Fix", "it."], Words("Fix it.", [])),
        (["Fix it.", "--", "--fast", "--"], Words("Fix it.", ["--fast", "--"])),
        (["--", "exec", "-p"], Words(None, ["exec", "-p"])),
    ],
)
def test_the_dashes_divide_the_words(words: list[str], read: Words) -> None:
    assert prompt_and_arguments(words) == read


def test_an_option_is_not_said_to_the_model() -> None:
    with pytest.raises(BadRequestError, match="--fast") as raised:
        prompt_and_arguments(["Fix it.", "--fast"])
    assert "follow --" in raised.value.hint


@given(st.lists(st.text()))
def test_the_agents_own_arguments_are_never_changed(own: list[str]) -> None:
    assert prompt_and_arguments(["Fix it.", "--", *own]) == Words("Fix it.", own)
