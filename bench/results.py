"""Every sample of a bench, in a file that is whole at any moment.

In: rows, each as soon as it is measured. Out: one JSON file, replaced with every row: a bench that is killed
has lost the row it was at and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Results:
    def __init__(self, machine: Mapping[str, str], file: Path | None) -> None:
        self._kept: dict[str, Any] = {"machine": dict(machine)}
        self._file = file

    def add(self, section: str, row: Mapping[str, Any]) -> None:
        self._kept.setdefault(section, []).append(dict(row))
        if self._file is None:
            return
        unfinished = self._file.with_name(f"{self._file.name}.unfinished")
        unfinished.write_text(json.dumps(self._kept, indent=1) + "\n")
        unfinished.replace(self._file)
