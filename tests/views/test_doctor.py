"""The doctor says what works, what does not, and what to do; it changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steno.capture.cgroup import Refusal
from steno.text.style import Paint
from steno.views import doctor
from steno.views.doctor import Finding, Mark
from support.cgroups import left_by, needs_scope, new_run_id
from support.making import RUN_ID, make_run, start
from support.waiting import SECONDS

PATH = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


@pytest.fixture(autouse=True)
def _programs_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is slow has not told what it can do; a busy machine makes them slow."""
    monkeypatch.setattr(doctor, "_SECONDS", SECONDS)
    monkeypatch.setattr("steno.capture.observer._CHECK_SECONDS", SECONDS)


def about(found: list[Finding], what: str) -> list[Finding]:
    return [one for one in found if one.about == what]


def test_a_machine_that_can_record_is_told_so(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    found = doctor.checkup(store, PATH)
    assert doctor.exit_code(found) == 0
    assert "made by the first run" in about(found, "store")[0].says
    assert not store.exists()


def test_a_store_that_others_can_read_is_told_with_the_command_to_run(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    found = about(doctor.checkup(tmp_path, PATH), "store")
    assert (found[1].mark, found[1].hint) == (Mark.LIMITED, f"chmod 700 {tmp_path}")
    tmp_path.chmod(0o700)
    assert len(about(doctor.checkup(tmp_path, PATH), "store")) == 1


def test_a_store_that_cannot_be_made_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    found = doctor.checkup(tmp_path / "file" / "runs", PATH)
    assert about(found, "store")[0].mark is Mark.MISSING
    assert doctor.exit_code(found) == 1


def test_without_git_recording_works_and_the_package_is_named(tmp_path: Path) -> None:
    found = doctor.checkup(tmp_path, {**PATH, "PATH": str(tmp_path)})
    (git,) = about(found, "git")
    assert git.mark is Mark.LIMITED
    assert git.hint is not None
    assert "apt install git" in git.hint
    assert doctor.exit_code(found) == 0


def test_the_list_of_ignored_paths_is_found_or_will_be_made_by_a_run_and_not_by_the_doctor(
    home: Path,
) -> None:
    config = home / "agent-snapshot" / "ignore.json"
    environ = {**PATH, "XDG_CONFIG_HOME": str(home)}
    (found,) = about(doctor.checkup(home, environ), "ignored paths")
    assert (found.mark, "made by the first run" in found.says) == (Mark.OK, True)
    assert not config.parent.exists()
    config.parent.mkdir()
    config.write_text('["/a", "/b"]')
    (found,) = about(doctor.checkup(home, environ), "ignored paths")
    assert (found.mark, found.says) == (Mark.OK, f"{config} (2 paths)")


def test_where_no_list_of_ignored_paths_can_be_made_recording_works(home: Path) -> None:
    (home / "file").touch()
    found = doctor.checkup(home, {**PATH, "XDG_CONFIG_HOME": str(home / "file" / "config")})
    (ignored,) = about(found, "ignored paths")
    assert (ignored.mark, f"{home / 'file'} is not a directory" in ignored.says) == (Mark.LIMITED, True)
    assert doctor.exit_code(found) == 0


def test_a_list_of_ignored_paths_that_stops_every_run_is_told(home: Path) -> None:
    config = home / "agent-snapshot" / "ignore.json"
    config.parent.mkdir()
    config.write_text("{}")
    found = doctor.checkup(home, {**PATH, "XDG_CONFIG_HOME": str(home)})
    assert about(found, "ignored paths")[0].mark is Mark.MISSING
    assert doctor.exit_code(found) == 1


def program_that(tmp_path: Path, *, prints: str, exits: int) -> dict[str, str]:
    program = tmp_path / "steno-trace"
    program.write_text(f"#!/bin/sh\n[ \"$1\" = --probe ] || exit 9\necho '{prints}'\nexit {exits}\n")
    program.chmod(0o700)
    return {**PATH, "STENO_TRACE": str(program)}


def test_a_kernel_that_can_be_observed_is_told_with_what_it_lacks(tmp_path: Path) -> None:
    environ = program_that(tmp_path, prints='{"seccomp_notify":true,"exit_info":false,"new":false}', exits=0)
    (kernel,) = about(doctor.checkup(tmp_path, environ), "kernel")
    assert (kernel.mark, kernel.says) == (Mark.OK, "system calls are recorded; lacking: exit_info, new")
    assert kernel.hint == "Linux 6.15 tells how every process ended"


def test_a_kernel_that_cannot_be_observed_limits_and_the_missing_feature_has_a_hint(tmp_path: Path) -> None:
    environ = program_that(tmp_path, prints='{"seccomp_notify":false}', exits=1)
    found = doctor.checkup(tmp_path, environ)
    (kernel,) = about(found, "kernel")
    assert (kernel.mark, kernel.says) == (
        Mark.LIMITED,
        "system calls cannot be recorded here; lacking: seccomp_notify",
    )
    assert kernel.hint is not None
    assert "Linux 5.5" in kernel.hint
    assert doctor.exit_code(found) == 0


@pytest.mark.parametrize("prints", ["", "[]", "nonsense"])
def test_an_observer_that_answers_nonsense_is_told(tmp_path: Path, prints: str) -> None:
    environ = program_that(tmp_path, prints=prints, exits=0)
    (kernel,) = about(doctor.checkup(tmp_path, environ), "kernel")
    assert kernel.mark is Mark.LIMITED
    assert "does not tell what it can do" in kernel.says


def test_without_the_observer_the_doctor_names_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steno.__file__", str(tmp_path / "steno" / "__init__.py"))
    (kernel,) = about(doctor.checkup(tmp_path, PATH), "kernel")
    assert kernel.mark is Mark.LIMITED
    assert str(tmp_path / "steno" / "native" / "steno-trace") in kernel.says
    assert kernel.hint is not None
    assert "apt install gcc" in kernel.hint


@pytest.mark.parametrize(
    ("reason", "hint"), [("not_permitted", "run as root"), ("read_only", "writable"), ("failed", None)]
)
def test_a_run_that_can_have_no_cgroup_limits_and_the_reason_has_a_hint(
    reason: str, hint: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "make_scope", lambda _run_id: Refusal(reason, "/sys/fs/cgroup: refused"))
    found = doctor.checkup(tmp_path, PATH)
    (cgroup,) = about(found, "cgroup")
    assert (cgroup.mark, cgroup.reason) == (Mark.LIMITED, reason)
    assert "/sys/fs/cgroup: refused" in cgroup.says
    assert (hint or "") in (cgroup.hint or "")
    assert doctor.exit_code(found) == 0
    observers = doctor.to_json(found, tmp_path)["observers"]
    assert (observers["ebpf"], observers["both"]) == ("no_cgroup", observers["notify"] or "no_cgroup")


@needs_scope
def test_a_cgroup_that_was_tried_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = new_run_id()
    monkeypatch.setattr(doctor, "format_run_id", lambda *_: run_id)
    (cgroup,) = about(doctor.checkup(tmp_path, PATH), "cgroup")
    assert (cgroup.mark, cgroup.reason) == (Mark.OK, None)
    assert left_by(run_id) == []


@needs_scope
@pytest.mark.parametrize(
    ("script", "reason"), [("exit 0", None), ("echo 'no_btf: the kernel has no types'; exit 1", "no_btf")]
)
def test_the_probe_is_tried_and_its_reason_is_that_of_its_observers(
    script: str, reason: str | None, tmp_path: Path
) -> None:
    environ = program_that(tmp_path, prints='{"seccomp_notify":true}', exits=0)
    probe = tmp_path / "steno-probe"
    probe.write_text(f"#!/bin/sh\n{script}\n")
    probe.chmod(0o700)
    found = doctor.checkup(tmp_path, {**environ, "STENO_PROBE": str(probe)})
    (ebpf,) = about(found, "eBPF")
    assert (ebpf.mark, ebpf.reason) == (Mark.LIMITED if reason else Mark.OK, reason)
    assert doctor.to_json(found, tmp_path)["observers"] == {"notify": None, "ebpf": reason, "both": reason}


def test_without_pseudo_terminals_something_needed_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> tuple[int, int]:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(os, "openpty", refuse)
    assert doctor.exit_code(doctor.checkup(tmp_path, PATH)) == 1


def test_runs_that_need_attention_are_named_with_the_command_to_run(tmp_path: Path) -> None:
    make_run(tmp_path, start(), sealed=False)
    damaged = RUN_ID.replace("a1b2c3d4", "00000000")
    (tmp_path / damaged).mkdir()
    _, unsealed, broken = about(doctor.checkup(tmp_path, PATH), "runs")
    assert (RUN_ID in unsealed.says, unsealed.hint) == (True, "steno recover --all")
    assert (damaged in broken.says, broken.hint) == (True, f"steno verify {damaged}")


def test_the_findings_are_printed_safely() -> None:
    lines = list(doctor.lines([Finding("git", Mark.OK, "git\x1b[2J", "hint\n")], Paint()))
    assert lines == ["ok       git              git\\x1b[2J", " " * 26 + "hint\\n"]
