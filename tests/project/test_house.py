"""The rules of the house that no linter knows: docstrings, lengths, names, and that the pages tell it all."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from pathlib import Path

import click
import msgspec

from steno import errors
from steno.agents.made import STATE_VARIABLES
from steno.bundle.manifest import FORMAT
from steno.bundle.verify import EXIT_CODES, STEPS
from steno.capture import host
from steno.cli.main import COMMANDS, steno
from steno.evidence import compat, intake_names, kinds, layout, syscalls, wire
from steno.evidence.kinds import Host
from steno.record import gaps as gap_reasons
from steno.redact import RULES
from support.cases import cases

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCES = sorted((ROOT / "src" / "steno").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MOST_LINES = 600
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
# Where a gap is written down: the reasons are literals there.
GAP_SOURCES = [
    "record/recorder.py",
    "record/run.py",
    "record/git.py",
    "claims/layers.py",
    "bundle/recover.py",
]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def page(name: str) -> str:
    return (DOCS / name).read_text()


def file_names() -> set[str]:
    """Every file name that `evidence/layout.py` knows."""
    constants = [value for name, value in vars(layout).items() if name.isupper()]
    texts = {text for value in constants for text in ([value] if isinstance(value, str) else value)}
    return (texts - {layout.INDEX_SUFFIX, layout.TABLE_SUFFIX}) | {
        layout.index_of(tape) for tape in layout.TAPES
    }


def test_every_module_says_what_it_is_for() -> None:
    with cases() as case:
        for path in SOURCES:
            if path.stat().st_size:
                with case(name_of(path)):
                    said = ast.get_docstring(ast.parse(path.read_text()))
                    assert said, "there is no docstring"
                    first = said.splitlines()[0]
                    assert len(first.split()) >= 4, f"{first!r} is little more than a name"
                    assert first[-1] in ".?", f"{first!r} is not a sentence"


def test_no_module_is_longer_than_can_be_read() -> None:
    assert not {name_of(path) for path in SOURCES if len(path.read_text().splitlines()) > MOST_LINES}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not {name_of(path) for path in [*SOURCES, *TESTS] if path.stem in FORBIDDEN_NAMES}


def test_no_file_names_the_place_where_it_was_written() -> None:
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"]
    assert not {name_of(path) for path in [*SOURCES, *TESTS, *pages] if f"{ROOT}/" in path.read_text()}


def test_the_outside_formats_are_called_by_their_names() -> None:
    other = re.compile(r"(?:first|second|third|fourth) seed|the[ _]seed|seed[']s|seeds[/]", re.IGNORECASE)
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    assert not {name_of(path) for path in [*SOURCES, *TESTS, *pages] if other.search(path.read_text())}


def test_no_table_is_read_by_threads_of_a_library() -> None:
    """One that lets go of a file while Python ends takes the program with it, and what it printed."""
    reading = {"read_row_group", "read_row_groups", "iter_batches", "read_table"}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in reading
            ):
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                assert given.get("use_threads") == "False", f"{name_of(path)}:{node.lineno}"


def test_every_error_says_when_it_is_raised() -> None:
    found = [
        value
        for _, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, errors.StenoError) and value.__module__ == errors.__name__
    ]
    assert len(found) > 5
    for error in found:
        assert len((error.__doc__ or "").split()) >= 4, error
        assert error.__name__.endswith("Error")


def test_every_exception_class_of_the_house_has_a_docstring() -> None:
    silent = [
        f"{name_of(path)}: {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error") and not ast.get_docstring(node)
    ]
    assert not silent


def test_the_spec_has_every_kind_of_event_with_every_field() -> None:
    section = page("spec.md").split("\n## 4. Events")[1].split("\n## ")[0]
    rows = {row.split("|")[1].strip(): row for row in section.splitlines() if row.startswith("| `")}
    for kind in kinds.KINDS.values():
        row = rows[f"`{kind.type}`"]
        if kind is kinds.RepoSnapshotAfter:
            row += rows["`repo_snapshot_before`"]
        for field in msgspec.structs.fields(kind):
            mark = f"`{field.encode_name}`" + ("" if field.required else "?")
            assert mark in row, f"{kind.type}: {mark}"


def test_the_spec_has_the_fields_of_host_and_terminal() -> None:
    for part in (Host, kinds.Terminal):
        listed = ", ".join(f"`{field.encode_name}`" for field in msgspec.structs.fields(part))
        assert f"{{{listed}}}" in page("spec.md")


def test_the_spec_has_every_file_of_a_bundle() -> None:
    spec = page("spec.md")
    assert not [
        name for name in file_names() if f"`{name}`" not in spec and f"`<run_id>/{name}/`" not in spec
    ]


def test_the_spec_has_every_step_of_verification_with_its_number_and_words() -> None:
    section = page("spec.md").split("## 10. Verification")[1].split("\n## ")[0]
    steps = dict(re.findall(r"^(\d+)\. (.+)$", section, re.MULTILINE))
    assert steps == {str(number): says for number, says in STEPS.items()}


def test_the_spec_has_every_column_and_every_operation_of_a_system_call() -> None:
    section = page("spec.md").split("### 5.1 ")[1].split("\n### ")[0]
    names = [*syscalls.COLUMNS, *(op.name for op in wire.OPS.values())]
    assert not [name for name in names if f"`{name}`" not in section]


def test_the_spec_has_every_bit_of_the_notes() -> None:
    section = page("spec.md").split("Bits of `notes`:")[1].split("\n\n")[0]
    assert not [bit for bit in wire.NOTES.values() if not re.search(rf"(?:^\s|,\s){bit}\s", section)]


def test_the_spec_has_the_format_that_is_written_and_every_name_of_the_first() -> None:
    text = page("spec.md")
    assert text.startswith(f"# The bundle, format {FORMAT}\n")
    old = text.split("\n## 13. Format 1\n")[1]
    for path in compat.FILES:
        name = compat.name_in_first(path) or ""
        folder, _, own = name.rpartition("/")
        assert any(f"`{one}`" in old for one in (name, f"{folder}/…", f"{folder}/NAME")), (path, own)
    assert all(
        f"`{name}`" in old or ("/" not in name and name.endswith(".json")) for name in compat.CONCLUDED
    )


def test_the_page_on_judgement_has_every_view() -> None:
    headings = [line for line in page("judgement.md").splitlines() if line.startswith("## ")]
    for name in layout.JUDGED_FILES:
        assert any(f"`{name}`" in line for line in headings), name


def test_the_spec_has_every_verdict_with_its_exit_code() -> None:
    for status, code in EXIT_CODES.items():
        assert f"| `{status}` | {code} |" in page("spec.md")


def test_the_spec_has_every_reason_of_a_gap_and_no_other() -> None:
    code = "".join((ROOT / "src" / "steno" / name).read_text() for name in GAP_SOURCES)
    used = set(re.findall(r"\.gap\(\s*\"(\w+)\"", code)) | set(
        re.findall(
            r"^(?:KILLED|TORN|POLICY_DAMAGED|HOOKS_DAMAGED|NOT_UNDERSTOOD) = \"(\w+)\"",
            code,
            re.MULTILINE,
        )
    )
    used.add(intake_names.DISTURBED)
    kernel = (ROOT / "src" / "steno" / "record" / "kernel.py").read_text()
    used |= set(re.findall(r"(?:yield |[(\[]\(|: \()\"(\w+)\", ", kernel))
    told = (*gap_reasons.OF_COUNTERS.values(), *vars(gap_reasons).values())
    used |= {gap.reason for gap in told if isinstance(gap, gap_reasons.CountedGap)}
    table = page("spec.md").split("| reason of a `gap` |")[1].split("\n\n")[0]
    assert used == set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def test_the_spec_has_every_variable_whose_value_is_recorded() -> None:
    environment = dict.fromkeys(re.findall(r"`([A-Z_]+)`", page("spec.md")), "value") | {"OTHER": "value"}
    recorded = {name for name, value in host.describe_environment(environment).items() if value is not None}
    words = " ".join(page("spec.md").split())
    listed = words.split("format and find things: ")[1].split("Every other")[0]
    assert recorded == set(re.findall(r"`([A-Z_]+)`", listed))
    source = inspect.getsource(host).split("_HARMLESS = frozenset(")[1].split(")")[0]
    assert recorded == {*re.findall(r'"([A-Z_]+)"', source), *STATE_VARIABLES}


def test_the_pages_have_every_command() -> None:
    for command in COMMANDS:
        assert f"## steno {command}" in page("cli.md"), command
        assert steno.get_command(click.Context(steno), command) is not None, command


def test_the_page_on_redaction_has_every_rule() -> None:
    assert not [rule.name for rule in RULES if f"`{rule.name}`" not in page("redaction.md")]


def test_every_dependency_has_its_reason_licence_and_weight() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
    ]
    names = {re.split(r"[<>=~!\[; ]", line)[0] for line in wanted}
    names |= set(json.loads((ROOT / "web" / "package.json").read_text())["dependencies"])
    rows = {
        row.split("|")[1].strip(" `"): row
        for row in page("dependencies.md").splitlines()
        if row.startswith("| `")
    }
    assert set(rows) == names
    for row in rows.values():
        assert all(cell.strip() for cell in row.strip("|").split("|"))


def test_every_decision_has_a_context_a_decision_and_consequences() -> None:
    records = sorted((DOCS / "adr").glob("*.md"))
    assert records
    for path in records:
        text = path.read_text()
        assert text.startswith(f"# {int(path.name[:4])}. ")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]


def test_links_between_the_pages_lead_somewhere() -> None:
    for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{name_of(path)}: {target}"
