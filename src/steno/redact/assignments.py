"""Secrets that are known by their name: `password: x`, `API_KEY=x`, `--token x`, header lines, `.netrc`.

One pass over whole lines, or the beginning of one, finds names that say secret; values of at most `JUDGED`
bytes that were looked at and let go are looked at again. A value that the bytes do not end is told by its
beginning.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from steno.redact.assigned_value import QUOTES, REACH, Pair, is_secret
from steno.redact.rule import compile_rule, regex
from steno.redact.text import Lines, run_end
from steno.redact.tokens import CODED_BLANK
from steno.redact.vocabulary import (
    WORD,
    Strength,
    is_upper,
    strength_in_environment,
    strength_of,
    strength_of_option,
)

_NAME_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
NAME_MOST = 128
_PLACEHOLDER = b"[REDACTED:"

_WORD = WORD + rb"[A-Za-z0-9_-]*"
_BLANKS = rb"[ \t]*"
# A declaration names the type between the name and the sign: `var x string =` as Go does, `x: string =` as
# TypeScript, Kotlin, Swift, Rust and Python do, and C says after the name that it is an array.
_STRING = rb"(?:[Ss]tring|str|bytes|SecretStr|CharSequence)"
_TYPE = (
    rb"&?(?:'static[ \t]+)?(?:"
    + _STRING
    + rb"|(?:Final|Optional|Option|ClassVar)[\[<]&?(?:'static[ \t]+)?"
    + _STRING
    + rb"[\]>]|Final|any|Any|None|object)[?!]?(?:[ \t]*\|[ \t]*(?:None|null|undefined))?"
)
_PARTS = (
    _WORD,
    rb"[\"'`]?\]?|\[[0-9]{0,5}\]",
    _BLANKS + rb"(?:string[ \t]+)?",
    rb":[ \t]*" + _TYPE + rb"[ \t]*=|:{1,3}=|=>|==|!=|\?{1,2}=|[+.]=|[:=]",
    _BLANKS,
)
_OPTION_NAME = rb"(?:^|[\s\"'`(\[,])--?[A-Za-z0-9_-]*?" + _WORD
_OPTION_GAP = rb"[\"']?,?[ \t]+"
_ENTRY = rb"(?:^|[+<>:\t-]|\xe2\x86\x92)[ \t]*|(?:login|machine|account)[ \t]+[^\s]+[ \t]+"
_NETRC = rb"(?:" + _ENTRY + rb")(?:password|passwd)[ \t]+[^\s=:]"
_SETTER = rb"\b(?:ENV|ARG|setenv|setx|set[ \t]+-[A-Za-z]+)[ \t]+[A-Za-z0-9_]*?" + _WORD + rb"[ \t]+[^\s=:]"
_DEFINITION = rb"\#[ \t]*define[ \t]+[A-Za-z0-9_]*?" + _WORD + rb"[ \t]+\""
_CALL = (
    rb"\b(?i:(?:set_?property|put_?env|set_?env|put|set|set_?secret|set_?header|add_?header))"
    rb"\([ \t]*[\"'](?:[A-Za-z0-9_.-]*?" + _WORD + rb")"
)
_CALL_GAP = rb"[\"'],[ \t]*[\"']"
_TRIGGERS = (
    b"".join(b"(?:" + part + b")" for part in _PARTS),
    _OPTION_NAME + _OPTION_GAP + rb"[^\s=:,)|\]]",
    _NETRC,
    _SETTER,
    _DEFINITION,
    _CALL + _CALL_GAP,
)
_TRIGGER = compile_rule(b"(?m)" + b"|".join(_TRIGGERS))
PREFILTER = b"|".join(b"(?:" + trigger + b")" for trigger in _TRIGGERS)

# The same where backslashes and percent escapes may stand before quotes, blanks and signs.
_CODED = rb"(?:[\\\"'`\]]|\[[0-9]*\]|u00(?:2[27]|5[cCdD]|60)|x(?:2[27]|5[cCdD]|60)|%(?:2[27]|5[b-dB-D]|60))*"
_CODED_SIGN = rb"[:=]|[?+.!]\??(?:=|%3|\\)|%3[adAD]|(?:%3[fF]|%2[bBeE]){1,2}%3[dD]|\\u003[adAD]|\\x3[adAD]"
HINT = b"|".join(
    (
        _WORD + _CODED + CODED_BLANK + rb"*(?:string" + CODED_BLANK + rb"+)?(?:" + _CODED_SIGN + rb")",
        rb"-[A-Za-z0-9_-]*" + _WORD + rb"[\\\"',]*" + CODED_BLANK,
        rb"(?:password|passwd)" + CODED_BLANK,
        rb"(?:ENV|ARG|setenv|setx|set(?:" + CODED_BLANK + rb")+-[A-Za-z]+)" + CODED_BLANK,
        rb"(?:\#|%23)" + CODED_BLANK + rb"*define" + CODED_BLANK,
        rb"(?i:property|env|put|set|secret|header)(?:\(|%28)" + CODED_BLANK + rb"*(?:[\\\"']|%2)",
    )
)

# RE2 finds the bytes. Which of them is what is told by the standard module, which is faster at small
# matches; these match at one place and do not go back over what they matched, so they are linear too.
_ASSIGNMENT = regex(b"".join(b"(" + part + b")" for part in _PARTS))
_OPTION = regex(_OPTION_NAME + rb"(?=" + _OPTION_GAP + rb"[^\s]\Z)", re.MULTILINE)
_LOGIN = regex(rb"\b(?:login|machine|account)[ \t]+[^\s]+[ \t]+\Z")
_NETRC_ENTRY = regex(_NETRC, re.MULTILINE)
_BARE = regex(rb"[^\s\"'`\x00\x1b,;&<>(){}\[\]|]*")
_QUERY = regex(rb"[^\s\"'`\x00\x1b&#<>;]*")
_NONBLANK = regex(rb"[^\s\x00\x1b]*")
_OPENING = regex(rb"(?:[bBrRuUfF$@]{0,2}|(?:\[\]byte|String::from|SecretStr)\()([\"'`])")
_DEFINED = regex(_DEFINITION)
_CALLED = regex(b"(" + _CALL + b")" + _CALL_GAP)
_WORDS = regex(
    rb"(?![^\r\n]*\b(?:and|or|if|else|not|in|is|new|await|then)\b)"
    rb"[^\s()\[\]{}\"'`;=+*|&<>$,._]+(?: +[^\s()\[\]{}\"'`;=+*|&<>$,._]+)* *(?:\#.*)?"
)
_SCHEME = regex(rb"(?:bearer|basic|digest|token|negotiate|apikey|ntlm|aws4-hmac-sha256)[ \t]+", re.IGNORECASE)


_STRENGTHS = {
    "option": strength_of_option,
    "netrc": strength_in_environment,
    "variable": strength_in_environment,
}


class Reading(NamedTuple):
    """Accepted spans as (name, start, end, rule), and the start of the first value that is still open."""

    spans: list[tuple[int, int, int, str]]
    open_at: int | None
    refused: int


def read(data: bytes) -> Reading:
    """Find the values of secret names; `open_at` matters only when the line goes on after `data`."""
    spans: list[tuple[int, int, int, str]] = []
    open_at: int | None = None
    lines = Lines(data)
    position = refused = 0
    while (match := _TRIGGER.search(data, position)) is not None:
        start, end = match.span()
        position = max(end - 1, position + 1)
        pair = _pair_at(data, lines, start, end)
        if pair is None:
            continue
        if pair.is_open and open_at is None:
            open_at = pair.start
        if is_secret(pair):
            spans.append((pair.name_start, pair.start, pair.end, pair.rule))
            position = max(pair.end, position)
        else:
            refused += 1
    return Reading(spans, open_at, refused)


def _pair_at(data: bytes, lines: Lines, start: int, end: int) -> Pair | None:
    assignment = _ASSIGNMENT.fullmatch(data, start, end)
    if assignment is not None:
        return _assignment(data, lines, assignment)
    return _spoken(data, lines, start, end)


def _name_before(data: bytes, keyword: int, end: int) -> tuple[int, bytes]:
    """The whole name, of which the keyword is a part."""
    reach = data[max(0, keyword - REACH) : keyword]
    start = keyword - (len(reach) - len(reach.rstrip(_NAME_LETTERS)))
    if data[max(0, start - 2) : start] == b"\x1b[":
        start = keyword
    return start, data[max(start, end - NAME_MOST) : end]


def _assignment(data: bytes, lines: Lines, match: re.Match[bytes]) -> Pair | None:
    _, closing, gap, separator, gap_right = match.groups()
    begin = match.end()
    start, name = _name_before(data, match.start(), match.end(1))
    is_typed = separator[-2:-1] not in b":" and separator.startswith(b":")
    is_option = name.startswith(b"--")
    strength = (strength_of_option if is_option else strength_of)(name.strip(b"-"))
    if strength == Strength.NONE or data[max(0, start - len(_PLACEHOLDER)) : start] == _PLACEHOLDER:
        return None
    if (
        separator == b":"
        and not gap_right
        and (data[begin : begin + 1] in {b":", b"/"} or _is_user(data, start))
    ):
        return None
    pair = Pair(
        data=data,
        lines=lines,
        name=name,
        name_start=start,
        strength=strength,
        separator=b"=" if is_typed else separator,
        spaced=is_typed or b" " in gap or b"\t" in gap,
        quoted_name=b'"' in closing or b"'" in closing,
        rule="option" if is_option and separator == b"=" else "secret-pair",
    )
    _find_value(pair, begin)
    return pair


def _is_user(data: bytes, start: int) -> bool:
    """`https://x-token:…@host`: the name is the user of a URL, which has a rule of its own."""
    return data[max(0, start - 3) : start] == b"://"


def _spoken(data: bytes, lines: Lines, match_start: int, match_end: int) -> Pair | None:
    """A name and a value with a blank between them: options, `.netrc`, `ENV NAME value`."""
    begin = match_end - 1
    rule = "variable"
    end = match_start + len(data[match_start:begin].rstrip(b" \t"))
    if (option := _OPTION.match(data, match_start, match_end)) is not None:
        rule, end = "option", option.end()
    elif _NETRC_ENTRY.fullmatch(data, match_start, match_end) is not None:
        rule = "netrc"
    elif _DEFINED.fullmatch(data, match_start, match_end) is not None:
        rule = "definition"
    elif (called := _CALLED.fullmatch(data, match_start, match_end)) is not None:
        rule, end = "property-call", called.end(1)
    start, name = _name_before(data, end, end)
    judge = _STRENGTHS.get(rule, strength_of)
    strength = judge(name.strip(b"-"))
    if strength == Strength.NONE or (rule == "option" and strength == Strength.WEAK):
        return None
    if rule == "netrc" and not _begins_entry(data, start):
        return None
    if rule == "option" and data[end : end + 1] in QUOTES and data[begin : begin + 1] not in QUOTES:
        return None  # the next element of a list, and it is no string
    pair = Pair(
        data=data,
        lines=lines,
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


def _begins_entry(data: bytes, start: int) -> bool:
    """At the start of its line, or behind the login; what stands before the line has a view without it."""
    begin = data.rfind(b"\n", max(0, start - REACH), start) + 1
    before = data[begin:start]
    return not before.strip() or (before[-1:] in b" \t" and _LOGIN.search(before) is not None)


def _find_value(pair: Pair, begin: int) -> None:
    _find_extent(pair, begin)
    if pair.strength == Strength.HEADER and (scheme := _SCHEME.match(pair.data, pair.start)) is not None:
        pair.start = min(scheme.end(), pair.end)


def _find_extent(pair: Pair, begin: int) -> None:
    header_quote = _header_quote(pair)
    opening = None if header_quote else _OPENING.match(pair.data, begin)
    if opening is not None:
        pair.quote = opening.group(1)
        pair.start = opening.end()
        _find_closing_quote(pair)
    elif pair.strength == Strength.HEADER and pair.separator == b":" and not pair.quoted_name:
        pair.rule = "header"
        _find_header_end(pair, begin, header_quote)
    else:
        _find_bare_end(pair, begin)


def _header_quote(pair: Pair) -> bytes:
    """The quote that a whole header stands in, as in curl -H 'Cookie: a=b'."""
    if pair.strength != Strength.HEADER or pair.quoted_name or pair.preceding not in QUOTES:
        return b""
    return pair.preceding


def _find_closing_quote(pair: Pair) -> None:
    """A quote with an odd number of backslashes before it belongs to the value."""
    data = pair.data
    line_end = pair.lines.end(pair.start)
    position = pair.start
    while (found := data.find(pair.quote, position, line_end)) >= 0:
        if min(_slashes_before(data, found), found - pair.start) % 2 == 0:
            pair.end = found
            return
        position = found + 1
    pair.end = line_end
    pair.is_open = line_end == len(data)


def _find_header_end(pair: Pair, begin: int, quote: bytes) -> None:
    pair.start = begin
    pair.end = line_end = pair.lines.end(begin)
    if quote:
        pair.end = _end_of_quoted_statement(pair, line_end)
    pair.is_open = pair.end == len(pair.data)


def _end_of_quoted_statement(pair: Pair, end: int) -> int:
    """The quote that stands before the name ends the value, unless more backslashes stand before it."""
    outside = _slashes_before(pair.data, pair.name_start - 1)
    position = pair.start
    while (found := pair.data.find(pair.preceding, position, end)) >= 0:
        slashes = _slashes_before(pair.data, found)
        if slashes <= outside or slashes % 2 == 0:
            return found
        position = found + 1
    return end


def _slashes_before(data: bytes, position: int) -> int:
    reach = data[max(0, position - REACH) : position]
    return len(reach) - len(reach.rstrip(b"\\"))


def _find_bare_end(pair: Pair, begin: int) -> None:
    data = pair.data
    pair.start = begin
    if pair.separator == b"=" and pair.preceding in {b"?", b"&"}:
        pair.rule = "query-parameter"
        pair.end = run_end(_QUERY, data, begin)
    elif pair.rule != "secret-pair" or _is_variable(pair):
        pair.end = run_end(_NONBLANK, data, begin)
        _leave_out_punctuation(pair)
    else:
        pair.end = run_end(_BARE, data, begin)
        if _is_yaml(pair) or _is_ini(pair):
            _extend_to_comment(pair)
    pair.is_open = _reaches_end(data, pair.end) or (pair.rule == "netrc" and pair.lacks_netrc_word())


def _reaches_end(data: bytes, end: int) -> bool:
    """The judge looks at what follows a value, so the value is open until something follows."""
    return end >= len(data) - REACH and not data[end:].strip(b" \t,;")


def _leave_out_punctuation(pair: Pair) -> None:
    """`export TOKEN=x; run` and `"TOKEN=x"`: what ends the statement or the string is not the value's."""
    if pair.preceding in QUOTES:
        pair.end = _end_of_quoted_statement(pair, pair.end)
    pair.end = pair.start + len(pair.data[pair.start : pair.end].rstrip(b";"))


def _is_variable(pair: Pair) -> bool:
    return pair.separator == b"=" and not pair.spaced and is_upper(pair.name) and pair.opens_line()


def _is_yaml(pair: Pair) -> bool:
    return (
        pair.separator == b":"
        and not pair.spaced
        and pair.strength == Strength.PASSWORD
        and pair.data[pair.start - 1 : pair.start] == b" "
        and pair.following not in {b"(", b"[", b"{", b","}
        and pair.opens_line()
    )


def _is_ini(pair: Pair) -> bool:
    """`password = two words 2`, at the start of a line, and nothing that only code has."""
    return (
        pair.separator == b"="
        and pair.spaced
        and pair.strength == Strength.PASSWORD
        and pair.following == b" "
        and pair.opens_line_unindented()
        and _WORDS.fullmatch(pair.data, pair.start, pair.lines.end(pair.start)) is not None
    )


def _extend_to_comment(pair: Pair) -> None:
    line_end = pair.lines.end(pair.start)
    comment = pair.data.find(b" #", pair.end, line_end)
    stop = line_end if comment < 0 else comment
    pair.end = pair.start + len(pair.data[pair.start : stop].rstrip(b" \t"))
