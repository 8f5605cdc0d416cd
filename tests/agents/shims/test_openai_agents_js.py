"""Our package for `@openai/agents` keeps its promises: `openai_agents_js.test.mjs`, run by node itself."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from steno import __version__
from support.javascript import SHIM, needs_openai_agents_js, placed
from support.program import SECONDS

PROMISES = Path(__file__).with_name("openai_agents_js.test.mjs")


@needs_openai_agents_js
def test_the_package_keeps_every_promise(tmp_path: Path) -> None:
    program = placed(PROMISES, tmp_path / "place")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# fail 0" in done.stdout
    assert "# pass 0" not in done.stdout


def test_the_package_names_the_files_it_has_and_our_version() -> None:
    package = json.loads((SHIM / "package.json").read_text())
    assert package["version"] == __version__
    assert sorted([*package["files"], "package.json"]) == sorted(path.name for path in SHIM.iterdir())
