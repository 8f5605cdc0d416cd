"""What the site gives for which address, and what it does not."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.folder import Folder
from steno.evidence import kinds, layout
from steno.model import table_documents
from steno.model.live import recorder
from steno.report import parts
from steno.report.parts import EXTRACT, JUDGED
from steno.site import live, pages, server
from steno.site.server import LONGEST_HEAD
from support.documents import of_folder
from support.live_runs import LiveRun
from support.reading import unpack
from support.run_builder import RunBuilder
from support.served import Client, served
from support.spools import RUN_ID, sealed
from support.waiting import SECONDS, until

GOLDEN = Path(__file__).parents[1] / "golden" / "v1" / "notify.tar.gz"
OTHER = "2026-01-25T13-00-00-000Z_0123abcd"


@pytest.fixture(autouse=True)
def _everybody_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may keep whoever asks from asking, and whoever records from sealing, for seconds."""
    monkeypatch.setattr(server, "HEAD_SECONDS", SECONDS)
    monkeypatch.setattr(recorder, "_LOOKS_WITHOUT_RECORDER", SECONDS / live.PAUSE)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    store = tmp_path / "runs"
    store.mkdir()
    sealed(store / RUN_ID)
    return store


@pytest.fixture
def client(runs: Path) -> Iterator[Client]:
    with served(runs) as found:
        yield found


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A site over a store that no test changes."""
    store = tmp_path_factory.mktemp("site") / "runs"
    store.mkdir()
    sealed(store / RUN_ID)
    with served(store) as found:
        yield found


def page_data(html: str) -> dict[str, Any]:
    _, _, rest = html.partition('id="steno-page">')
    found: dict[str, Any] = json.loads(rest.partition("</script>")[0])
    return found


def test_the_list_is_a_page_that_asks_for_the_runs(unchanged: Client) -> None:
    said = unchanged.get()
    assert (said.status, page_data(said.text)["kind"]) == (200, "list")
    (run,) = unchanged.get("runs.json").json["runs"]
    assert (run["run_id"], run["state"], run["exit_code"]) == (RUN_ID, "sealed", 3)
    assert run["title"] == "sh -c 'echo one two'"


def test_the_list_tells_what_changed_since(client: Client, runs: Path) -> None:
    assert len(client.get("runs.json").json["runs"]) == 1
    RunBuilder(run_id=OTHER).process("sh").seal(runs)
    assert [run["run_id"] for run in client.get("runs.json").json["runs"]] == [OTHER, RUN_ID]
    shutil.rmtree(runs / RUN_ID)
    assert [run["run_id"] for run in client.get("runs.json").json["runs"]] == [OTHER]


def test_a_store_that_is_not_there_is_an_empty_list(tmp_path: Path) -> None:
    with served(tmp_path / "nowhere") as client:
        assert client.get("runs.json").json == {"runs": []}


def test_what_is_no_run_is_not_listed_whatever_its_name(client: Client, runs: Path) -> None:
    for name in ("<script>alert(1)</script>", "..%2f", "-n", ".new-x", "a\nb"):
        (runs / name.replace("/", "_")).mkdir()
    (runs / OTHER).symlink_to("/etc")
    listed = client.get("runs.json").json["runs"]
    assert [(run["run_id"], run["state"]) for run in listed] == [(OTHER, "damaged"), (RUN_ID, "sealed")]
    assert client.get(f"run/{OTHER}/").status == 404
    assert client.get(f"run/{OTHER}/file/passwd").status == 404


def test_the_page_of_a_run_names_its_files_by_address(client: Client, runs: Path) -> None:
    said = client.get(f"run/{RUN_ID}/")
    data = page_data(said.text)
    assert (said.status, data["kind"], data["run_id"]) == (200, "run", RUN_ID)
    assert data["verdict"]["status"] == "valid"
    parts = {part["path"]: part for part in data["parts"]}
    assert parts["terminal/stdout"]["url"] == "./file/terminal/stdout"
    with Folder(runs / RUN_ID) as run:
        judged = of_folder(run)
        for path, part in parts.items():
            got = client.get(f"run/{RUN_ID}/{part['url'][2:]}")
            assert got.headers["content-type"] == "application/octet-stream"
            if path in JUDGED:  # made when it is asked for
                is_table = path in table_documents.PATHS
                blocks = table_documents.read(judged, path) if is_table else judged.read(path)
                assert got.body == b"".join(blocks)
                assert (part["bytes"], part["sha256"]) == (None, None)
            else:
                assert got.body == (runs / RUN_ID / part["sealed_as"]).read_bytes()
                assert int(got.headers["content-length"]) == part["bytes"]
    assert data["judgement"]["root"] == json.loads((runs / RUN_ID / layout.MANIFEST).read_bytes())["root"]
    assert data["judgement"]["files"] == {path: None for path in parts if path in JUDGED}


def test_the_files_of_a_record_of_format_1_have_the_names_of_today(tmp_path: Path) -> None:
    unpack(GOLDEN, tmp_path / "unpacked")
    run_id = json.loads((tmp_path / "unpacked" / layout.MANIFEST).read_bytes())["run_id"]
    store = tmp_path / "runs"
    store.mkdir()
    run = (tmp_path / "unpacked").rename(store / run_id)
    with served(store) as client:
        data = page_data(client.get(f"run/{run.name}/").text)
        parts = {part["path"]: part for part in data["parts"]}
        assert parts["syscalls.parquet"]["sealed_as"] == "layers/kernel.parquet"
        got = client.get(f"run/{run.name}/file/syscalls.parquet").body
        assert got == (run / "layers" / "kernel.parquet").read_bytes()
        assert client.get(f"run/{run.name}/file/layers/kernel.parquet").status == 404
        assert client.get(f"run/{run.name}/file/run.json").status == 200


def test_an_address_without_its_last_slash_leads_to_the_one_with_it(unchanged: Client) -> None:
    assert unchanged.get(f"run/{RUN_ID}").headers["location"] == f"./{RUN_ID}/"
    assert unchanged.get(f"run/{RUN_ID}").status == 308


def test_a_record_that_was_tampered_with_is_shown_as_such(client: Client, runs: Path) -> None:
    (runs / RUN_ID / layout.STDOUT).write_bytes(b"forged")
    said = client.get(f"run/{RUN_ID}/")
    assert page_data(said.text)["verdict"]["status"] == "invalid"
    assert "Invalid" in said.text
    refused = client.get(f"run/{RUN_ID}/pack")
    assert refused.status == 409
    assert b"hint:" in refused.body


@pytest.mark.parametrize(
    "path",
    [
        "nothing",
        "run",
        "run/x/",
        "run/../",
        f"run/{RUN_ID}/nothing",
        f"run/{RUN_ID}/file",
        f"run/{RUN_ID}/file/",
        f"run/{RUN_ID}/file/nothing",
        f"run/{RUN_ID}/file/terminal",
        f"run/{RUN_ID}/file/evidence/terminal/stdout",
        f"run/{RUN_ID}/file/spool/lock",
        f"run/{OTHER}/",
        f"run/{OTHER}/file/run.json",
        f"run/{OTHER}/pack",
        f"run/{OTHER}/report",
        f"run/{OTHER}/live",
        f"run/{RUN_ID}/terminal",
        f"compare.json?a={RUN_ID}&b={OTHER}",
        "compare.json?a=..&b=.",
        "compare.json",
        "runs.json/x",
    ],
)
def test_what_is_not_there_is_said_not_to_be(unchanged: Client, path: str) -> None:
    assert unchanged.get(path).status in {400, 404}


@pytest.mark.parametrize("path", [f"run/{RUN_ID}/", f"run/{RUN_ID}/file/run.json", f"run/{RUN_ID}/pack"])
def test_what_cannot_be_read_is_told_and_not_said_to_be_gone(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    def refused(place: Path, *, follow: bool) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))

    monkeypatch.setattr("steno.model.run.Folder", refused)
    said = client.get(path)
    assert said.status == 500
    assert said.text == "steno: what the store has at this address cannot be read: Permission denied\n"
    assert RUN_ID in capsys.readouterr().err


def test_a_file_that_the_manifest_does_not_name_is_not_given(client: Client, runs: Path) -> None:
    (runs / RUN_ID / "planted").write_bytes(b"planted")
    (runs / ".local.key").write_bytes(b"k" * 32)
    for path in ("planted", "../.local.key", "%2e%2e/.local.key", "..%2f.local.key"):
        assert client.get(f"run/{RUN_ID}/file/{path}").status in {400, 404}


def test_a_link_in_the_place_of_a_file_is_not_followed(client: Client, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_bytes(b"private")
    stdout = runs / RUN_ID / layout.STDOUT
    assert client.get(f"run/{RUN_ID}/file/terminal/stdout").status == 200
    stdout.unlink()
    stdout.symlink_to(tmp_path / "private")
    assert client.get(f"run/{RUN_ID}/file/terminal/stdout").status == 404
    shutil.rmtree(stdout.parent)
    (tmp_path / "stdout").write_bytes(b"private")
    stdout.parent.symlink_to(tmp_path)
    assert client.get(f"run/{RUN_ID}/file/terminal/stdout").status == 404


def test_a_run_can_be_taken_away_packed_and_as_a_report(client: Client, runs: Path) -> None:
    packed = client.get(f"run/{RUN_ID}/pack")
    assert packed.headers["content-disposition"] == f'attachment; filename="{RUN_ID}.tar.gz"'
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed.body))) as archive:
        assert f"{layout.MANIFEST}" in {Path(name).name for name in archive.getnames()}
    report = client.get(f"run/{RUN_ID}/report")
    assert report.headers["content-disposition"] == f'attachment; filename="steno-{RUN_ID}.html"'
    assert page_data(report.text)["kind"] == "report"
    assert "connect-src" not in report.text


def test_two_runs_are_compared_as_the_command_does(client: Client, runs: Path) -> None:
    assert page_data(client.get("compare?a=x&b=y").text)["kind"] == "compare"
    found = client.get(f"compare.json?a={RUN_ID}&b={RUN_ID}").json
    assert found["verdict"] == "inconclusive"
    assert found["notes"][0]["says"] == "A and B come from the same runs"
    assert found["titles"] == {RUN_ID: "sh -c 'echo one two'"}
    assert found["headings"]["execs.ran"] == "Programs run"
    assert found["headings"].keys() >= {*found["categories"], *found["attempts"]}


def test_a_hostile_command_cannot_become_markup(tmp_path: Path) -> None:
    run = LiveRun(tmp_path, cmd_redacted=["</script><script>alert(1)</script>\x1b[2J"])
    with served(run.store) as client:
        assert client.get("runs.json").headers["content-type"] == "application/json"
        run.finish()
        text = client.get(f"run/{RUN_ID}/").text
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "\x1b" not in text


def test_every_answer_keeps_to_itself(unchanged: Client) -> None:
    for path in ("", "runs.json", f"run/{RUN_ID}/", f"run/{RUN_ID}/file/run.json", "nothing"):
        headers = unchanged.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe-inline" not in headers["content-security-policy"]
        assert "set-cookie" not in headers
        assert "access-control-allow-origin" not in headers


def test_head_is_answered_without_a_body_and_leaves_nothing_open(client: Client) -> None:
    paths = ("", f"run/{RUN_ID}/", f"run/{RUN_ID}/file/run.json", f"run/{RUN_ID}/pack", f"run/{RUN_ID}/live")
    client.get()
    before = len(os.listdir("/proc/self/fd"))
    for path in paths:
        said = client.get(path, "HEAD")
        assert (said.status, said.body) == (200, b"")
    until(lambda: len(os.listdir("/proc/self/fd")) <= before)


def events(stream: Any) -> Iterator[tuple[str, Any]]:
    name = "message"
    for raw in stream:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
            name = "message"


def test_a_run_that_goes_on_is_told_as_it_happens_and_to_its_end(tmp_path: Path) -> None:
    run = LiveRun(tmp_path)
    with served(run.store) as client:
        assert page_data(client.get(f"run/{RUN_ID}/").text)["kind"] == "live"
        with client.asked(f"run/{RUN_ID}/live") as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            told = events(answer)
            name, first = next(told)
            assert (name, first["before"]) == ("step", True)
            assert "run started" in [one["word"] for one in first["happenings"]]
            run.saw("unlink", "/w/a")
            words: list[str] = []
            while "deleted" not in words:
                words += [one["word"] for one in next(told)[1]["happenings"]]
            run.finish()
            ends = [data for name, data in told if name == "end"]
    assert [(end["state"], end["exit_code"]) for end in ends] == [("sealed", 0)]


def test_the_terminal_of_a_run_that_goes_on_is_shown_as_the_player_reads_it(tmp_path: Path) -> None:
    run = LiveRun(tmp_path)
    tape = run.spool.stream(layout.STDOUT)
    with served(run.store) as client, client.asked(f"run/{RUN_ID}/terminal") as answer:
        told = events(answer)
        assert next(told) == ("message", {"cols": 80, "rows": 24, "time": 0})
        tape.append(1_500_000_000, "caf\u00e9\n".encode())
        run.spool.settle()
        assert next(told) == ("message", [1.5, "o", "caf\u00e9\r\n"])
        tape.close()
        run.finish()
        assert list(told) == [("done", {})]


def test_a_run_that_is_removed_while_it_is_looked_at_ends_the_stream(tmp_path: Path) -> None:
    run = LiveRun(tmp_path)
    with served(run.store) as client, client.asked(f"run/{RUN_ID}/live") as answer:
        told = events(answer)
        next(told)
        shutil.rmtree(run.path)
        assert [data["state"] for name, data in told if name == "end"] == ["damaged"]
        assert client.get(f"run/{RUN_ID}/").status == 404


def test_a_run_whose_recorder_is_gone_is_shown_as_far_as_it_came(tmp_path: Path) -> None:
    run = LiveRun(tmp_path)
    run.let_go()
    with served(run.store) as client:
        text = client.get(f"run/{RUN_ID}/").text
    assert page_data(text)["state"] == "unsealed"
    assert "Not sealed" in text
    assert "events.ndjson" in {part["path"] for part in page_data(text)["parts"]}


def test_a_reader_who_goes_lets_go_of_the_run(tmp_path: Path) -> None:
    run = LiveRun(tmp_path)
    with served(run.store) as client:
        client.get()
        before = len(os.listdir("/proc/self/fd"))
        with client.asked(f"run/{RUN_ID}/live") as answer:
            next(events(answer))

        def is_let_go() -> bool:
            run.event(kinds.CommandStarted(pid=7))  # what is told to nobody shows that nobody is there
            return len(os.listdir("/proc/self/fd")) <= before

        until(is_let_go)


def test_a_site_that_closes_ends_its_streams(tmp_path: Path) -> None:
    run = LiveRun(tmp_path)
    with served(run.store) as client:
        connection = client.asked(f"run/{RUN_ID}/live")
        answer = connection.__enter__()
        told = events(answer)
        next(told)
    assert list(told) == []
    connection.__exit__(None, None, None)


def test_the_page_of_a_run_without_its_recorder_says_so(tmp_path: Path) -> None:
    run = LiveRun(tmp_path)
    with run.outlived(), served(run.store) as client:
        said = client.get(f"run/{RUN_ID}/")
        assert (page_data(said.text)["kind"], page_data(said.text)["state"]) == ("live", "orphaned")
        assert "Its recorder is gone and its command goes on" in said.text
        assert "<code>steno recover</code> seals what was recorded" in said.text


def test_a_site_gives_larger_files_than_a_page_carries_and_an_extract_of_what_is_larger_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs"
    run = (
        RunBuilder().process("sh").read("/big", bytes(9_000)).wrote("/src", b"two", before=b"one").seal(store)
    )
    size = (run / layout.BLOBS).stat().st_size
    monkeypatch.setattr(parts, "LARGEST", size - 1)
    with served(store) as client:
        address = f"run/{run.name}/"
        named = {one["path"]: one for one in page_data(client.get(address).text)["parts"]}
        assert "blobs.parquet" in named
        monkeypatch.setattr(pages, "LARGEST_BY_URL", size - 1)
        told = {one["path"]: one for one in page_data(client.get(address).text)["parts"]}
        assert "blobs.parquet" not in told
        extract = told[EXTRACT]
        assert (extract["url"], extract["extract_of"]) == (f"./file/{EXTRACT}", "blobs.parquet")
        assert len(client.get(f"{address}file/{EXTRACT}").body) == extract["bytes"]


@pytest.mark.parametrize(("length", "status"), [(LONGEST_HEAD, 200), (LONGEST_HEAD + 1, 431), (20_000, 431)])
def test_the_head_of_a_request_is_no_longer_than_is_said(unchanged: Client, length: int, status: int) -> None:
    opening = (
        f"GET {unchanged.path('')} HTTP/1.1\r\nHost: 127.0.0.1:{unchanged.port}\r\nConnection: close\r\nX: "
    )
    head = opening + "x" * (length - len(opening) - 4) + "\r\n\r\n"
    assert unchanged.raw(head.encode()).startswith(f"HTTP/1.1 {status} ".encode())
