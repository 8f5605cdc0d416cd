"""A place for programs in JavaScript that use the npm packages of the tests and our own package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.machine import FILESYSTEM_SERVER, NODE_MODULES, ROOT

SHIM = ROOT / "shims" / "openai-agents-js"

needs_openai_agents_js = pytest.mark.skipif(
    shutil.which("node") is None or not (NODE_MODULES / "@openai" / "agents").exists(),
    reason="node and the npm package @openai/agents are needed",
)
needs_filesystem_server = pytest.mark.skipif(
    not FILESYSTEM_SERVER.exists(), reason="the npm package @modelcontextprotocol/server-filesystem is needed"
)


def placed(program: Path, place: Path) -> Path:
    """The program in a new directory, with the packages of the tests and ours as npm would install it."""
    packages = place / "node_modules"
    packages.mkdir(parents=True)
    (packages / "@openai").symlink_to(NODE_MODULES / "@openai")
    shutil.copytree(SHIM, packages / "steno-openai-agents")
    return Path(shutil.copy(program, place))
