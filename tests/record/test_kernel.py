"""The kernel layer from frames to files of the spool: what is written, and which gaps are told."""

from __future__ import annotations

import base64
import errno
import os
import stat
from pathlib import Path

import pytest
from pyarrow import parquet

from steno.bundle import blobs
from steno.bundle.keys import KEY_IN_STORE
from steno.bundle.lock import KERNEL
from steno.capture.git import classify
from steno.evidence import layout
from steno.evidence.ignore_rules import IgnoreRules
from steno.record import kernel
from support.kernel_runs import READ, SECRET, WRITE, Run
from support.sought import assert_nowhere
from support.watched import git

pytestmark = pytest.mark.usefixtures("clean_git")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(Path(os.path.realpath(tmp_path)))


def test_a_run_that_reads_and_writes_is_kept_whole(run: Run) -> None:
    source, made, changed = (run.work / name for name in ("source", "made", "changed"))
    source.write_text("input")
    changed.write_text("old")
    run.saw("open", source, arg=READ)
    run.saw("open", made, arg=WRITE)
    kept = run.found(changed, blob=run.frames.blob(b"old"), content="kept")
    run.saw("open", changed, arg=WRITE, state=kept)
    made.write_text("output")
    changed.write_text("newer")
    event, gaps = run.keep()
    assert gaps == []
    assert event is not None
    assert event.events == 4
    assert [line["path"] for line in run.lines()] == sorted(map(str, (source, made, changed)))
    assert run.line(source)["after_blob"] == f"before:{source}"
    then = {name: run.judged(name)["before"].get("blob") for name in (source, made, changed)}
    assert then == {source: f"before:{source}", made: None, changed: f"before:{changed}"}
    assert run.line(made)["after_blob"] == f"after:{made}"
    assert run.blobs() == {
        f"before:{changed}": b"old",
        f"after:{changed}": b"newer",
        f"after:{made}": b"output",
        f"before:{source}": b"input",
    }
    assert sorted(os.listdir(run.spool)) == ["evidence", "kernel"]
    assert sorted(os.listdir(run.spool / layout.EVIDENCE)) == [
        "blobs.parquet",
        "files.ndjson",
        "syscalls.parquet",
    ]


def test_the_state_at_the_end_is_told_in_full(run: Run) -> None:
    path, link, gone = run.work / "file", run.work / "link", run.work / "gone"
    path.write_text("x")
    gone.write_text("x")
    link.symlink_to(os.fsdecode(b"to/\xff"))
    for each in (path, link):
        run.saw("stat", each)
    run.saw("unlink", gone)
    run.saw("stat", run.work / "never")
    gone.unlink()
    os.utime(path, ns=(5, 1_700_000_000_123_456_789))
    run.keep()
    found = path.stat()
    assert run.line(path)["after"] == {
        "exists": True,
        "dev": found.st_dev,
        "ino": found.st_ino,
        "mode": found.st_mode,
        "nlink": 1,
        "mtime_ns": "1700000000123456789",
        "ctime_ns": str(found.st_ctime_ns),
        "size": 1,
        "uid": found.st_uid,
        "gid": found.st_gid,
    }
    after = run.line(link)["after"]
    assert stat.S_ISLNK(after["mode"])
    assert after["target"] == "to/\u00ff"
    assert base64.b64decode(after["target_b64"]) == b"to/\xff"
    assert run.line(gone)["after"] == run.line(run.work / "never")["after"] == {"exists": False}
    assert run.judged(gone)["after"] == {"exists": False, "tombstone": True}
    assert run.judged(run.work / "never")["after"] == {"exists": False}


def test_what_lies_below_a_mount_is_looked_at_and_only_concluded_to_be_unknown(run: Run) -> None:
    path = run.work / "file"
    path.write_text("text")
    run.saw("open", path, arg=WRITE)
    run.saw("mount", run.work)
    _, gaps = run.keep()
    assert [reason for reason, _ in gaps] == ["changes_unresolved"]
    assert run.line(path)["after"]["size"] == 4
    found = run.judged(path)
    assert (found["before"], found["after"], found["change"]) == (
        {"unknown": True},
        {"unknown": True},
        "unknown",
    )
    assert not (run.spool / layout.BLOBS).exists()


