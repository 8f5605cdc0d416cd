"""Runs all tests of the working directory on two workers, then the few that failed there once more, alone.

The suite drives real processes, terminals and browsers on machines that others use, too. What fails twice is
a failure. What fails only beside the others is *unsteady*, a race in Steno or in the test that somebody has
to find: it is named in the last lines, and more than a few are a failure as well. Nothing else is forgiven.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PYTEST = [sys.executable, "-m", "pytest", "-m", "not soak"]
BESIDE_EACH_OTHER = ["-n", "2", "--dist", "worksteal"]
ALONE = ["--last-failed", "--last-failed-no-failures", "none"]
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
SOME_FAILED = 1
MOST_UNSTEADY = 5


def main() -> int:
    LAST_FAILED.unlink(missing_ok=True)
    first = subprocess.run([*PYTEST, *BESIDE_EACH_OTHER], check=False).returncode
    failed = sorted(json.loads(LAST_FAILED.read_bytes())) if first == SOME_FAILED else []
    if not 0 < len(failed) <= MOST_UNSTEADY:
        return first
    print(f"{len(failed)} failed beside the others and are run once more, alone", flush=True)
    second = subprocess.run([*PYTEST, *ALONE], check=False).returncode
    if second == 0:
        for name in failed:
            print(f"unsteady: {name}")
    return second


if __name__ == "__main__":
    sys.exit(main())
