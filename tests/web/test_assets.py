"""The script and the style of the report: made from web/ as it is, and by the rules of the house."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
ASSETS = ROOT / "src" / "steno" / "report" / "assets"
SOURCES = sorted((WEB / "src").rglob("*.ts"))
MOST_LINES = 400
MOST_BYTES = 700_000
SECONDS = 120
# Ways in which text becomes markup or a program.
MARKUP = re.compile(
    r"\.(inner|outer)HTML|insertAdjacentHTML|document\.write|\bDOMParser|createContextualFragment"
    r"|\beval\(|new Function\(|setTimeout\(\s*[\"'`]|setHTML"
)


def run_node(*arguments: object) -> str:
    found = subprocess.run(
        ["node", *map(str, arguments)], cwd=WEB, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def packages() -> None:
    """The packages that `make web` installs."""
    if shutil.which("node") and (WEB / "node_modules" / "esbuild").exists():
        return
    pytest.skip("the packages of web/package.json are needed: `make web` installs them")


@pytest.mark.usefixtures("packages")
def test_the_committed_files_are_what_the_sources_give(tmp_path: Path) -> None:
    run_node("build.mjs", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in ASSETS.iterdir()}
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (ASSETS / path.name).read_bytes(), f"{path.name} is old: run `make web`"


@pytest.mark.usefixtures("packages")
def test_the_sources_have_no_type_error() -> None:
    run_node("node_modules/typescript/bin/tsc", "-p", ".")


@pytest.mark.usefixtures("packages")
def test_the_pure_parts_do_what_their_own_tests_say() -> None:
    assert re.search(r"^# fail 0$", run_node("test.mjs"), re.MULTILINE)


def test_no_source_makes_markup_of_text() -> None:
    assert SOURCES
    for path in SOURCES:
        assert MARKUP.search(re.sub(r"//.*", "", path.read_text())) is None, path


def test_no_source_is_too_long() -> None:
    assert not [path for path in SOURCES if len(path.read_text().splitlines()) > MOST_LINES]


def test_script_and_style_leave_room_for_the_bundle() -> None:
    assert sum((ASSETS / name).stat().st_size for name in ("report.js", "report.css")) < MOST_BYTES


def test_nothing_in_the_script_can_end_the_element_that_it_stands_in() -> None:
    for name in ("report.js", "report.css"):
        assert not re.search(r"</?script|</style|<!--", (ASSETS / name).read_text(), re.IGNORECASE)


def test_every_package_is_pinned_to_one_version() -> None:
    told = json.loads((WEB / "package.json").read_text())
    wanted = {**told["dependencies"], **told["devDependencies"], **told["overrides"]}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())


def test_the_licence_of_every_package_in_the_script_comes_with_it() -> None:
    texts = (ASSETS / "LICENSES.txt").read_text()
    for name in json.loads((WEB / "package.json").read_text())["dependencies"]:
        assert re.search(rf"^{re.escape(name)} \d", texts, re.MULTILINE)
    assert "no licence file in the package" not in texts
