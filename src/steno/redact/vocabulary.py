"""Which names say that their value is secret, and which values no secret has: words, references, paths."""

from __future__ import annotations

import enum
import functools
import re

from steno.redact.rule import regex
from steno.redact.text import HARMLESS, HARMLESS_PARTIAL

# The standard module goes back when it fails, so no pattern here may match one text in two ways.
# A value that is nothing but masks is not a secret any more; this is what makes redaction idempotent.
# Masking leaves escape sequences, and a value may be looked at up to the middle of one.
_MASKED = regex(
    rb"(?:\*|\[REDACTED:[a-z0-9-]+:[0-9]+\]|[ \t\r\n]|" + HARMLESS + rb")*(?:" + HARMLESS_PARTIAL + rb")?\Z"
)
_REFERENCE = regex(
    rb"""(?: \$[A-Z_][A-Z0-9_]* | \$[a-z_]+ | \$\{[A-Za-z0-9_.]*\} | \$\(.* | \$\{\{.*\}\}
         | %[A-Z_][A-Z0-9_]*% | <[^<>]*> | \{\{.*\}\} | \{[^{}]*\} | %\(?\w*\)?[sdr] | \.\.\. | [xX]{3,}
         | __[a-z]+__ | \#\{[^{}]*\} | @\w+@ | \$\w+::\w+ | :\w+:\w+: | \xe2\x80\xa6 | \w{0,8}\.\.\.
         | (?:[Yy]our|YOUR|[Mm]y|MY)[-_ ]?(?:\w+[-_ ])?(?:[Tt]oken|TOKEN|[Kk]ey|KEY|[Ss]ecret|SECRET)
         | (?:[Bb]earer|[Bb]asic|[Tt]oken)?\s*
           (?:\{[^{}]*\}|\$\{[A-Za-z0-9_.]*\}|%s|\$\w+|<[^<>]*>)(?::(?:\{[^{}]*\}|\$\w+|<[^<>]*>))?
         )\Z""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = frozenset(
    b"none null nil undefined true false yes no on off str bytes bytearray int float bool string number any"
    b" object void char byte boolean optional self cls lambda not new await async function func def return"
    b" required invalid missing unset empty redacted hidden masked default disabled enabled list dict set"
    b" tuple type unknown callable iterable sequence mapping literal final classvar const let var static"
    b" public private omit include same-origin bearer basic eof eol var arg val value header headers".split()
)
_IDENTIFIER = regex(rb"[A-Za-z_][A-Za-z0-9_]*\Z")
_DOTTED = regex(rb"&?\*?[A-Za-z_][A-Za-z0-9_]*(?:(?:[?!]?\.|->|::)[A-Za-z_][A-Za-z0-9_]*)+\Z")
_TYPE = regex(rb"_?(?:[A-Z][a-z]+|[A-Z]+[0-9]*(?=[A-Z][a-z]))(?:[A-Z][a-z]+)+[A-Z]?\Z")
_PATH = regex(
    rb"(?:~|\.{1,2})?/[A-Za-z0-9_.@+/-]*\Z|[A-Za-z0-9_.@+/-]+\.(?:pem|key|crt|cer|pub|p12|jks|asc|json|ya?ml|txt|toml)\Z"
)
_PROSE = regex(rb"[A-Za-z][a-z]*(?:[ ,.-]+(?:[A-Za-z][a-z']*|[A-Z]+)){2,}[.!?:]*\Z")
_WORDS_ONLY = regex(rb"[A-Za-z`'\"_.,:;()/-]+\Z")
_ABOUT_SECRETS = frozenset(b"password passwords token tokens secret key keys credential credentials".split())
_ANNOTATION = regex(
    rb"[A-Za-z_][\w.]*(?:\[[\w., |\[\]]*\])?(?: \| [A-Za-z_][\w.\[\]]*)+(?: = [^ ]+)?[,)]?\Z"
    rb"|(?:str|string|bytes|bool|int|float|Optional\[\w+\]|SecretStr)\??(?: = [^ ]+)?[,;)]?\Z"
    rb"|(?:[A-Z][a-z]+|[A-Z]+(?=[A-Z][a-z]))(?:[A-Z][a-z]+)+;\Z"
)
_EXPRESSION = regex(
    rb"[A-Za-z_$][\w.$?\[\]]* (?:\|\||&&|\?\?|or|and|if) |[A-Za-z_$]{1,2}[+-][0-9]{1,2}\Z"
    rb"|new [A-Z]\w*\("
)
_PATTERN = regex(rb"\(\?[:=!<iPsmx]|\[\^|[\])][+*](?:[^A-Za-z0-9]|\Z)|\\[swdb]|\.\*")
_COLOUR = regex(rb"#(?:[0-9a-fA-F]{3,4}){1,2}\Z|0[xb]\Z")
_PLAIN_URL = regex(rb"[a-z][a-z0-9+.-]{1,15}://[^@?]*\Z")
_URL_PARTS = regex(rb"[/?#&=.-]")
# What public keys begin with in base64, and as a line of OpenSSH.
_PUBLIC_KEY = regex(
    rb"MFkwEwYHKoZIzj0CAQ|MIIBIjANBgkqh|MIICIjANBgkqh|MIGfMA0GCSqGSIb3|MCowBQYDK2VwAyEA|ssh-|ecdsa-sha2-"
)
_CAMEL = regex(rb"[A-Z]?[a-z]{3,}")
_RUNS = regex(rb"[0-9]+|[A-Z]+|[a-z]+")
_RANDOM_LETTERS = regex(rb"[A-Za-z0-9+/=_.~!@#$%^&*:-]+\Z")
_VERSION = regex(
    rb"(?:npm:[@a-z0-9/._-]+@)?[\^~<>=v ]{0,4}[0-9]{1,5}(?:\.(?:[0-9]{1,8}|[x*])){1,3}"
    rb"(?:[-+][0-9A-Za-z.+-]{1,40})?"
    rb"(?:[ |,<>=^~-]{1,4}[0-9][0-9.x*]{0,20}){0,3}\Z|workspace:[*^~]\Z"
)
_HEX = regex(rb"[0-9a-fA-F]{16,}\Z")

_PLACES = regex(rb"%[-#0-9.]*[sdrx]|%\([A-Za-z0-9_]*\)[sdr]|\$?\{[^{}:]*(?::[^-{}][^{}]*)?\}")
_SMALL_WORDS = frozenset(
    b"the a an to is are be of for with and or your my this that must will should not by as in on"
    b" from if it".split()
)

TEMPLATE_LETTERS = 8
TEMPLATE_WORDS = 16
SENTENCE_WORDS = 3
WORDS_SHARE = 0.5
SHORT_NUMBER = 6
RANDOM_ALPHABETIC = 3
RANDOM_LENGTH = 12
RANDOM_PART = 20
RANDOM_RUNS = 5
RANDOM_DIGITS = 2
EMOJI_MOST = 8
# In every name that may be one of a secret.
WORD = rb"(?i:token|secret|pass|pwd|key|credential|bearer|auth|cookie)"
_WORDS = regex(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_PASSWORD_WORDS = frozenset((b"password", b"passwd", b"passphrase", b"passcode", b"pwd", b"passwort"))
_PASSWORD_ENDINGS = (b"password", b"passwd", b"passphrase", b"sshpass")
_SECRET_WORDS = frozenset((b"token", b"secret", b"credential", b"credentials", b"bearer", b"authorization"))
_SECRET_ENDINGS = (b"token", b"secret", b"apikey", b"secretkey", b"privatekey", b"accesskey", b"authkey")
# Every shell sets these: the working directory, and the one before it.
_WORKING_DIRECTORIES = frozenset((b"PWD", b"OLDPWD"))
# Words that make a key a secret key. `public key`, `primary key`, `cache key`, `sort key` are none.
_KEY_QUALIFIERS = frozenset(
    b"api secret private access auth account encryption encrypt signing signature master session admin "
    b"deploy license licence service app client server storage shared subscription function host root"
    b" recovery crypt cipher aes hmac rsa ssh gpg pgp jwt webhook".split()
)
_HARMLESS_QUALIFIERS = frozenset(b"public pub primary foreign sort cache partition idempotency".split())
# The last word says what the value is: a `token_type` is a type, a `key_file` a file.
_ATTRIBUTES = frozenset(
    b"type types count counts id ids name names file files filename path paths dir directory url uri urls "
    b"host port length len size limit limits budget usage used expiry expires expiration expire in at ttl age"
    b" hint policy field fields label labels index idx prompt rule rules error errors status state method"
    b" endpoint version algorithm alg class kind format function func fn callback handler regex pattern"
    b" prefix suffix provider manager store service source sock socket tty info cost rate total max min"
    b" required enabled disabled valid invalid exists present missing changed length strength bits usage"
    b" fingerprint thumbprint header headers param params arg args attr attribute column table map mapping"
    b" list set dict iter iterator func generator factory getter parser reader writer stream buffer agent"
    b" request response event events timeout interval period date time timestamp created updated"
    b" issued encryption encryptor mode fd scope scopes audience checking check management number"
    b" numbers details provided".split()
)
_PLURALS = frozenset((b"tokens", b"keys", b"secrets", b"passwords", b"auths", b"cookies"))
_HEADERS = frozenset(
    (
        b"authorization",
        b"proxy-authorization",
        b"cookie",
        b"set-cookie",
        b"set-cookie2",
        b"x-api-key",
        b"x-auth-token",
        b"x-access-token",
        b"x-amz-security-token",
        b"x-csrf-token",
        b"x-xsrf-token",
        b"x-goog-api-key",
        b"x-vault-token",
        b"x-gitlab-token",
        b"private-token",
        b"job-token",
        b"x-functions-key",
        b"ocp-apim-subscription-key",
        b"api-key",
        b"www-authenticate-token",
    )
)


def is_masked(value: bytes) -> bool:
    return _MASKED.match(value) is not None


def is_reference(value: bytes) -> bool:
    """A value that names another place: `$TOKEN`, `{token}`, `<your key>`, `%s`."""
    return _REFERENCE.match(value) is not None


def is_constant(value: bytes) -> bool:
    return value.lower().rstrip(b"?") in _CONSTANTS


def is_identifier(value: bytes) -> bool:
    return _IDENTIFIER.match(value) is not None


def is_dotted(value: bytes) -> bool:
    """`self.token`, `args.password`, `config->key`: an attribute, not a value."""
    return _DOTTED.match(value) is not None


def is_type_name(value: bytes) -> bool:
    return _TYPE.match(value) is not None


def is_path(value: bytes) -> bool:
    return _PATH.match(value) is not None


def is_public(value: bytes) -> bool:
    """A colour, the address of a page, a public key, an emoji."""
    if len(value) <= EMOJI_MOST and all(byte >= 128 for byte in value):  # noqa: PLR2004 - no ASCII
        return True
    return _COLOUR.match(value) is not None or _PUBLIC_KEY.match(value) is not None or _is_plain_url(value)


def _is_plain_url(value: bytes) -> bool:
    return _PLAIN_URL.match(value) is not None and not any(
        len(part) >= RANDOM_PART and looks_random(part) for part in _URL_PARTS.split(value)
    )


def is_annotation(value: bytes) -> bool:
    """`str | None = None,`: the type of a parameter."""
    return _ANNOTATION.match(value) is not None


def is_expression(value: bytes) -> bool:
    """`given.password or None`: code whatever the name beside it says."""
    return _EXPRESSION.match(value) is not None


def is_pattern(value: bytes) -> bool:
    return _PATTERN.search(value) is not None


def is_prose(value: bytes) -> bool:
    """Three words or more, and nothing but words."""
    return _PROSE.match(value) is not None


def is_sentence(value: bytes) -> bool:
    """Words with one among them that only sentences need, or a full stop and a word about secrets."""
    words = value.split()
    if len(words) < SENTENCE_WORDS or not all(_WORDS_ONLY.match(word) for word in words):
        return False
    lowered = {word.strip(b"`'\".,:;()").lower() for word in words}
    if words[0][:1].isupper() and value.endswith(b".") and not _ABOUT_SECRETS.isdisjoint(lowered):
        return True
    return not _SMALL_WORDS.isdisjoint(lowered)


def is_template(value: bytes) -> bool:
    """A format string with next to nothing in it besides its places: `Bearer {token}`, `%s:%s`."""
    rest, places = _PLACES.subn(b"", value)
    if b"${" in rest:
        return True  # what is put in holds a quote
    letters = sum(48 <= byte <= 122 for byte in rest)  # noqa: PLR2004 - 0 to z
    return places > 0 and letters < (
        TEMPLATE_LETTERS if any(b"0" <= bytes((byte,)) <= b"9" for byte in rest) else TEMPLATE_WORDS
    )


def has_digit(value: bytes) -> bool:
    return value.translate(None, b"0123456789") != value


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


def _is_made_of_words(value: bytes) -> bool:
    """`X509SubjectKeyExtension`, `lib.load_key_and_certificates`: an identifier that one can read.

    Small letters and digits alone are never taken for words: keys are written so, too.
    """
    if not (is_identifier(value) or is_dotted(value)):
        return False
    if value.islower() and b"_" not in value and b"." not in value:
        return False
    read = sum(len(word) for word in _CAMEL.findall(value))
    return read >= WORDS_SHARE * len(value)


def looks_random(value: bytes) -> bool:
    """Long, without blanks, and changing often between digits, capitals and small letters."""
    if len(value) < RANDOM_LENGTH or not _RANDOM_LETTERS.match(value):
        return False
    digits = sum(48 <= byte <= 57 for byte in value)  # noqa: PLR2004 - the digits of ASCII
    letters = sum(65 <= byte <= 122 for byte in value)  # noqa: PLR2004 - A to z
    if digits < RANDOM_DIGITS or letters < RANDOM_ALPHABETIC:
        return False
    if _is_made_of_words(value):
        return False
    if is_dotted(value) or b"%" in value:
        return max(len(part) for part in value.split(b".")) >= RANDOM_PART and b"%" not in value
    return _HEX.match(value) is not None or len(_RUNS.findall(value)) >= RANDOM_RUNS


class Strength(enum.IntEnum):
    NONE = 0
    WEAK = 1
    STRONG = 2
    PASSWORD = 3
    HEADER = 4


def words_of(name: bytes) -> list[bytes]:
    return [word.lower() for word in _WORDS.findall(name)]


def is_upper(name: bytes) -> bool:
    """`API_KEY`, as a variable of the environment is written."""
    return name.isupper()


@functools.lru_cache(maxsize=4096)
def strength_of(name: bytes) -> Strength:
    """The strength of a name, in a text of any kind."""
    lowered = name.lower()
    if name in _WORKING_DIRECTORIES:
        return Strength.NONE
    if lowered in _HEADERS:
        return Strength.HEADER
    words = words_of(name)
    while words and (words[-1].isdigit() or not words[-1]):
        words.pop()
    if not words or words[-1] in _ATTRIBUTES:
        return Strength.NONE
    if words[-2:] == [b"error", b"code"] or words == [b"with", b"credentials"]:
        return Strength.NONE
    strengths = [_strength_of_word(words, position) for position in range(len(words))]
    return max(strengths)


def _strength_of_word(words: list[bytes], position: int) -> Strength:
    word = words[position]
    if word in _PASSWORD_WORDS or word.endswith(_PASSWORD_ENDINGS):
        return Strength.PASSWORD
    if word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS):
        return Strength.STRONG
    if word == b"key":
        return _strength_of_key(words[:position], words[position + 1 :])
    if word in {b"pass", b"auth"}:
        return Strength.WEAK
    if word in _PLURALS:
        return Strength.WEAK
    return Strength.NONE


def _strength_of_key(before: list[bytes], after: list[bytes]) -> Strength:
    if before and before[-1] in _HARMLESS_QUALIFIERS:
        return Strength.NONE
    if before and before[-1] in _KEY_QUALIFIERS:
        return Strength.STRONG
    del after
    return Strength.WEAK


@functools.lru_cache(maxsize=4096)
def strength_of_option(name: bytes) -> Strength:
    """Of an option the last word says what it takes: `--auth` and `--key` do, `--auth-local` does not."""
    strength = strength_of(name)
    if strength == Strength.WEAK and words_of(name)[-1] not in {b"key", b"pass", b"auth"}:
        return Strength.WEAK
    return strength_in_environment(name)


@functools.lru_cache(maxsize=4096)
def strength_in_environment(name: bytes) -> Strength:
    """The strength of a name that is set as a variable: there `KEY`, `DB_PASS` and `X_AUTH` say enough."""
    strength = strength_of(name)
    if strength != Strength.WEAK:
        return strength
    return Strength.WEAK if words_of(name)[-1] in _PLURALS else Strength.STRONG
