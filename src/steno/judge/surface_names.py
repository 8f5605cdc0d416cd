"""The names in a capability surface: equal runs call equal things the same, as docs/surface.md has it.

The numbers that differ from run to run become words; a projection replaces the directories of a run too. A
name is never looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

OTHER_ROOT = "other-root:"
_MEMORY_FILE, _WITHOUT_A_NAME = "/memfd:", " (deleted)"
_MAPPED = "::ffff:"
_INTERNET = frozenset({"inet", "inet6"})
# Addresses without a peer: they end a connection, or ask the kernel itself.
_NO_PEER = frozenset({"netlink:", "family:0", "family:?"})
_NUMBERED = (
    (re.compile(r"/(?:\.?/)+"), "/"),
    (re.compile(r"(?<=.)/\.?\Z", re.DOTALL), ""),
    (re.compile(r"\A/\.\Z"), "/"),
    (re.compile(r"\A/proc/(?:[0-9]+|self|thread-self)(?=/|\Z)"), "/proc/PID"),
    (re.compile(r"\A(/proc/PID/task)/[0-9]+(?=/|\Z)"), r"\1/TID"),
    (re.compile(r"\A(/proc/PID(?:/task/TID)?/(?:fd|fdinfo))/[0-9]+(?=/|\Z)"), r"\1/N"),
    (re.compile(r"\A(/proc/PID(?:/task/TID)?/map_files)/[^/]+"), r"\1/RANGE"),
    (re.compile(r"\A/dev/pts/[0-9]+\Z"), "/dev/pts/N"),
    (re.compile(r"(/steno-intake-RUN_ID/policy)\.[0-9]+-[0-9]+(?=\.ndjson\Z)"), r"\1.PID"),
    (re.compile(r"((?:\A|/)[a-z_]+:)\[[0-9]+\]\Z"), r"\1[N]"),
)
# A name without one of these is told as it is, and most are.
_MAY_BE_NUMBERED = re.compile(r"/\.?(?:/|\Z)|\A/proc/|\A/dev/pts/|/steno-intake-RUN_ID/|\]\Z")


_OWN_LOG = re.compile(
    r".*/(?:\.?steno-intake-RUN_ID|RUN_ID/spool/intake)(?:/(?:hooks|sdk|policy\.(?:PID|[0-9]+-[0-9]+))\.ndjson)?",
    re.DOTALL,
)
# Opened for writing, and no file: terminals, sinks, what a process says of itself, memory.
_NO_FILE = re.compile(
    r"/dev/(?:null|zero|full|tty|ptmx|console|stdout|stderr|u?random|pts/(?:N|ptmx)|(?:tty|hvc)[A-Z]*[0-9]+)"
    r"|/proc/PID/.*|/memfd:.*|(?:.*/)?[a-z_]+:\[N\]",
    re.DOTALL,
)


class Endpoint(NamedTuple):
    """`name` is `1.2.3.4:80`, `[::1]:80` or `family:40`; of a unix socket its path, or `@` and its name."""

    name: str
    is_unix: bool
    is_internet: bool


def text(name: bytes) -> str:
    """Bytes that are not UTF-8 are written as `\\xNN`, as everywhere."""
    return name.decode("utf-8", "backslashreplace")


def path_name(path: bytes, run_id: str, *, other_root: bool) -> str:
    name = text(path).replace(run_id, "RUN_ID")
    if name.startswith(_MEMORY_FILE):
        name = name.removesuffix(_WITHOUT_A_NAME)
    if _MAY_BE_NUMBERED.search(name):
        for pattern, words in _NUMBERED:
            name = pattern.sub(words, name)
    return OTHER_ROOT + name if other_root else name


def is_own_log(name: str) -> bool:
    """Whether it is a log in which programs of the run tell the recorder something, or their folder."""
    return _OWN_LOG.fullmatch(name) is not None


def is_file(name: str) -> bool:
    """Whether a path, under its name in a surface, can be a file that a run changes."""
    return _NO_FILE.fullmatch(name) is None and not is_own_log(name)


def directory_of(name: str) -> str:
    """The directory that a path stands in, with a slash at its end."""
    return name.rpartition("/")[0] + "/"


def endpoint(address: bytes, resolved: bytes | None, run_id: str, *, other_root: bool) -> Endpoint | None:
    """None for what has no peer: no name, or the kernel."""
    family, colon, rest = text(address).partition(":")
    if family == "unix":
        if not rest:
            return None
        if rest.startswith("@"):
            return Endpoint(rest.replace(run_id, "RUN_ID"), is_unix=True, is_internet=False)
        where = resolved or address.partition(b":")[2]
        return Endpoint(path_name(where, run_id, other_root=other_root), is_unix=True, is_internet=False)
    if family in _INTERNET:
        host, _, port = rest.rpartition(":")
        return Endpoint(f"{_bracketed(host_name(host))}:{port}", is_unix=False, is_internet=True)
    whole = f"{family}{colon}{rest}"
    return Endpoint(whole, is_unix=False, is_internet=False) if has_peer(whole) else None


def has_peer(address: str) -> bool:
    """Whether an address is one of somebody: not the kernel's, nor the end of a connection."""
    return address not in _NO_PEER


def host_name(host: str) -> str:
    """An address without brackets; one of IPv4 that is written as IPv6 is told as IPv4."""
    plain = host.removeprefix("[").removesuffix("]")
    mapped = plain.removeprefix(_MAPPED)
    return mapped if mapped != plain and "." in mapped else plain


def host_of(name: str) -> str:
    """The address in the name of an endpoint."""
    return host_name(name.rpartition(":")[0])


def domain_name(name: bytes) -> str:
    """A name that was asked for. DNS does not tell capitals from small letters."""
    return text(name).lower().removesuffix(".")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


WORDS = {"cwd": "$RUN_CWD", "home": "$HOME", "tmp": "$TMP"}
_PATHS = ("filesystem_prefixes", "filesystem_paths", "process_execs")
_OWN_PATHS = ("files", "execs", "unix_sockets")


def project(surface: Mapping[str, Any], roots: Mapping[str, str | None]) -> dict[str, Any]:
    ordered = _ordered(roots)
    own = surface["steno"]
    return {
        **surface,
        **{name: _projected_all(surface[name], ordered) for name in _PATHS},
        "steno": {
            **own,
            **{
                group: {act: _projected_all(names, ordered) for act, names in own[group].items()}
                for group in _OWN_PATHS
            },
            "roots": {name: None if roots.get(name) is None else word for name, word in WORDS.items()},
        },
    }


def projected(name: str, roots: Iterable[tuple[str, str]]) -> str:
    """One name; `roots` are pairs of a root and its word, in the order in which they are tried."""
    for root, word in roots:
        if name == root or name.startswith(f"{root}/"):
            return word + name[len(root) :]
    return name


def _ordered(roots: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """The root directory itself is everybody's, so it stands for nothing."""
    found = [(roots.get(name) or "", word) for name, word in WORDS.items()]
    plain = [(root.rstrip("/"), word) for root, word in found if root.startswith("/")]
    return sorted((pair for pair in plain if pair[0]), key=lambda pair: -len(pair[0]))


def _projected_all(names: Iterable[str], roots: list[tuple[str, str]]) -> list[str]:
    return sorted({projected(name, roots) for name in names})
