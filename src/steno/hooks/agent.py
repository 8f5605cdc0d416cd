"""How an agent's hooks are described: which events tell what, and under which keys.

In: nothing. Out: the types that the modules of the agents fill in; they are data, and `steno.hooks.reading`
reads a payload by them. Never knows an agent by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Way = tuple[str, ...]  # the keys that lead to a value, from the outside in


class Event(NamedTuple):
    """What a hook event becomes, as `events.claims` names it, and where its facts are."""

    becomes: str
    output: Way = ()  # what the tool answered
    error: Way = ()  # what a tool that failed answered: told as `{"error": …}`
    message: Way = ()  # the agent's last words
    transcript: Way = ()  # the path of a log to look for the last words in, when the event has none


class Agent(NamedTuple):
    name: str
    events: dict[str, Event]  # an event that is not here is ignored
    answer: bytes  # what the agent wants to read on the hook's stdout
    tool_call_id: Way  # empty: the agent tells none, and ids are inferred
    servers: tuple[Way, ...]  # where the name of the MCP server may be
    settings_file: str  # where a user puts the settings
    more_settings: dict[str, Any]  # beside the hooks

    def settings(self, command: str) -> dict[str, Any]:
        """What makes the agent call us, for every event that tells something."""
        hook = {"type": "command", "command": command}
        return {"hooks": {name: [{"hooks": [hook]}] for name in self.events}, **self.more_settings}
