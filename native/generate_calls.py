"""Makes the tables of system calls from `syscalls.toml` and the numbers of each machine.

Refuses a call without a class or with two, a class without a call, and words that it does not know.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
MACHINES = ("x86_64", "i386", "aarch64")
GUARDS = {"x86_64": "__x86_64__", "i386": "__x86_64__", "aarch64": "__aarch64__"}
POSITIONS = ("dir", "path", "flags", "arg", "arg2", "dir2", "path2")
TRAITS = ("nofollow", "at_nofollow", "at_follow", "empty", "null", "many")
EFFECTS = ("none", "look", "open", "change", "move")
PROBE = ("stop", "pass", "blind", "if_changing", "if_leaving", "if_attaching", "if_ending", "if_binding")
WORDS = {*POSITIONS, "op", "says", "serve", "effect", "probe", "when", "traits"}
_WIDTH = 104
_NOTICE = "made by native/generate.py from native/syscalls.toml; change that and run it again"


class Call(NamedTuple):
    number: int
    name: str
    group: str  # recorded | counted | unseen
    why: str  # what a counted call concerns, why another is not seen
    row: Mapping[str, Any]  # of a recorded call


class TableError(Exception):
    """The description of the system calls contradicts itself or the numbers."""


def tables() -> tuple[dict[str, Any], dict[str, list[Call]]]:
    described = tomllib.loads((HERE / "syscalls.toml").read_text())
    return described, {machine: calls_of(machine, described, numbers(machine)) for machine in MACHINES}


def numbers(machine: str) -> dict[int, str]:
    lines = (HERE / "numbers" / f"{machine}.tsv").read_text().splitlines()
    found = dict(line.split("\t") for line in lines)
    return {int(number): name for number, name in found.items()}


def calls_of(machine: str, described: Mapping[str, Any], named: Mapping[int, str]) -> list[Call]:
    classes = _classes(described)
    calls = []
    for number, name in sorted(named.items()):
        found = classes.get(f"{machine}:{name}") or classes.get(name)
        if found is None:
            raise TableError(f"{machine} {number} {name} has no class in syscalls.toml")
        calls.append(Call(number, name, *found))
    return calls


def _classes(described: Mapping[str, Any]) -> dict[str, tuple[str, str, Mapping[str, Any]]]:
    """The class of every name, each exactly once."""
    found: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for name, group, why, row in _described(described):
        if name in found:
            raise TableError(f"{name} is in syscalls.toml twice: {found[name][0]} and {group}")
        found[name] = (group, why, row)
    known = {name for machine in MACHINES for name in numbers(machine).values()}
    strangers = {name.rpartition(":")[2] for name in found} - known
    if strangers:
        raise TableError(f"no machine has these calls: {', '.join(sorted(strangers))}")
    return found


def _described(described: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    for name, row in described["recorded"].items():
        if not (
            row.keys() <= WORDS
            and set(row.get("traits", ())) <= set(TRAITS)
            and row.get("effect", "none") in EFFECTS
            and row.get("probe", "stop") in PROBE
            and "serve" in row
            and ("op" in row or "says" in row)
        ):
            raise TableError(f"{name}: a word of {row} is not known")
        if row.get("when", "always") not in described["when"]:
            raise TableError(f"{name}: there is no condition {row['when']}")
        yield name, "recorded", "", row
    for group, told_in in (("counted", "concerns"), ("unseen", "reasons")):
        for why, names in described[group].items():
            if why not in described[told_in]:
                raise TableError(f"{group} {why} is not explained in [{told_in}]")
            for name in names:
                yield name, group, why, {}


def calls_header(described: Mapping[str, Any], known: Mapping[str, list[Call]]) -> str:
    handlers = dict.fromkeys(row["serve"] for row in described["recorded"].values())
    lines = [
        f"/* {_NOTICE} */",
        "#ifndef STENO_CALLS_H",
        "#define STENO_CALLS_H",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "struct stop;",
        "typedef void handler(struct stop *stop);",
        *(f"handler {name};" for name in handlers),
        "/* One of each, for tests that serve nobody. */",
        " \\\n".join(["#define HANDLERS(EACH)", *(f"    EACH({name})" for name in handlers)]),
        "",
        "enum call_class { CALL_RECORDED = 1, CALL_COUNTED = 2 };",
        "",
        "/* When the filter stops a call. */",
        "enum call_when {",
        *(f"    WHEN_{name.upper()} = {at}," for at, name in enumerate(described["when"])),
        "};",
        "",
        "/* What a call may do to what it names, and what the probe does about it. */",
        "enum call_effect {",
        *(f"    EFFECT_{name.upper()} = {at}," for at, name in enumerate(EFFECTS)),
        "};",
        "enum call_beside_probe {",
        *(f"    BESIDE_{name.upper()} = {at}," for at, name in enumerate(PROBE)),
        "};",
        "",
        "/* How the path is meant; native/syscalls.toml tells. */",
        "enum call_trait {",
        *(f"    TRAIT_{name.upper()} = {1 << at}," for at, name in enumerate(TRAITS)),
        "};",
        "",
        "/* Positions of arguments, or -1. */",
        "struct call {",
        "    uint16_t number;",
        "    uint8_t class;",
        "    uint8_t when;",
        "    uint8_t effect;",
        "    uint8_t beside;",
        "    uint16_t op; /* 0: the handler decides */",
        "    handler *serve; /* NULL for a counted call */",
        f"    int8_t {', '.join(POSITIONS)};",
        "    uint8_t traits;",
        "};",
        "",
        "/* The calls that are stopped, by number. A number above the highest is unknown: counted. */",
        "struct call_table {",
        "    const struct call *calls;",
        "    size_t count;",
        "    uint32_t highest;",
        "};",
        "",
        *(f"#define CALLS_HIGHEST_{machine.upper()} {known[machine][-1].number}u" for machine in MACHINES),
    ]
    for guard in dict.fromkeys(GUARDS.values()):
        named = (machine for machine in MACHINES if GUARDS[machine] == guard)
        lines += ["", f"#if defined({guard})"]
        lines += [f"extern const struct call_table calls_{machine};" for machine in named]
        lines.append("#endif")
    return "\n".join([*lines, "", "#endif", ""])


def calls_source(known: Mapping[str, list[Call]]) -> str:
    none = ", ".join("-1" for _ in POSITIONS)
    always = "WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS"
    lines = [
        f"/* {_NOTICE} */",
        '#include "calls.h"',
        '#include "wire.h"',
        "",
        f"#define COUNTED(number) {{number, CALL_COUNTED, {always}, 0, NULL, {none}, 0}}",
    ]
    for machine, calls in known.items():
        stopped = [call for call in calls if call.group != "unseen"]
        lines += ["", f"#if defined({GUARDS[machine]})", f"static const struct call {machine}[] = {{"]
        lines += [f"    {line}" for line in _c_lines(stopped)]
        lines += [
            "};",
            "",
            f"const struct call_table calls_{machine} = {{",
            f"    {machine}, sizeof {machine} / sizeof *{machine}, CALLS_HIGHEST_{machine.upper()}",
            "};",
            "#endif",
        ]
    return "\n".join([*lines, ""])


def _c_lines(stopped: list[Call]) -> Iterator[str]:
    """A line a recorded call, and one for counted calls that follow each other."""
    for group, calls in groupby(stopped, key=lambda call: call.group):
        if group == "recorded":
            yield from (_c_row(call) for call in calls)
        else:
            rows = " ".join(f"COUNTED({call.number} /* {call.name} */)," for call in calls)
            yield from textwrap.wrap(rows, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _c_row(call: Call) -> str:
    row = call.row
    op = f"OP_{row['op'].upper()}" if "op" in row else "0"
    traits = " | ".join(f"TRAIT_{name.upper()}" for name in row.get("traits", ())) or "0"
    effect = row.get("effect", "none")
    beside = row.get("probe", "pass" if effect == "look" else "stop")
    cells = [
        str(call.number),
        "CALL_RECORDED",
        f"WHEN_{row.get('when', 'always').upper()}",
        f"EFFECT_{effect.upper()}",
        f"BESIDE_{beside.upper()}",
        op,
        row["serve"],
        *(str(row.get(position, -1)) for position in POSITIONS),
        traits,
    ]
    return f"{{{', '.join(cells)}}}, /* {call.name} */"


def names_module(known: Mapping[str, list[Call]]) -> str:
    lines = [
        '"""The names of the system calls of each machine, by number.',
        "",
        f"{_NOTICE.capitalize()}.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "# A number is that of the name after it; the names that follow have the numbers that follow.",
        "_TEXTS = {",
    ]
    for machine, calls in known.items():
        text = textwrap.wrap(" ".join(_counted_on(calls)), _WIDTH, break_on_hyphens=False)
        lines += [f'    "{machine}": """', *text, '""",']
    return "\n".join([*lines, "}", _READ_NAMES])


