"""Secrets that are known by their name: `password: x`, `API_KEY=x`, `--token x`, header lines, `.netrc`.

In: bytes, whole lines or the beginning of one. Out: the spans of values whose name says secret and whose
form does not say code; and where a value begins that the bytes do not end. Never: more than one pass over
the bytes, apart from values of at most `JUDGED` bytes that were looked at and let go.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from steno.redact import values
from steno.redact.names import Strength, is_upper, strength_in_environment, strength_of, words_of
from steno.redact.rule import compile_rule
from steno.redact.shapes import COLOUR

# A value longer than this is never code: it is judged by its beginning only.
JUDGED = 256
NAME_REACH = 64
SMALL_NUMBER = 2
_NAME_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_PLACEHOLDER = b"[REDACTED:"

_WORD = rb"(?i:token|secret|pass|pwd|key|credential|bearer|auth|cookie)[A-Za-z0-9_-]*"
_BLANKS = rb"(?:" + COLOUR + rb"|[ \t])*"
_ASSIGNMENT = _WORD + rb"(\\*[\"'`]?\]?)(" + _BLANKS + rb")(:=|=>|==|!=|[:=])(" + _BLANKS + rb")"
_OPTION = (
    rb"(?:^|[\s\"'`(\[,])--?[A-Za-z0-9_-]*?"
    + _WORD
    + rb"([\"']?,?"
    + COLOUR
    + rb"?[ \t]+"
    + COLOUR
    + rb"?)[^\s=:,)|\]]"
)
_NETRC = rb"(?:^[ \t]*|(?:login|machine|account)[ \t]+[^\s]+[ \t]+)(password|passwd)[ \t]+[^\s=:]"
_SETTER = rb"\b(ENV|ARG|setenv|setx|set[ \t]+-[A-Za-z]+)[ \t]+[A-Za-z0-9_]*?" + _WORD + rb"[ \t]+[^\s=:]"

PREFILTER = _WORD + rb"(?:\\*[\"'`]?\]?" + _BLANKS + rb"[:=]|!=|[\"']?,?(?:" + COLOUR + rb")?[ \t])"
TRIGGERS = (_ASSIGNMENT, _OPTION, _NETRC, _SETTER)
_TRIGGER = compile_rule(rb"(?m)(?:" + rb"|".join(TRIGGERS) + rb")")
_AFTER_NAME, _GAP_LEFT, _SEPARATOR, _GAP_RIGHT, _OPTION_GAP, _NETRC_WORD, _SETTER_WORD = range(1, 8)

_BARE = compile_rule(rb"[^\s\"'`\x00\x1b,;&<>(){}\[\]|]*")
_QUERY = compile_rule(rb"[^\s\"'`\x00\x1b&#<>;]*")
_NONBLANK = compile_rule(rb"[^\s\x00\x1b]*")
_REST_OF_LINE = compile_rule(rb"[^\r\n\x00]*")
_OPENING = compile_rule(rb"[bBrRuUfF$]{0,2}(\\*)([\"'`])")
_SCHEME = compile_rule(rb"(?i:bearer|basic|digest|token|negotiate|apikey|ntlm|aws4-hmac-sha256)[ \t]+")
_STOP_WORDS = frozenset(
    b"to is and or for with argument option options flag flags the as in if a an of on was are be from will can must"
    b" instead when not via by at that which should has may value file".split()
)


_METAVARIABLES = frozenset(b"value string text file path str name var arg type".split())


class Reading(NamedTuple):
    """Accepted spans as (start, end, rule), and the start of the first value that is still open."""

    spans: list[tuple[int, int, str]]
    open_at: int | None


@dataclasses.dataclass(slots=True)
class _Pair:
    """A name and where its value lies; what the judge looks at."""

    data: bytes
    name: bytes
    name_start: int
    strength: Strength
    separator: bytes
    spaced: bool
    quoted_name: bool
    start: int = 0
    end: int = 0
    quote: bytes = b""
    is_open: bool = False
    rule: str = "secret-pair"

    @property
    def value(self) -> bytes:
        return self.data[self.start : min(self.end, self.start + JUDGED)]

    @property
    def following(self) -> bytes:
        return self.data[self.end : self.end + 1]

    @property
    def preceding(self) -> bytes:
        return self.data[max(0, self.name_start - 1) : self.name_start]

    def opens_line(self) -> bool:
        """Only indentation, a list dash, a diff sign or `export` stands before the name."""
        reach = max(0, self.name_start - NAME_REACH)
        begin = self.data.rfind(b"\n", reach, self.name_start) + 1 or reach
        if begin == reach and reach > 0:
            return False
        before = self.data[begin : self.name_start].strip(b" \t-+>\"'")
        return before in {b"", b"export", b"set", b"declare", b"set -x"}

    def opens_line_unindented(self) -> bool:
        return self.name_start == 0 or self.preceding == b"\n"

    def ends_line(self) -> bool:
        return self._rest()[:1] in {b"", b"\r", b"\n"}

    def ends_line_or_netrc(self) -> bool:
        """Alone on its line, or on one line with the rest of a `.netrc` entry."""
        return self.ends_line() or self._rest().startswith((b"machine ", b"login ", b"account ", b"port ", b"macdef "))

    def _rest(self) -> bytes:
        return self.data[self.end : self.end + NAME_REACH].lstrip(b" \t")


def read(data: bytes) -> Reading:
    """Find the values of secret names; `open_at` matters only when the line goes on after `data`."""
    spans: list[tuple[int, int, str]] = []
    open_at: int | None = None
    position = 0
    while (match := _TRIGGER.search(data, position)) is not None:
        pair = _pair_at(data, match)
        if pair is None:
            position = max(match.end() - 1, position + 1)
            continue
        if pair.is_open and open_at is None:
            open_at = pair.start
        if _is_secret(pair):
            spans.append((pair.start, pair.end, pair.rule))
            position = max(pair.end, position + 1)
        else:
            position = max(match.end() - 1, position + 1)
    return Reading(spans, open_at)


def _pair_at(data: bytes, match: object) -> _Pair | None:
    spans = [match.span(group) for group in range(8)]  # type: ignore[attr-defined]
    if spans[_SEPARATOR][0] >= 0:
        return _assignment(data, spans)
    return _spoken(data, spans)


def _name_before(data: bytes, keyword: int, end: int) -> tuple[int, bytes]:
    reach = data[max(0, keyword - NAME_REACH) : keyword]
    start = keyword - (len(reach) - len(reach.rstrip(_NAME_LETTERS)))
    if data[start - 2 : start] == b"\x1b[":
        return keyword, data[keyword:end]
    return start, data[start:end]


def _assignment(data: bytes, spans: list[tuple[int, int]]) -> _Pair | None:
    keyword, begin = spans[0]
    start, name = _name_before(data, keyword, spans[_AFTER_NAME][0])
    is_option = name.startswith(b"--")
    strength = (strength_in_environment if is_option else strength_of)(name.strip(b"-"))
    if strength == Strength.NONE or data[max(0, start - len(_PLACEHOLDER)) : start] == _PLACEHOLDER:
        return None
    separator = data[slice(*spans[_SEPARATOR])]
    closing = data[slice(*spans[_AFTER_NAME])]
    spaced = b" " in data[spans[_GAP_LEFT][0] : spans[_GAP_LEFT][1]]
    pair = _Pair(
        data=data,
        name=name,
        name_start=start,
        strength=strength,
        separator=separator,
        spaced=spaced,
        quoted_name=closing[-1:] in {b'"', b"'"},
        rule="option" if is_option and separator == b"=" else "secret-pair",
    )
    if separator == b":" and data[begin : begin + 1] in {b":", b"/"} and spans[_GAP_RIGHT][0] == begin:
        return None
    _find_value(pair, begin)
    return pair


def _spoken(data: bytes, spans: list[tuple[int, int]]) -> _Pair | None:
    """A name and a value with a blank between them: options, `.netrc`, `ENV NAME value`."""
    begin = spans[0][1] - 1
    if spans[_OPTION_GAP][0] >= 0:
        rule, end = "option", spans[_OPTION_GAP][0]
    elif spans[_NETRC_WORD][0] >= 0:
        rule, end = "netrc", spans[_NETRC_WORD][1]
    else:
        rule, end = "variable", len(data[spans[0][0] : begin].rstrip(b" \t")) + spans[0][0]
    start, name = _name_before(data, end, end)
    strength = strength_in_environment(name.strip(b"-"))
    if strength == Strength.NONE:
        return None
    if rule == "option" and data[end : end + 1] in {b'"', b"'"} and data[begin : begin + 1] not in {b'"', b"'"}:
        return None  # the next element of a list, and it is no string
    pair = _Pair(
        data=data,
        name=name,
        name_start=start,
        strength=strength,
        separator=b" ",
        spaced=False,
        quoted_name=False,
        rule=rule,
    )
    _find_value(pair, begin)
    return pair


def _find_value(pair: _Pair, begin: int) -> None:
    _find_extent(pair, begin)
    if pair.strength == Strength.HEADER and (scheme := _SCHEME.match(pair.data, pair.start)) is not None:
        pair.start = min(scheme.end(), pair.end)


def _find_extent(pair: _Pair, begin: int) -> None:
    header_quote = _header_quote(pair)
    opening = None if header_quote else _OPENING.match(pair.data, begin)
    if opening is not None:
        pair.quote = opening.group(2)
        pair.start = opening.end()
        _find_closing_quote(pair, len(opening.group(1)))
    elif pair.strength == Strength.HEADER and pair.separator == b":" and not pair.quoted_name:
        pair.rule = "header"
        _find_header_end(pair, begin, header_quote)
    else:
        _find_bare_end(pair, begin)


def _header_quote(pair: _Pair) -> bytes:
    """The quote that a whole header stands in, as in curl -H 'Cookie: a=b'."""
    if pair.strength != Strength.HEADER or pair.quoted_name or pair.preceding not in {b'"', b"'", b"`"}:
        return b""
    return pair.preceding


def _find_closing_quote(pair: _Pair, depth: int) -> None:
    """The closing quote has as many backslashes as the opening one; more of them belong to the value.

    A string in a string doubles them and adds one, so the count is taken modulo what the level allows.
    """
    data = pair.data
    level = 2 * (depth + 1)
    position = pair.start
    line_end = _end_of_line(data, position)
    while (found := data.find(pair.quote, position, line_end)) >= 0:
        reach = data[max(pair.start, found - NAME_REACH) : found]
        slashes = len(reach) - len(reach.rstrip(b"\\"))
        if slashes % level == depth or slashes < depth:
            pair.end = found - min(slashes, depth)
            return
        position = found + 1
    pair.end = line_end
    pair.is_open = line_end == len(data)


def _end_of_line(data: bytes, position: int) -> int:
    end: int = _REST_OF_LINE.match(data, position).end()
    return end


def _find_header_end(pair: _Pair, begin: int, quote: bytes) -> None:
    pair.start = begin
    line_end = _end_of_line(pair.data, begin)
    closing = pair.data.find(quote, begin, line_end) if quote else -1
    pair.end = line_end if closing < 0 else closing
    pair.is_open = pair.end == len(pair.data)


def _find_bare_end(pair: _Pair, begin: int) -> None:
    data = pair.data
    pair.start = begin
    pattern = _BARE
    if pair.separator == b"=" and pair.preceding in {b"?", b"&"}:
        pair.rule, pattern = "query-parameter", _QUERY
    elif pair.rule != "secret-pair" or _is_variable(pair):
        pattern = _NONBLANK
    pair.end = pattern.match(data, begin).end()
    if pattern is _NONBLANK:
        _leave_out_punctuation(pair)
    if _is_yaml(pair):
        _extend_to_comment(pair)
    # One byte after the value is looked at, and the blanks after it, so the value is open until they are seen.
    pair.is_open = _reaches_end(data, pair.end)


def _leave_out_punctuation(pair: _Pair) -> None:
    """`export TOKEN=x; run` and `"TOKEN=x"`: what ends the statement or the string is not the value's."""
    value = pair.data[pair.start : pair.end]
    if pair.preceding in {b'"', b"'", b"`"}:
        closing = value.find(pair.preceding)
        value = value if closing < 0 else value[:closing]
    pair.end = pair.start + len(value.rstrip(b";"))


