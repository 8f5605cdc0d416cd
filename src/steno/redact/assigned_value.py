"""Whether the value beside a telling name is a secret.

capture-run masks every such value. Here its form and its place decide too, so that source code is not
shredded: calls, attributes, types, constants, references and sentences stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steno.redact.vocabulary import (
    Strength,
    has_digit,
    is_annotation,
    is_constant,
    is_dotted,
    is_expression,
    is_identifier,
    is_masked,
    is_path,
    is_pattern,
    is_prose,
    is_public,
    is_punctuation,
    is_reference,
    is_sentence,
    is_short_number,
    is_template,
    is_type_name,
    is_upper,
    is_version,
    is_word,
    looks_random,
    strength_in_environment,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steno.redact.text import Lines


# A value longer than this is never code: it is judged by its beginning only.
JUDGED = 256
REACH = 64
SMALL_NUMBER = 2
BINARY_MOST = 8

QUOTES = frozenset((b'"', b"'", b"`"))
_NETRC_WORDS = (b"machine ", b"login ", b"account ", b"port ", b"macdef ")
_LOOKUPS = frozenset(b"files compat systemd db nis nisplus sss ldap winbind hesiod dns".split())
_METAVARIABLES = frozenset(b"value string text file path str name var arg type".split())
_STOP_WORDS = frozenset(
    b"to is and or for with argument option options flag flags the as in if a an of on was are be from"
    b" were path will can must instead when not via by at that which should has may value file".split()
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
    """The form decides first: most values fall there, and the other looks cost more."""
    value = pair.value
    if not value or not _OF_RULES.get(pair.rule, _is_secret_value)(pair, value):
        return False
    if is_masked(value) or is_reference(value) or is_punctuation(value):
        return False
    return not (_is_binary(pair, value) or (pair.strength != Strength.PASSWORD and is_public(value)))


def _is_secret_parameter(pair: Pair, value: bytes) -> bool:
    return not is_short_number(value) or pair.strength == Strength.PASSWORD


def _is_secret_of_netrc(pair: Pair, value: bytes) -> bool:
    if value.startswith(b"--") or value.lower() in _STOP_WORDS or is_reference(value.rstrip(b"\"'")):
        return False
    return pair.ends_line_or_netrc() and value[-1:] not in {b".", b",", b":", b";", b"?", b")"}


def _is_secret_value(pair: Pair, value: bytes) -> bool:
    if pair.rule == "header":
        is_formed = _is_secret_header(pair, value)
    else:
        is_formed = _is_secret_string(pair, value) if pair.quote else _is_secret_word(pair, value)
    if not is_formed or (is_version(value) and _names_package(pair)) or _is_lookup_order(pair, value):
        return False
    return not (is_annotation(value) or _is_computed(pair, value) or _says_its_name(pair, value))


def _is_computed(pair: Pair, value: bytes) -> bool:
    if is_pattern(value):
        return True
    return not pair.quote and (is_expression(value) or _goes_on_as_code(pair, value))


def _goes_on_as_code(pair: Pair, value: bytes) -> bool:
    """`credentials=given_1 or None`, `private_key: Ed25519PrivateKey | Ed448PrivateKey`."""
    if is_upper(pair.name) or not (is_identifier(value) or is_dotted(value)):
        return False
    rest = pair.data[pair.end : pair.end + REACH]
    return rest.startswith((b" or ", b" || ", b" ?? ") if pair.separator == b"=" else b" | ")


def _is_binary(pair: Pair, value: bytes) -> bool:
    """A short piece of compiled code between bytes that no text has, or the type and length of a string."""
    if value[1:2] and value[1:2] < b" " and value[1:2] not in b"\t\r\n\x1b":
        return True
    around = pair.data[pair.end : pair.end + 1] + value[-1:]
    return len(value) < BINARY_MOST and any(byte < 32 and byte not in b"\t\r\n\x1b" for byte in around)  # noqa: PLR2004


def _says_its_name(pair: Pair, value: bytes) -> bool:
    """`CHALLENGE_PASSWORD: "challengePassword"`, `private_key=key`: the name of the value, not the value."""
    if not is_identifier(value.replace(b"-", b"_")):
        return False
    named, said = words_of(pair.name), words_of(value)
    if len(said) > 1 and named == said:
        return True
    if pair.quoted_name and pair.strength != Strength.PASSWORD and len(named) > 1 and value.isalpha():
        return len(said) > 1 and named[-1] == said[-1]  # `"input_token": "nextToken"`
    passed_on = not pair.quote and not is_upper(pair.name) and pair.separator == b"=" and len(named) > 1
    return (
        passed_on and named[-1:] == said[-1:] and value.islower() and not any(word.isdigit() for word in said)
    )


def _names_package(pair: Pair) -> bool:
    """`"cookie": "^0.7.1"` and `jsonwebtoken: 9.0.2` of a lockfile; a password may look like a version."""
    return pair.strength != Strength.PASSWORD and pair.name.islower()


def _is_lookup_order(pair: Pair, value: bytes) -> bool:
    """`passwd:  files systemd` of nsswitch.conf."""
    first = (value.split() or [b""])[0]
    return pair.name == b"passwd" and pair.separator == b":" and first in _LOOKUPS


def _is_secret_argument(pair: Pair, value: bytes) -> bool:
    if pair.quote:
        return not (value.endswith(b".") and is_sentence(value))
    bare = value.strip(b"\"',;.:)]")
    if not bare or value.startswith((b"-", b"<", b"[", b"|", b"(", b"$(")):
        return False
    if bare.lower() in _STOP_WORDS or is_path(bare):
        return False
    if is_reference(bare) or is_constant(bare):
        return False
    if is_short_number(bare) and pair.strength != Strength.PASSWORD:
        return False
    return not _is_metavariable(pair.name, bare)


def _is_metavariable(name: bytes, value: bytes) -> bool:
    """`--token TOKEN`, as help texts write it."""
    words = set(words_of(value))
    if words == {b"some", b"value"}:
        return True
    return value.isupper() and bool(words & _METAVARIABLES or words & set(words_of(name)))


def _is_secret_header(pair: Pair, value: bytes) -> bool:
    first = (value.split() or [b""])[0]
    if b"cookie" in pair.name.lower():
        return b"=" in first and not is_template(value)
    if is_sentence(value) or is_prose(value):
        return False
    return not (is_constant(first.rstrip(b",;)].")) or is_template(value))


def _is_secret_string(pair: Pair, value: bytes) -> bool:
    if looks_random(value):
        return True
    if _is_closing_quote(pair, value) or is_template(value) or is_sentence(value):
        return False
    if pair.strength in {Strength.WEAK, Strength.PASSWORD}:
        return pair.strength == Strength.PASSWORD or _is_shell_string(pair, value)
    if is_prose(value) or is_path(value) or is_short_number(value):
        return False
    if pair.quoted_name or not (pair.spaced or pair.separator == b"=="):
        return not (is_constant(value) or _names_a_field(value))
    return not is_word(value)


def _names_a_field(value: bytes) -> bool:
    """`"input_token": "NextToken"`, `"--token-scope": "target.token.scope"`."""
    return is_type_name(value) or (is_dotted(value) and value.translate(None, b"0123456789") == value)


def _is_closing_quote(pair: Pair, value: bytes) -> bool:
    """`print("token=" + x)`: the quote after the separator ends the string that the name stands in."""
    if pair.quoted_name:
        return False
    if pair.preceding == pair.quote and pair.data[pair.start - 2 : pair.start - 1] in b":=":
        return True
    if not value.startswith((b" +", b" %", b",", b")", b".", b"]", b"}", b";")):
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
    if _is_weak_word(pair, value) or is_path(value) or is_sentence(value):
        return False
    is_variable = pair.separator == b"=" and not pair.spaced and is_upper(pair.name)
    if is_variable and strength_in_environment(pair.name) != Strength.WEAK:
        return pair.strength == Strength.PASSWORD or not is_short_number(value)
    if looks_random(value) or _is_code(pair, value):
        return looks_random(value)
    if is_short_number(value):
        return pair.strength == Strength.PASSWORD and len(value) > SMALL_NUMBER
    return _is_secret_phrase(pair, value)


def _is_secret_phrase(pair: Pair, value: bytes) -> bool:
    if pair.separator == b"=" and b" " in value and not has_digit(value):
        return False  # several words that may be code
    if not is_identifier(value):
        return (not pair.spaced and not _is_explained(pair, value)) or pair.ends_line()
    return _is_secret_identifier(pair, value)


def _is_weak_word(pair: Pair, value: bytes) -> bool:
    if is_constant(value.rstrip(b".0123456789")):
        return True
    return pair.strength == Strength.WEAK and not is_upper(pair.name) and not looks_random(value)


def _is_explained(pair: Pair, value: bytes) -> bool:
    """`pageToken: Optional. A page token, …`, `private_key: Hardware-backed private key`: words go on."""
    return (
        pair.separator == b":"
        and pair.strength != Strength.PASSWORD
        and pair.following == b" "
        and value.replace(b"-", b"").rstrip(b".").isalpha()
    )


def _is_code(pair: Pair, value: bytes) -> bool:
    """A comparison, a call, an index, a block, an attribute, or a name passed on under itself."""
    if pair.strength == Strength.WEAK or pair.separator in {b"==", b"!=", b":=", b"=>"}:
        return True
    return pair.following in {b"(", b"[", b"{"} or is_dotted(value) or value.lower() == pair.name.lower()


def _is_secret_identifier(pair: Pair, value: bytes) -> bool:
    """A value that could be the name of a variable or a type is a secret only where code does not fit."""
    if pair.following in {b",", b")", b";"} and not _is_in_option_list(pair):
        return False
    if is_type_name(value) and pair.strength != Strength.PASSWORD:
        return False
    if pair.spaced:
        return pair.opens_line_unindented() and pair.ends_line()
    if pair.separator == b"=":
        return not (pair.strength == Strength.WEAK and is_constant(value.rstrip(b"0123456789")))
    if is_type_name(value) or not pair.ends_line():
        return False
    return pair.opens_line() or not is_word(value) or pair.strength == Strength.PASSWORD


def _is_in_option_list(pair: Pair) -> bool:
    """`user=a,password=b,uid=1` and `Server=x;Password=b;` are lists; code puts a blank after the comma."""
    if pair.separator != b"=" or pair.spaced:
        return False
    after = pair.data[pair.end + 1 : pair.end + 2]
    return pair.following == b";" or (pair.following == b"," and bool(after) and after not in b" \t\r\n)")


def _is_secret_property(pair: Pair, value: bytes) -> bool:
    """Of `map.put("password", "name")` the value may be a name, too; a digit says that it is none."""
    if not pair.quote or is_template(value) or is_sentence(value) or is_prose(value):
        return False
    if pair.strength == Strength.WEAK or not has_digit(value):
        return looks_random(value)
    return pair.strength == Strength.PASSWORD or not (is_path(value) or is_short_number(value))


def _is_secret_definition(pair: Pair, value: bytes) -> bool:
    """Headers of C define the names of keys; those say much of what they name."""
    if pair.strength == Strength.WEAK or b"\\" in value or not _is_secret_property(pair, value):
        return False
    return set(words_of(pair.name)).isdisjoint(words_of(value))


_OF_RULES: Mapping[str, Callable[[Pair, bytes], bool]] = {
    "query-parameter": _is_secret_parameter,
    "netrc": _is_secret_of_netrc,
    "option": _is_secret_argument,
    "variable": _is_secret_argument,
    "definition": _is_secret_definition,
    "property-call": _is_secret_property,
}
