"""A run of the tests without what npm should have installed is not taken for a whole one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("required", "status"), [("", 0), ("0", 0), ("1", 1)])
@pytest.mark.parametrize("npm", ["fails", "is missing"])
def test_what_cannot_be_installed_is_a_failure_where_it_is_required(
    tmp_path: Path, npm: str, required: str, status: int
) -> None:
    (tmp_path / "bin").mkdir()
    for program in ("cat", "timeout"):
        (tmp_path / "bin" / program).symlink_to(f"/usr/bin/{program}")
    if npm == "fails":
        (tmp_path / "bin" / "npm").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "bin" / "npm").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", ROOT / "tests" / "install-packages.sh", tmp_path, "some-package"],
        env={**os.environ, "PATH": str(tmp_path / "bin"), "STENO_REQUIRE_PACKAGES": required},
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == status
    assert b"skipped" in done.stderr
