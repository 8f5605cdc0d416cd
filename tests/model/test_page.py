"""The page on the model, and the rows in TypeScript: the tables are those of the code, the examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.run_builder import RunBuilder

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import generate_model  # noqa: E402 - the generator lives beside what it writes
import generate_tables  # noqa: E402
import generate_words  # noqa: E402

EXAMPLES = re.findall(r"```python\n(.*?)```", generate_model.PAGE.read_text(encoding="utf-8"), re.DOTALL)
SHOWN = ["A /w/made.o 6", "exit_code", "[('A', 1)]", "/w/made.o b'object'"]


def test_the_tables_are_those_of_the_code() -> None:
    page = generate_model.PAGE.read_text(encoding="utf-8")
    assert generate_model.with_tables(page) == page, "run `make docs`"


def test_the_rows_in_typescript_are_those_of_the_code() -> None:
    module = generate_tables.MODULE.read_text(encoding="utf-8")
    assert generate_tables.generated() == module, "run `make docs`, then `make web`"


def test_what_calls_mean_and_the_words_for_it_in_typescript_are_those_of_rules_and_views() -> None:
    module = generate_words.MODULE.read_text(encoding="utf-8")
    assert generate_words.generated() == module, "run `make docs`, then `make web`"


@pytest.mark.parametrize(("example", "shown"), [*zip(EXAMPLES, SHOWN, strict=True)], ids=range(len(SHOWN)))
def test_an_example_of_the_page_runs(
    example: str, shown: str, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    RunBuilder("make").process("make").wrote("/w/made.o", b"object").seal(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", example],
        env={**clean_env, "STENO_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
