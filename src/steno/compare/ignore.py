"""What a comparison leaves out: the rules, and the YAML file that they come from."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

import yaml

from steno.model.capabilities import WORDS, split_endpoint

MAX_LENGTH = 4096
ANY = "*"
_PATH_GROUPS = frozenset({"files", "unix_sockets"})
_ENDPOINTS = frozenset({"endpoints"})
_EXECS = frozenset({"execs"})
_HIGHEST_PORT = 65535
# How names begin that can be in a surface: absolute, projected, abstract, or with what they are (`pipe:[N]`).
_BEGINNING = re.compile("|".join(["/", "@", "[a-z_-]+:", *map(re.escape, WORDS.values())]))
# In the order in which a pattern is read: the longer sign first.
_GLOB_SIGNS = (("**/", "(?:.*/)?"), ("**", ".*"), ("*", "[^/]*"), ("?", "[^/]"))


class BadRulesError(ValueError):
    """The file is not a file of rules; the message says where."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint or f"a file of rules has lists under {', '.join(KINDS)}; docs/diff.md tells the rest"


class Subject(NamedTuple):
    """What a rule is asked about."""

    group: str
    text: str
    names: tuple[str, ...] = ()


class Rule(NamedTuple):
    kind: str
    text: str
    line: int
    groups: frozenset[str]
    matches: Callable[[Subject], bool]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text} (line {self.line})"


class IgnoreRules:
    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._rules = tuple(rules)

    def __len__(self) -> int:
        return len(self._rules)

    def rule_for(self, subject: Subject) -> Rule | None:
        """The first rule that an entry falls under."""
        return next((rule for rule in self._rules if _applies(rule, subject)), None)


def _applies(rule: Rule, subject: Subject) -> bool:
    return subject.group in rule.groups and rule.matches(subject)


def rule(kind: str, word: str, line: int) -> Rule:
    if not word or len(word) > MAX_LENGTH:
        raise BadRulesError(f"line {line}: an entry of {kind} has 1 to {MAX_LENGTH} characters")
    groups, matcher = KINDS[kind]
    try:
        return Rule(kind, word, line, groups, matcher(word))
    except ValueError as error:
        raise BadRulesError(f"line {line}: {error}") from None


def _path_glob(word: str) -> Callable[[Subject], bool]:
    pattern = _glob(word)
    return lambda subject: pattern.fullmatch(subject.text) is not None


def _file_glob(word: str) -> Callable[[Subject], bool]:
    if not word.startswith(ANY):
        _check_beginning(word)
    return _path_glob(word)


def _check_beginning(word: str) -> None:
    """A rule that nothing can fall under is a mistake, and whoever wrote it relies on it."""
    if not _BEGINNING.match(word):
        words = ", ".join(WORDS.values())
        raise ValueError(f"{word!r} matches nothing: a path begins with / or one of {words}")


def _prefix(word: str) -> Callable[[Subject], bool]:
    """Whole names only: `/usr` is no prefix of `/usrlocal`."""
    _check_beginning(word)
    directory = word.rstrip("/")
    return lambda subject: subject.text == directory or subject.text.startswith(f"{directory}/")


def _endpoint(word: str) -> Callable[[Subject], bool]:
    host, port = split_endpoint(word)
    if not host or not _is_port(port):
        raise ValueError(f"{word!r} is not an endpoint: write host:port, with * for any of the two")

    def matches(subject: Subject) -> bool:
        its_host, its_port = split_endpoint(subject.text)
        return host in {ANY, its_host} and port in {ANY, its_port}

    return matches


def _is_port(port: str) -> bool:
    return port == ANY or (port.isascii() and port.isdigit() and int(port) <= _HIGHEST_PORT)


def _cidr(word: str) -> Callable[[Subject], bool]:
    network = ipaddress.ip_network(word)

    def matches(subject: Subject) -> bool:
        try:
            return ipaddress.ip_address(split_endpoint(subject.text)[0]) in network
        except ValueError:  # a name, or what never was an address
            return False

    return matches


def _name(word: str) -> Callable[[Subject], bool]:
    """All names of an address must fall under the rule: one harmless name must not hide another."""
    pattern = _glob(word.lower())

    def matches(subject: Subject) -> bool:
        names = subject.names or (split_endpoint(subject.text)[0],)
        return all(pattern.fullmatch(name.lower()) is not None for name in names)

    return matches


