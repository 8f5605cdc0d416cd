"""Writes what rules and views say in TypeScript for the pages: `python docs/generate_words.py --write`."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from steno.evidence import wire
from steno.evidence.linux_abi import ERRORS, O_ACCMODE, O_CREAT, O_PATH, O_RDWR, O_TRUNC, O_WRONLY
from steno.evidence.linux_numbers import may_have_connected
from steno.judge import surface_names
from steno.judge.operations import CHANGING_CALLS, OPENING
from steno.views.file_diff import WHY_NO_CONTENT
from steno.views.health import CORRELATION, NO_SCOPE, WITNESSES

SPEC = Path(__file__).parent / "spec.md"
MODULE = Path(__file__).parents[1] / "web" / "src" / "made" / "words.ts"
NOTES = {
    "path_unreadable": "the path could not be read",
    "path_cut": "it has no end within 4096 bytes",
    "compat": "a 32-bit call",
    "not_resolved": "the name is joined from words",
    "other_root": "a path in another root or mount namespace",
    "argv_cut": "the arguments are cut",
    "privilege_lost": "a set-user-id program lost its privilege",
    "refused": "refused by the observer",
    "no_access": "the process may not be inspected",
    "exchange": "an exchanging rename",
    "deleted": "the file had no name any more",
    "emptied": "a terminal was put on a watched descriptor",
    "by_probe": "told by the probe",
    "confirmed": "confirmed by the other witness",
    "late": "looked up after the call",
    "unconfirmed": "unconfirmed: only one witness saw it, and both should have",
}
_GAPS_ABOVE = "| reason of a `gap` | what is missing |"


def generated() -> str:
    return "\n".join(
        [
            "// What the rules take calls for, and the words of the views; made by docs/generate_words.py.",
            _table("ERRORS", {str(number): name for number, name in ERRORS.items()}),
            "/** What a call is about; an operation that is not here is of another kind. */",
            _table("CATEGORIES", {op.name: op.category for op in wire.OPS.values()}),
            "/** They may change what they name, whatever their arguments are. */",
            _set("CHANGING", sorted(CHANGING_CALLS)),
            "/** Whether they may depends on their flags. */",
            _set("OPENING", sorted(OPENING)),
            *_flags(),
            f"export const RESULT_FAILED = {wire.RESULT_FAILED};",
            "/** Errors of a connect that has led to a connection, or may have. */",
            _set(
                "MAY_HAVE_CONNECTED", (name for number, name in ERRORS.items() if may_have_connected(-number))
            ),
            "/** A path that is opened for writing and is no file: terminals, sinks, memory. */",
            _pattern("NO_FILE", vars(surface_names)["_NO_FILE"]),
            "/** In these, programs of the run tell the recorder something. */",
            _pattern("OWN_LOG", vars(surface_names)["_OWN_LOG"]),
            "/** The bits of `notes`, in words. */",
            f"export const NOTES: readonly (readonly [number, string])[] = [\n{''.join(_notes())}];",
            "/** What is missing from a record with this gap. */",
            _table("GAPS", _gaps()),
            "/** Who saw the calls. */",
            _table("WITNESSES", WITNESSES),
            "/** Why a run had no cgroup of its own. */",
            _table("NO_SCOPE", NO_SCOPE),
            _table("CORRELATION", CORRELATION),
            "/** Why a content was not kept. */",
            _table("WHY_NO_CONTENT", WHY_NO_CONTENT),
            "",
        ]
    )


def _flags() -> Iterator[str]:
    yield "/** How a file is opened: under these bits of the flags is one of these numbers, to write. */"
    yield f"export const ACCESS = {O_ACCMODE};"
    yield f"export const TO_WRITE: readonly number[] = [{O_WRONLY}, {O_RDWR}];"
    yield "/** It is made or emptied; only its name is opened. */"
    yield f"export const MAKES = {O_CREAT | O_TRUNC};"
    yield f"export const ONLY_NAMES = {O_PATH};"


def _notes() -> Iterator[str]:
    if NOTES.keys() != wire.NOTES.keys():
        raise ValueError(f"notes without words, or without a bit: {NOTES.keys() ^ wire.NOTES.keys()}")
    return (f"  [{bit}, {json.dumps(NOTES[name])}],\n" for name, bit in wire.NOTES.items())


def _gaps() -> dict[str, str]:
    table = SPEC.read_text(encoding="utf-8").partition(_GAPS_ABOVE)[2].partition("\n\n")[0]
    rows = r"^\| `(\w+)` \| (.*?)(?:; `lost_bytes` says how many)? \|$"
    return dict(re.findall(rows, table, re.MULTILINE))


def _table(name: str, words: Mapping[str, str]) -> str:
    lines = "".join(f"  {key}: {json.dumps(said)},\n" for key, said in words.items())
    return f"export const {name}: Record<string, string> = {{\n{lines}}};"


def _set(name: str, words: Iterable[str]) -> str:
    return (
        f"export const {name} = new Set([\n{''.join(f'  {json.dumps(word)},{chr(10)}' for word in words)}]);"
    )


def _pattern(name: str, pattern: re.Pattern[str]) -> str:
    """Rules know names in which what differs from run to run is a word; a page has them as recorded."""
    text = pattern.pattern
    for word, recorded in (
        (r"/proc/PID/", "/proc/(?:[0-9]+|self|thread-self)/"),
        (r"(?:N|ptmx)", "(?:[0-9]+|ptmx)"),
        (r"\[N\]", r"\[[0-9]+\]"),
        ("RUN_ID", "[^/]+"),
    ):
        text = text.replace(word, recorded)
    return f'export const {name} = new RegExp({json.dumps(f"^(?:{text})$")}, "s");'


if __name__ == "__main__":
    if "--write" in sys.argv:
        MODULE.write_text(generated(), encoding="utf-8")
    else:
        print(generated(), end="")
