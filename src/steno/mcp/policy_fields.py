"""The fields of one mapping of a policy file, read one by one.

In: a node, and the keys that it may have. Out: values of the type that is asked for; whatever is wrong is
added to the problems, with its place, and something to go on with is given instead. Decides nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from steno.mcp import globs
from steno.mcp.constraints import quoted
from steno.mcp.policy_nodes import Entry, Node, Problem


class Fields:
    def __init__(self, node: Node, keys: Collection[str], what: str, problems: list[Problem]) -> None:
        self.problems = problems
        self._node = node
        self._what = what
        self._entries: dict[str, Entry] = {}
        if not isinstance(node.value, dict):
            self.problem(node, f"{what} is a mapping with keys such as {', '.join(sorted(keys)[:3])}")
            return
        for name, entry in node.value.items():
            if name in keys:
                self._entries[name] = entry
            else:
                self.problem(entry.key, f"{what} has no key {quoted(name)}; {_suggestion(name, keys)}")

    def problem(self, node: Node, says: str) -> None:
        self.problems.append(Problem(node.line, node.column, says))

    def has(self, name: str) -> bool:
        return name in self._entries

    def key(self, name: str) -> Node:
        return self._entries[name].key

    def node(self, name: str) -> Node | None:
        return self._entries[name].value if name in self._entries else None

    def need(self, *names: str) -> None:
        if isinstance(self._node.value, dict):
            for name in names:
                if name not in self._entries:
                    self.problem(self._node, f"{self._what} needs the key {name}")

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        node = self.node(name)
        if node is None:
            return None
        if node.value not in choices:
            self.problem(node, f"{name} is {', '.join(choices[:-1])} or {choices[-1]}")
            return None
        return str(node.value)

    def flag(self, name: str) -> bool:
        node = self.node(name)
        if node is None:
            return False
        if not isinstance(node.value, bool):
            self.problem(node, f"{name} is true or false")
        return node.value is True

    def number(self, name: str, least: float, most: float, *, whole: bool) -> float | None:
        node = self.node(name)
        if node is None:
            return None
        wanted = int if whole else (int, float)
        value = node.value
        if isinstance(value, bool) or not isinstance(value, wanted) or not least <= value <= most:
            kind = "whole number" if whole else "number"
            self.problem(node, f"{name} is a {kind} from {least:g} to {most:,}".replace(",", ""))
            return None
        return value

    def word(self, name: str) -> str | None:
        node = self.node(name)
        return None if node is None else self._word(node, name)

    def items(self, name: str) -> list[Node]:
        node = self.node(name)
        if node is None:
            return []
        if not isinstance(node.value, list):
            self.problem(node, f"{name} is a list")
            return []
        return node.value

    def words(self, name: str) -> list[str]:
        """A list that has something in it, and only words."""
        return [word for _, word in self.placed_words(name)]

    def placed_words(self, name: str) -> list[tuple[Node, str]]:
        nodes = self.items(name)
        node = self.node(name)
        if node is not None and node.value == []:
            self.problem(node, f"{name} is empty")
        found = [(item, self._word(item, f"an entry of {name}")) for item in nodes]
        return [(item, word) for item, word in found if word is not None]

    def globs(self, name: str) -> list[str]:
        good: list[str] = []
        for node, word in self.placed_words(name):
            try:
                globs.check(word)
            except globs.BadGlobError as error:
                self.problem(node, str(error))
            else:
                good.append(word)
        return good

    def _word(self, node: Node, name: str) -> str | None:
        if not isinstance(node.value, str):
            self.problem(node, f"{name} is a word; quotes make it one")
        elif not node.value or "\0" in node.value:
            self.problem(node, f"{name} is empty" if not node.value else f"{name} has a NUL in it")
        else:
            return node.value
        return None


def _suggestion(name: str, keys: Collection[str]) -> str:
    close = difflib.get_close_matches(name, keys, n=1)
    return f"did you mean {close[0]}?" if close else f"its keys are {', '.join(sorted(keys))}"
