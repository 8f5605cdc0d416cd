"""Makes the C tables, what Python and the page mirror of them, and the page on coverage, of `wire.toml`,
`syscalls.toml` and `linux_abi.toml`.

Run with `--write` after a change of one; without it, says what is stale and exits with 1. One description,
so that the program that writes frames and the one that reads them cannot disagree.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import generate_calls

HERE = Path(__file__).parent
ROOT = HERE.parent
C_TYPES = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "i16": "int16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i64": "int64_t",
}
CODES = {"u8": "B", "u16": "H", "i16": "h", "u32": "I", "u64": "Q", "i64": "q"}
SIZES = {"u8": 1, "u16": 2, "i16": 2, "u32": 4, "u64": 8, "i64": 8}
NOTICE = "made by native/generate.py from native/{}; change that and run it again"

TABLES_BELOW = "<!-- below this line: made by native/generate.py from native/syscalls.toml -->\n\n"


def wire_header(wire: dict[str, Any]) -> str:
    lines = [
        f"/* {NOTICE.format('wire.toml')} */",
        "#ifndef STENO_WIRE_H",
        "#define STENO_WIRE_H",
        "#include <stdint.h>",
        "",
    ]
    lines.append(f"#define WIRE_VERSION {wire['version']}")
    lines += [f'#define FILE_{name.upper()} "{value}"' for name, value in wire["files"].items()]
    lines += [f"#define WIRE_{name.upper()} {_c_number(value)}" for name, value in wire["special"].items()]
    for group, prefix in (("notes", "NOTE"), ("features", "FEATURE"), ("content", "CONTENT")):
        lines.append("")
        lines += [f"#define {prefix}_{name.upper()} {value}u" for name, value in wire[group].items()]
    lines += ["", "enum op {"]
    lines += [f"    OP_{name.upper()} = {op['code']}," for name, op in wire["ops"].items()]
    lines += [
        "};",
        "",
        "/* Whether a call may change what it names. */",
        "static inline int op_changes(enum op op)",
        "{",
    ]
    lines += ["    switch (op) {"]
    lines += [f"    case OP_{name.upper()}:" for name, op in wire["ops"].items() if op.get("changes")]
    lines += ["        return 1;", "    default:", "        return 0;", "    }", "}"]
    for record, fields in wire["records"].items():
        lines += ["", f"struct wire_{record} {{"]
        lines += [f"    {_c_field(name, kind)}" for name, kind in fields.items()]
        lines += ["};", f'_Static_assert(sizeof(struct wire_{record}) == {_size(fields)}, "no padding");']
    return "\n".join([*lines, "", "#endif", ""])


def _c_number(value: int) -> str:
    return f"{value:#x}ull" if value >= 1 << 32 else str(value)


def _c_field(name: str, kind: str) -> str:
    base, count = _kind(kind)
    return f"{C_TYPES[base]} {name}[{count}];" if "[" in kind else f"{C_TYPES[base]} {name};"


def _kind(kind: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", kind)
    if found is None:
        raise ValueError(kind)
    return found[1], int(found[2] or 1)


def _size(fields: dict[str, str]) -> int:
    return sum(SIZES[base] * count for base, count in map(_kind, fields.values()))


def wire_codec(wire: dict[str, Any]) -> str:
    lines = [
        '"""The records that steno-trace writes, as Python reads them.',
        "",
        f"{NOTICE.format('wire.toml').capitalize()}.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "import struct",
        "from typing import NamedTuple",
        "",
        f"VERSION = {wire['version']}",
        *(f'{name.upper()}_FILE = "{value}"' for name, value in wire["files"].items()),
        *(
            f"{name.upper()} = 0x{value:X}" if name == "magic" else f"{name.upper()} = {value}"
            for name, value in wire["special"].items()
        ),
    ]
    for record, fields in wire["records"].items():
        codes = "".join(
            f"{count if '[' in kind else ''}{CODES[base]}".replace("16B", "16s")
            for kind, (base, count) in ((kind, _kind(kind)) for kind in fields.values())
        )
        lines += [f'{record.upper()} = struct.Struct("<{codes}")']
    for group in ("notes", "features", "content"):
        lines += ["", f"{group.upper()} = {{"]
        lines += [f'    "{name}": {value},' for name, value in wire[group].items()]
        lines.append("}")
    for record in ("event", "state"):
        lines += ["", "", f"class {record.capitalize()}(NamedTuple):"]
        lines += [f"    {name}: int" for name in wire["records"][record]]
    scalars = [name for name, kind in wire["records"]["header"].items() if "[" not in kind]
    lines += [
        "",
        "",
        "class Header(NamedTuple):",
        *(f"    {name}: int" for name in scalars),
        "    nonce: bytes",
        "    counted: tuple[int, ...]",
    ]
    lines += [
        "",
        "",
        "class Op(NamedTuple):",
        "    name: str",
        "    code: int",
        "    category: str",
        "    changes: bool",
        "    arg: str",
        "    arg2: str",
        "    extra: str",
    ]
    lines += ["", "", "OPS = {", "    op.code: op", "    for op in ("]
    for name, op in wire["ops"].items():
        words = ", ".join(f'"{op.get(key, "")}"' for key in ("arg", "arg2", "extra"))
        lines.append(
            f'        Op("{name}", {op["code"]}, "{op["category"]}", {op.get("changes", False)}, {words}),'
        )
    lines += ["    )", "}", ""]
    return "\n".join(lines)


