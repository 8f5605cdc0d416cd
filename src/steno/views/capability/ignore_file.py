"""The file of rules that say which differences do not matter: lists of words, in YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from steno import strict_yaml
from steno.strict_yaml import Node, Problem
from steno.views.capability.ignore_rules import KINDS, BadRulesError, IgnoreRules, rule

MAX_BYTES = 256 << 10
MAX_RULES = 5000
_QUOTES = "put words that begin with a sign of YAML's, such as * or :, in quotes; docs/diff.md tells the rest"


def parse(data: bytes) -> IgnoreRules:
    if len(data) > MAX_BYTES:
        raise BadRulesError(f"the file is larger than {MAX_BYTES} bytes")
    problems: list[Problem] = []
    try:
        root = strict_yaml.parse(data, problems, _word)
    except strict_yaml.UnreadableTextError as error:
        problems.append(error.problem)
    if problems:
        first = min(problems)
        raise BadRulesError(f"line {first.line}: {first.says}", _QUOTES)
    found = [rule(kind, word.value, word.line) for kind, word in _words(root)]
    if len(found) > MAX_RULES:
        raise BadRulesError(f"there are {len(found)} rules; {MAX_RULES} is the limit")
    return IgnoreRules(found)


def _word(text: str) -> str | None:
    """What YAML takes for a number is no word. With colons it is an address, and no number to the base of
    60."""
    kind = "str" if ":" in text else strict_yaml.plain_type(text)
    if kind in {"int", "float"}:
        raise ValueError(f"a word is wanted here, not a number ({text}); quotes make it one")
    return None if kind == "null" else text


def _words(root: Node) -> Iterator[tuple[str, Node]]:
    """Each word of the file, with the key that it stands under."""
    if root.value is None:
        return
    if not isinstance(root.value, dict):
        _refuse(root, "the file is a mapping")
    for kind, (key, words) in root.value.items():
        if kind not in KINDS:
            _refuse(key, f"unknown key {kind!r}")
        if words.value is None:
            continue
        if not isinstance(words.value, list):
            _refuse(words, f"{kind} is a list")
        for word in words.value:
            if not isinstance(word.value, str):
                _refuse(word, f"an entry of {kind} is a word, not a list or nothing; quotes make it one")
            yield kind, word


def _refuse(node: Node, why: str) -> NoReturn:
    raise BadRulesError(f"line {node.line}: {why}")
