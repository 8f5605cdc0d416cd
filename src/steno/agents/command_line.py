"""What the words after the agent's name are: said to the model, or arguments of the agent itself.

In: the words of the command line. Out: what is said, and the agent's own arguments, which follow `--` and
are passed on as they are. Nothing said at all starts the agent as a person would, to talk with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steno.errors import BadRequestError


class Words(NamedTuple):
    said: str | None  # to the model; None: nothing
    own: list[str]  # the agent's own arguments


def words_of(words: Sequence[str]) -> Words:
    end = words.index("--") if "--" in words else len(words)
    said, own = list(words[:end]), list(words[end + 1 :])
    for word in said:
        if word.startswith("-"):
            raise BadRequestError(
                f"{word!r} looks like an option of the agent",
                hint="the agent's own arguments follow --, as in "
                "`steno agent start claude 'Fix the tests.' -- --allowedTools Bash`",
            )
    return Words(" ".join(said) if said else None, own)
