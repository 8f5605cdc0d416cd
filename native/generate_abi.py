"""The numbers of `linux_abi.toml` as Python."""

from __future__ import annotations

from typing import Any


def python_module(abi: dict[str, Any], notice: str) -> str:
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
