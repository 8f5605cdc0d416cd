"""`steno export --as perfetto|otlp|asciicast` and `show --json`, on one real recording."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from steno.evidence import layout
from support.assay_archives import steno_in
from support.observers import working
from support.program import Steno
from support.recorded import Recorded

pytestmark = pytest.mark.skipif(not working(), reason="nothing can be observed here; see `steno doctor`")
NAMES = {"perfetto": ".perfetto.json", "otlp": ".otlp.jsonl", "asciicast": ".cast"}
WORK = "mkdir made; (echo one > made/a); cat made/a; mv made/a made/b; /bin/true & wait; exit 3"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def steno(home: Path) -> Steno:
    program = steno_in(home)
    assert program("run", "--no-git", "--", "sh", "-c", WORK).returncode == 3
    return program


def exported(steno: Steno, name: str, place: Path) -> tuple[Path, subprocess.CompletedProcess[bytes]]:
    done = steno("export", "@last", "--as", name, "-o", place)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.decode().strip()), done


@pytest.mark.parametrize("name", NAMES)
def test_an_export_is_one_file_and_the_same_every_time(steno: Steno, name: str, tmp_path: Path) -> None:
    path, _ = exported(steno, name, tmp_path)
    data = path.read_bytes()
    again, _ = exported(steno, name, tmp_path)
    assert (again, again.read_bytes()) == (path, data)
    assert path.name.startswith("steno-")
    assert path.name.endswith(NAMES[name])


def test_only_the_directory_itself_is_made_for_an_export(steno: Steno, tmp_path: Path) -> None:
    done = steno("export", "@last", "--as", "otlp", "-o", tmp_path / "no" / "where")
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (125, b"", [])
    assert f"{tmp_path / 'no'}: No such file or directory\nhint: ".encode() in done.stderr
    assert exported(steno, "otlp", tmp_path / "new")[0].parent == tmp_path / "new"


def test_the_trace_has_every_process_and_every_change(steno: Steno, tmp_path: Path) -> None:
    path, done = exported(steno, "perfetto", tmp_path)
    assert b"kernel events changed and reached nothing" in done.stderr
    events: list[dict[str, Any]] = json.loads(path.read_bytes())["traceEvents"]
    tree = json.loads(steno("tree", "@last", "--json").stdout)["processes"]
    named = {one["pid"] for one in events if one["name"] == "process_name"}
    assert {one["process"] for one in tree} <= named
    marks = {one["name"] for one in events if one["ph"] == "i"}
    assert {"mkdir made", "open to write a", "rename a", "rename to b"} <= marks
    assert {one["name"] for one in events if one["ph"] == "X"} >= {"cat", "mv", "mkdir", "true"}
    kernel = json.loads(steno("show", "@last", "--json").stdout)["kernel"]["observed"]["events"]
    assert sum(sum(one["args"].values()) for one in events if one["ph"] == "C") == kernel


def test_the_spans_are_those_of_the_processes(steno: Steno, tmp_path: Path) -> None:
    path, _ = exported(steno, "otlp", tmp_path)
    (line,) = path.read_bytes().splitlines()
    document = json.loads(line)
    spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    tree = json.loads(steno("tree", "@last", "--json").stdout)["processes"]
    assert len(spans) == 1 + len(tree)
    known = {span["spanId"] for span in spans}
    assert all(span["parentSpanId"] in known for span in spans[1:])
    for span in spans:  # the JSON of protobuf has base64 where OTLP has hexadecimal; both are text
        for name in ("traceId", "spanId", "parentSpanId"):
            span.pop(name, None)
    json_format.ParseDict(document, ExportTraceServiceRequest())


def test_the_cast_is_that_of_the_record(steno: Steno, home: Path, tmp_path: Path) -> None:
    path, _ = exported(steno, "asciicast", tmp_path)
    (bundle,) = (home / "runs").glob("2*")
    assert path.read_bytes() == Recorded(bundle).judged(layout.CAST)


def test_show_as_data_has_the_derived_files(steno: Steno) -> None:
    found = json.loads(steno("show", "@last", "--json").stdout)
    tree = json.loads(steno("tree", "@last", "--json").stdout)["processes"]
    told = found["files"]
    assert len(told["processes.json"]["processes"]) == len(tree) == found["kernel"]["processes"]
    assert any(one["path"].endswith("/made/b") for one in told["files.json"]["files"])
    assert told["capability-surface.json"]["schema"] == "steno.capability-surface.v1"


def test_a_tampered_record_is_not_exported(steno: Steno, tmp_path: Path) -> None:
    packed = tmp_path / "run.tar.gz"
    assert steno("pack", "@last", "-o", packed).returncode == 0
    subprocess.run(["tar", "-xzf", packed, "--one-top-level=copy"], cwd=tmp_path, check=True)
    (bundle,) = [path.parent for path in (tmp_path / "copy").rglob(layout.MANIFEST)]
    (bundle / layout.STDOUT).write_bytes(b"two\n")
    done = steno("export", bundle, "--as", "otlp", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert b"is invalid" in done.stderr
    assert not (tmp_path / "out").exists()
