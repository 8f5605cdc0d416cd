"""The intake of a run: whatever the command does to it, it is read without a wait, and removed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.capture.procfs import start_ticks
from steno.claims import folder as claims_folder
from steno.claims.client import Intake
from steno.claims.folder import IntakeFolder
from steno.claims.logs import MAX_LOG
from steno.evidence import intake as names
from steno.evidence.claims import ProcessKey
from support.making import RUN_ID, make_run


def another_id() -> str:
    """Of no other test: they may run at the same time."""
    return f"{RUN_ID[:-8]}{os.urandom(4).hex()}"


@pytest.fixture(autouse=True)
def _memory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the memory that all share, `steno doctor` and `steno recover` of other tests remove what is left."""
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(claims_folder, "memory_directories", lambda: (memory,))


@pytest.fixture
def found() -> Iterator[IntakeFolder]:
    made = claims_folder.make_in_memory(another_id())
    assert made is not None
    yield made
    made.remove()
    assert not made.path.exists()


def test_the_folder_is_private_and_its_logs_are_there(found: IntakeFolder) -> None:
    assert found.path.name.startswith(f"steno-intake-{RUN_ID[:-8]}")
    assert found.path.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in found.path.iterdir()} == dict.fromkeys(
        ("hooks.ndjson", "sdk.ndjson"), 0o600
    )


def test_the_environment_has_five_names_and_leads_programs_here(found: IntakeFolder) -> None:
    given = found.environment(RUN_ID, 7)
    assert set(given) == set(claims_folder.VARIABLES)
    assert len(given) == 5
    assert given["STENO_SDK_EVENT_LOG"] == str(found.path / "sdk.ndjson")
    assert given["STENO_RUN_ID"] == RUN_ID
    assert given["STENO_SDK_EVENT_SCHEMA"] == "assay.runner.sdk_event.v0"
    told = Intake.of(given)
    assert told is not None
    log = told.log(names.HOOKS)
    log.append(b"a line\n")
    log.close()
    assert found.read(names.HOOKS)[:2] == (b"a line\n", None)


def test_a_proxy_makes_a_log_of_its_own_and_takes_nobody_elses(found: IntakeFolder) -> None:
    told = Intake.of(found.environment(RUN_ID, 7))
    assert told is not None
    told.policy_log().append(b"a line\n")
    (log,) = found.policy_logs()
    assert log.owner == ProcessKey(os.getpid(), start_ticks(os.getpid()) or 0)
    assert log.read.data == b"a line\n"
    with pytest.raises(FileExistsError):
        told.policy_log()


def test_only_what_is_named_after_a_process_is_the_log_of_a_proxy(found: IntakeFolder) -> None:
    for name in (
        "policy.ndjson",
        "policy.1.ndjson",
        "policy.01-1.ndjson",
        "policy.1-1.ndjson.x",
        "policy.-.ndjson",
    ):
        (found.path / name).write_bytes(b"x\n")
    assert list(found.policy_logs()) == []


def test_the_logs_of_proxies_share_one_bound_and_the_smallest_come_first(found: IntakeFolder) -> None:
    (found.path / names.policy_log(1, 1)).write_bytes(b"one\n")
    (found.path / names.policy_log(2, 1)).touch()
    os.truncate(found.path / names.policy_log(2, 1), MAX_LOG)  # sparse
    small, large = found.policy_logs()
    assert (small.read.data, small.read.problem) == (b"one\n", None)
    assert (len(large.read.data), large.read.problem) == (MAX_LOG - 4, "log_too_large")


def test_an_untouched_folder_has_no_problem(found: IntakeFolder) -> None:
    assert found.problem() is None
    assert [found.read(name)[:2] for name in claims_folder.LOGS] == [(b"", None)] * 2
    assert list(found.policy_logs()) == []


def test_what_was_told_before_a_log_was_removed_is_not_lost(found: IntakeFolder) -> None:
    (found.path / names.HOOKS).write_bytes(b"one\n")
    (found.path / names.HOOKS).unlink()
    assert found.read(names.HOOKS)[:2] == (b"one\n", "removed_or_replaced")


def test_a_log_that_was_replaced_has_what_stood_in_both(found: IntakeFolder) -> None:
    log = found.path / names.HOOKS
    log.write_bytes(b"one\n")
    log.unlink()
    log.write_bytes(b"two\n")
    assert found.read(names.HOOKS)[:2] == (b"one\ntwo\n", "removed_or_replaced")


def test_an_sdk_may_put_a_whole_new_log_in_the_place_of_the_old_one(
    found: IntakeFolder, tmp_path: Path
) -> None:
    new = found.path / "new"
    new.write_bytes(b"whole\n")
    new.rename(found.path / names.SDK)
    assert found.read(names.SDK)[:2] == (b"whole\n", None)