def _reaches_end(data: bytes, end: int) -> bool:
    return end >= len(data) - NAME_REACH and not data[end:].strip(b" \t,;")


def _is_variable(pair: _Pair) -> bool:
    return pair.separator == b"=" and not pair.spaced and is_upper(pair.name) and pair.opens_line()


def _is_yaml(pair: _Pair) -> bool:
    return (
        pair.separator == b":"
        and not pair.spaced
        and pair.strength == Strength.PASSWORD
        and pair.data[pair.start - 1 : pair.start] == b" "
        and pair.following not in {b"(", b"[", b"{", b","}
        and pair.opens_line()
    )


def _extend_to_comment(pair: _Pair) -> None:
    line_end = _end_of_line(pair.data, pair.start)
    comment = pair.data.find(b" #", pair.end, line_end)
    stop = line_end if comment < 0 else comment
    pair.end = pair.start + len(pair.data[pair.start : stop].rstrip(b" \t"))


def _is_secret(pair: _Pair) -> bool:
    value = pair.value
    if not value or values.is_masked(value) or values.is_reference(value) or values.is_punctuation(value):
        return False
    if pair.rule == "query-parameter":
        return not values.is_short_number(value) or pair.strength == Strength.PASSWORD
    if pair.rule == "netrc":
        return pair.ends_line_or_netrc() and value[-1:] not in {b".", b",", b":", b";", b"?", b")"}
    if pair.rule in {"option", "variable"}:
        return _is_secret_argument(pair, value)
    if pair.rule == "header":
        return _is_secret_header(pair, value)
    if pair.quote:
        return _is_secret_string(pair, value)
    return _is_secret_word(pair, value)