def _glob(word: str) -> Any:
    import re2  # late: most comparisons have no rules

    pattern, at = "", 0
    while at < len(word):
        sign = next(((glob, means) for glob, means in _GLOB_SIGNS if word.startswith(glob, at)), None)
        pattern += sign[1] if sign else re2.escape(word[at])
        at += len(sign[0]) if sign else 1
    try:
        options = re2.Options()
        options.log_errors = False
        options.dot_nl = True
        return re2.compile(pattern, options)
    except re2.error:
        raise ValueError("the pattern is too large") from None


KINDS: dict[str, tuple[frozenset[str], Callable[[str], Callable[[Subject], bool]]]] = {
    "paths": (_PATH_GROUPS, _file_glob),
    "prefixes": (_PATH_GROUPS, _prefix),
    "endpoints": (_ENDPOINTS, _endpoint),
    "cidrs": (_ENDPOINTS, _cidr),
    "execs": (_EXECS, _path_glob),
    "names": (_ENDPOINTS, _name),
}


MAX_BYTES = 256 << 10
MAX_RULES = 5000
_QUOTES = "put words that begin with a sign of YAML's, such as * or :, in quotes; docs/diff.md tells the rest"
_RESOLVER: Any = yaml.resolver.Resolver()
_NO_WORDS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "null"))


def parse(data: bytes) -> IgnoreRules:
    if len(data) > MAX_BYTES:
        raise BadRulesError(f"the file is larger than {MAX_BYTES} bytes")
    try:
        found = [rule(kind, word, line) for kind, word, line in _words(_Events(data.decode()))]
    except UnicodeDecodeError as error:
        raise BadRulesError(f"line {data.count(bytes([10]), 0, error.start) + 1}: not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        raise BadRulesError(f"line {line}: {error.problem or error.context}", _QUOTES) from None
    except yaml.YAMLError as error:
        raise BadRulesError(" ".join(str(error).split())) from None
    if len(found) > MAX_RULES:
        raise BadRulesError(f"there are {len(found)} rules; {MAX_RULES} is the limit")
    return IgnoreRules(found)


class _Events:
    """The events of the YAML parser, one after the other; it keeps no tree, so nothing in the file grows."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.SafeLoader)

    def take(self) -> Any:
        event = next(self._events)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            _refuse(event, "anchors and aliases are not taken here", _QUOTES)
        if getattr(event, "tag", None) is not None:
            _refuse(event, "tags are not taken here", _QUOTES)
        return event


def _words(events: _Events) -> Iterator[tuple[str, str, int]]:
    """Each word of the file, with the key that it stands under and its line."""
    events.take()  # the beginning of the stream
    if isinstance(events.take(), yaml.StreamEndEvent):
        return
    first = events.take()
    if _is_empty(first):
        return _end(events)
    if not isinstance(first, yaml.MappingStartEvent):
        _refuse(first, "the file is a mapping")
    seen: set[str] = set()
    while not isinstance(key := events.take(), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent) or key.value not in KINDS:
            _refuse(key, f"unknown key {getattr(key, 'value', '')!r}")
        if key.value in seen:
            _refuse(key, f"the key {key.value!r} is there twice")
        seen.add(key.value)
        yield from _list(events, key.value)
    return _end(events)


def _list(events: _Events, kind: str) -> Iterator[tuple[str, str, int]]:
    first = events.take()
    if _is_empty(first):
        return
    if not isinstance(first, yaml.SequenceStartEvent):
        _refuse(first, f"{kind} is a list")
    while not isinstance(word := events.take(), yaml.SequenceEndEvent):
        if not isinstance(word, yaml.ScalarEvent):
            _refuse(word, f"an entry of {kind} is a word")
        if _is_no_word(word):
            _refuse(word, f"an entry of {kind} is a word, not a number or nothing; quotes make it one")
        yield kind, word.value, _line(word)


def _end(events: _Events) -> None:
    events.take()  # the end of the document
    after = events.take()
    if not isinstance(after, yaml.StreamEndEvent):
        _refuse(after, "there is more than one document")


def _is_no_word(scalar: Any) -> bool:
    """What YAML takes for a number or null. With colons it is an address, and no number to the base of 60."""
    if scalar.style is not None or ":" in scalar.value:
        return False
    return _RESOLVER.resolve(yaml.ScalarNode, scalar.value, scalar.implicit) in _NO_WORDS


def _is_empty(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "" and event.style is None


def _refuse(event: Any, why: str, hint: str | None = None) -> NoReturn:
    raise BadRulesError(f"line {_line(event)}: {why}", hint)


def _line(event: Any) -> int:
    line: int = event.start_mark.line + 1
    return line
