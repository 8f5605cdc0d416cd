"""What a comparison leaves out: the rules, and the YAML file that they come from."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

from steno import strict_yaml
from steno.model.capabilities import WORDS, split_endpoint
from steno.strict_yaml import Node, Problem

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
