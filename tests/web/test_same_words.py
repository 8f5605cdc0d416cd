"""The front end says what the command line says: its tables of words are those of the views."""

from __future__ import annotations

import re
from pathlib import Path

from steno.evidence import compat, layout
from steno.model import table_documents
from steno.report import overview
from steno.report.parts import DOCUMENTS, EXTRACT
from steno.views import calls

ROOT = Path(__file__).parents[2]
PANELS = ROOT / "web" / "src" / "panels"


def words_of(file: str, table: str) -> dict[str, str]:
    """A table of strings in TypeScript."""
    source = (PANELS / file).read_text(encoding="utf-8")
    found = re.search(rf"const {table}\b[^=]*= \{{(.*?)^\}};", source, re.DOTALL | re.MULTILINE)
    assert found is not None, table
    return dict(re.findall(r'^\s*"?([\w-]+)"?: "([^"]*)",$', found[1], re.MULTILINE))


def test_the_files_of_a_page_have_the_names_that_python_gives_them() -> None:
    source = (PANELS.parent / "layout.ts").read_text(encoding="utf-8")
    told = dict(re.findall(r'^(?:export )?const (\w+) = "([^"]+)";$', source, re.MULTILINE))
    known = {**vars(layout), "EXTRACT": EXTRACT}
    assert told == {
        name: known[name] if name == "EVIDENCE" else layout.shown(known[name]) for name in told
    } | {"EVIDENCE": f"{layout.EVIDENCE}/"}
    assert _listed(source, "TAPES", told) == [layout.shown(tape) for tape in layout.TAPES]
    assert tuple(_listed(source, "DOCUMENTS", told)) == DOCUMENTS
    assert f"`{table_documents.path_of('${name}')}`" in source


def test_a_record_of_format_1_is_read_by_the_same_names_in_the_front_end() -> None:
    source = (PANELS.parent / "layout.ts").read_text(encoding="utf-8")
    told = dict(re.findall(r'^(?:export )?const (\w+) = "([^"]+)";$', source, re.MULTILINE))
    table = re.search(r"const FIRST_NAMES\b[^=]*= \{(.*?)^\};", source, re.DOTALL | re.MULTILINE)
    assert table is not None
    names = dict(re.findall(r'^  "([^"]+)": "?([\w./]+)"?,$', table[1], re.MULTILINE))
    tapes = {layout.shown(path) for tape in layout.TAPES for path in (tape, layout.index_of(tape))}
    assert {name: told.get(path, path) for name, path in names.items()} == {
        name: layout.shown(path)
        for path in compat.FILES
        if (name := compat.name_in_first(path)) not in {None, path, *tapes}
    }
    made = {"terminal/output"}  # of stdout and stderr, where the terminal was not recorded
    assert {*_listed(source, "FIRST_CONCLUDED", told)} == {*compat.CONCLUDED} - made
    assert {*_listed(source, "FIRST_WITH_HEADER", told)} == {
        layout.shown(tape) for tape in layout.TAPES if compat.header_in_first(tape, "r")
    }
    header = compat.header_in_first(layout.STDIN, "${manifest.run_id}").decode().replace("\n", "\\n")
    assert f"`{header}`" in source


def _listed(source: str, name: str, told: dict[str, str]) -> list[str]:
    """The strings of a list or a set, of which some are constants."""
    found = re.search(rf"const {name} = (?:new Set\()?\[(.*?)\]", source, re.DOTALL)
    assert found is not None, name
    return [told.get(word, word.strip('"')) for word in re.findall(r'"[^"]+"|\w+', found[1])]


def test_a_sound_record_is_called_the_same_before_and_after_the_check() -> None:
    source = (PANELS.parent / "checked.ts").read_text(encoding="utf-8")
    for status in ("valid", "incomplete"):
        for words in vars(overview)["_BANNERS"][status]:
            assert f'"{words}"' in source


def test_every_verdict_on_a_call_is_explained_the_worst_first() -> None:
    assert tuple(words_of("calls/words.ts", "VERDICT_HELP")) == vars(calls)["_ORDER"]
