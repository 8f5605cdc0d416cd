"""What goes into a wheel: the programs, built outside of the sources, or why they are not there."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
INTERFACE = "hatchling.builders.hooks.plugin.interface"
COMPILER = """\
import pathlib, sys
output = pathlib.Path(sys.argv[1])
if output.name in FAILING:
    print("a word of the compiler", file=sys.stderr)
    print(f"steno: {output.name} is not built: cc failed", file=sys.stderr)
    sys.exit(1)
output.parent.mkdir(parents=True, exist_ok=True)
output.write_text(output.name)
"""


class _Interface:
    """As much of hatchling's as the hook uses; it is no dependency of the tests."""

    def __init__(self, root: Path) -> None:
        self.root, self.target_name, self.app = str(root), "wheel", self
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "native" / "probe").mkdir(parents=True)
    (tmp_path / "native" / "probe" / "probe.bpf.o").write_text("object")
    return tmp_path


@pytest.fixture
def make_hook(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    stand_in = ModuleType(INTERFACE)
    vars(stand_in)["BuildHookInterface"] = _Interface
    monkeypatch.setitem(sys.modules, INTERFACE, stand_in)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    made = []

    def make(*failing: str) -> Any:
        (sources / "native" / "compile.py").write_text(COMPILER.replace("FAILING", repr(failing)))
        made.append(module.NativeBuildHook(sources))
        return made[-1]

    yield make
    for hook in made:
        hook.finalize("", {}, "")


def built(hook: Any, version: str = "standard") -> dict[str, Any]:
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize(version, data)
    return data


def contents(data: dict[str, Any]) -> dict[str, str]:
    return {name: Path(source).read_text() for source, name in data["force_include"].items()}


@pytest.mark.process
def test_a_wheel_has_the_programs_and_the_sources_stay_as_they_are(make_hook: Any, sources: Path) -> None:
    hook = make_hook()
    data = built(hook)
    assert contents(data) == {
        "steno/native/steno-trace": "steno-trace",
        "steno/native/steno-probe": "steno-probe",
        "steno/native/probe.bpf.o": "object",
    }
    assert (data["pure_python"], data["tag"].startswith("py3-none-linux")) == (False, True)
    assert not (sources / "src").exists()
    hook.finalize("standard", data, "wheel")
    assert not any(Path(source).exists() for source in data["force_include"])


@pytest.mark.process
def test_a_program_that_is_not_built_leaves_its_reason_and_the_other_program(make_hook: Any) -> None:
    hook = make_hook("steno-probe")
    found = contents(built(hook))
    assert "steno/native/steno-trace" in found
    assert found["steno/native/not-built.txt"] == "steno-probe: cc failed\n\na word of the compiler\n"
    assert [text for text in hook.warnings if "steno-probe: cc failed" in text]


@pytest.mark.process
def test_without_any_program_the_wheel_is_for_every_machine(make_hook: Any) -> None:
    data = built(make_hook("steno-trace", "steno-probe"))
    assert "tag" not in data
    assert "steno-trace: cc failed\nsteno-probe: cc failed\n" in contents(data)["steno/native/not-built.txt"]


@pytest.mark.process
def test_an_editable_wheel_is_built_where_it_leads_to(make_hook: Any, sources: Path) -> None:
    place = sources / "src" / "steno" / "native"
    built(make_hook("steno-probe"), "editable")
    assert (place / "not-built.txt").exists()
    assert built(make_hook(), "editable") == {"force_include": {}}
    assert sorted(path.name for path in place.iterdir()) == ["probe.bpf.o", "steno-probe", "steno-trace"]


@pytest.mark.process
def test_an_editable_wheel_over_sources_that_cannot_be_written_is_a_warning(
    make_hook: Any, sources: Path
) -> None:
    (sources / "src").write_text("in the way")
    hook = make_hook()
    built(hook, "editable")
    assert len(hook.warnings) == 2
