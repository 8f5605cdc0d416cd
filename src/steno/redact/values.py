"""What a value says about itself: masked already, a reference, code, a path, random?

In: the bytes of a value. Out: yes or no. Never: the name beside it, or where it stands; `steno.redact.pairs`
joins the two.
"""

from __future__ import annotations

import re

from steno.redact.sequences import HARMLESS, HARMLESS_PARTIAL

# The standard module goes back when it fails, so no pattern here may match one text in two ways.
# A value that is nothing but masks is not a secret any more; this is what makes redaction idempotent.
# Masking leaves escape sequences, and a value may be looked at up to the middle of one.
_MASKED = re.compile(
    rb"(?:\*|\[REDACTED:[a-z0-9-]+:[0-9]+\]|[ \t\r\n]|" + HARMLESS + rb")*(?:" + HARMLESS_PARTIAL + rb")?\Z"
)
_REFERENCE = re.compile(
    rb"""(?: \$[A-Z_][A-Z0-9_]* | \$[a-z_]+ | \$\{[A-Za-z0-9_.]*\} | \$\(.* | \$\{\{.*\}\}
         | %[A-Z_][A-Z0-9_]*% | <[^<>]*> | \{\{.*\}\} | \{[^{}]*\} | %\(?\w*\)?[sdr] | \.\.\. | [xX]{3,}
         | \#\{[^{}]*\} | @\w+@
         | (?:[Bb]earer|[Bb]asic|[Tt]oken)?\s*
           (?:\{[^{}]*\}|\$\{[A-Za-z0-9_.]*\}|%s|\$\w+|<[^<>]*>)(?::(?:\{[^{}]*\}|\$\w+))?
         )\Z""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = frozenset(
    b"none null nil undefined true false yes no on off str bytes bytearray int float bool string number any"
    b" object void char byte boolean optional self cls lambda not new await async function func def return"
    b" required invalid missing unset empty redacted hidden masked default disabled enabled list dict set"
    b" tuple type unknown callable iterable sequence mapping literal final classvar const let var static"
    b" public private".split()
)
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*\Z")
_DOTTED = re.compile(rb"&?\*?[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|->|::)[A-Za-z_][A-Za-z0-9_]*)+\Z")
_TYPE = re.compile(rb"[A-Z][a-z]+(?:[A-Z][a-z]+)+\Z")
_PATH = re.compile(
    rb"(?:~|\.{1,2})?/[A-Za-z0-9_.@+/-]*\Z|[A-Za-z0-9_.@+/-]+\.(?:pem|key|crt|cer|pub|p12|jks|asc)\Z"
)
_PROSE = re.compile(rb"[A-Za-z][a-z]*(?:[ ,.-]+[A-Za-z][a-z']*){2,}[.!?:]*\Z")
_RUNS = re.compile(rb"[0-9]+|[A-Z]+|[a-z]+")
_RANDOM_LETTERS = re.compile(rb"[A-Za-z0-9+/=_.~!@#$%^&*:-]+\Z")
_VERSION = re.compile(
    rb"(?:npm:[@a-z0-9/._-]+@)?[\^~<>=v ]{0,4}[0-9]{1,5}(?:\.(?:[0-9]{1,8}|[x*])){1,3}"
    rb"(?:[-+][0-9A-Za-z.+-]{1,40})?"
    rb"(?:[ |,<>=^~-]{1,4}[0-9][0-9.x*]{0,20}){0,3}\Z"
)
_HEX = re.compile(rb"[0-9a-fA-F]{16,}\Z")

_PLACES = re.compile(rb"%[-#0-9.]*[sdrx]|%\([A-Za-z0-9_]*\)[sdr]|\$?\{[^{}:]*(?::[^-{}][^{}]*)?\}")
_SMALL_WORDS = frozenset(
    b"the a an to is are be of for with and or your my this that must will should not by as in on"
    b" from if it".split()
)

TEMPLATE_LETTERS = 8
SHORT_NUMBER = 6
RANDOM_ALPHABETIC = 3
RANDOM_LENGTH = 12
RANDOM_PART = 20
RANDOM_RUNS = 5
RANDOM_DIGITS = 2


def is_masked(value: bytes) -> bool:
    return _MASKED.match(value) is not None


def is_reference(value: bytes) -> bool:
    """A value that names another place: `$TOKEN`, `{token}`, `<your key>`, `%s`."""
    return _REFERENCE.match(value) is not None


def is_constant(value: bytes) -> bool:
    return value.lower() in _CONSTANTS


def is_identifier(value: bytes) -> bool:
    return _IDENTIFIER.match(value) is not None


def is_dotted(value: bytes) -> bool:
    """`self.token`, `args.password`, `config->key`: an attribute, not a value."""
    return _DOTTED.match(value) is not None


def is_type_name(value: bytes) -> bool:
    return _TYPE.match(value) is not None


def is_path(value: bytes) -> bool:
    return _PATH.match(value) is not None


def is_prose(value: bytes) -> bool:
    """Three words or more, and nothing but words."""
    return _PROSE.match(value) is not None


def is_sentence(value: bytes) -> bool:
    """Prose with a word in it that only sentences need."""
    return is_prose(value) and not _SMALL_WORDS.isdisjoint(value.lower().split())


def is_template(value: bytes) -> bool:
    """A format string with next to nothing in it besides its places: `Bearer {token}`, `%s:%s`."""
    rest, places = _PLACES.subn(b"", value)
    return places > 0 and sum(48 <= byte <= 122 for byte in rest) < TEMPLATE_LETTERS  # noqa: PLR2004 - 0 to z


def is_word(value: bytes) -> bool:
    """Letters of one case, perhaps capitalised: a word of a language, as far as one can tell."""
    return value.isalpha() and (value.islower() or value.isupper() or value.istitle())


def is_short_number(value: bytes) -> bool:
    return len(value) <= SHORT_NUMBER and value.replace(b".", b"").replace(b"_", b"").lstrip(b"-").isdigit()


def is_punctuation(value: bytes) -> bool:
    return value.isascii() and not any(chr(byte).isalnum() for byte in value)


def is_version(value: bytes) -> bool:
    """`^0.7.1`, `>=1.2 <2`, `0.7.1@sha512`: what a package named cookie or jsonwebtoken has."""
    return _VERSION.match(value) is not None


def looks_random(value: bytes) -> bool:
    """Long, without blanks, and changing often between digits, capitals and small letters."""
    if len(value) < RANDOM_LENGTH or not _RANDOM_LETTERS.match(value):
        return False
    digits = sum(48 <= byte <= 57 for byte in value)  # noqa: PLR2004 - the digits of ASCII
    letters = sum(65 <= byte <= 122 for byte in value)  # noqa: PLR2004 - A to z
    if digits < RANDOM_DIGITS or letters < RANDOM_ALPHABETIC:
        return False
    if is_dotted(value) or b"%" in value:
        return max(len(part) for part in value.split(b".")) >= RANDOM_PART and b"%" not in value
    return _HEX.match(value) is not None or len(_RUNS.findall(value)) >= RANDOM_RUNS
