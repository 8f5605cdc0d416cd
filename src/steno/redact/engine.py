"""The redactor: one set of rules and known values for a whole run.

In: bytes, text, arguments, variables of the environment, JSON-like data, streams. Out: the same without
secrets; what was masked is told to `Findings`. Never: I/O, and never a second finding for what is masked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steno.redact import arguments, values
from steno.redact.blocks import RULE as KEY_BLOCK
from steno.redact.names import Strength, strength_in_environment
from steno.redact.scanner import LITERAL_LEAST, Scanner, Span
from steno.redact.sequences import strip
from steno.redact.stream import StreamRedactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steno.redact.findings import Findings

ENVIRONMENT = "environment-name"
ARGUMENT = "argument"
NAMED = "secret-pair"
WORD_LENGTH = 12
PLACEHOLDER = "[REDACTED:"

__all__ = ["Redactor", "Span"]


def _encoded(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass" if _has_lone_surrogate(value) else "strict")


def _has_lone_surrogate(value: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in value) if not value.isascii() else False


def _decoded(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")


def placeholder(rule: str, length: int) -> str:
    return f"{PLACEHOLDER}{rule}:{length}]"


class Redactor:
    """Masks secrets by shape, by name and by known value."""

    def __init__(self, *, findings: Findings, literals: Iterable[bytes] = ()) -> None:
        self._findings = findings
        self._scanner = Scanner()
        self.learn(literals)

    def learn(self, values_known: Iterable[bytes]) -> None:
        """Mask these exact values from now on, wherever they stand."""
        for value in values_known:
            if len(value) >= LITERAL_LEAST:
                self._scanner.learn(value)

    def is_clean(self, data: bytes) -> bool:
        """Whether nothing here can begin a secret; a quick look that may say no without need."""
        return self._scanner.is_clean(data)

    def find(self, data: bytes) -> list[Span]:
        if self._scanner.is_clean(data):
            return []
        spans: list[Span] = []
        stream = StreamRedactor(self._scanner, "", None, spans.append)
        stream.feed(data)
        stream.close()
        return _joined(data, spans)

    def mask(self, data: bytes, where: str) -> bytes:
        stream = self.stream(where)
        return stream.feed(data) + stream.close()

    def stream(self, where: str) -> StreamRedactor:
        return StreamRedactor(self._scanner, where, self._findings)

    def uncounted_stream(self) -> StreamRedactor:
        """For bytes that are only looked at: the report tells of what was kept."""
        return StreamRedactor(self._scanner, "", None)

    def text(self, value: str, where: str) -> str:
        data = _encoded(value)
        spans = self.find(data)
        return self._replaced(data, spans, where) if spans else value

    def _replaced(self, data: bytes, spans: Sequence[Span], where: str) -> str:
        pieces: list[bytes] = []
        position = 0
        for start, end, rule in spans:
            secret = strip(data[start:end])
            self._findings.add(where, rule, secret)
            pieces += [data[position:start], placeholder(rule, len(secret)).encode()]
            position = end
        pieces.append(data[position:])
        return _decoded(b"".join(pieces))

    def argv(self, args: Sequence[str], where: str) -> list[str]:
        """Arguments are read in context: what an option means depends on the program and the one before."""
        raw = [_encoded(argument) for argument in args]
        known = arguments.secrets_in(raw)
        return [
            self._argument(argument, known.get(position), f"{where}[{position}]")
            for position, argument in enumerate(raw)
        ]

    def _argument(self, argument: bytes, start: int | None, where: str) -> str:
        if start is None or values.is_masked(argument[start:]):
            return self.text(_decoded(argument), where)
        head = self.text(_decoded(argument[:start]), where) if start else ""
        return head + self._replaced(argument[start:], [Span(0, len(argument) - start, ARGUMENT)], where)

    def env(self, name: str, value: str, where: str) -> str:
        data = _encoded(value)
        if not _is_secret_variable(_encoded(name), data) or values.is_masked(data):
            return self.text(value, where)
        return self._replaced(data, [Span(0, len(data), ENVIRONMENT)], where)

    def tree(self, obj: Any, where: str) -> Any:
        """Equal structure, every string read; `where` grows into the path of each."""
        if isinstance(obj, str):
            return self.text(obj, where)
        if isinstance(obj, dict):
            names = {key: self.text(key, where) if isinstance(key, str) else key for key in obj}
            return {names[key]: self.tree(value, f"{where}.{names[key]}") for key, value in obj.items()}
        if isinstance(obj, list | tuple):
            return [self.tree(value, f"{where}[{position}]") for position, value in enumerate(obj)]
        return obj

    def foreign(self, obj: Any, where: str) -> Any:
        """The same for somebody else's data: a name says what its value is, and a list may be arguments."""
        if isinstance(obj, dict):
            names = {key: self.text(key, where) if isinstance(key, str) else key for key in obj}
            return {
                names[key]: self._named(key, value, f"{where}.{names[key]}") for key, value in obj.items()
            }
        if isinstance(obj, list | tuple):
            if obj and all(isinstance(value, str) for value in obj):
                return self.argv(obj, where)
            return [self.foreign(value, f"{where}[{position}]") for position, value in enumerate(obj)]
        return self.tree(obj, where)

    def _named(self, name: Any, value: Any, where: str) -> Any:
        if not isinstance(value, str):
            return self.foreign(value, where)
        masked = self.text(value, where)
        if masked != value or not self.find(_encoded(json.dumps({name: value}, ensure_ascii=False))):
            return masked
        data = _encoded(value)
        return self._replaced(data, [Span(0, len(data), NAMED)], where)

    def secrets_in_env(self, env: Mapping[str, str]) -> list[bytes]:
        """The values worth masking wherever they occur: long enough, named as secret, no plain word."""
        found: dict[bytes, None] = {}
        for name, value in env.items():
            data = _encoded(value)
            if _is_secret_variable(_encoded(name), data):
                found[data] = None
            else:
                found.update((strip(data[start:end]), None) for start, end, _ in self.find(data))
        return _worth_learning(found)

    def secrets_in_argv(self, args: Sequence[str]) -> list[bytes]:
        """The same for arguments: a token given as an option is masked in the output as well."""
        raw = [_encoded(argument) for argument in args]
        found = {raw[position][start:]: None for position, start in arguments.secrets_in(raw).items()}
        for argument in raw:
            found.update((strip(argument[start:end]), None) for start, end, _ in self.find(argument))
        return _worth_learning(found)


def _worth_learning(found: Iterable[bytes]) -> list[bytes]:
    return [value for value in found if len(value) >= LITERAL_LEAST and not _is_common(value)]


def _is_secret_variable(name: bytes, value: bytes) -> bool:
    strength = strength_in_environment(name)
    if strength in {Strength.NONE, Strength.WEAK} or not value or values.is_constant(value):
        return False
    if values.is_path(value) and not values.looks_random(value):
        return False
    return strength == Strength.PASSWORD or not values.is_short_number(value)


def _is_common(value: bytes) -> bool:
    """A word that ordinary output is full of; masking it everywhere would destroy the record."""
    return values.is_word(value) and len(value) < WORD_LENGTH


def _joined(data: bytes, spans: list[Span]) -> list[Span]:
    """The lines of one private key, and the windows of one oversized value, are one secret."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        if last is not None and _continues(data, last, span):
            joined[-1] = Span(last.start, span.end, last.rule)
        else:
            joined.append(span)
    return joined


def _continues(data: bytes, last: Span, span: Span) -> bool:
    between = data[last.end : span.start]
    if last.rule == span.rule == KEY_BLOCK:
        return not between.strip()
    return not between and last.rule == span.rule