def _is_secret_argument(pair: _Pair, value: bytes) -> bool:
    if pair.quote:
        return True
    bare = value.strip(b"\"',;.:)]")
    if not bare or value.startswith((b"-", b"<", b"[", b"|", b"(", b"$(")):
        return False
    if bare.lower() in _STOP_WORDS or values.is_path(bare):
        return False
    return not _is_metavariable(pair.name, bare)


def _is_metavariable(name: bytes, value: bytes) -> bool:
    """`--token TOKEN`, as help texts write it."""
    return value.isupper() and not _METAVARIABLES.isdisjoint(words_of(value)) | (
        not set(words_of(value)).isdisjoint(words_of(name))
    )


def _is_secret_header(pair: _Pair, value: bytes) -> bool:
    first = value.split()[0]
    if b"cookie" in pair.name.lower():
        return b"=" in first and not values.is_template(value)
    return not (values.is_constant(first.rstrip(b",;)]")) or values.is_template(value))


def _is_secret_string(pair: _Pair, value: bytes) -> bool:
    if values.looks_random(value):
        return True
    if _is_closing_quote(pair, value) or values.is_template(value) or values.is_sentence(value):
        return False
    if pair.strength == Strength.WEAK:
        return _is_shell_string(pair, value)
    if pair.strength == Strength.PASSWORD:
        return True
    if values.is_prose(value) or values.is_path(value) or values.is_short_number(value):
        return False
    if pair.quoted_name or not (pair.spaced or pair.separator == b"=="):
        return not values.is_constant(value)
    return not values.is_word(value)