def abi_module(abi: dict[str, Any], notice: str) -> str:
    lines = ['"""Numbers of Linux, as a record holds them: never those of the machine that reads it.', ""]
    lines += [f"{notice.capitalize()}.", '"""', "", "from __future__ import annotations", "", "ERRORS = {"]
    lines += [f'    {number}: "{name}",' for name, number in abi["errors"].items()]
    lines += ["}", "SIGNALS = {"]
    lines += [f'    {number}: "{name}",' for name, number in abi["signals"].items()]
    lines += ["}", "# Flags of open(2), and of those the ones that a machine has otherwise."]
    lines += [f"{name} = {_octal(number)}" for name, number in abi["open_flags"].items()]
    lines.append("OPEN_FLAGS_OF = {")
    for machine, flags in abi["open_flags_of"].items():
        told = ", ".join(f'"{name}": {_octal(number)}' for name, number in flags.items())
        lines.append(f'    "{machine}": {{{told}}},')
    return "\n".join([*lines, "}", ""])


def _octal(number: int) -> str:
    return f"0o{number:o}"


def main() -> int:
    outputs = {ROOT / path: text for path, text in generated().items()}
    stale = [path for path, text in outputs.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if "--write" in sys.argv:
            path.write_text(outputs[path])
        else:
            print(f"{path.relative_to(ROOT)} is stale: run `python native/generate.py --write`")
    return 0 if "--write" in sys.argv or not stale else 1


def generated() -> dict[str, str]:
    wire = tomllib.loads((HERE / "wire.toml").read_text())
    abi = tomllib.loads((HERE / "linux_abi.toml").read_text())
    described, known = generate_calls.tables()
    intro = (ROOT / "docs" / "coverage.md").read_text().partition(TABLES_BELOW)[0]
    return {
        "native/generated/wire.h": wire_header(wire),
        "src/steno/evidence/wire.py": wire_codec(wire),
        "native/generated/calls.h": generate_calls.calls_header(described, known),
        "native/generated/calls.c": generate_calls.calls_source(known),
        "docs/coverage.md": intro + TABLES_BELOW + generate_calls.coverage_tables(described, known),
        "src/steno/evidence/calls.py": generate_calls.names_module(known),
        "src/steno/evidence/linux_abi.py": abi_module(abi, NOTICE.format("linux_abi.toml")),
    }


if __name__ == "__main__":
    sys.exit(main())
