"""A real bundle in hostile hands: whatever is done to it, the verdict is never `valid`, and never an error.

The first half changes files. The second half is a forger who knows the format and puts digests and root right
again; what he changed then disagrees with what the primary files give.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import IDENTITY, PROGRAM, SECONDS, Steno
from spools import small_spool
from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.manifest import Completeness, FileDigest
from steno.bundle.recover import recover
from steno.bundle.verify import STEPS, Status, Verdict, verify
from steno.events import canonical, index, layout
from steno.events.index import Arrival

SMALL = 400
STRIDE = 29
TERABYTE = 1 << 40
BAD = {Status.INVALID, Status.UNREADABLE}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One real run with input, output, errors and a change in a repository; nobody changes this copy."""
    place = tmp_path_factory.mktemp("original")
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "STENO_HOME": str(place / "runs"), **IDENTITY}
    repo = place / "repo"
    repo.mkdir()
    (repo / "kept.txt").write_text("one\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=repo, env=env, check=True, timeout=SECONDS)
    script = "cat; echo caf\u00e9 >&2; echo two >> kept.txt; echo password=hunter2-and-more"
    subprocess.run(
        [PROGRAM, "run", "--", "sh", "-c", script],
        cwd=repo,
        env=env,
        input=b"typed\n",
        check=True,
        timeout=SECONDS,
    )
    (run,) = [path for path in (place / "runs").iterdir() if path.is_dir()]
    return run


@pytest.fixture
def bundle(original: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    copy = tmp_path / original.name
    shutil.copytree(original, copy)
    assert verdict_of(copy).status is Status.VALID
    return copy


def verdict_of(run: Path) -> Verdict:
    with Folder(run) as folder:
        return verify(folder)


def files_of(run: Path) -> list[str]:
    return sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file())


def positions(size: int) -> Iterator[int]:
    yield from range(size) if size <= SMALL else [*range(0, size - 1, STRIDE), size - 1]


# --- changed files -------------------------------------------------------------------------------------


def test_the_bundle_has_everything_that_can_be_changed(original: Path) -> None:
    verdict = verdict_of(original)
    assert verdict.status is Status.VALID
    assert [(step.number, step.passed) for step in verdict.steps] == [(number, True) for number in STEPS]
    files = files_of(original)
    assert {layout.STDIN, layout.STDOUT, layout.STDERR, layout.DIFF, layout.CHANGES, layout.CAST} <= set(
        files
    )
    assert json.loads((original / layout.REDACTION_REPORT).read_bytes())["total"] > 0


def test_every_byte_counts(bundle: Path) -> None:
    tried = 0
    for name in files_of(bundle):
        path = bundle / name
        data = path.read_bytes()
        for at in positions(len(data)):
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            assert verdict_of(bundle).status is Status.INVALID, (name, at)
            tried += 1
        path.write_bytes(data)
    assert tried > 1500
    assert verdict_of(bundle).status is Status.VALID


def test_every_file_must_be_there(bundle: Path) -> None:
    for name in files_of(bundle):
        (bundle / name).rename(bundle.parent / "taken")
        expected = Status.UNREADABLE if name == layout.MANIFEST else Status.INVALID
        assert verdict_of(bundle).status is expected, name
        (bundle.parent / "taken").rename(bundle / name)
    assert verdict_of(bundle).status is Status.VALID


@pytest.mark.parametrize("where", ["", "terminal", "repo", "layers"])
def test_nothing_may_be_added_at_any_level(bundle: Path, where: str) -> None:
    added = bundle / where / "added"
    for make, remove in (
        (lambda: added.write_bytes(b""), added.unlink),
        (added.mkdir, added.rmdir),
        (lambda: added.symlink_to("nowhere"), added.unlink),
        (lambda: os.mkfifo(added), added.unlink),
    ):
        make()
        assert verdict_of(bundle).status is Status.INVALID
        remove()
    assert verdict_of(bundle).status is Status.VALID


def test_a_spool_beside_the_manifest_is_never_called_valid(bundle: Path) -> None:
    (bundle / layout.SPOOL).mkdir()
    verdict = verdict_of(bundle)
    assert verdict.status is Status.INCOMPLETE
    assert verdict.gaps == ["unsealed"]


@pytest.mark.timeout(60)
def test_a_deep_tree_is_refused(bundle: Path) -> None:
    bundle.joinpath(*["deep"] * 200).mkdir(parents=True)
    assert verdict_of(bundle).status is Status.INVALID


@pytest.mark.parametrize("name", [b"caf\xe9", b"\x1b[2J", b"new\nline", b" "])
def test_a_strange_name_is_refused_in_words_that_can_be_printed(
    bundle: Path, steno: Steno, name: bytes
) -> None:
    (bundle / os.fsdecode(name)).write_bytes(b"")
    verdict = verdict_of(bundle)
    assert verdict.status is Status.INVALID
    canonical.encode(verdict.steps[-1].problems)
    for option in ([], ["--json"]):
        answer = steno("verify", *option, bundle)
        assert answer.returncode == 1
        assert b"Traceback" not in answer.stderr
        assert b"\x1b[2J" not in answer.stdout


def test_a_shorter_and_a_longer_file_are_refused(bundle: Path) -> None:
    for name in files_of(bundle):
        path = bundle / name
        data = path.read_bytes()
        for changed in (data[:-1], data[: len(data) // 2], b"", data + b"\0", data + b"\n", data + data):
            if changed != data:
                path.write_bytes(changed)
                assert verdict_of(bundle).status is Status.INVALID, name
        path.write_bytes(data)


def test_two_files_that_changed_places_are_refused(bundle: Path) -> None:
    names = files_of(bundle)
    for one, other in pairwise(names):
        first, second = (bundle / one).read_bytes(), (bundle / other).read_bytes()
        if first == second:
            continue
        (bundle / one).write_bytes(second)
        (bundle / other).write_bytes(first)
        assert verdict_of(bundle).status is Status.INVALID, (one, other)
        (bundle / one).write_bytes(first)
        (bundle / other).write_bytes(second)


def as_link(path: Path, kept: Path) -> None:
    path.symlink_to(kept)


def as_link_into_the_bundle(path: Path, _kept: Path) -> None:
    path.symlink_to("events.ndjson")


def as_hard_link_to_another(path: Path, kept: Path) -> None:
    other = kept.with_name("another")
    other.write_bytes(b"another file\n")
    path.hardlink_to(other)


def as_fifo(path: Path, _kept: Path) -> None:
    os.mkfifo(path)


def as_directory(path: Path, _kept: Path) -> None:
    path.mkdir()


def as_huge_file(path: Path, _kept: Path) -> None:
    with path.open("wb") as file:
        file.truncate(TERABYTE)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "replace",
    [as_link, as_link_into_the_bundle, as_hard_link_to_another, as_fifo, as_directory, as_huge_file],
)
def test_a_file_that_was_replaced_is_refused_and_never_read_through(
    bundle: Path, replace: Callable[[Path, Path], None]
) -> None:
    kept = bundle.parent / "kept"
    for name in files_of(bundle):
        path = bundle / name
        path.rename(kept)
        replace(path, kept)
        assert verdict_of(bundle).status in BAD, name
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        kept.with_name("another").unlink(missing_ok=True)
        kept.rename(path)
    assert verdict_of(bundle).status is Status.VALID


def test_a_directory_that_became_a_link_to_its_copy_is_refused(bundle: Path) -> None:
    for name in ("terminal", "repo", "layers"):
        (bundle / name).rename(bundle.parent / name)
        (bundle / name).symlink_to(bundle.parent / name)
        assert verdict_of(bundle).status is Status.INVALID
        (bundle / name).unlink()
        (bundle.parent / name).rename(bundle / name)


# --- a forger who puts digests and root right ----------------------------------------------------------


def reseal(run: Path, completeness: Completeness | None = None) -> None:
    """Write a manifest that fits the files as they are now."""
    before = manifests.parse((run / layout.MANIFEST).read_bytes())
    files = {}
    for name in files_of(run):
        if name != layout.MANIFEST:
            data = (run / name).read_bytes()
            files[name] = FileDigest(hashlib.sha256(data).hexdigest(), len(data))
    built = manifests.build(before.run_id, completeness or before.completeness, files)
    (run / layout.MANIFEST).write_bytes(manifests.to_bytes(built))


def caught(run: Path, step: int | None = None) -> bool:
    """Whether a forgery whose digests are right is refused, at the step where it should be."""
    reseal(run)
    verdict = verdict_of(run)
    assert all(found.passed for found in verdict.steps[:-1])
    return verdict.status is Status.INVALID and step in {None, verdict.steps[-1].number}


def change_json(path: Path, change: Callable[[Any], None]) -> None:
    value = canonical.decode(path.read_bytes())
    change(value)
    path.write_bytes(canonical.encode(value))


def event_lines(run: Path) -> list[bytes]:
    return (run / layout.EVENTS).read_bytes().splitlines(keepends=True)


def put_events(run: Path, lines: list[bytes]) -> None:
    (run / layout.EVENTS).write_bytes(b"".join(lines))


def renumbered(lines: list[bytes]) -> list[bytes]:
    return [
        canonical.encode_line({**canonical.decode_line(line), "seq": seq}) for seq, line in enumerate(lines)
    ]


def test_the_forger_can_do_his_work(bundle: Path) -> None:
    reseal(bundle)
    assert verdict_of(bundle).status is Status.VALID


@pytest.mark.parametrize("number_again", [False, True], ids=["as-numbered", "numbered-again"])
def test_events_cannot_be_removed_doubled_or_moved(bundle: Path, number_again: bool) -> None:
    lines = event_lines(bundle)
    for at in range(len(lines)):
        for forged in (
            lines[:at] + lines[at + 1 :],
            [*lines[: at + 1], *lines[at:]],
            [*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]],
        ):
            if forged == lines or (number_again and repeats_a_tally(forged)):
                continue
            put_events(bundle, renumbered(forged) if number_again else forged)
            assert caught(bundle), at
    put_events(bundle, lines)
    reseal(bundle)
    assert verdict_of(bundle).status is Status.VALID


def repeats_a_tally(lines: list[bytes]) -> bool:
    """Said twice it says the same: of these events the last one counts, so nothing is forged."""
    types = [canonical.decode_line(line)["type"] for line in lines]
    return any(types.count(kind) > 1 for kind in ("redaction_tally", "tool_versions"))


def test_every_fact_of_every_event_is_held_by_another_file_or_by_a_rule(bundle: Path) -> None:
    """What is not is listed here: it stands in the events alone, and only a signature could protect it."""
    alone = {"recorder_pid", "scratch", "core_dumped"}
    lines = event_lines(bundle)
    free = set()
    for at, line in enumerate(lines):
        for name in canonical.decode_line(line)["data"]:
            forged = canonical.decode_line(line)
            forged["data"][name] = other_value(forged["data"][name])
            put_events(bundle, [*lines[:at], canonical.encode_line(forged), *lines[at + 1 :]])
            if not caught(bundle):
                free.add(name)
    assert free <= alone


def other_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return value + "x"
        case list():
            return [*value, "x"]
        case dict():
            name = next(iter(value), "x")
            return {**value, name: other_value(value.get(name, 0))}
        case _:
            return "x"


DERIVED_JSON: dict[str, Callable[[Any], None]] = {
    layout.RUN: lambda run: run.update(exit_code=1),
    layout.HASHES: lambda hashes: hashes.update(stdout_tail_hash="0" * 64),
    layout.REDACTION_REPORT: lambda report: report.update(total=0),
    layout.HEALTH: lambda health: health.update(kernel_layer="absent"),
    layout.PROCESSES: lambda processes: processes["processes"].pop(),
    layout.FILES: lambda files: files["files"].pop(),
    layout.REPO_BEFORE: lambda before: before.update(head="0" * 40),
    layout.REPO_AFTER: lambda after: after.update(changed=0),
}


@pytest.mark.parametrize("name", DERIVED_JSON)
def test_a_summary_that_says_something_else_is_refused(bundle: Path, name: str) -> None:
    change_json(bundle / name, DERIVED_JSON[name])
    assert caught(bundle, step=7)


@pytest.mark.parametrize("name", [layout.TIMING, layout.CAST, layout.OUTPUT, *layout.LAYERS])
def test_a_replay_or_a_layer_that_shows_something_else_is_refused(bundle: Path, name: str) -> None:
    data = (bundle / name).read_bytes()
    (bundle / name).write_bytes(data[:-3] + b"9" + data[-2:])
    assert caught(bundle, step=7)


@pytest.mark.parametrize(
    "name", [layout.STDIN, layout.STDOUT, layout.STDERR, layout.DIFF, layout.WORKTREE_DIFF]
)
def test_a_stream_or_a_patch_of_equal_length_is_refused(bundle: Path, name: str) -> None:
    data = (bundle / name).read_bytes()
    (bundle / name).write_bytes(data[:-2] + b"X" + data[-1:])
    assert caught(bundle, step=7)


ENTRY = b'{"added":1,"binary":false,"deleted":0,"path":"kept.txt","status":"M"}'


@pytest.mark.parametrize(
    "data",
    [b"[]", b"[" + ENTRY + b"," + ENTRY + b"]", b"{}", ENTRY, b"[1]", b"[{}]", b"[" + ENTRY + b"]\n", b"",
     b"x", b'[{"path":"a"}]', b'[{"path":1,"status":"M"}]', b'[{"path":"a","status":"M","x":1}]',
     b'[{"added":"1","path":"a","status":"M"}]', b"[" * 70 + b"]" * 70, b"[" * 200_000,
     b"[" * 200_000 + b"]" * 200_000],
    ids=range(16),
)  # fmt: skip
def test_a_list_of_changes_that_is_none_or_of_another_length_is_refused(bundle: Path, data: bytes) -> None:
    (bundle / layout.CHANGES).write_bytes(data)
    assert caught(bundle, step=7)


@pytest.mark.parametrize("name", [layout.STDIN, layout.STDOUT, layout.STDERR])
def test_a_stream_that_its_index_does_not_cover_is_refused(bundle: Path, name: str) -> None:
    data = (bundle / name).read_bytes()
    for changed in (data + b"x", data[:-1]):
        (bundle / name).write_bytes(changed)
        assert caught(bundle, step=6)


def test_a_header_line_of_another_run_is_refused(bundle: Path) -> None:
    data = (bundle / layout.STDIN).read_bytes()
    (bundle / layout.STDIN).write_bytes(data.replace(b"Script started", b"Script stopped"))
    assert caught(bundle, step=6)


@pytest.mark.parametrize("name", [layout.STDIN, layout.STDOUT, layout.STDERR])
def test_an_index_with_other_times_or_lengths_is_refused(bundle: Path, name: str) -> None:
    path = bundle / layout.index_of(name)
    first, *rest = index.unpack([path.read_bytes()])
    for forged in (
        [Arrival(first.mono_ns + 10**6, first.length), *rest],
        [Arrival(first.mono_ns, first.length + 1), *rest],
        [Arrival(first.mono_ns, 1), Arrival(first.mono_ns, first.length - 1), *rest],
        [Arrival(first.mono_ns, 2**32 - 1), *rest],
    ):
        path.write_bytes(index.pack(forged))
        assert caught(bundle)
    path.write_bytes(index.pack([first, *rest])[:-1])
    assert caught(bundle, step=6)


@pytest.mark.parametrize(
    "name",
    [layout.STATUS_BEFORE, layout.STATUS_AFTER, layout.DIFF, layout.WORKTREE_DIFF, layout.CHANGES, layout.RUN,
     layout.CAST, layout.STDOUT, layout.index_of(layout.STDOUT)],
)  # fmt: skip
def test_a_file_cannot_be_taken_out_of_bundle_and_manifest_together(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    assert caught(bundle)


@pytest.mark.parametrize(
    "name", ["added", "terminal/added.idx", "repo/added.json", layout.index_of(layout.OUTPUT)]
)
def test_a_file_cannot_be_added_to_bundle_and_manifest_together(bundle: Path, name: str) -> None:
    (bundle / name).write_bytes(b"")
    assert caught(bundle)


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "terminal/../run.json", "", ".", "a\0b", "x" * 5000]
)
def test_a_manifest_that_names_a_file_outside_is_refused(bundle: Path, name: str) -> None:
    before = manifests.parse((bundle / layout.MANIFEST).read_bytes())
    built = manifests.build(
        before.run_id, before.completeness, {**before.files, name: FileDigest("0" * 64, 0)}
    )
    (bundle / layout.MANIFEST).write_bytes(manifests.to_bytes(built))
    assert verdict_of(bundle).status is Status.INVALID


