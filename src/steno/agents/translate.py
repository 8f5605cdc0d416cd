"""What an agent said, in three levels of telling, made from the audit files of an attempt and nothing else.

In: an attempt and a level. Out: pieces of text. Level 1 is JSON lines, what the parser understood and what
it did not; level 2 is `fcmp/1.0` envelopes, one a line; level 3 is Markdown. Level 0 is the agent's own
output, of which nothing is made here. The audit files are never changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from steno.agents.attempt import Attempt
from steno.agents.conversation_text import conversation
from steno.agents.envelopes import envelopes
from steno.errors import BadRequestError
from steno.text.safe import visible_json


def translate(attempt: Attempt, level: int) -> Iterator[str]:
    try:
        chosen = LEVELS[level]
    except KeyError:
        raise BadRequestError(
            f"there is no level {level} of translation", hint="it is 0, 1, 2 or 3"
        ) from None
    return chosen(attempt)


def structured(attempt: Attempt) -> Iterator[dict[str, Any]]:
    """First the attempt itself, then every event in order."""
    yield {
        "type": "attempt",
        "run_id": attempt.run_id,
        "attempt": attempt.number,
        "engine": attempt.agent,
        "parser": attempt.stream,
        "session": msgspec.to_builtins(attempt.session),
        "completion": {"state": attempt.state, "reason_code": attempt.reason_code},
        "exit_code": attempt.exit_code,
        "signal": attempt.signal,
    }
    for event in attempt.events:
        yield msgspec.to_builtins(event)


def _nothing(_: Attempt) -> Iterator[str]:
    return iter(())


def _json_lines(values: Iterable[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        yield visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + "\n"


LEVELS: Mapping[int, Callable[[Attempt], Iterator[str]]] = {
    0: _nothing,
    1: lambda attempt: _json_lines(structured(attempt)),
    2: lambda attempt: _json_lines(envelopes(attempt)),
    3: conversation,
}
