"""Builds steno-trace and steno-probe when a wheel is made, also an editable one.

In: the sources in `native`. Out: the programs and the eBPF object in the wheel, and a wheel for this kind of
machine. They are built in a temporary directory, since the sources may be another user's; an editable wheel
leads into the sources, so there they are built in `src/steno/native`. What cannot be built is left out, with
a note for the user and a file for `steno doctor`; such runs have no kernel layer. Never fails the build.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

IN_SOURCES = "src/steno/native"
IN_WHEEL = "steno/native"
PROGRAMS = ("steno-trace", "steno-probe")
OBJECT = "probe.bpf.o"
WHY_NOT = "not-built.txt"  # read by steno.capture.observer
MOST_SAID = 8000  # of what the compiler said


class NativeBuildHook(BuildHookInterface):
    _temporary: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or not sys.platform.startswith("linux"):
            return
        if version == "editable":
            self._build(Path(self.root) / IN_SOURCES)
            return
        self._temporary = tempfile.TemporaryDirectory(prefix="steno-native-")
        place = Path(self._temporary.name)
        self._build(place)
        made = {path.name for path in place.iterdir()}
        build_data["force_include"].update({str(place / name): f"{IN_WHEEL}/{name}" for name in made})
        if made.intersection(PROGRAMS):
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's signature
        if self._temporary is not None:
            self._temporary.cleanup()

    def _build(self, place: Path) -> None:
        native = Path(self.root) / "native"
        reasons, said = [], []
        for program in PROGRAMS:
            built = subprocess.run(
                [sys.executable, native / "compile.py", place / program],
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                check=False,
            )
            sys.stderr.write(built.stderr)
            if built.returncode:
                *before, reason = built.stderr.splitlines() or ["it could not be compiled"]
                reasons.append(f"{program}: {reason.partition(' is not built: ')[2] or reason}")
                said += before
        with suppress(OSError):  # a place that takes no program takes no object and no reasons either
            shutil.copyfile(native / "probe" / OBJECT, place / OBJECT)
            (place / WHY_NOT).unlink(missing_ok=True)
            if reasons:
                text = "\n".join([*reasons, "", *said])
                (place / WHY_NOT).write_text(text[:MOST_SAID] + "\n", encoding="utf-8")
        for reason in reasons:
            lacking = (
                "WITHOUT A KERNEL LAYER: files, processes and connections will NOT be recorded"
                if reason.startswith(PROGRAMS[0])
                else "without its eBPF probe, which root would use"
            )
            self._warn(
                f"steno: WARNING: installed {lacking} ({reason}); "
                "run: apt-get install gcc libc6-dev, then install again"
            )

    def _warn(self, message: str) -> None:
        """Also past pip, which shows nothing of a build that succeeds."""
        self.app.display_warning(message)
        with suppress(OSError), open("/dev/tty", "w", encoding="utf-8") as terminal:  # noqa: PTH123 - not a file
            terminal.write(f"{message}\n")
