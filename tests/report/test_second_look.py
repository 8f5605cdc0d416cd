"""A report looked at again: what is sealed, what follows from it, and what somebody put in its place."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from steno import __version__
from steno.bundle.verify import Status
from steno.cli.main import exit_code
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, layout
from steno.judge.rules import RULES
from steno.model import table_documents
from steno.model.runs import open_path
from steno.report import page as document
from steno.report import verify
from steno.report.parts import parts_of
from steno.report.verify import second_look
from steno.views.verify import Outcome, PageStatus
from support.making import FINISHED, make_run, start
from support.reported import report_of
from support.run_builder import RunBuilder

FILES = table_documents.path_of("files")
GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
DATA_AGAIN = b'<script type="application/json" id="steno-page">{}</script>\n'
DATA = re.compile(rb'(?<=id="steno-page">).*(?=</script>\n)')


@pytest.fixture
def page(tmp_path: Path) -> Path:
    run = RunBuilder().process("sh").wrote("/src", b"two", before=b"one").read("/lib", b"read")
    return report_of(run.seal(tmp_path), tmp_path / "report.html")


def data_of(page: Path) -> dict[str, Any]:
    found = DATA.search(page.read_bytes())
    assert found
    data: dict[str, Any] = json.loads(found[0])
    return data


def with_data(page: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = data_of(page)
    change(data)
    page.write_bytes(DATA.sub(lambda _: canonical.encode(data).replace(b"<", b"\\u003c"), page.read_bytes()))


def with_content(page: Path, path: str, change: Callable[[bytes], bytes]) -> bytes:
    (named,) = (part["id"] for part in data_of(page)["parts"] if part["path"] == path)
    element = re.compile(rb'(?<=id="%s">)[^<]*' % named.encode())
    found = element.search(page.read_bytes())
    assert found
    content = change(gzip.decompress(b64decode(found[0])))
    page.write_bytes(element.sub(b64encode(gzip.compress(content)), page.read_bytes()))
    return content


def forge(page: Path, path: str, old: bytes, new: bytes) -> None:
    """In the place of something concluded, with its digest: the page agrees with itself."""
    content = with_content(page, path, lambda whole: whole.replace(old, new))

    def redigest(data: dict[str, Any]) -> None:
        digest = hashlib.sha256(content).hexdigest()
        assert data["judgement"]["files"][path] != digest
        data["judgement"]["files"][path] = digest

    with_data(page, redigest)


def looked_at(page: Path) -> tuple[Status, Outcome | None, list[str]]:
    verdict, found = second_look(page)
    return (
        verdict.status,
        found and found.outcome,
        list(found.problems if found else verdict.steps[-1].problems),
    )


def test_a_page_as_it_was_made_is_the_same(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict, found = second_look(page)
    assert verdict.status is Status.VALID
    assert found is not None
    assert (found.outcome, found.page, found.problems) == (Outcome.SAME, PageStatus.SAME, [])
    assert found.compared == len(data_of(page)["judgement"]["files"])
    assert exit_code(["verify", str(page)]) == 0
    said = capsys.readouterr().out
    assert f"judgement: same (the page says rules {RULES} of Steno {__version__}; " in said
    assert f"root {data_of(page)['judgement']['root']}" in said


def test_a_forged_conclusion_is_told_and_the_evidence_is_still_valid(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge(page, FILES, b'"change":["none","modified"]', b'"change":["none","none"]')
    assert looked_at(page) == (
        Status.VALID,
        Outcome.DIFFERENT,
        ["tables/files.json: is not what follows from the evidence"],
    )
    assert exit_code(["verify", str(page)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("valid ")
    assert "judgement: not what these rules give" in said
    assert "tables/files.json: is not what follows from the evidence" in said


def test_a_conclusion_that_does_not_agree_with_the_page_is_told_whatever_its_rules(page: Path) -> None:
    with_content(page, FILES, lambda whole: whole + b" ")
    with_data(page, lambda data: data["judgement"].update(rules=RULES + 1))
    status, outcome, problems = looked_at(page)
    assert (status, outcome) == (Status.VALID, Outcome.DIFFERENT)
    assert problems[0] == "tables/files.json: is not what the page says was concluded"


def test_a_conclusion_that_is_missing_is_told(page: Path) -> None:
    def without(data: dict[str, Any]) -> None:
        del data["judgement"]["files"][layout.RUN]
        data["parts"] = [part for part in data["parts"] if part["path"] != layout.RUN]

    with_data(page, without)
    assert looked_at(page)[1:] == (
        Outcome.DIFFERENT,
        ["run.json: follows from the evidence, and is not in the page"],
    )


def test_forged_evidence_is_invalid_and_nothing_is_said_of_what_follows(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_content(page, "events.ndjson", lambda whole: whole.replace(b"make", b"fake"))
    verdict, found = second_look(page)
    assert (verdict.status, found) == (Status.INVALID, None)
    assert verdict.steps[-1].number == 4
    assert exit_code(["verify", "--json", str(page)]) == 1
    assert "judgement" not in json.loads(capsys.readouterr().out)["verdicts"][0]


def test_evidence_that_is_shown_under_another_name_is_told(tmp_path: Path) -> None:
    tapes = [(layout.STDOUT, 5, b"true\n"), (layout.STDERR, 6, b"oops\n")]
    page = report_of(make_run(tmp_path, tapes=tapes), tmp_path / "report.html")

    def swap(data: dict[str, Any]) -> None:
        named = {part["path"]: part for part in data["parts"]}
        out, err = named["terminal/stdout"], named["terminal/stderr"]
        out["path"], err["path"] = err["path"], out["path"]

    with_data(page, swap)
    assert looked_at(page) == (
        Status.VALID,
        Outcome.DIFFERENT,
        [
            f"terminal/{one}: is not taken from the file of the record that it is named after"
            for one in ("stdout", "stderr")
        ],
    )


def test_conclusions_of_other_rules_are_told_as_that(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_data(page, lambda data: data["judgement"].update(rules=RULES + 1))
    assert looked_at(page)[1] is Outcome.SAME  # whatever the rules are called
    forge(page, layout.HEALTH, b'"notes":[', b'"notes":["told_by_newer_rules",')
    assert looked_at(page)[:2] == (Status.VALID, Outcome.OTHER_RULES)
    assert exit_code(["verify", str(page)]) == 3
    said = capsys.readouterr().out
    assert f"judgement: made by other rules (the page says rules {RULES + 1} of Steno {__version__}; " in said


def test_a_table_with_other_words_of_another_steno_is_no_forgery(page: Path) -> None:
    forge(page, FILES, b'"letter":["r","M"]', b'"letter":["r","changed"]')
    with_data(page, lambda data: data["judgement"].update(steno="99.0"))
    assert looked_at(page)[:2] == (Status.VALID, Outcome.OTHER_RULES)
    forge(page, layout.RUN, b'"completed":true', b'"completed":false')
    assert looked_at(page)[1] is Outcome.DIFFERENT  # the rules of both are the same


def test_a_page_of_another_record_s_conclusions_is_told(page: Path) -> None:
    with_data(page, lambda data: data["judgement"].update(root="0" * 64))
    assert looked_at(page)[1:] == (
        Outcome.DIFFERENT,
        ["what was concluded is told to be of another record"],
    )


def test_a_forged_head_is_told_beside_files_that_are_right(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page.write_bytes(page.read_bytes().replace(b"<code>make test</code>", b"<code>true</code>"))
    _, found = second_look(page)
    assert found is not None
    assert (found.outcome, found.page) == (Outcome.SAME, PageStatus.DIFFERENT)
    assert exit_code(["verify", str(page)]) == 3
    assert "its head or its script is not what this Steno makes" in capsys.readouterr().out


def test_the_head_of_another_steno_is_not_compared_and_so_not_shown_to_be_right(page: Path) -> None:
    """Who forges the head has to say no more than another version."""
    page.write_bytes(page.read_bytes().replace(b"<code>make test</code>", b"<code>true</code>"))
    with_data(page, lambda data: data["judgement"].update(steno="99.0"))
    _, found = second_look(page)
    assert found is not None
    assert (found.outcome, found.page) == (Outcome.SAME, PageStatus.NOT_COMPARED)
    assert exit_code(["verify", str(page)]) == 3


def test_of_a_page_that_left_something_out_only_the_digests_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, tapes=[(layout.STDOUT, 5, b"x" * 20_000)])
    with monkeypatch.context() as small:
        small.setattr(document, "parts_of", partial(parts_of, largest=19_999))
        page = report_of(run, tmp_path / "report.html")
    verdict, found = second_look(page)
    assert found is not None
    assert (verdict.status, found.outcome) == (Status.INCOMPLETE, Outcome.NOT_COMPARED)
    assert layout.STDOUT in verdict.notes[0]
    with_content(page, "events.ndjson", lambda whole: whole.replace(b"make", b"fake"))
    assert looked_at(page) == (
        Status.INVALID,
        None,
        [f"{layout.EVENTS}: the content differs from the manifest"],
    )
    with_content(page, layout.MANIFEST, lambda whole: whole.replace(b'"format":2', b'"format":2,"more":1'))
    assert looked_at(page) == (Status.INVALID, None, ["the root does not match the manifest"])


def test_a_record_of_format_1_is_judged_again_without_its_old_conclusions(tmp_path: Path) -> None:
    with open_path(GOLDEN / "notify.tar.gz") as folder:
        page = report_of(folder.path, tmp_path / "report.html")
    verdict, found = second_look(page)
    assert found is not None
    assert (verdict.status, found.outcome, found.problems) == (Status.INCOMPLETE, Outcome.SAME, [])
    assert "processes.json" in verdict.notes[0]
    processes = table_documents.path_of("processes")
    forge(page, processes, b'"still_running":[false', b'"still_running":[true')
    assert looked_at(page)[1] is Outcome.DIFFERENT


GARBAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"<!doctype html>\n",
    "bytes": lambda _: b"<!doctype html>\n" + bytes(range(256)) * 100,
    "cut in its data": lambda whole: whole[: whole.index(b'id="steno-page"') + 100],
    "cut in its parts": lambda whole: whole[: whole.index(b'id="part-3"') + 30],
    "no JSON": lambda whole: DATA.sub(b"{", whole),
    "deep JSON": lambda whole: DATA.sub(b'{"schema":' + b"[" * 100_000 + b"]" * 100_000 + b"}", whole),
    "other JSON": lambda whole: DATA.sub(b'{"schema":"steno.page.v1","parts":[1]}', whole),
    "another schema": lambda whole: whole.replace(b'"schema":"steno.page.v1"', b'"schema":"x"'),
    "rules without end": lambda whole: whole.replace(b'"rules":%d' % RULES, b'"rules":%s' % (b"9" * 400)),
    "data twice": lambda whole: whole.replace(b"<script>", DATA_AGAIN + b"<script>"),
    "two parts of one name": lambda whole: whole.replace(b'"path":"session.cast"', b'"path":"run.json"'),
    "two parts of one place": lambda whole: whole.replace(b'"id":"part-1"', b'"id":"part-2"'),
    "no base64": lambda whole: re.sub(rb'(id="part-2">)..', rb"\1=A", whole),
    "no gzip": lambda whole: re.sub(rb'(id="part-2">)[^<]*', rb"\1AAAA", whole),
    "an empty part": lambda whole: re.sub(rb'(id="part-2">)[^<]*', rb"\1", whole),
    "a name that leads away": lambda whole: whole.replace(b'"evidence/events', b'"evidence/../../events'),
    "a name of the spool": lambda whole: whole.replace(b'"evidence/events.ndjson', b'"spool/events.ndjson'),
    "a name that is too deep": lambda whole: whole.replace(b'"evidence/events', b'"evidence/' + b"a/" * 50),
    "no manifest": lambda whole: whole.replace(b'"sealed_as":"manifest.json"', b'"skip":0'),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_is_no_report_or_not_all_of_one_is_unreadable(
    page: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    whole = page.read_bytes()
    page.write_bytes(GARBAGE[name](whole))
    assert page.read_bytes() != whole
    with pytest.raises(UnreadableBundleError, match="is not a report of a sealed record: "):
        second_look(page)
    assert exit_code(["verify", str(page)]) == 4
    said = capfd.readouterr()
    assert said.out.startswith("unreadable ")
    assert "Traceback" not in said.err


def test_what_is_unpacked_of_a_page_is_bounded(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_content(page, "events.ndjson", lambda whole: whole + bytes(1_000_000))
    monkeypatch.setattr(verify, "LARGEST", 1_000_000)
    with pytest.raises(UnreadableBundleError, match="more than a report has room for"):
        second_look(page)
    monkeypatch.setattr(verify, "LARGEST", 2_000_000)
    monkeypatch.setattr(verify, "_MOST_UNPACKED", 1_000_000)
    with pytest.raises(UnreadableBundleError, match="more than a report has room for"):
        second_look(page)
    monkeypatch.setattr(verify, "_LONGEST_LINE", 1_000)
    with pytest.raises(UnreadableBundleError, match="a line of it is longer"):
        second_look(page)


def test_a_page_of_a_run_that_is_not_sealed_is_unreadable(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), FINISHED[0], sealed=False)
    with pytest.raises(UnreadableBundleError, match="it carries no manifest"):
        second_look(report_of(run, tmp_path / "report.html"))
