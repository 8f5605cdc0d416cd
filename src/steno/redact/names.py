"""What a name says about its value: is `apiKey`, `MONKEY`, `token_type` the name of a secret?

In: an identifier in any spelling (snake_case, kebab-case, camelCase, UPPER_SNAKE). Out: a `Strength`.
Never: the value; a weak name needs a value that looks random, and `steno.redact.values` judges that.

The words are those of the capture-run rule, /token|secret|password|key|bearer|authorization/i, read
with word boundaries: the name is split into its words, and a word decides, not a part of a word.
"""

from __future__ import annotations

import enum
import functools

from steno.redact.rule import regex


class Strength(enum.IntEnum):
    NONE = 0
    WEAK = 1
    STRONG = 2
    PASSWORD = 3
    HEADER = 4


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
