"""`steno.open`: one run as typed tables, whatever the record holds."""

from __future__ import annotations

import errno
import json
import tarfile
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

import steno
from steno.bundle.verify import Status
from steno.errors import BadRequestError, RunNotFoundError, UnreadableBundleError
from steno.evidence import layout
from steno.judge.rules import RULES
from steno.judge.types import File, FileState
from steno.model.tables import plain
from support.calls_made import EMPTY, SCOPE, TICKS, decision, said_call
from support.reading import sealed
from support.resealing import reseal
from support.run_builder import RUN_ID, Content, RunBuilder

TOLD = {"calls", "checks", "claims", "decisions", "effects", "messages"}
UNSEALED = {"about", "gaps", "log", "output", *TOLD}
GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("v*/*.tar.gz"))


def opened(builder: RunBuilder, store: Path) -> steno.Run:
    return steno.open(sealed(builder, store))


def worked() -> RunBuilder:
    return (
        RunBuilder("make")
        .process("make", "all", pid=7)
        .read("/w/Makefile", b"all:")
        .wrote("/w/made.o", b"object")
        .process("cc", parent=1, pid=8, code=2)
        .deleted("/w/old.o", b"old")
        .connected("inet:1.2.3.4:443", -errno.ECONNREFUSED)
        .printed("hello\n")
        .printed("world\n", at=2_000_000)
    )


def test_a_run_tells_what_it_was_and_by_which_rules_that_is_known(tmp_path: Path) -> None:
    with opened(worked(), tmp_path) as run:
        info = run.info
        assert (info.run_id, info.state, info.command) == (RUN_ID, "sealed", ["make"])
        assert (info.format, info.rules, info.complete) == (2, RULES, True)
        assert info.root == run.verify().root
        assert run.verify().status is Status.VALID
        assert list(run.about) == [info]


def test_processes_have_the_program_they_became_last_and_how_they_ended(tmp_path: Path) -> None:
    with opened(worked(), tmp_path) as run:
        make, cc = run.processes
        assert (make.process, make.parent, make.program, make.command) == (1, None, "make", "make all")
        assert (cc.parent, cc.program, cc.exit_code, cc.signal) == (1, "cc", 2, None)
        assert [(one.process, one.outcome) for one in run.execs] == [(1, "done"), (2, "done")]


def test_processes_say_what_they_are_and_which_did_the_same(tmp_path: Path) -> None:
    builder = RunBuilder("sh").process("sh").process("true", parent=1).process("true", parent=1)
    with steno.open(sealed(builder.process("make", parent=1), tmp_path)) as run:
        found = {one.process: (one.label, one.title, one.alike) for one in run.processes}
    assert [found[number][0] for number in (1, 2, 3, 4)] == ["sh", "true", "true", "make"]
    assert found[2] == found[3]
    assert len({one[2] for one in found.values()}) == 3


def test_processes_say_who_told_of_their_end_and_programs_how_many_arguments_they_had(tmp_path: Path) -> None:
    builder = RunBuilder("sh").process("sh", code=None).exit(signal=11, core=True).process("true", code=None)
    builder.exit(told=False).process("cc", "a", code=None, argc=9, notes=("argv_cut",))
    with steno.open(sealed(builder, tmp_path)) as run:
        ends = [(one.signal, one.exit_code, one.core_dumped, one.end_known) for one in run.processes]
        assert ends == [
            ("SIGSEGV", None, True, "kernel"),
            (None, 0, False, "asked"),
            (None, None, False, "unknown"),
        ]
        assert [one.title for one in run.processes] == ["sh", "true", "cc a …"]
        assert [(one.n_arguments, one.arguments_cut) for one in run.execs] == [
            (1, False),
            (1, False),
            (9, True),
        ]


def test_files_have_their_letter_and_what_was_there_before_and_after(tmp_path: Path) -> None:
    with opened(worked(), tmp_path) as run:
        files = {file.path: file for file in run.files}
    assert {path: file.letter for path, file in files.items()} == {
        "/w/Makefile": "r",
        "/w/made.o": "A",
        "/w/old.o": "D",
    }
    made, old = files["/w/made.o"], files["/w/old.o"]
    assert (made.before.kind, made.after.kind, made.size_change) == ("absent", "file", 6)
    assert (old.before.size, old.after.kind, old.size_change) == (3, "absent", -3)


