"""axe-core, which judges whether everybody can use a page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from support.machine import NODE_MODULES

_AXE = NODE_MODULES / "axe-core" / "axe.min.js"
_SERIOUS = {"serious", "critical"}


def is_there() -> bool:
    return _AXE.exists()


needs_axe = pytest.mark.skipif(
    not is_there(),
    reason="not installed, `make packages` does it where npm is: axe-core",
)


def load_axe(page: Page) -> None:
    """By the debugger's way, which the policy of the page does not stop."""
    page.evaluate(_AXE.read_text(encoding="utf-8"))


def findings(page: Page, where: str = "html", rules: list[str] | None = None) -> list[str]:
    """What axe-core calls serious or critical, each with the elements it is about."""
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    result = page.evaluate("([where, options]) => axe.run(where, options)", [where, options])
    return [
        f"{one['impact']}: {one['id']}: {node['target']}: {node['failureSummary']}"
        for one in result["violations"]
        if one["impact"] in _SERIOUS
        for node in one["nodes"][:3]
    ]
