"""`steno diff`, `baseline` and `surface` as programs: exit codes, formats, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steno.compare import sides
from support.capabilities_made import RUN_A, RUN_B, evidence
from support.making import RUN_ID, make_run
from support.program import Steno
from support.recorded import Recorded


def lock_file(path: Path, run_id: str = RUN_A, *, projected: bool = True, **entries: Any) -> Path:
    made = sides.make([evidence(run_id, **entries)], projected=projected, accept_partial=False)
    path.write_bytes(sides.to_bytes(made))
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return lock_file(tmp_path / "old.lock", files_read=["/etc/hosts"], endpoints_connected=["192.0.2.1:443"])


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return lock_file(
        tmp_path / "new.lock", RUN_B, files_read=["/etc/hosts", "/etc/shadow"], execs_attempted=["/bin/no"]
    )


def test_two_locks_are_compared(steno: Steno, old: Path, new: Path) -> None:
    done = steno("diff", old, new)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"  + /etc/shadow\n" in done.stdout
    assert b"  - 192.0.2.1:443\n" in done.stdout
    assert steno("diff", old, old).returncode == 0


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_data_formats_print_one_document(steno: Steno, old: Path, new: Path, form: str) -> None:
    done = steno("diff", old, new, "--format", form)
    assert done.returncode == 1
    assert json.loads(done.stdout)


def test_json_is_a_short_name_of_the_format(steno: Steno, old: Path, new: Path) -> None:
    assert steno("diff", old, new, "--json").stdout == steno("diff", old, new, "--format", "json").stdout


def test_markdown_is_printed(steno: Steno, old: Path, new: Path) -> None:
    done = steno("diff", old, new, "--format", "markdown")
    assert done.returncode == 1
    assert "- + `/etc/shadow`\n" in done.stdout.decode()


def test_ignored_entries_are_printed(steno: Steno, old: Path, new: Path, tmp_path: Path) -> None:
    rules = tmp_path / "ignore.yaml"
    rules.write_text("paths: [/etc/shadow]\ncidrs: [192.0.2.0/24]\n")
    done = steno("diff", old, new, "--ignore", rules)
    assert done.returncode == 0
    assert b"  + /etc/shadow  [paths: /etc/shadow (line 1)]\n" in done.stdout
    assert b"  - 192.0.2.1:443  [cidrs: 192.0.2.0/24 (line 2)]\n" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "html"],
        ["--json", "--format", "sarif"],
        ["--no-project"],
        ["--ignore", "nowhere.yaml"],
        ["--ignore", "bad.yaml"],
    ],
)
def test_a_wrong_wish_is_a_usage_error(
    steno: Steno, old: Path, new: Path, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "bad.yaml").write_text("paths:\n  - /x\nfiles: []\n")
    done = steno("diff", old, new, *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\nhint: ") == 1
    if words[-1] == "bad.yaml":
        assert b"bad.yaml: line 3: unknown key 'files'\n" in done.stderr
        assert b"\nhint: a file of rules has lists under paths, prefixes, endpoints, " in done.stderr


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b"\x1f\x8bnot gzip", b'{"schema":"x"}'])
def test_a_file_that_is_neither_bundle_nor_lock_is_unusable(
    steno: Steno, old: Path, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)
    for words in ((old, "./file"), ("./file", old)):
        done = steno("diff", *words)
        assert (done.returncode, done.stdout) == (4, b"")
        assert done.stderr.count(b"\nhint: ") == 1


def test_a_directory_that_is_no_bundle_is_unusable(steno: Steno, old: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert steno("diff", old, "./empty").returncode == 4
    assert steno("baseline", "./empty").returncode == 4
    assert steno("surface", "./empty").returncode == 4


def test_a_run_that_is_not_sealed_is_unusable(steno: Steno, store: Path, old: Path) -> None:
    make_run(store, sealed=False)
    done = steno("diff", old, "@last")
    assert done.returncode == 4
    assert b"steno recover" in done.stderr


def test_a_run_without_a_kernel_layer_is_inconclusive_and_no_baseline(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    make_run(store)
    empty = lock_file(tmp_path / "empty.lock")
    done = steno("diff", empty, "@last")
    assert done.returncode == 3
    assert f"degraded evidence, B: {RUN_ID} kernel_layer_absent".encode() in done.stdout
    assert steno("baseline", "@last").returncode == 3


def test_a_lock_is_not_overwritten_unless_that_is_asked_for(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    make_run(store)
    target = tmp_path / "capability.lock"
    target.write_bytes(b"something else")
    words = ("baseline", "@last", "--accept-partial", "-o", target)
    assert steno(*words).returncode == 2
    assert target.read_bytes() == b"something else"
    done = steno(*words, "--force", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] == target.stat().st_size
    assert target.read_bytes() == steno("baseline", "@last", "--accept-partial").stdout
    assert steno(*words).returncode == 0


@pytest.mark.parametrize("words", [["baseline"], ["baseline", "@last", "--force"], ["diff", "@last"]])
def test_a_command_line_that_lacks_something_is_a_usage_error(
    steno: Steno, store: Path, words: list[str]
) -> None:
    make_run(store)
    done = steno(*words)
    assert (done.returncode, done.stdout) == (2, b"")


def test_the_surface_of_a_run_without_a_kernel_layer_is_empty_and_says_so(steno: Steno, store: Path) -> None:
    path = make_run(store)
    done = steno("surface", "@last")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"the kernel layer is absent" in done.stderr
    told = steno("surface", "@last", "--json").stdout
    assert told == Recorded(path).judged("capability-surface.json") + b"\n"


def test_a_planted_surface_is_not_believed(steno: Steno, store: Path) -> None:
    path = make_run(store) / "capability-surface.json"
    told = steno("surface", "@last", "--json").stdout
    path.write_bytes(b'{"schema":"steno.capability-surface.v1","steno":{"files":7}}')
    assert steno("surface", "@last", "--json").stdout == told