def test_a_name_that_is_not_text_is_shown_and_kept_as_it_is(tmp_path: Path) -> None:
    with opened(RunBuilder().process().wrote(b"/w/\xff", b"x"), tmp_path) as run:
        (file,) = run.files
    assert (file.path, file.path_bytes) == ("/w/\\xff", b"/w/\xff")


def test_connections_say_what_came_of_them(tmp_path: Path) -> None:
    builder = worked().connected("inet:5.6.7.8:80").connected("inet:9.9.9.9:53", None)
    with opened(builder, tmp_path) as run:
        found = [(one.name, one.result, one.errors) for one in run.connections]
    assert found == [
        ("1.2.3.4:443", "failed", ["ECONNREFUSED"]),
        ("5.6.7.8:80", "connected", []),
        ("9.9.9.9:53", "unknown", []),
    ]


def test_calls_and_checks_are_numbered_alike(tmp_path: Path) -> None:
    builder = RunBuilder().event(SCOPE, EMPTY).kernel(features=["cgroup"])
    builder.decided(decision()).said(*said_call())
    builder.process(start_ticks=TICKS, code=None, at=1000)
    with opened(builder, tmp_path) as run:
        calls, checks = list(run.calls), list(run.checks)
    assert [call.call for call in calls] == [*range(1, len(calls) + 1)]
    assert calls
    assert {check.call for check in checks} <= {None, *(call.call for call in calls)}
    assert all((check.call is None) != (check.claim is None) for check in checks)
    assert all(call.input is None or json.loads(call.input) is not None for call in calls)


def test_what_policy_decided_and_what_agents_said_are_tables_of_their_own(tmp_path: Path) -> None:
    started, completed = said_call()
    with opened(RunBuilder().decided(decision()).said(started, completed), tmp_path) as run:
        (decided,), said = list(run.decisions), list(run.messages)
        (call,) = run.calls
    assert (decided.tool_call_id, decided.tool) == (call.tool_call_id, call.tool)
    assert (decided.decision, decided.dry_run) == (call.decision, False)
    assert [(one.kind, one.tool_call_id) for one in said] == [
        ("tool_call_started", call.tool_call_id),
        ("tool_call_completed", call.tool_call_id),
    ]


def test_changes_are_the_files_that_the_run_changed_itself(tmp_path: Path) -> None:
    builder = worked().looked("/w/theirs", b"before").left("/w/theirs", b"by somebody else")
    with opened(builder, tmp_path) as run:
        assert {file.path: file.letter for file in run.files}["/w/theirs"] == "o"
        assert [(file.path, file.letter) for file in run.changes] == [("/w/made.o", "A"), ("/w/old.o", "D")]


def test_accesses_say_who_did_what_to_which_path_and_how_often(tmp_path: Path) -> None:
    builder = RunBuilder().process().process("cat", parent=1).read("/w/a").read("/w/a")
    builder.read("/w/none", None, result=-errno.ENOENT)
    with opened(builder, tmp_path) as run:
        found = {(one.process, one.path): one for one in run.accesses}
    twice, missed = found[2, "/w/a"], found[2, "/w/none"]
    assert (twice.operation, twice.access, twice.times, twice.outcome) == ("open", "read", 2, "done")
    assert (missed.outcome, missed.error, missed.creates) == ("failed", "ENOENT", False)


def test_the_content_of_a_file_before_and_after_is_read_by_its_path(tmp_path: Path) -> None:
    builder = RunBuilder(cwd="/w").process().wrote("/w/a", b"after\xff", before=b"before")
    builder.wrote("/w/large", Content(b"x", kept="too_large"))
    with opened(builder, tmp_path) as run:
        file = run.file("a")
        assert file == run.file("/w/x/../a")
        assert (run.content(file.before), run.content(file.after)) == (b"before", b"after\xff")
        with pytest.raises(BadRequestError, match="too_large"):
            run.content(run.file("large").after)
        with pytest.raises(BadRequestError, match="did not touch b"):
            run.file("b")


def test_blobs_have_the_length_of_the_content_in_clear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = RunBuilder().process().wrote("/w/a", b"four")
    builder.wrote("/w/key", Content(b"twelve bytes", secret=True))
    path = sealed(builder, tmp_path)
    with steno.open(path) as run:
        sizes = {one.blob: (one.size, one.encrypted) for one in run.blobs}
        key = run.file("/w/key").after
        assert sizes == {run.file("/w/a").after.blob: (4, False), key.blob: (12, True)}
        assert run.content(key) == b"twelve bytes"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another"))
    with steno.open(path) as run, pytest.raises(UnreadableBundleError, match="a key that is not here"):
        run.content(key)