def test_a_complete_run_cannot_be_called_incomplete_nor_the_other_way_round(
    bundle: Path, tmp_path: Path
) -> None:
    for forged in (
        Completeness(complete=False, completed=True, gaps=["stream_lost"]),
        Completeness(complete=False, completed=True, gaps=[]),
        Completeness(complete=True, completed=False, gaps=[]),
    ):
        reseal(bundle, forged)
        assert verdict_of(bundle).status is Status.INVALID
    killed = tmp_path / "killed"
    small_spool(killed, finished=False)
    with Folder(killed) as folder:
        recover(folder)
    assert verdict_of(killed).status is Status.INCOMPLETE
    reseal(killed, Completeness(complete=True, completed=True, gaps=[]))
    assert verdict_of(killed).status is Status.INVALID


def test_events_of_another_run_are_refused(bundle: Path) -> None:
    other = bundle.name[:-1] + ("0" if bundle.name[-1] != "0" else "1")
    put_events(bundle, [line.replace(bundle.name.encode(), other.encode()) for line in event_lines(bundle)])
    assert caught(bundle, step=5)


def test_events_that_go_back_in_time_are_refused(bundle: Path) -> None:
    lines = event_lines(bundle)
    late = canonical.decode_line(lines[1])
    late["mono_ns"] = 10**15
    put_events(bundle, [lines[0], canonical.encode_line(late), *lines[2:]])
    assert caught(bundle, step=5)