def test_a_pipe_does_not_make_us_wait(found: IntakeFolder) -> None:
    for name in claims_folder.LOGS:
        (found.path / name).unlink()
        os.mkfifo(found.path / name)
        assert found.read(name)[:2] == (b"", "not_a_regular_file")


def test_a_link_is_not_followed(found: IntakeFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret\n")
    for name in claims_folder.LOGS:
        (found.path / name).unlink()
        (found.path / name).symlink_to(tmp_path / "secret")
        assert found.read(name)[:2] == (b"", "not_a_regular_file")


def test_a_directory_is_no_log(found: IntakeFolder) -> None:
    (found.path / names.SDK).unlink()
    (found.path / names.SDK).mkdir()
    assert found.read(names.SDK).problem == "not_a_regular_file"


def test_a_truncated_log_is_what_is_left_of_it(found: IntakeFolder) -> None:
    (found.path / names.SDK).write_bytes(b"one\ntwo\n")
    os.truncate(found.path / names.SDK, 4)
    assert found.read(names.SDK)[:2] == (b"one\n", None)


def test_a_log_that_was_filled_is_read_to_its_bound(found: IntakeFolder) -> None:
    os.truncate(found.path / names.SDK, MAX_LOG + 1)  # sparse
    data, problem, _ = found.read(names.SDK)
    assert (len(data), problem) == (MAX_LOG, "log_too_large")


def test_a_folder_that_was_removed_or_moved_is_told(found: IntakeFolder) -> None:
    (found.path / names.HOOKS).write_bytes(b"one\n")
    aside = found.path.with_name(f"{found.path.name}-aside")
    found.path.rename(aside)
    assert found.problem() == "removed_or_replaced"
    assert found.read(names.HOOKS)[:2] == (b"one\n", None)
    found.path.symlink_to(aside)
    assert found.problem() == "removed_or_replaced"
    found.path.unlink()
    aside.rename(found.path)


def test_a_folder_that_others_may_enter_is_told(found: IntakeFolder) -> None:
    found.path.chmod(0o777)
    assert found.problem() == "open_to_others"


@pytest.mark.parametrize("mode", [0, 0o500])
def test_a_folder_that_was_closed_to_its_owner_is_not_said_to_be_open(found: IntakeFolder, mode: int) -> None:
    found.path.chmod(mode)
    assert found.problem() == "mode_changed"
    found.path.chmod(0o700)


def test_a_folder_that_is_deeper_than_any_stack_is_removed() -> None:
    made = claims_folder.make_in_memory(another_id())
    assert made is not None
    fd = os.open(made.path, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    assert made.remove()
    assert not made.path.exists()


def test_a_folder_that_cannot_be_removed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = claims_folder.make_in_memory(another_id())
    assert made is not None

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", refuse)
        assert not made.remove()
    left = claims_folder.open_left(made.path, claims_folder.MEMORY, os.geteuid())
    assert left is not None
    assert left.remove()


def test_a_folder_of_the_same_name_is_not_removed(tmp_path: Path) -> None:
    made = claims_folder.make_in_memory(another_id())
    assert made is not None
    aside = made.path.with_name(f"{made.path.name}-aside")
    made.path.rename(aside)
    made.path.mkdir(mode=0o700)
    made.remove()
    assert made.path.exists()
    made.path.rmdir()
    for path in aside.iterdir():
        path.unlink()
    aside.rmdir()


def test_without_memory_there_is_none_and_the_spool_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steno.claims.folder.memory_directories", lambda: ())
    assert claims_folder.make_in_memory(RUN_ID) is None
    (tmp_path / "spool").mkdir()
    made = claims_folder.make_on_disk(tmp_path)
    assert (made.path, made.place) == (tmp_path / "spool/intake", "disk")
    made.remove()


def test_a_folder_is_left_when_its_recorder_is_gone_and_its_run_needs_it_no_more(tmp_path: Path) -> None:
    ids = [another_id() for _ in range(3)]
    unsealed, sealed = make_run(tmp_path, run_id=ids[1], sealed=False), make_run(tmp_path, run_id=ids[2])
    held, needed, over = map(claims_folder.make_in_memory, ids)
    assert held is not None
    assert needed is not None
    assert over is not None
    needed.belongs_to(unsealed)
    over.belongs_to(sealed)
    needed.close()
    over.close()
    removed = {left.path for left in claims_folder.remove_left() if left.removed}
    assert over.path in removed
    assert not over.path.exists()
    assert held.path.exists()
    assert needed.path.exists()
    held.remove()
    left = claims_folder.open_left(needed.path, claims_folder.MEMORY, os.geteuid())
    assert left is not None
    left.remove()
    assert not needed.path.exists()


def test_what_is_not_ours_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "private")
    for name, owner in (("link", os.geteuid()), ("private", os.geteuid() + 1)):
        assert claims_folder.open_left(tmp_path / name, claims_folder.MEMORY, owner) is None
    assert claims_folder.open_left(tmp_path / "gone", claims_folder.MEMORY, os.geteuid()) is None
