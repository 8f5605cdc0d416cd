"""The installed program, as a user would start it, and what is the same wherever a test starts it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

PROGRAM = Path(sys.executable).with_name("steno")
SECONDS = 60.0
IDENTITY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-01-25T12:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-25T12:00:00Z",
}


class Steno(Protocol):
    def __call__(
        self,
        *words: str | Path,
        input: bytes | None = None,  # noqa: A002 - the name that subprocess.run uses
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]: ...
