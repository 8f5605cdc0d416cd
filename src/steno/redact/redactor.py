"""The redactor: one set of rules and known values for a whole run.

It masks bytes, text, arguments, variables of the environment, JSON-like data and streams, and tells
`Findings` what it masked; what is masked is never found again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steno.redact.rule import regex
from steno.redact.scanner import LITERAL_LEAST, Scanner, Span
from steno.redact.stream import KEY_BLOCK, StreamRedactor
from steno.redact.text import strip_sequences
from steno.redact.vocabulary import (
    Strength,
    is_constant,
    is_masked,
    is_path,
    is_reference,
    is_short_number,
    is_word,
    looks_random,
    strength_in_environment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steno.redact.findings import Findings


ENVIRONMENT = "environment-name"
ARGUMENT = "argument"
NAMED = "secret-pair"
WORD_LENGTH = 12
PLACEHOLDER = "[REDACTED:"

__all__ = ["Redactor", "Span"]

_NAMED = regex(rb"(-{0,2})([A-Za-z_][A-Za-z0-9_.-]*)=")
_OPTION = regex(rb"--?([A-Za-z][A-Za-z0-9_.-]*)\Z")
# Short options that carry a secret, by program: `-p X` apart, `-pX` joined, `-u name:X` after the colon.
_APART: Mapping[bytes, frozenset[bytes]] = {
    b"sshpass": frozenset((b"-p",)),
    b"redis-cli": frozenset((b"-a",)),
    b"docker": frozenset((b"-p",)),
    b"podman": frozenset((b"-p",)),
    b"ldapsearch": frozenset((b"-w",)),
    b"ldapadd": frozenset((b"-w",)),
    b"ldapmodify": frozenset((b"-w",)),
    b"unzip": frozenset((b"-P",)),
    b"zip": frozenset((b"-P",)),
    b"pdftk": frozenset((b"-p",)),
    b"sqlcmd": frozenset((b"-P",)),
    b"bcp": frozenset((b"-P",)),
}
_JOINED: Mapping[bytes, bytes] = {
    b"mysql": b"-p",
    b"mysqldump": b"-p",
    b"mysqladmin": b"-p",
    b"mysqlimport": b"-p",
    b"mariadb": b"-p",
    b"mariadb-dump": b"-p",
    b"sshpass": b"-p",
    b"7z": b"-p",
    b"7za": b"-p",
}
_USER_OPTIONS = frozenset((b"-u", b"--user", b"-U", b"--proxy-user"))
_USER_PROGRAMS = frozenset((b"curl", b"wget", b"http", b"https", b"xh"))
_SCANNED = 1 << 18


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
            secret = strip_sequences(data[start:end])
            self._findings.add(where, rule, secret)
            pieces += [data[position:start], placeholder(rule, len(secret)).encode()]
            position = end
        pieces.append(data[position:])
        return _decoded(b"".join(pieces))

    def argv(self, args: Sequence[str], where: str) -> list[str]:
        """Arguments are read in context: what an option means depends on the program and the one before."""
        raw = [_encoded(argument) for argument in args]
        known = secrets_in(raw)
        return [
            self._argument(argument, known.get(position), f"{where}[{position}]")
            for position, argument in enumerate(raw)
        ]

    def _argument(self, argument: bytes, start: int | None, where: str) -> str:
        if start is None or is_masked(argument[start:]):
            return self.text(_decoded(argument), where)
        head = self.text(_decoded(argument[:start]), where) if start else ""
        return head + self._replaced(argument[start:], [Span(0, len(argument) - start, ARGUMENT)], where)

    def env(self, name: str, value: str, where: str) -> str:
        data = _encoded(value)
        if not _is_secret_variable(_encoded(name), data) or is_masked(data):
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
                found.update((strip_sequences(data[start:end]), None) for start, end, _ in self.find(data))
        return _worth_learning(found)

    def secrets_in_argv(self, args: Sequence[str]) -> list[bytes]:
        """The same for arguments: a token given as an option is masked in the output as well."""
        raw = [_encoded(argument) for argument in args]
        found = {raw[position][start:]: None for position, start in secrets_in(raw).items()}
        for argument in raw:
            found.update(
                (strip_sequences(argument[start:end]), None) for start, end, _ in self.find(argument)
            )
        return _worth_learning(found)


def _worth_learning(found: Iterable[bytes]) -> list[bytes]:
    return [value for value in found if len(value) >= LITERAL_LEAST and not _is_common(value)]


def _is_secret_variable(name: bytes, value: bytes) -> bool:
    strength = strength_in_environment(name)
    if strength in {Strength.NONE, Strength.WEAK} or not value or is_constant(value):
        return False
    if is_path(value) and not looks_random(value):
        return False
    return strength == Strength.PASSWORD or not is_short_number(value)


def _is_common(value: bytes) -> bool:
    """A word that ordinary output is full of; masking it everywhere would destroy the record."""
    return is_word(value) and len(value) < WORD_LENGTH


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


def secrets_in(args: Sequence[bytes]) -> dict[int, int]:
    found: dict[int, int] = {}
    programs = {argument.rsplit(b"/", 1)[-1] for argument in args if not argument.startswith(b"-")}
    for position, argument in enumerate(args):
        before = args[position - 1] if position else b""
        start = _start(before, argument, programs)
        if start is not None and start < len(argument):
            found[position] = start
    return found


def _start(before: bytes, argument: bytes, programs: set[bytes]) -> int | None:
    named = _NAMED.match(argument)
    is_script = before == b"-c"  # for a shell or an interpreter; the rules for text read it
    if (
        named is not None
        and not is_script
        and _names_secret(named.group(2), argument[named.end() :], option=bool(named.group(1)))
    ):
        return named.end()
    option = _OPTION.match(before)
    if (
        option is not None
        and not argument.startswith(b"-")
        and _names_secret(option.group(1), argument, option=True)
    ):
        return 0
    return _start_by_program(before, argument, programs)


def _names_secret(name: bytes, value: bytes, *, option: bool) -> bool:
    if name.islower() and not option:
        return False  # `token=get()` may be code for `sh -c`; text rules judge it
    strength = strength_in_environment(name)
    if strength in {Strength.NONE, Strength.WEAK} or not value or is_reference(value):
        return False
    if strength == Strength.PASSWORD or looks_random(value):
        return True
    return not (is_path(value) or is_short_number(value))


def _start_by_program(before: bytes, argument: bytes, programs: set[bytes]) -> int | None:
    if before in _USER_OPTIONS and programs & _USER_PROGRAMS and b":" in argument:
        return argument.index(b":") + 1
    for program in programs & _APART.keys():
        if before in _APART[program] and _takes_password(program, programs):
            return 0
    for program in programs & _JOINED.keys():
        prefix = _JOINED[program]
        if argument.startswith(prefix) and len(argument) > len(prefix):
            return len(prefix)
    return None


def _takes_password(program: bytes, programs: set[bytes]) -> bool:
    return program not in {b"docker", b"podman"} or b"login" in programs


def holds_secret(redactor: Redactor, content: bytes) -> bool:
    """Whether the redactor would mask anything; stops at the first."""
    if len(content) <= _SCANNED and redactor.is_clean(content):
        return False
    masker = redactor.uncounted_stream()
    sent = 0
    for start in range(0, len(content), _SCANNED):
        shown = masker.feed(content[start : start + _SCANNED])
        if shown != content[sent : sent + len(shown)]:
            return True
        sent += len(shown)
    return masker.close() != content[sent:]