@pytest.mark.parametrize("depth", [40, 70, 300, 900, 100_000])
def test_deeply_nested_data_ends_with_a_verdict(bundle: Path, depth: int) -> None:
    lines = event_lines(bundle)
    nested = b"[" * depth + b"]" * depth
    tally = {
        **canonical.decode_line(lines[-2]),
        "type": "redaction_tally",
        "data": {"tally": {"a": "NESTED"}},
    }
    put_events(bundle, [*lines[:-2], canonical.encode_line(tally).replace(b'"NESTED"', nested), lines[-1]])
    assert caught(bundle)


# --- garbage -------------------------------------------------------------------------------------------

GARBAGE = [
    b"",
    b"\0",
    b"null",
    b"[]",
    b"{}",
    b"{}\n",
    b"\xff" * 100,
    b"9" * 5000,
    b"[" * 10_000,
    b'{"a":' * 5000,
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_in_place_of_a_file_ends_with_a_verdict(bundle: Path, data: bytes) -> None:
    for name in (layout.MANIFEST, layout.EVENTS, layout.STDIN, layout.index_of(layout.STDOUT), layout.RUN):
        before = (bundle / name).read_bytes()
        (bundle / name).write_bytes(data)
        assert verdict_of(bundle).status is Status.INVALID
        if name != layout.MANIFEST:
            reseal(bundle)
            assert verdict_of(bundle).status is Status.INVALID
        (bundle / name).write_bytes(before)
        if name != layout.MANIFEST:
            reseal(bundle)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc_", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200) | JSON.map(canonical.encode))
def test_any_bytes_as_a_manifest_end_with_a_verdict(
    original: Path, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    run = hypothesis_copy(original, tmp_path_factory)
    (run / layout.MANIFEST).write_bytes(data)
    assert verdict_of(run).status in BAD


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=200)
    | st.lists(JSON.map(canonical.encode_line), max_size=4).map(b"".join)
    | st.tuples(st.sampled_from(["run_start", "gap", "run_finish"]), JSON).map(
        lambda drawn: canonical.encode_line({"type": drawn[0], "data": drawn[1]})
    )
)
def test_any_bytes_as_events_end_with_a_verdict_even_when_the_digests_are_right(
    original: Path, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    run = hypothesis_copy(original, tmp_path_factory)
    (run / layout.EVENTS).write_bytes(data)
    assert verdict_of(run).status in BAD
    reseal(run)
    assert verdict_of(run).status in BAD


def hypothesis_copy(original: Path, factory: pytest.TempPathFactory) -> Path:
    """One copy for all examples of a process; each example writes the file that it is about."""
    run = factory.getbasetemp() / "hypothesis" / original.name
    if not run.exists():
        run.parent.mkdir(exist_ok=True)
        shutil.copytree(original, run)
    (run / layout.EVENTS).write_bytes((original / layout.EVENTS).read_bytes())
    (run / layout.MANIFEST).write_bytes((original / layout.MANIFEST).read_bytes())
    return run


# --- the program ---------------------------------------------------------------------------------------


def test_the_program_exits_with_the_code_of_the_verdict(bundle: Path, steno: Steno, tmp_path: Path) -> None:
    assert steno("verify", bundle).returncode == 0
    (bundle / layout.STDOUT).write_bytes(b"forged")
    assert steno("verify", bundle).returncode == 1
    killed = tmp_path / "killed"
    small_spool(killed, finished=False)
    assert steno("verify", killed).returncode == 3
    with Folder(killed) as folder:
        recover(folder)
    assert steno("verify", killed).returncode == 3
    (killed / layout.MANIFEST).unlink()
    assert steno("verify", killed).returncode == 4
    (tmp_path / "empty").mkdir()
    assert steno("verify", tmp_path / "empty").returncode == 4
    (tmp_path / "garbage.tar.gz").write_bytes(b"garbage")
    assert steno("verify", tmp_path / "garbage.tar.gz").returncode == 4


@pytest.mark.timeout(60)
def test_the_program_refuses_a_file_of_a_terabyte_at_once(bundle: Path, steno: Steno) -> None:
    for name in (layout.STDOUT, layout.MANIFEST):
        (bundle / name).unlink()
        as_huge_file(bundle / name, bundle)
        assert steno("verify", bundle).returncode in {1, 4}


def test_the_verdict_does_not_depend_on_where_we_stand(bundle: Path, steno: Steno) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "steno", "verify", "."],
        cwd=bundle,
        check=False,
        timeout=SECONDS,
        capture_output=True,
    )
    assert answer.returncode == 0