def _is_closing_quote(pair: _Pair, value: bytes) -> bool:
    """`print("token=" + x)`: the quote after the separator ends the string that the name stands in."""
    if pair.quoted_name or not value.startswith((b" +", b" %", b",", b")", b".", b"]", b"}", b";")):
        return False
    begin = pair.data.rfind(b"\n", max(0, pair.name_start - JUDGED), pair.name_start) + 1
    return pair.data.count(pair.quote, begin, pair.name_start) % 2 == 1


def _is_shell_string(pair: _Pair, value: bytes) -> bool:
    """`key="quoted value"`, as in a shell or an environment file; `f(key="name")` is code."""
    if pair.separator != b"=" or pair.spaced or pair.preceding in {b"(", b"."}:
        return False
    if is_upper(pair.name):
        return True
    return b" " in value and pair.following not in {b",", b")"}


def _is_secret_word(pair: _Pair, value: bytes) -> bool:
    if values.is_constant(value) or values.is_path(value) or values.is_sentence(value):
        return False
    variable = pair.separator == b"=" and not pair.spaced and is_upper(pair.name)
    if variable and strength_in_environment(pair.name) != Strength.WEAK:
        return pair.strength == Strength.PASSWORD or not values.is_short_number(value)
    if values.looks_random(value):
        return True
    if pair.strength == Strength.WEAK or pair.separator in {b"==", b"!=", b":=", b"=>"}:
        return False
    if pair.following in {b"(", b"[", b"{"} or values.is_dotted(value) or value.lower() == pair.name.lower():
        return False
    if values.is_short_number(value):
        return pair.strength == Strength.PASSWORD and len(value) > SMALL_NUMBER
    if not values.is_identifier(value):
        return not pair.spaced or pair.ends_line()
    return _is_secret_identifier(pair, value)


def _is_secret_identifier(pair: _Pair, value: bytes) -> bool:
    """A value that could be the name of a variable or a type is a secret only where code does not fit."""
    if pair.following in {b",", b")", b";"} and not _is_in_option_list(pair):
        return False
    if pair.spaced:
        return pair.opens_line_unindented() and pair.ends_line()
    if pair.separator == b"=":
        return True
    if values.is_type_name(value):
        return False
    return pair.ends_line() and (
        pair.opens_line() or not values.is_word(value) or pair.strength == Strength.PASSWORD
    )


def _is_in_option_list(pair: _Pair) -> bool:
    """`user=a,password=b,uid=1` and `Server=x;Password=b;` are lists; code puts a blank after the comma."""
    after = pair.data[pair.end + 1 : pair.end + 2]
    if pair.following == b";":
        return not pair.spaced and pair.separator == b"="
    return pair.following == b"," and not pair.spaced and bool(after) and after not in b" \t\r\n)"