def test_a_name_that_is_not_utf8_is_exact_beside_its_text(run: Run) -> None:
    name = os.fsencode(run.work) + b"/\xe9"
    with open(name, "wb") as file:  # noqa: PTH123 - bytes
        file.write(b"latin")
    twin = run.work / "\u00e9"
    twin.write_text("text")
    run.saw("open", name, arg=READ)
    run.saw("open", twin, arg=READ)
    run.keep()
    first, second = run.lines()
    assert first["path"] == second["path"] == str(twin)
    assert base64.b64decode(second["path_b64"]) == name
    assert "path_b64" not in first
    assert run.blobs()[first["after_blob"]] == b"text"
    assert run.blobs()[second["after_blob"]] == b"latin"


def test_lines_are_sorted_by_the_bytes_of_the_path_and_canonical(run: Run) -> None:
    from steno.evidence import canonical

    for name in ("b", "b-c", "b/x", "a\n", "\u00e9", "z"):
        (run.work / name).parent.mkdir(exist_ok=True)
        run.saw("stat", run.work / name)
    run.keep()
    data = (run.spool / layout.FILE_LINES).read_bytes()
    paths = [canonical.decode_line(line)["path"].encode() for line in data.splitlines(keepends=True)]
    assert paths == sorted(paths)
    assert len(paths) == 6


def test_ignored_paths_special_files_and_the_store_have_no_line(run: Run) -> None:
    run.rules = IgnoreRules({os.fsencode(run.work / "ignored")})
    os.mkfifo(run.work / "fifo")
    (run.work / "file").write_text("x")
    for path in (
        run.work / "ignored" / "x",
        run.work / "fifo",
        run.store / "run" / "spool" / "lock",
        run.work / ".git" / "HEAD",
        run.work / "file" / "below",
    ):
        run.saw("open", path, arg=READ)
    run.keep()
    assert run.lines() == []
    assert not (run.spool / layout.BLOBS).exists()


def test_a_file_in_a_repository_has_its_class_and_its_repository_a_line(run: Run) -> None:
    git(run.work, "init", "-q", "-b", "main")
    clean, fresh = run.work / "clean", run.work / "fresh"
    clean.write_text("x")
    git(run.work, "add", "-A")
    git(run.work, "commit", "-qm", "first")
    fresh.write_text("y")
    run.saw("open", clean, arg=READ)
    run.saw("open", fresh, arg=READ)
    run.saw("stat", run.work)
    assert run.keep().gaps == []
    head = git(run.work, "rev-parse", "HEAD").decode().strip()
    assert run.lines()[0] == {"repository": {"root": str(run.work), "head": head, "dirty": False}}
    assert run.line(clean)["git"] == {
        "in_repo": True,
        "root": str(run.work),
        "head": head,
        "relative_path": "clean",
        "tracked": True,
        "dirty": False,
        "ignored": False,
    }
    assert run.line(clean)["after_content"] == "clean_git"
    assert not run.line(fresh)["git"]["tracked"]
    assert "git" not in run.line(run.work)
    assert run.blobs() == {f"before:{fresh}": b"y"}


