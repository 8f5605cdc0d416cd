"""The eBPF object that is committed: made of the sources beside it, and of one mind with its reader."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from steno.capture import observer

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "native" / "probe"
OBJECT = SOURCES / "probe.bpf.o"
RUNNING = Path("/sys/kernel/btf/vmlinux")
# Another clang makes other bytes of the same sources.
MADE_BY_CLANG = "14."
SHARED = ("probe_record", "probe_part", "probe_file", "probe_shape", "probe_shapes", "probe_constants")
# Times of a file, by the age of the kernel: one of these is there.
EITHER = ("i_mtime_sec", "__i_mtime", "i_mtime")

needs_bpftool = pytest.mark.skipif(shutil.which("bpftool") is None, reason="bpftool is not installed")


def _clang_version() -> str | None:
    if shutil.which("clang") is None or shutil.which("llvm-strip") is None:
        return None
    told = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True, timeout=60)
    found = re.search(r"clang version (\S+)", told.stdout)
    return found[1] if found else None


def test_the_object_is_what_its_sources_make(tmp_path: Path) -> None:
    version = _clang_version()
    if version is None or not version.startswith(MADE_BY_CLANG):
        pytest.skip(f"the object was made by clang {MADE_BY_CLANG}x, here is {version or 'none'}")
    made = tmp_path / "probe.bpf.o"
    subprocess.run(["sh", SOURCES / "make-object.sh", made], check=True, timeout=120)
    assert made.read_bytes() == OBJECT.read_bytes(), "run `make bpf`"


def test_the_object_names_no_place_of_the_machine_that_made_it() -> None:
    assert not re.search(rb"/(home|root|work|tmp|build)/", OBJECT.read_bytes())


# --- types ----------------------------------------------------------------------------------------------


@functools.cache
def types_in(file: Path) -> dict[int, dict[str, Any]]:
    """The types of an object or a kernel, by number."""
    dumped = subprocess.run(
        ["bpftool", "--json", "btf", "dump", "file", str(file), "format", "raw"],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return {entry["id"]: entry for entry in json.loads(dumped.stdout)["types"]}


def structs_in(file: Path) -> dict[str, dict[str, Any]]:
    return {
        entry["name"]: entry
        for entry in types_in(file).values()
        if entry["kind"] == "STRUCT" and entry["name"] != "(anon)"
    }


def fields_of(struct: dict[str, Any], file: Path) -> set[str]:
    """Its fields, and those of structs and unions in it that have no name."""
    names = set()
    for member in struct["members"]:
        inner = types_in(file)[member["type_id"]]
        if member["name"] in {"", "(anon)"}:
            names |= fields_of(inner, file)
        else:
            names.add(member["name"])
    return names


@needs_bpftool
def test_what_the_object_shares_lies_where_the_reader_looks_for_it(tmp_path: Path) -> None:
    placed = _placed(OBJECT)
    assert {"probe_record", "probe_shape", "probe_constants"} <= set(placed)
    assert _as_c_has_it(placed, tmp_path) == placed


@needs_bpftool
@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
def test_what_is_shared_lies_in_the_kernel_as_it_does_here(tmp_path: Path) -> None:
    """All of it: of a type that only functions use, the object says nothing."""
    source, made = tmp_path / "all.c", tmp_path / "all.o"
    source.write_text('#include "record.h"\n' + "".join(f"struct {name} a_{name};\n" for name in SHARED))
    words = ["clang", "-g", "-O2", "-target", "bpf", f"-I{SOURCES}", "-c", str(source), "-o", str(made)]
    subprocess.run(words, check=True, timeout=60)
    placed = _placed(made)
    assert set(SHARED) <= set(placed)
    assert _as_c_has_it(placed, tmp_path) == placed


def _placed(file: Path) -> dict[str, int]:
    """Where each field of what is shared lies, and how large it is as a whole."""
    there = {name: struct for name, struct in structs_in(file).items() if name in SHARED}
    fields = {
        f"{name}.{member['name']}": member["bits_offset"] // 8
        for name, struct in there.items()
        for member in struct["members"]
    }
    return fields | {name: struct["size"] for name, struct in there.items()}


def _as_c_has_it(names: dict[str, int], folder: Path) -> dict[str, int]:
    lines = []
    for name in names:
        struct, _, field = name.partition(".")
        value = f"offsetof(struct {struct}, {field})" if field else f"sizeof(struct {struct})"
        lines.append(f'printf("{name} %zu\\n", {value});\n')
    source, program = folder / "placed.c", folder / "placed"
    headers = "".join(f"#include {name}\n" for name in ("<stddef.h>", "<stdio.h>", '"record.h"'))
    source.write_text(f"{headers}int main(void)\n{{\n{''.join(lines)}}}\n")
    subprocess.run(["gcc", "-std=gnu11", f"-I{SOURCES}", source, "-o", program], check=True, timeout=60)
    told = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout
    return {name: int(number) for name, number in (line.split() for line in told.splitlines())}


@needs_bpftool
@pytest.mark.skipif(not RUNNING.exists(), reason="this kernel does not tell its types")
def test_what_the_probe_looks_into_is_in_the_running_kernel() -> None:
    declared = (SOURCES / "kernel_types.h").read_text()
    fitted = re.findall(r"^struct (\w+) \{\n((?: {4}.*\n)+)\} FITTED;", declared, re.MULTILINE)
    assert {"task_struct", "file", "dentry"} <= {name for name, _ in fitted}
    here, ours = structs_in(RUNNING), structs_in(OBJECT)
    times = fields_of(here["inode"], RUNNING) & set(EITHER)
    assert times, "how this kernel keeps the times of a file is not known to the probe"
    for name, _ in fitted:
        if "___" in name or name not in ours:  # how another kernel has it; or only named
            continue
        wanted = fields_of(ours[name], OBJECT)
        if name == "inode" and "i_mtime_sec" not in times:
            wanted = {field for field in wanted if not re.match("i_[mc]time_n?sec", field)}
        assert wanted <= fields_of(here[name], RUNNING), name


# --- words ----------------------------------------------------------------------------------------------


def test_the_states_of_a_handover_have_the_words_that_the_recorder_knows() -> None:
    header = (SOURCES / "handover.h").read_text()
    (body,) = re.findall(r"enum probe_state \{(.*?)\};", header, re.DOTALL)
    names = re.findall(r"PROBE_(\w+)", re.sub(r"/\*.*?\*/", "", body))
    assert {number: name.lower() for number, name in enumerate(names)} == observer.STATES
    loader = (SOURCES / "loader.c").read_text()
    (words,) = re.findall(r"words_of_states\[\] = \{(.*?)\};", loader, re.DOTALL)
    assert re.findall(r'"(\w+)"', words) == list(observer.STATES.values())
