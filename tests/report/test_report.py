"""`steno report`: where it writes, what it says beside, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steno.cli.main import exit_code
from steno.evidence import layout
from support.making import FINISHED, RUN_ID, make_run, start
from support.program import Steno

PAGE = f"steno-{RUN_ID}.html"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "here"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


def test_a_page_is_written_under_the_name_of_the_run_and_named(
    store: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_run(store)
    assert exit_code(["report", "@last"]) == 0
    assert capfd.readouterr() == (f"{here / PAGE}\n", "")
    assert (here / PAGE).read_bytes().startswith(b"<!doctype html>")


def test_a_page_that_is_there_is_kept_when_it_is_the_same_and_never_overwritten(
    store: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_run(store)
    assert exit_code(["report", "@last"]) == exit_code(["report", "@last"]) == 0
    (here / PAGE).write_text("something else")
    assert exit_code(["report", "@last"]) == 2
    assert "is there already and holds something else" in capfd.readouterr().err
    assert (here / PAGE).read_text() == "something else"


def test_a_page_can_go_into_a_directory_or_to_stdout(store: Path, here: Path, steno: Steno) -> None:
    make_run(store)
    (here / "sub").mkdir()
    told = json.loads(steno("report", "@last", "-o", here / "sub", "--json").stdout)
    written = (here / "sub" / PAGE).read_bytes()
    assert (told["path"], told["status"], told["bytes"]) == (str(here / "sub" / PAGE), "valid", len(written))
    assert steno("report", "@last", "-o", "-").stdout == written


def test_markdown_goes_to_stdout_unless_a_file_is_named(store: Path, here: Path, steno: Steno) -> None:
    make_run(store)
    done = steno("report", "@last", "--markdown")
    assert done.stdout.startswith(b"<!-- steno:report -->\n")
    assert exit_code(["report", "@last", "--markdown", "-o", "comment.md"]) == 0
    assert (here / "comment.md").read_bytes() == done.stdout


def test_a_packed_bundle_gives_the_page_of_the_bundle(store: Path, here: Path) -> None:
    make_run(store)
    assert exit_code(["pack", "@last", "-o", "run.tar.gz"]) == 0
    assert (
        exit_code(["report", "@last", "-o", "a.html"])
        == exit_code(["report", "run.tar.gz", "-o", "b.html"])
        == 0
    )
    assert (here / "a.html").read_bytes() == (here / "b.html").read_bytes()


@pytest.mark.parametrize("harm", ["tampered", "unsealed", "no manifest"])
def test_a_bad_record_gets_its_page_and_a_message(
    store: Path, here: Path, capfd: pytest.CaptureFixture[str], harm: str
) -> None:
    run = make_run(
        store, start(), FINISHED[0], *([] if harm == "unsealed" else FINISHED[1:]), sealed=harm != "unsealed"
    )
    if harm == "tampered":
        (run / layout.EVENTS).write_bytes(b"{}\n")
    elif harm == "no manifest":
        (run / layout.MANIFEST).unlink()
    assert exit_code(["report", str(run)]) == 0
    said = capfd.readouterr().err
    words = {"tampered": "invalid: step 4", "unsealed": "unsealed\n", "no manifest": "unverified: "}
    assert said.startswith(f"steno: the record is {words[harm]}")
    assert (here / PAGE).stat().st_size > 10_000


def test_what_is_no_record_is_refused_with_a_hint(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "broken.tar.gz").write_bytes(b"\x1f\x8bnothing")
    assert exit_code(["report", str(here)]) == exit_code(["report", "broken.tar.gz"]) == 4
    said = capfd.readouterr().err
    assert said.count("hint: ") == 2
    assert "Traceback" not in said
    assert [path.name for path in here.iterdir()] == ["broken.tar.gz"]


def test_a_page_beside_json_on_stdout_is_refused(store: Path, here: Path) -> None:
    make_run(store)
    assert exit_code(["report", "@last", "-o", "-", "--json"]) == 2