def test_no_git_is_started_when_only_directories_of_a_repository_were_looked_at(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(run.work, "init", "-q")
    run.saw("stat", run.work)
    run.saw("stat", run.work / "never")
    monkeypatch.setattr(classify, "find_git", lambda: pytest.fail("git was looked for"))
    assert run.keep().gaps == []


def test_a_failing_git_is_a_gap_and_the_content_is_kept_instead(run: Run) -> None:
    git(run.work, "init", "-q")
    path = run.work / "file"
    path.write_text("x")
    (run.work / ".git" / "index").write_bytes(b"broken")
    run.saw("open", path, arg=READ)
    _, gaps = run.keep()
    assert [reason for reason, _ in gaps] == ["git"]
    assert run.line(path)["after_blob"] == f"before:{path}"


def test_every_content_that_the_observer_kept_of_a_recorded_path_has_its_rows(run: Run) -> None:
    path, elsewhere = run.work / "file", run.work / "ignored"
    run.rules = IgnoreRules({os.fsencode(elsewhere)})
    for number, text in enumerate((b"first", b"second!"), 1):
        path.write_bytes(text)
        kept = run.found(path, ino=number, blob=run.frames.blob(text), content="kept")
        run.saw("unlink", path, state=kept)
        run.saw("stat", path, state=kept)
    ignored = run.frames.blob(b"ignored")
    run.saw("unlink", elsewhere, state=run.found(path, ino=3, blob=ignored, content="kept"))
    path.unlink()
    run.keep()
    assert run.blobs() == {f"before:{path}": b"first", f"before:{path}~2": b"second!"}
    table = parquet.read_table(run.spool / layout.KERNEL_TABLE, columns=["file", "blob"]).to_pylist()
    told = [(row["file"], row["blob"]) for row in table]
    first, second = ((number, key) for number, key in enumerate(run.blobs(), 1))
    assert told == [(None, None), first, first, second, second, (3, None)]


def test_a_table_that_cannot_be_written_leaves_nothing_that_no_event_tells_of(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run.work / "file"
    path.write_text("x")
    run.saw("open", path, arg=READ)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("steno.bundle.kernel_table.write", full)
    event, gaps = run.keep()
    assert event is None
    assert [reason for reason, _ in gaps] == ["kernel_record_damaged"]
    assert os.listdir(run.spool / layout.EVIDENCE) == []


# --- secrets -----------------------------------------------------------------------------------------


def test_a_secret_in_a_path_is_masked_in_the_line_and_in_the_key(run: Run) -> None:
    path = run.work / SECRET.decode()
    path.write_text("x")
    run.saw("open", path, arg=READ)
    run.keep()
    (line,) = run.lines()
    assert line["path"] == str(run.work / ("*" * len(SECRET)))
    assert line["after_blob"] == f"before:{line['path']}"
    assert_nowhere([SECRET], run.spool / layout.FILE_LINES, run.spool / layout.BLOBS)


def test_two_paths_that_look_alike_once_masked_are_one_line_and_a_gap(run: Run) -> None:
    names = [f"token=ghp_{letter * 36}" for letter in "ab"]
    for name in names:
        (run.work / name).write_text(name[-1])
        run.saw("open", run.work / name, arg=READ)
    _, gaps = run.keep()
    assert [reason for reason, _ in gaps] == ["blobs_lost"]
    (line,) = run.lines()
    assert run.blobs() == {line["after_blob"]: b"a"}  # no blob without a line that tells of it


def test_two_paths_that_look_alike_as_text_have_a_blob_each(run: Run) -> None:
    contents = {"caf\u00e9".encode(): b"utf-8", "caf\u00e9".encode("latin-1"): b"latin-1"}
    for name, content in contents.items():
        path = run.work / os.fsdecode(name)
        path.write_bytes(content)
        run.saw("open", path, arg=READ)
    assert run.keep()[1] == []
    kept = {line.get("path_b64"): run.blobs()[line["after_blob"]] for line in run.lines()}
    latin_1 = os.fsencode(run.work) + b"/caf\xe9"
    assert kept == {None: b"utf-8", base64.b64encode(latin_1).decode(): b"latin-1"}


def test_a_secret_in_a_file_or_a_link_is_not_in_clear(run: Run) -> None:
    path, link = run.work / "file", run.work / "link"
    path.write_bytes(SECRET)
    link.symlink_to(SECRET.decode())
    run.saw("open", path, arg=READ)
    run.saw("readlink", link)
    run.keep()
    assert run.blobs() == {f"before:{path}": SECRET}
    assert run.line(link)["after"]["target"] == "*" * len(SECRET)
    assert_nowhere([SECRET], run.spool / layout.FILE_LINES, run.spool / layout.BLOBS)
    assert f"blobs:{path}" in run.findings.snapshot()["redacted_fields"]


# --- what is missing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"lost_events": 3}, "kernel_events_lost"),
        ({"closed": 0}, "observer_killed"),
        ({"outlived": 2}, "processes_outlived"),
        ({"lost_blobs": 1}, "blobs_lost"),
        ({"events": 1 << 40}, "kernel_record_damaged"),
    ],
)
def test_what_the_header_admits_is_a_gap(run: Run, header: dict[str, int], reason: str) -> None:
    run.frames.header(**header)
    event, gaps = run.keep()
    assert event is not None
    assert [each for each, _ in gaps] == [reason]


