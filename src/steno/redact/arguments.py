"""Arguments of a command: which of them are secrets because of what stands before them.

In: the arguments, as bytes. Out: for each secret argument, where in it the secret begins. Never: what
can be seen in one argument alone, such as a token's shape; the engine looks at that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steno.redact import values
from steno.redact.names import Strength, strength_in_environment
from steno.redact.rule import regex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    if strength in {Strength.NONE, Strength.WEAK} or not value or values.is_reference(value):
        return False
    if strength == Strength.PASSWORD or values.looks_random(value):
        return True
    return not (values.is_path(value) or values.is_short_number(value))


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
