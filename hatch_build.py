"""Builds steno-trace into the package when a wheel is made, also an editable one.

In: the sources in `native`. Out: `src/steno/native/steno-trace` and a wheel for this kind of machine; where
it cannot be built, a note and a wheel for any machine, whose runs have no kernel layer. Never fails
the build.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "src/steno/native/steno-trace"


class NativeBuildHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        if self.target_name != "wheel" or not sys.platform.startswith("linux"):
            return
        root = Path(self.root)
        built = subprocess.run([sys.executable, root / "native" / "compile.py", root / PROGRAM], check=False)
        if built.returncode:
            self.app.display_warning("steno: installed without steno-trace; `steno doctor` tells what to do")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"].append(PROGRAM)
