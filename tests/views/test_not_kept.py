"""Paths that a run changed and whose states are not kept: found, told apart, and never hidden."""

from __future__ import annotations

import os
from pathlib import Path

from steno.evidence import canonical
from steno.model.contents import INSIDE_GIT, LEFT_OUT, OTHER_ROOT, NotKept
from steno.views import files
from support.documents import surface
from support.reading import opened, sealed
from support.run_builder import RUN_ID, WRITING, RunBuilder


def run() -> RunBuilder:
    return RunBuilder().process("sh")


def wrote(*paths: str) -> RunBuilder:
    """Opened to be written; how the run left them is not recorded."""
    builder = run()
    for path in paths:
        builder.call("open", path, state=b"x", arg=os.O_WRONLY, result=0)
    return builder


def found(store: Path, builder: RunBuilder) -> list[NotKept]:
    with opened(sealed(builder, store)) as one:
        return one.not_kept(file.name for file in one.files)


def test_what_files_json_has_no_line_for_is_told_with_what_was_done(tmp_path: Path) -> None:
    builder = (
        wrote("/written")
        .wrote("/kept")
        .call("open", "/made", state=None, arg=WRITING, result=0)
        .call("unlink", "/made", state=b"x", result=0)
        .call("unlink", "/deleted", state=b"x", result=0)
        .call("open", "/tried", state=b"x", arg=os.O_WRONLY, result=-13)
        .call("open", "/read", state=b"x", arg=os.O_RDONLY, result=0)
    )
    assert found(tmp_path, builder) == [
        NotKept("/deleted", ("deleted",), LEFT_OUT),
        NotKept("/made", ("created", "deleted"), LEFT_OUT),
        NotKept("/written", ("written",), LEFT_OUT),
    ]


def test_why_there_is_no_state_is_told(tmp_path: Path) -> None:
    paths = ["/dev/shm/x", "/proc/sys/kernel/core_pattern", "/repo/.git/hooks/pre-commit", "/repo/.github/x"]
    builder = wrote(*paths).call(
        "open", "/repo/.git/x", state=b"x", arg=os.O_WRONLY, notes=["other_root"], result=0
    )
    assert found(tmp_path, builder) == [
        NotKept("/dev/shm/x", ("written",), LEFT_OUT),
        NotKept("/proc/sys/kernel/core_pattern", ("written",), LEFT_OUT),
        NotKept("/repo/.git/hooks/pre-commit", ("written",), INSIDE_GIT),
        NotKept("/repo/.github/x", ("written",), LEFT_OUT),
        NotKept("other-root:/repo/.git/x", ("written",), OTHER_ROOT),
    ]


def test_terminals_sinks_and_the_intake_are_no_files(tmp_path: Path) -> None:
    paths = [
        *("/dev/null", "/dev/tty", "/dev/pts/7", "/proc/7/oom_score_adj", "/memfd:x", "pipe:[7]"),
        *(f"/dev/shm/steno-intake-{RUN_ID}/{name}.ndjson" for name in ("hooks", "sdk", "policy.12-34")),
        f"/store/{RUN_ID}/spool/intake/policy.12-34.ndjson",
    ]
    assert found(tmp_path / "one", wrote(*paths)) == []
    with opened(sealed(wrote(*paths), tmp_path / "two")) as run:
        told = canonical.decode(b"".join(surface(run.evidence)))["steno"]["files"]["written"]
    assert len(told) == len(paths)


def test_a_name_like_ours_hides_nothing(tmp_path: Path) -> None:
    paths = ["/dev/null/x", f"/home/.cache/steno-intake-{RUN_ID}/evil", "/x\n/dev/null"]
    names = [path.replace(RUN_ID, "RUN_ID") for path in paths]
    assert [one.path for one in found(tmp_path, wrote(*paths))] == names


def test_a_path_is_known_under_the_name_that_the_surface_has_for_it(tmp_path: Path) -> None:
    assert found(tmp_path, run().wrote(b"/\xff").wrote(f"/x/{RUN_ID}")) == []


def test_what_is_ignored_is_named_before_what_git_wrote(tmp_path: Path) -> None:
    paths = [f"/a/.git/{number}" for number in range(9)]
    (line,) = files.not_kept_lines(found(tmp_path, wrote(*paths, "/z\x1b")))
    assert line == (
        "10 more paths may have changed: their states are not kept "
        "(1 ignored, special, or of another user, 9 inside .git): /z\\x1b, /a/.git/0, /a/.git/1 and 7 more"
    )
    assert list(files.not_kept_lines([])) == []
