"""The document: deterministic, and no larger than what it carries."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from steno import __version__
from steno.evidence import layout
from steno.report.overview import subject_of
from steno.report.page import document
from support.making import FINISHED, RUN_ID, make_run, start
from support.reading import opened


def made(run: Path) -> bytes:
    with opened(run) as folder:
        return b"".join(document(folder, subject_of(folder)))


def test_the_same_record_gives_the_same_bytes_wherever_it_lies(tmp_path: Path) -> None:
    run = make_run(tmp_path / "here", tapes=[(layout.STDOUT, 5, b"hello")])
    moved = Path(shutil.copytree(run, tmp_path / "there" / run.name))
    assert made(run) == made(run) == made(moved)


def test_the_data_of_the_page_tells_what_the_script_needs(tmp_path: Path) -> None:
    page = made(make_run(tmp_path)).decode()
    found = re.search(r'<script type="application/json" id="steno-page">(.*?)</script>', page)
    assert found
    data = json.loads(found[1])
    assert {key: data[key] for key in ("schema", "kind", "steno", "run_id", "state", "left_out")} == {
        "schema": "steno.page.v1",
        "kind": "report",
        "steno": __version__,
        "run_id": RUN_ID,
        "state": "sealed",
        "left_out": [],
    }
    assert data["verdict"] == {"status": "valid", "gaps": [], "problems": []}
    assert data["summary"]["run"]["command"] == ["make", "test"]
    assert all(f'id="{part["id"]}"' in page for part in data["parts"])


def test_hostile_text_ends_no_element_of_the_page(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script><!--"
    plain = made(make_run(tmp_path / "a", start("x"), *FINISHED))
    attacked = made(make_run(tmp_path / "b", start(hostile, cwd=hostile, name=hostile), *FINISHED))
    assert attacked.count(b"<script") == plain.count(b"<script")
    assert attacked.count(b"<!--") == plain.count(b"<!--")