def _counted_on(calls: list[Call]) -> Iterator[str]:
    following = -1
    for call in calls:
        if call.number != following:
            yield str(call.number)
        yield call.name
        following = call.number + 1


_READ_NAMES = """

def _numbered(text: str) -> dict[int, str]:
    found = {}
    number = 0
    for word in text.split():
        if word.isdigit():
            number = int(word)
        else:
            found[number] = word
            number += 1
    return found


NAMES: dict[str, dict[int, str]] = {machine: _numbered(text) for machine, text in _TEXTS.items()}
"""


def coverage_tables(described: Mapping[str, Any], known: Mapping[str, list[Call]]) -> str:
    """Every call with its number on each machine, in alphabetical order."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for machine, calls in known.items():
        for call in calls:
            found.setdefault((call.name, _treatment(call, described)), {})[machine] = call.number
    lines = [
        *_totals(known),
        "",
        f"| call | {' | '.join(MACHINES)} | what becomes of it |",
        f"|{' --- |' * (len(MACHINES) + 2)}",
    ]
    for (name, says), where in sorted(found.items(), key=lambda item: (item[0][0].lstrip("_"), item[0])):
        cells = [f"`{name}`", *(str(where.get(machine, "")) for machine in MACHINES), says]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _totals(known: Mapping[str, list[Call]]) -> list[str]:
    lines = ["| | recorded | counted | unseen |", "| --- | --- | --- | --- |"]
    for machine, calls in known.items():
        many = Counter(call.group for call in calls)
        lines.append(f"| {machine} | {many['recorded']} | {many['counted']} | {many['unseen']} |")
    return lines


def _treatment(call: Call, described: Mapping[str, Any]) -> str:
    if call.group == "unseen":
        return f"unseen: {described['reasons'][call.why]}"
    if call.group == "counted":
        return f"counted: {described['concerns'][call.why]}"
    says = call.row.get("says") or f"recorded as `{call.row['op']}`"
    return f"{says} {described['when'][call.row.get('when', 'always')]}".rstrip()