def test_output_has_every_byte_at_its_place(tmp_path: Path) -> None:
    with opened(worked(), tmp_path) as run:
        pieces = [(one.stream, one.position, one.data) for one in run.output]
    assert pieces == [("stdout", 0, b"hello\n"), ("stdout", 6, b"world\n")]


def test_gaps_and_the_log_are_those_of_the_record(tmp_path: Path) -> None:
    with opened(RunBuilder().gap("stream_lost", "terminal/stdout: full"), tmp_path) as run:
        assert [(gap.reason, gap.detail) for gap in run.gaps] == [("stream_lost", "terminal/stdout: full")]
        assert [entry.seq for entry in run.log] == [*range(len(run.log))]
        assert run.log[0].kind == "run_start"
        assert json.loads(run.log[0].data)["observer"]
        assert not run.info.complete


@pytest.mark.parametrize("bundle", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_table_of_every_golden_record_is_arrow_of_its_schema(bundle: Path) -> None:
    with steno.open(bundle) as run:
        for name, table in run.tables.items():
            found = table.to_arrow()
            assert found.schema == table.schema, name
            assert found.num_rows == len(table), name
            found.validate(full=True)
            assert pa.table(table).equals(found), name  # through the Arrow stream, as others take it


def test_a_run_that_is_not_sealed_tells_what_is_known_so_far(tmp_path: Path) -> None:
    path = worked().spool(tmp_path)
    with steno.open(path) as run:
        assert set(run.tables) == UNSEALED
        assert (run.info.state, run.info.root, run.info.complete) == ("unsealed", None, False)
        assert [gap.reason for gap in run.gaps] == ["unsealed"]
        with pytest.raises(BadRequestError, match="not sealed"):
            list(run.files)


def test_a_run_without_a_kernel_layer_says_why_it_has_no_files(tmp_path: Path) -> None:
    with opened(RunBuilder(), tmp_path) as run:
        assert "files" not in run.tables
        with pytest.raises(BadRequestError, match="no kernel layer"):
            len(run.files)


def test_a_run_is_found_by_what_the_commands_find_it_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(RunBuilder("true", name="mine"), tmp_path)
    monkeypatch.setenv("STENO_HOME", str(tmp_path))
    for word in ("@last", RUN_ID, RUN_ID[:12], "mine"):
        with steno.open(word) as run:
            assert run.info.run_id == RUN_ID
    with steno.open(store=tmp_path) as run:
        assert run.info.name == "mine"
    with pytest.raises(RunNotFoundError):
        steno.open("nobody")


def test_a_table_of_a_harmed_record_is_an_error_of_the_record(tmp_path: Path) -> None:
    path = sealed(worked(), tmp_path)
    (path / layout.KERNEL_TABLE).write_bytes(b"PAR1 and nothing")
    with steno.open(path) as run, pytest.raises(UnreadableBundleError):
        list(run.events)
    (path / layout.MANIFEST).write_bytes(b'{"format":99}')
    with pytest.raises(UnreadableBundleError, match="newer Steno"):
        steno.open(path)


def test_a_number_beyond_64_bits_is_an_error_of_the_record(tmp_path: Path) -> None:
    path = sealed(worked(), tmp_path)
    lines = (path / layout.FILE_LINES).read_bytes()
    assert b'"size":6' in lines
    (path / layout.FILE_LINES).write_bytes(lines.replace(b'"size":6', b'"size":"99999999999999999999"'))
    reseal(path)
    with steno.open(path) as run, pytest.raises(UnreadableBundleError, match="64 bits"):
        run.files.to_arrow()


def test_what_is_closed_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run = steno.open(GOLDEN[0])
    assert run.info.run_id
    assert list(tmp_path.iterdir())
    run.close()
    assert not list(tmp_path.iterdir())
    with tarfile.open(GOLDEN[0]) as packed:
        assert packed.getnames()


def test_secrets_are_as_masked_as_in_the_record(tmp_path: Path) -> None:
    builder = RunBuilder().process().wrote("/w/env", Content(b"TOKEN=x", secret=True))
    with opened(builder, tmp_path) as run:
        (file,) = run.files
    assert file.after.blob is not None


def test_a_time_that_64_bits_cannot_hold_is_not_known() -> None:
    late = FileState("file", mtime_ns=1 << 63, size=1)
    found = plain(File(b"/f", ["read"], late, late, "none"))
    assert (found["after"]["mtime_ns"], found["after"]["size"], found["letter"]) == (None, 1, "r")
