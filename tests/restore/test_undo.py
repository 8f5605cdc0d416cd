"""`steno undo` and `steno restore` as a user meets them: words, exit codes, choices, refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.keys import LOCAL_KEY
from steno.cli import main
from steno.evidence import layout
from support.frames_made import Found
from support.observers import STOPPING, observers, working
from support.ordinary import as_the_user, give_to_the_user, place_of_the_user, root_may_mount
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import only_run
from support.run_builder import RUN_ID, WRITING, Content, RunBuilder
from support.snapshots import snapshot

IN_2400_NS = 13_569_465_600 * 10**9


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    (place / "sub").mkdir(parents=True)
    (place / "notes.txt").write_bytes(b"before\n")
    (place / "sub" / "deleted").write_bytes(b"deleted\n")
    for path in (place / "notes.txt", place / "sub" / "deleted"):
        os.utime(path, ns=(0, IN_2400_NS))  # more nanoseconds than 63 bits have
    return place


@pytest.fixture
def made(root: Path) -> RunBuilder:
    """A run that has made of `root` what it is now."""
    notes, deleted, created = root / "notes.txt", root / "sub" / "deleted", root / "created"
    old, gone = content_of(notes), content_of(deleted)._replace(secret=True)
    notes.write_bytes(b"after!\n")
    deleted.unlink()
    created.write_bytes(b"created\n")
    run = RunBuilder().process("sh", at=time.monotonic_ns())
    run.wrote(str(notes), content_of(notes), before=old)
    return run.deleted(str(deleted), gone).wrote(str(created), content_of(created))


def content_of(path: Path) -> Content:
    found = path.stat()
    like = Found(mode=found.st_mode, mtime_ns=found.st_mtime_ns, uid=found.st_uid, gid=found.st_gid)
    return Content(path.read_bytes(), like=like)


@pytest.fixture
def bundle(store: Path, made: RunBuilder) -> Path:
    return made.seal(store)


def here(*words: str | Path) -> int:
    """The command line, in this process."""
    return main.exit_code([str(word) for word in words])


def test_what_was_changed_without_a_kept_state_is_named_as_not_undone(
    store: Path, made: RunBuilder, capfd: pytest.CaptureFixture[str]
) -> None:
    made.call("open", "/x/.git/config", state=Found(), arg=WRITING, result=0)
    made.call("open", "/home/.cache/evil", state=None, arg=WRITING, result=0).seal(store)
    assert here("undo", "@last", "/x", "/home/.cache/evil") == 0
    said = capfd.readouterr()
    assert said.out == "nothing to do; not undone: 2 paths whose states are not kept\n"
    assert said.err.splitlines() == [
        "steno: not undone: /home/.cache/evil: its state is not kept (ignored, special, or of another user)",
        "steno: not undone: /x/.git/config: its state is not kept (inside .git)",
    ]
    assert here("restore", "@last", "/x", "--dry-run") == 0
    assert capfd.readouterr().out == ("not restored: /x/.git/config: its state is not kept (inside .git)\n")


def test_undo_and_restore_say_what_they_did(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert here("undo", "@last") == 0
    out, err = capfd.readouterr()
    said, trash = out.splitlines()
    assert said == "undone 3 files (1 created removed, 1 modified restored, 1 deleted brought back)"
    assert err == ""
    place = Path(trash.removeprefix("what was taken away is in "), *root.parts[1:])
    assert (place / "created").read_bytes() == b"created\n"
    assert (place / "notes.txt").read_bytes() == b"after!\n"
    assert (root / "sub" / "deleted").read_bytes() == b"deleted\n"
    assert here("undo", "@last") == 0
    assert capfd.readouterr().out == "nothing to do\n"
    assert here("restore", "@last") == 0
    assert capfd.readouterr().out.splitlines()[0] == (
        "restored 3 files (1 created brought back, 1 modified restored, 1 deleted removed)"
    )
    assert (root / "created").read_bytes() == b"created\n"


def test_a_dry_run_prints_the_plan_and_changes_nothing(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at_first = snapshot(root)
    assert here("undo", "@last", "--dry-run") == 0
    assert capfd.readouterr().out.splitlines()[:3] == [
        f"remove {root}/created",
        f"write {root}/notes.txt",
        f"write {root}/sub/deleted",
    ]
    assert here("undo", "@last", "--dry-run", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["applied"], found["run_id"], found["conflicts"]) == (False, RUN_ID, [])
    assert snapshot(root) == at_first


def test_a_conflict_changes_nothing_unless_forced(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (root / "notes.txt").write_bytes(b"edited since\n")
    at_first = snapshot(root)
    assert here("undo", "@last") == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err == (
        f"steno: conflict: {root}/notes.txt: its content has been changed since\n"
        "steno: nothing was changed\n"
        "hint: --dry-run shows the whole plan; --force overwrites what was changed since\n"
    )
    assert here("undo", "@last", "--json", "--dry-run") == 1
    assert snapshot(root) == at_first
    capfd.readouterr()
    assert here("undo", "@last", "--force") == 0
    out, err = capfd.readouterr()
    assert out.startswith("undone 3 files")
    assert "steno: overruled: " in err
    assert (root / "notes.txt").read_bytes() == b"before\n"
    (line,) = [line for line in out.splitlines() if line.startswith("what was taken away is in ")]
    place = Path(line.rpartition(" ")[2])
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert Path(place, *root.parts[1:], "notes.txt").read_bytes() == b"edited since\n"


def test_a_secret_without_its_key_is_named_and_stops_the_undo(
    root: Path, store: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(os.environ["HOME"], ".local/state/steno", LOCAL_KEY).unlink()
    assert here("undo", "@last") == 1
    said = capfd.readouterr().err
    assert f"steno: impossible: {root}/sub/deleted: its content holds a secret" in said
    assert said.endswith("; --force leaves out what is impossible\n")
    assert (root / "created").exists()
    assert here("undo", "@last", "--force", "--json") == 1
    found = json.loads(capfd.readouterr().out)
    assert [problem["path"] for problem in found["impossible"]] == [f"{root}/sub/deleted"]
    assert len(found["done"]) == 2
    assert not (root / "created").exists()


@pytest.mark.parametrize("word", ["notes.txt", "./notes.txt", "../root/notes.txt", "by-link/notes.txt"])
def test_paths_are_meant_from_where_the_user_is(
    root: Path, bundle: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "by-link").symlink_to(".")
    monkeypatch.chdir(root)
    assert here("undo", "@last", word) == 0
    assert (root / "notes.txt").read_bytes() == b"before\n"
    assert (root / "created").exists()


@pytest.mark.parametrize("word", ["sub", "sub/", ".", "sub/."])
def test_a_directory_means_what_is_below_it(
    root: Path, bundle: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    assert here("undo", "@last", word) == 0
    assert (root / "sub" / "deleted").exists()
    assert (root / "created").exists() == (word != ".")


def test_a_path_that_the_run_never_touched_is_a_wrong_request(
    root: Path, bundle: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert here("undo", "@last", root / "nothing") == 2
    assert "the run has not touched" in capfd.readouterr().err


def test_an_incomplete_record_is_said(
    store: Path, made: RunBuilder, capfd: pytest.CaptureFixture[str]
) -> None:
    made.gap("after_unknown").seal(store)
    assert here("undo", "@last") == 0
    assert capfd.readouterr().err == "steno: the record is incomplete: after_unknown\n"


def test_names_do_not_reach_the_terminal_as_they_are(
    root: Path, store: Path, made: RunBuilder, capfd: pytest.CaptureFixture[str]
) -> None:
    made.wrote(f"{root}/\x1b[2Jcreated", b"created\n").seal(store)
    (root / "\x1b[2Jcreated").write_bytes(b"edited")
    assert here("undo", "@last", "--dry-run") == 1
    assert here("undo", "@last") == 1
    out, err = capfd.readouterr()
    assert "\x1b" not in out + err
    assert "\\x1b[2Jcreated" in out
    assert "\\x1b[2Jcreated" in err


@pytest.mark.parametrize("path", ["/etc/../etc/passwd", "relative", "/a//b"])
def test_a_hostile_path_refuses_the_whole_bundle(
    root: Path, store: Path, made: RunBuilder, path: str
) -> None:
    made.wrote(path, before=b"before").seal(store)
    at_first = snapshot(root)
    assert here("undo", "@last", "--force") == 1
    assert snapshot(root) == at_first


@pytest.mark.parametrize("command", ["undo", "restore"])
def test_a_bundle_that_was_changed_is_refused_even_when_forced(
    steno: Steno, root: Path, bundle: Path, command: str
) -> None:
    (bundle / layout.EVENTS).write_bytes(b"forged")
    at_first = snapshot(root)
    for words in ([], ["--force"], ["--dry-run"]):
        done = steno(command, "@last", *words)
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"is invalid" in done.stderr
    assert snapshot(root) == at_first


def test_a_run_without_a_record_of_files_cannot_be_undone(steno: Steno, store: Path) -> None:
    RunBuilder().seal(store)
    done = steno("undo", "@last")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"has no record of files" in done.stderr


def test_a_run_that_is_not_sealed_cannot_be_undone(steno: Steno, store: Path) -> None:
    RunBuilder("sleep", "9").process("sleep", "9").spool(store)
    done = steno("undo", "@last")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is not sealed" in done.stderr


SOURCE = "git init -q; echo x > file; git add file; git commit -qm x"
SCRIPTS = {
    "clone": f"mkdir o; cd o; {SOURCE}; cd ..; git clone -q o new",
    "into another": "mkdir b; mv sub b/; mv b c; mkdir sub; mv c/sub/deleted c/",
    "change": "echo more >> notes.txt; chmod 600 notes.txt",
    "create": "mkdir -p new/deep; echo x > new/deep/file; ln -s deep/file new/link; : > empty",
    "delete": "rm -r sub",
    "replace": "rm -r sub; echo file > sub; rm notes.txt; mkdir notes.txt",
    "rename": "mv notes.txt renamed; mv sub moved; echo more >> moved/deleted",
    "install": "mkdir draft; echo x > draft/file; mkdir draft/deep; echo y > draft/deep/file; mv draft place",
    "detour": "mkdir a; mv sub a/; mv a/sub e; rmdir a; rm e/deleted; ln -s e sub",
    "new": "cp -r sub new; mv sub old; mv new sub; rm -r old; echo x > sub/deleted",
    "swap": "mkdir o; : > o/deleted; rm -r o; mv sub o; echo x >> o/deleted; mkdir sub; echo y > sub/deleted",
    "two swaps": "mkdir new; : > new/deleted; mv sub old; mv new sub; mv old new; rm -r new",
    "link": "ln notes.txt second; echo more >> second; ln -sf sub/deleted here",
    "touch": "touch -d 2001-02-03 notes.txt sub",
}


@pytest.mark.parametrize("observer", observers(STOPPING))
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_real_run_is_undone_and_restored(steno: Steno, root: Path, script: str, observer: str) -> None:
    before = snapshot(root)
    words = ("run", "--observer", observer, "--", "sh", "-c", SCRIPTS[script])
    assert steno(*words, cwd=root).returncode == 0
    after = snapshot(root)
    assert here("undo", "@last", "--json") == 0
    assert substance(root) == kept(before)
    assert here("restore", "@last") == 0
    # What the run left is kept under the name that it was written through, and nothing of a new `.git`.
    if script not in {"link", "install", "clone"}:
        assert substance(root) == kept(after)


@pytest.mark.parametrize("observer", observers())
def test_what_somebody_else_changed_while_the_run_looked_is_told_so_and_left_alone(
    steno: Steno, root: Path, clean_env: dict[str, str], observer: str
) -> None:
    script = "cat notes.txt sub/deleted > copy; test -e theirs; echo now; read answer; rm copy"
    command: list[str | Path] = [PROGRAM, "run", "--observer", observer, "--", "sh", "-c", script]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=root, env=clean_env) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"now\n"
        with (root / "notes.txt").open("ab") as file:
            file.write(b"mine")
        (root / "sub" / "deleted").unlink()
        (root / "theirs").write_bytes(b"mine")
        run.communicate(b"\n", timeout=SECONDS)
    since = substance(root)
    listed = steno("files", "@last", cwd=root).stdout.decode().splitlines()
    told = {line.partition(f"{root}/")[2]: line[0] for line in listed if line.endswith("by somebody else)")}
    assert told == {
        "notes.txt (modified by somebody else)": "o",
        "sub/deleted (deleted by somebody else)": "o",
        "theirs (created by somebody else)": "o",
    }
    shown = steno("show", "@last").stdout.decode()
    assert "3 files changed by somebody else during the run" in shown
    undone = steno("undo", "@last", cwd=root)
    assert undone.returncode == 0, undone
    assert undone.stderr.count(b"changed while the run only looked at it: left alone") == 3
    assert substance(root) == since


@pytest.mark.parametrize("observer", observers(("notify", "both")))
def test_what_somebody_puts_under_a_name_that_the_run_renamed_is_a_conflict(
    steno: Steno, root: Path, clean_env: dict[str, str], observer: str
) -> None:
    command: list[str | Path] = [PROGRAM, "run", "--observer", observer, "--", "sh", "-c"]
    script = "mv notes.txt other.txt; mv sub below; echo now; read answer"
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, script], stdin=pipe, stdout=pipe, cwd=root, env=clean_env) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"now\n"
        (root / "notes.txt").write_bytes(b"mine")
        (root / "sub").mkdir()
        (root / "sub" / "deleted").write_bytes(b"mine, too")
        run.communicate(b"\n", timeout=SECONDS)
    since = substance(root)
    undone = steno("undo", "@last", cwd=root)
    assert undone.returncode == 1
    assert undone.stderr.count(b"it cannot be renamed: its name is taken") == 2
    assert substance(root) == since


@pytest.mark.parametrize("observer", observers(("notify",)))
def test_what_its_owner_could_not_read_is_kept_once_the_run_has_made_it_readable(observer: str) -> None:
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        work = base / "work" / "shut"
        work.mkdir(parents=True)
        (work / "file").write_bytes(b"content")
        (work / "file").chmod(0)
        give_to_the_user(base)
        env = {"PATH": os.environ["PATH"], "HOME": str(base), "STENO_HOME": str(base / "runs")}
        run = ["run", "--no-git", "--observer", observer, "--", "sh", "-c", "chmod -R u+rw shut; rm -r shut"]
        for words in (run, ["undo", "@last"]):
            command: list[str | Path] = [*as_the_user(base / "stash"), PROGRAM, *words]
            done = subprocess.run(
                command, cwd=work.parent, env=env, capture_output=True, timeout=SECONDS, check=False
            )
            assert done.returncode == 0, done
        assert (work / "file").stat().st_mode & 0o777 == 0
        (work / "file").chmod(0o600)
        assert (work / "file").read_bytes() == b"content"


MOVES = """
mv big elsewhere; mv "$HOME/.cache/big" cached; mv to-cache "$HOME/.cache/"; mv .git d
mv one between; mv two one; mv between two
mv replaced kept; echo small > replaced
mkdir into; mv place into/; mv into then; mkdir place
"""


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_what_was_moved_is_moved_back_though_no_content_is_kept(
    steno: Steno, root: Path, home: Path, observer: str
) -> None:
    """Also from where no state is kept, and several things at once; or nothing is done."""
    (home / ".cache").mkdir()
    (root / ".git").mkdir()
    (root / "place").mkdir()
    names = ("big", "to-cache", ".git/HEAD", "one", "two", "replaced", "place/file")
    for path in (home / ".cache" / "big", *(root / name for name in names)):
        path.write_bytes(os.fsencode(path))
    before, cached = snapshot(root), snapshot(home / ".cache")
    nodes = {path.stat().st_ino for path in (root / "one", root / "big", home / ".cache" / "big")}
    words = ("run", "--no-git", "--max-blob", "1", "--observer", observer, "--", "sh", "-c", MOVES)
    assert steno(*words, cwd=root).returncode == 0
    after = snapshot(root)
    (root / "replaced").write_bytes(b"mine")
    refused = steno("undo", "@last", "--force", root / "replaced", cwd=root)
    assert refused.returncode == 1, refused
    assert b"kept: it cannot be renamed: its name is taken" in refused.stderr
    assert (root / "replaced").read_bytes() == b"mine"
    (root / "replaced").write_bytes(b"small\n")
    os.utime(root / "replaced", ns=(0, after[os.fsencode(root / "replaced")]["mtime_ns"]))
    undone = steno("undo", "@last", cwd=root)
    assert undone.returncode == 0, undone
    assert substance(root) == kept(before)
    assert snapshot(home / ".cache")[os.fsencode(home / ".cache" / "big")] in cached.values()
    assert {path.stat().st_ino for path in (root / "one", root / "big", home / ".cache" / "big")} == nodes
    restored = steno("restore", "@last", cwd=root)
    assert restored.returncode == 1  # the new content of `replaced` is not kept either
    steno("restore", "@last", "--force", cwd=root)
    assert (root / "cached").read_bytes() == os.fsencode(home / ".cache" / "big")


@root_may_mount
@pytest.mark.parametrize("observer", observers())
@pytest.mark.parametrize("what", ["--bind sub", "-t tmpfs none"])
def test_what_lies_below_a_mount_of_the_run_is_neither_stated_nor_undone(
    steno: Steno, root: Path, store: Path, what: str, observer: str
) -> None:
    (root / "m").mkdir()
    script = f"mount {what} m; echo y >> m/deleted; echo n > m/made; umount m; mkdir fresh"
    done = steno("run", "--observer", observer, "--", "sh", "-c", script, cwd=root)
    assert b"changes_unresolved: 2 paths were changed where the run mounted something" in done.stderr, done
    below = [file for file in only_run(store).json(layout.FILES)["files"] if f"{root}/m/" in file["path"]]
    assert [file["change"] for file in below] == ["unknown", "unknown"]
    assert all(file["before"] == file["after"] == {"unknown": True} for file in below)
    after = snapshot(root)
    refused = steno("undo", "@last", cwd=root)
    assert (refused.returncode, snapshot(root)) == (1, after), refused
    steno("undo", "@last", "--force", cwd=root)
    assert not (root / "fresh").exists()
    assert list((root / "m").iterdir()) == []


@root_may_mount
@pytest.mark.parametrize("observer", observers(STOPPING))
def test_what_is_mounted_in_a_namespace_of_its_own_hides_nothing_of_ours(
    steno: Steno, root: Path, store: Path, observer: str
) -> None:
    inside = "mount --make-rprivate /; mount -t tmpfs none sub; echo x > sub/deleted; umount sub"
    script = f"unshare --mount sh -c '{inside}'; rm sub/deleted"
    done = steno("run", "--observer", observer, "--", "sh", "-c", script, cwd=root)
    assert b"gap" not in done.stderr, done
    changes = {file["path"]: file["change"] for file in only_run(store).json(layout.FILES)["files"]}
    assert changes[f"{root}/sub/deleted"] == "deleted"
    assert steno("undo", "@last", cwd=root).returncode == 0


@pytest.mark.skipif("ebpf" not in working(), reason="no probe here; `steno doctor` says why")
def test_what_a_probe_alone_saw_is_not_undone_by_guessing(steno: Steno, root: Path) -> None:
    """It sees a call when it is over: what was created can be removed, what was overwritten is gone."""
    script = "echo x > fresh; echo more >> notes.txt"
    steno("run", "--observer", "ebpf", "--", "sh", "-c", script, cwd=root)
    undone = steno("undo", "@last", cwd=root)
    assert undone.returncode == 1
    assert f"{root}/notes.txt".encode() in undone.stderr
    assert (root / "notes.txt").read_bytes() == b"before\nmore\n"
    assert steno("undo", "@last", root / "fresh", cwd=root).returncode == 0
    assert not (root / "fresh").exists()


def substance(root: Path) -> dict[bytes, dict[str, Any]]:
    return kept(snapshot(root))


def kept(found: dict[bytes, dict[str, Any]]) -> dict[bytes, dict[str, Any]]:
    """All but the times of directories: the command may never have looked at those it changed."""
    return {
        path: state | ({"mtime_ns": None} if state["type"] == "directory" else {})
        for path, state in found.items()
    }


def test_a_killed_undo_is_completed_by_the_next(root: Path, clean_env: dict[str, str], bundle: Path) -> None:
    """Killed at the first rename into place; the draft it leaves is no obstacle."""
    program = (
        "import os, signal, sys\n"
        "from steno.cli import main\n"
        "from steno.restore import apply\n"
        "apply.exchange = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.argv = ['steno', 'undo', '@last']\n"
        "main.main()\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], env=clean_env, timeout=60, check=False)
    assert killed.returncode == -9
    assert not (root / "created").exists()
    assert [name for name in os.listdir(root) if name.startswith(".steno-")]
    assert here("undo", "@last") == 0
    assert sorted(os.listdir(root)) == ["notes.txt", "sub"]
    assert (root / "notes.txt").read_bytes() == b"before\n"