def test_io_uring_that_was_let_through_is_a_gap(run: Run) -> None:
    run.frames.header(features=32).event("io_uring", arg=8)
    assert [reason for reason, _ in run.keep().gaps] == ["io_uring_unobserved"]


@pytest.mark.parametrize(("pattern", "gaps"), [("core.%p", ["core_unobserved"]), ("|/handler %p", [])])
def test_a_core_that_the_kernel_wrote_is_a_gap_unless_a_program_takes_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, gaps: list[str]
) -> None:
    (tmp_path / "core_pattern").write_text(pattern)
    monkeypatch.setattr("steno.record.kernel._CORE_PATTERN", tmp_path / "core_pattern")
    run.frames.exit(status=0x80 | 11)
    assert [reason for reason, _ in run.keep().gaps] == gaps


def test_io_uring_that_was_allowed_and_not_used_is_none(run: Run) -> None:
    run.frames.header(features=32)
    assert run.keep().gaps == []


def test_a_recovered_run_does_not_know_how_it_ended(run: Run) -> None:
    path = run.work / "file"
    path.write_text("old")
    run.saw("open", path, arg=WRITE, state=run.found(path, blob=run.frames.blob(b"old"), content="kept"))
    event, gaps = run.keep(looked=False)
    assert event is not None
    assert [reason for reason, _ in gaps] == ["after_unknown"]
    assert run.lines() == [{"path": str(path), "after": {"unknown": True}}]
    assert run.judged(path)["before"]["blob"] == f"before:{path}"
    assert run.blobs() == {f"before:{path}": b"old"}


def test_what_a_killed_recorder_had_half_written_is_written_anew(run: Run) -> None:
    path = run.work / "file"
    path.write_text("x")
    run.saw("open", path, arg=READ)
    first = run.keep()
    (run.spool / f"{layout.FILE_LINES}.sealing").write_bytes(b"half")
    (run.spool / f"{layout.BLOBS}.sealing").write_bytes(b"half")
    (run.spool / layout.FILE_LINES).write_bytes(b"planted")
    assert run.keep(write=False) == first
    assert run.line(path)["after_blob"] == f"before:{path}"
    assert not list(run.spool.rglob("*.sealing"))


def test_old_blobs_do_not_stay_when_there_are_none(run: Run) -> None:
    (run.spool / layout.EVIDENCE).mkdir()
    (run.spool / layout.BLOBS).write_bytes(b"planted")
    run.keep()
    assert not (run.spool / layout.BLOBS).exists()


def test_no_frames_are_a_gap(run: Run) -> None:
    event, gaps = run.keep(write=False)
    assert event is None
    assert [reason for reason, _ in gaps] == ["kernel_record_damaged"]


