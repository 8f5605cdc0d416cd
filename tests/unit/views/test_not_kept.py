"""Paths that a run changed and whose states are not kept: found, told apart, and never hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from capabilities_made import surface
from kernel_bundles import kernel_run
from making import RUN_ID
from steno.bundle.folder import Folder
from steno.views import not_kept
from steno.views.not_kept import INSIDE_GIT, LEFT_OUT, OTHER_ROOT, NotKept


def found(tmp_path: Path, *files: bytes, **changed: Any) -> list[NotKept]:
    with Folder(kernel_run(tmp_path, surface=surface(RUN_ID, **changed))) as run:
        return not_kept.not_kept(run, RUN_ID, files)


def test_what_files_json_has_no_line_for_is_told_with_what_was_done(tmp_path: Path) -> None:
    assert found(
        tmp_path,
        b"/kept",
        files_created=["/made", "/kept"],
        files_written=["/made", "/kept", "/written"],
        files_deleted=["/made", "/deleted"],
        files_attempted=["/tried"],
        files_read=["/read"],
    ) == [
        NotKept("/deleted", ("deleted",), LEFT_OUT),
        NotKept("/made", ("created", "deleted"), LEFT_OUT),
        NotKept("/written", ("written",), LEFT_OUT),
    ]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/repo/.git/hooks/pre-commit", INSIDE_GIT),
        ("/repo/.github/x", LEFT_OUT),
        ("other-root:/repo/.git/x", OTHER_ROOT),
        ("/dev/shm/x", LEFT_OUT),
        ("/proc/sys/kernel/core_pattern", LEFT_OUT),
    ],
)
def test_why_there_is_no_state_is_told(tmp_path: Path, path: str, why: str) -> None:
    assert found(tmp_path, files_written=[path]) == [NotKept(path, ("written",), why)]


@pytest.mark.parametrize(
    "path",
    [
        *("/dev/null", "/dev/tty", "/dev/pts/N", "/proc/PID/oom_score_adj", "/memfd:x", "pipe:[N]"),
        *(f"/dev/shm/steno-intake-RUN_ID/{name}.ndjson" for name in ("hooks", "sdk", "policy.PID")),
        "/store/RUN_ID/spool/intake/policy.12-34.ndjson",
    ],
)
def test_terminals_sinks_and_the_intake_are_no_files(tmp_path: Path, path: str) -> None:
    assert found(tmp_path, files_written=[path]) == []


@pytest.mark.parametrize("path", ["/home/.cache/steno-intake-RUN_ID/evil", "/dev/null/x", "/x\n/dev/null"])
def test_a_name_like_ours_hides_nothing(tmp_path: Path, path: str) -> None:
    assert [one.path for one in found(tmp_path, files_written=[path])] == [path]


def test_a_path_is_known_under_the_name_that_the_surface_has_for_it(tmp_path: Path) -> None:
    files = [b"/\xff", f"/x/{RUN_ID}".encode()]
    assert found(tmp_path, *files, files_written=["/\\xff", "/x/RUN_ID"]) == []


def test_a_bundle_without_a_surface_has_none(tmp_path: Path) -> None:
    path = kernel_run(tmp_path)
    (path / "capability-surface.json").unlink()
    with Folder(path) as run:
        assert not_kept.not_kept(run, RUN_ID, ()) == []


def test_what_is_ignored_is_named_before_what_git_wrote(tmp_path: Path) -> None:
    paths = [f"/a/.git/{number}" for number in range(9)]
    (line,) = not_kept.lines(found(tmp_path, files_written=[*paths, "/z\x1b"]))
    assert line == (
        "10 more paths may have changed: their states are not kept "
        "(1 ignored, special, or of another user, 9 inside .git): /z\\x1b, /a/.git/0, /a/.git/1 and 7 more"
    )
    assert list(not_kept.lines([])) == []
