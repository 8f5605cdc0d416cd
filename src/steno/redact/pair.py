"""A name and its value, and the judgement whether the value is a secret.

In: a `Pair`, as `steno.redact.pairs` found it. Out: `is_secret(pair)`. Never: the search for pairs.

The seed rule masks every value beside a telling name. Here the form of the value and the place decide too,
so that source code is not shredded: calls, attributes, types, constants, references and sentences stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steno.redact import values
from steno.redact.names import Strength, is_upper, strength_in_environment, words_of

if TYPE_CHECKING:
    from steno.redact.lines import Lines

# A value longer than this is never code: it is judged by its beginning only.
JUDGED = 256
REACH = 64
SMALL_NUMBER = 2

QUOTES = frozenset((b'"', b"'", b"`"))
_NETRC_WORDS = (b"machine ", b"login ", b"account ", b"port ", b"macdef ")
_LOOKUPS = frozenset(b"files compat systemd db nis nisplus sss ldap winbind hesiod dns".split())
_METAVARIABLES = frozenset(b"value string text file path str name var arg type".split())
_STOP_WORDS = frozenset(
    b"to is and or for with argument option options flag flags the as in if a an of on was are be from"
    b" will can must instead when not via by at that which should has may value file".split()
)


class Pair(msgspec.Struct):
    """A name, and where its value lies."""

    data: bytes
    lines: Lines
    name: bytes
    name_start: int
    strength: Strength
    separator: bytes
    spaced: bool
    quoted_name: bool
    rule: str
    start: int = 0
    end: int = 0
    quote: bytes = b""
    is_open: bool = False

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
        begin = self.lines.start(self.name_start, REACH)
        if begin is None:
            return False
        before = self.data[begin : self.name_start].strip(b" \t-+>\"'")
        return before in {b"", b"export", b"set", b"declare", b"set -x"}

    def opens_line_unindented(self) -> bool:
        return self.name_start == 0 or self.preceding == b"\n"

    def ends_line(self) -> bool:
        rest = self._rest()[:1]
        return rest in {b"", b"\r", b"\n"} or (rest == b"#" and self.following != b"#")

    def ends_line_or_netrc(self) -> bool:
        """Alone on its line, or on one line with the rest of a `.netrc` entry."""
        return self.ends_line() or self._rest().startswith(_NETRC_WORDS)

    def lacks_netrc_word(self) -> bool:
        """The bytes end before one can tell whether a word of a `.netrc` entry follows."""
        rest = self._rest()
        return self.end + REACH > len(self.data) and any(word.startswith(rest) for word in _NETRC_WORDS)

    def _rest(self) -> bytes:
        return self.data[self.end : self.end + REACH].lstrip(b" \t")


def is_secret(pair: Pair) -> bool:
    value = pair.value
    if not value or values.is_masked(value) or values.is_reference(value) or values.is_punctuation(value):
        return False
    if pair.rule == "query-parameter":
        return not values.is_short_number(value) or pair.strength == Strength.PASSWORD
    if pair.rule == "netrc":
        return pair.ends_line_or_netrc() and value[-1:] not in {b".", b",", b":", b";", b"?", b")"}
    if pair.rule in {"option", "variable"}:
        return _is_secret_argument(pair, value)
    if (values.is_version(value) and _names_package(pair)) or _is_lookup_order(pair, value):
        return False
    return _is_secret_by_form(pair, value)


def _is_secret_by_form(pair: Pair, value: bytes) -> bool:
    if pair.rule == "header":
        return _is_secret_header(pair, value)
    return _is_secret_string(pair, value) if pair.quote else _is_secret_word(pair, value)


def _names_package(pair: Pair) -> bool:
    """`"cookie": "^0.7.1"` and `jsonwebtoken: 9.0.2` of a lockfile; a password may look like a version."""
    return pair.strength != Strength.PASSWORD and pair.name.islower()


def _is_lookup_order(pair: Pair, value: bytes) -> bool:
    """`passwd:  files systemd` of nsswitch.conf."""
    first = (value.split() or [b""])[0]
    return pair.name == b"passwd" and pair.separator == b":" and first in _LOOKUPS


def _is_secret_argument(pair: Pair, value: bytes) -> bool:
    if pair.quote:
        return True
    bare = value.strip(b"\"',;.:)]")
    if not bare or value.startswith((b"-", b"<", b"[", b"|", b"(", b"$(")):
        return False
    if bare.lower() in _STOP_WORDS or values.is_path(bare):
        return False
    if values.is_short_number(bare) and pair.strength != Strength.PASSWORD:
        return False
    return not _is_metavariable(pair.name, bare)


def _is_metavariable(name: bytes, value: bytes) -> bool:
    """`--token TOKEN`, as help texts write it."""
    words = set(words_of(value))
    return value.isupper() and bool(words & _METAVARIABLES or words & set(words_of(name)))


def _is_secret_header(pair: Pair, value: bytes) -> bool:
    first = (value.split() or [b""])[0]
    if b"cookie" in pair.name.lower():
        return b"=" in first and not values.is_template(value)
    return not (values.is_constant(first.rstrip(b",;)]")) or values.is_template(value))


def _is_secret_string(pair: Pair, value: bytes) -> bool:
    if values.looks_random(value):
        return True
    if _is_closing_quote(pair, value) or values.is_template(value) or values.is_sentence(value):
        return False
    if pair.strength in {Strength.WEAK, Strength.PASSWORD}:
        return pair.strength == Strength.PASSWORD or _is_shell_string(pair, value)
    if values.is_prose(value) or values.is_path(value) or values.is_short_number(value):
        return False
    if pair.quoted_name or not (pair.spaced or pair.separator == b"=="):
        # `"input_token": "NextToken"` names another field.
        return not (values.is_constant(value) or (pair.quoted_name and values.is_type_name(value)))
    return not values.is_word(value)


def _is_closing_quote(pair: Pair, value: bytes) -> bool:
    """`print("token=" + x)`: the quote after the separator ends the string that the name stands in."""
    if pair.quoted_name or not value.startswith((b" +", b" %", b",", b")", b".", b"]", b"}", b";")):
        return False
    begin = pair.data.rfind(b"\n", max(0, pair.name_start - JUDGED), pair.name_start) + 1
    return pair.data.count(pair.quote, max(begin, pair.name_start - JUDGED), pair.name_start) % 2 == 1


def _is_shell_string(pair: Pair, value: bytes) -> bool:
    """`key="quoted value"`, as in a shell or an environment file; `f(key="name")` is code."""
    if pair.separator != b"=" or pair.spaced or pair.preceding in {b"(", b"."}:
        return False
    if is_upper(pair.name):
        return True
    return b" " in value and pair.following not in {b",", b")"}


def _is_secret_word(pair: Pair, value: bytes) -> bool:
    if values.is_constant(value) or values.is_path(value) or values.is_sentence(value):
        return False
    is_variable = pair.separator == b"=" and not pair.spaced and is_upper(pair.name)
    if is_variable and strength_in_environment(pair.name) != Strength.WEAK:
        return pair.strength == Strength.PASSWORD or not values.is_short_number(value)
    if values.looks_random(value) or _is_code(pair, value):
        return values.looks_random(value)
    if values.is_short_number(value):
        return pair.strength == Strength.PASSWORD and len(value) > SMALL_NUMBER
    if not values.is_identifier(value):
        return not pair.spaced or pair.ends_line()
    return _is_secret_identifier(pair, value)


def _is_code(pair: Pair, value: bytes) -> bool:
    """A comparison, a call, an index, a block, an attribute, or a name passed on under itself."""
    if pair.strength == Strength.WEAK or pair.separator in {b"==", b"!=", b":=", b"=>"}:
        return True
    return (
        pair.following in {b"(", b"[", b"{"} or values.is_dotted(value) or value.lower() == pair.name.lower()
    )


def _is_secret_identifier(pair: Pair, value: bytes) -> bool:
    """A value that could be the name of a variable or a type is a secret only where code does not fit."""
    if pair.following in {b",", b")", b";"} and not _is_in_option_list(pair):
        return False
    if pair.spaced:
        return pair.opens_line_unindented() and pair.ends_line()
    if pair.separator == b"=":
        return True
    if values.is_type_name(value) or not pair.ends_line():
        return False
    return pair.opens_line() or not values.is_word(value) or pair.strength == Strength.PASSWORD


def _is_in_option_list(pair: Pair) -> bool:
    """`user=a,password=b,uid=1` and `Server=x;Password=b;` are lists; code puts a blank after the comma."""
    if pair.separator != b"=" or pair.spaced:
        return False
    after = pair.data[pair.end + 1 : pair.end + 2]
    return pair.following == b";" or (pair.following == b"," and bool(after) and after not in b" \t\r\n)")