@pytest.mark.parametrize("name", ["header.bin", "events.bin", "states.bin", "strings.bin"])
@pytest.mark.parametrize("damage", ["gone", "empty", "noise", "link", "directory", "fifo"])
def test_damaged_frames_are_a_gap_and_never_an_exception(run: Run, name: str, damage: str) -> None:
    for number in range(5):
        (run.work / str(number)).write_text("x")
        run.saw("open", run.work / str(number), arg=WRITE)
    run.frames.write(run.spool)
    path = run.spool / KERNEL / name
    size = path.stat().st_size
    path.unlink()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "noise":
        path.write_bytes(os.urandom(size))
    elif damage == "link":
        path.symlink_to("/etc/passwd")
    elif damage == "directory":
        path.mkdir()
    elif damage == "fifo":
        os.mkfifo(path)
    _, gaps = run.keep(write=False)
    assert gaps


def test_a_kept_content_that_was_cut_is_a_gap(run: Run) -> None:
    path = run.work / "file"
    path.write_text("whole")
    run.saw("unlink", path, state=run.found(path, blob=run.frames.blob(b"who"), content="kept"))
    path.unlink()
    _, gaps = run.keep()
    assert [reason for reason, _ in gaps] == ["blobs_lost"]
    assert run.judged(path)["before"]["content"] == "unknown"


def test_a_disk_that_takes_no_blob_leaves_lines_without_keys_and_a_gap(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run.work / "file"
    path.write_text("x")
    run.saw("open", path, arg=READ)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blobs.BlobWriter, "add", full)
    _, gaps = run.keep()
    assert [reason for reason, _ in gaps] == ["blobs_lost"]
    assert run.judged(path)["before"]["content"] == "unknown"
    assert "blob" not in run.judged(path)["before"]
    assert not (run.spool / layout.BLOBS).exists()


def test_directories_planted_in_the_way_are_removed(run: Run) -> None:
    for name in (layout.FILE_LINES, layout.BLOBS):
        (run.spool / name / "inner").mkdir(parents=True)
        (run.spool / f"{name}.sealing" / "inner").mkdir(parents=True)
    path = run.work / "file"
    path.write_text("x")
    run.saw("open", path, arg=READ)
    assert run.keep().gaps == []
    assert run.blobs() == {f"before:{path}": b"x"}


def test_a_link_planted_in_place_of_the_layers_is_a_gap_and_not_followed(run: Run) -> None:
    (run.spool / layout.EVIDENCE).symlink_to(run.work)
    run.saw("stat", run.work)
    event, gaps = run.keep()
    assert event is None
    assert [reason for reason, _ in gaps] == ["kernel_record_damaged"]
    assert os.listdir(run.work) == []


def test_states_of_files_that_cannot_be_written_are_a_gap_and_an_empty_list_keeps_what_the_event_promises(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel, "file_line", full)
    run.saw("stat", run.work)
    event, gaps = run.keep()
    assert event is not None
    assert "No space left" in gaps[0][1]
    assert (run.spool / layout.FILE_LINES).read_bytes() == b""


def test_a_key_that_the_command_removed_is_a_gap_unless_it_is_at_hand(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.saw("stat", run.work)
    run.frames.write(run.spool)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another"))
    event, gaps = run.keep(write=False)
    assert event is None
    assert "local.key" in gaps[0][1]
    assert run.keep(write=False, key=run.key).event is not None


def test_on_a_disk_nearly_full_changed_files_come_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    source, made = run.work / "a-source", run.work / "made"
    source.write_text("x")
    run.saw("open", source, arg=READ)
    run.saw("open", made, arg=WRITE)
    made.write_text("y")
    room = iter([True, False])
    monkeypatch.setattr(blobs.BlobWriter, "has_room", lambda *_: next(room))
    _, gaps = run.keep()
    assert gaps == [("blobs_lost", "1 content had no room")]
    assert run.blobs() == {f"after:{made}": b"y"}
    assert run.line(source)["after_content"] == run.judged(source)["before"]["content"] == "unknown"


def test_another_key_is_a_gap(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another"))
    run.saw("stat", run.work)
    run.frames.write(run.spool)
    (run.store / KEY_IN_STORE).write_bytes(bytes(32))
    _, gaps = run.keep(write=False)
    assert [reason for reason, _ in gaps] == ["kernel_record_damaged"]
