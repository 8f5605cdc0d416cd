"""The disaster that people really have: the command removes the home, and with it the store of records."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.observers import STOPPING, observers
from support.ordinary import as_the_user, give_to_the_user, place_of_the_user
from support.program import IDENTITY, PROGRAM, SECONDS
from support.recorded import Recorded, runs
from support.waiting import until

# Tells who records it, and goes on when that is gone.
WITHOUT_ITS_RECORDER = """
read -r _ _ _ recorder _ </proc/$PPID/stat
echo $recorder >told.new && mv told.new told
while read -r _ _ state _ 2>/dev/null </proc/$recorder/stat && test $state != Z; do :; done
rm -rf "$HOME"
"""
State = tuple[int, int, str | bytes]
IGNORED = (".cache", ".config", ".local")
# What becomes of a resident. The store lies in it, as it does where nobody chose another.
DISASTERS = {
    "removed": 'rm -rf "$HOME"',
    "taken away piece by piece": 'mkdir "$HOME/../taken" && mv "$HOME"/* "$HOME"/.[!.]* "$HOME/../taken"',
    "moved": 'mv "$HOME" "$HOME.elsewhere"',
    "truncated": 'find "$HOME" -type f -exec truncate -s 0 {} +',
    "overwritten": 'find "$HOME" -type f | while read -r file; do echo ruined >"$file"; done',
    "closed": 'chmod -R 000 "$HOME"',
    "closed, opened and removed": 'chmod -R 000 "$HOME"; chmod -R 755 "$HOME"; rm -rf "$HOME"',
    "touched and removed": 'find "$HOME" -type f -exec touch -d 2001-02-03 {} +; rm -rf "$HOME"',
    "taken away and removed": 'cd "$HOME/.." && mkdir t && mv home/* home/.[!.]* t; rm -rf t',
    "shredded": 'find "$HOME" -type f -exec shred -u {} +',
    "made anew": 'rm -rf "$HOME"; mkdir -p "$HOME/repo" && cd "$HOME/repo" && git init -q',
}


class Home:
    """A home with files, a repository and a store with an earlier run, and who lives there."""

    def __init__(self, base: Path, before: list[str]) -> None:
        self.path = base / "home"
        self.told = base / "told"
        self._base = base
        self._before = before
        self.store = self.path / ".local/share/steno/runs"
        self.key = self.path / ".local/state/steno/local.key"
        self._env = {"PATH": os.environ["PATH"], **IDENTITY, "HOME": str(self.path), "TERM": "xterm"}
        (self.path / "deep" / "er").mkdir(parents=True)
        (self.path / "deep" / "er" / "notes").write_text("milk\n" * 1000)
        (self.path / "closed").mkdir()
        (self.path / "closed" / "key").write_bytes(os.urandom(5000))
        (self.path / "closed" / "key").chmod(0o600)
        (self.path / "closed").chmod(0o500)
        (
            self.path / "name \udcff".encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        ).touch()
        (self.path / ".profile").symlink_to("deep/er/notes")
        if before:
            give_to_the_user(base)
        self.do(
            "sh",
            "-c",
            'cd "$HOME" && git init -q repo && cd repo && echo x >x && git add x && git commit -qm x',
        )
        self.do(PROGRAM, "run", "--no-git", "--", "true")
        self.before = self.tree()

    def do(self, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self._before, *map(str, words)],
            capture_output=True,
            cwd=self._base,
            env=self._env,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )

    def record(self, observer: str, script: str) -> subprocess.CompletedProcess[bytes]:
        return self.do(PROGRAM, "run", "--no-git", "--observer", observer, "--", "sh", "-c", script)

    def listed(self) -> list[str]:
        done = self.do(PROGRAM, "list", "--json")
        assert done.returncode == 0, done.stderr
        return [one["run_id"] for one in json.loads(done.stdout)["runs"]]

    def tree(self) -> dict[str, State]:
        """Names, modes, times and contents; what is ignored, and where the store lies, left out."""
        found: dict[str, State] = {}
        for path in sorted(self.path.rglob("*")):
            if path.relative_to(self.path).parts[0] in IGNORED:
                continue
            about = path.lstat()
            shown = about.st_mtime_ns, stat.S_IMODE(about.st_mode)
            if path.is_symlink():
                found[os.fsdecode(path)] = (*shown, str(path.readlink()))
            else:
                found[os.fsdecode(path)] = (*shown, path.read_bytes() if path.is_file() else "directory")
        return found


@pytest.fixture(params=observers(STOPPING))
def observer(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture
def resident(observer: str) -> Iterator[Home]:
    """An ordinary user's, where that is who has this observer."""
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        yield Home(base, as_the_user(base / "stash") if observer == "notify" else [])


@pytest.mark.parametrize("disaster", DISASTERS.values(), ids=DISASTERS)
def test_whatever_becomes_of_the_home_is_undone_to_the_byte_and_no_record_is_lost(
    resident: Home, observer: str, disaster: str
) -> None:
    (earlier,) = resident.listed()
    key = resident.key.read_bytes()
    resident.record(observer, disaster)
    assert len(resident.listed()) == 2
    assert resident.listed()[1] == earlier
    assert Recorded(resident.store / earlier).is_valid
    done = resident.do(PROGRAM, "undo", "@last")
    assert done.returncode == 0, done.stdout + done.stderr
    assert resident.tree() == resident.before
    assert resident.key.read_bytes() == key
    assert stat.S_IMODE(resident.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(resident.key.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("disaster", ["removed", "closed, opened and removed", "taken away and removed"])
def test_what_agents_keep_in_a_home_comes_back_although_it_is_ignored(
    resident: Home, observer: str, disaster: str
) -> None:
    settings = resident.path / ".claude" / "projects" / "settings.json"
    resident.do("sh", "-c", f"mkdir -p '{settings.parent}'; echo mine >'{settings}'")
    resident.record(observer, f"echo more >>'{settings}'; {DISASTERS[disaster]}")
    done = resident.do(PROGRAM, "undo", "@last")
    assert done.returncode == 0, done.stdout + done.stderr
    assert settings.read_text() == "mine\n"


def test_what_an_agent_changes_of_its_own_state_is_not_undone(resident: Home, observer: str) -> None:
    log = resident.path / ".claude" / "log"
    resident.do("sh", "-c", f"mkdir -p '{log.parent}'; echo before >'{log}'")
    resident.record(observer, f"echo session >>'{log}'; rm -f \"$HOME/deep/er/notes\"")
    done = resident.do(PROGRAM, "undo", "@last")
    assert done.returncode == 0, done.stdout + done.stderr
    assert log.read_text() == "before\nsession\n"
    assert (resident.path / "deep" / "er" / "notes").exists()


@pytest.mark.parametrize("aim", ["manifest of a record", "key"])
def test_what_the_command_tried_on_the_records_is_in_its_record(
    resident: Home, observer: str, aim: str
) -> None:
    (earlier,) = resident.listed()
    file = resident.key if aim == "key" else resident.store / earlier / "manifest.json"
    done = resident.record(observer, f"rm -f {file}; echo $?")
    assert done.returncode == 0
    assert done.stdout == b"1\n"
    assert b"Device or resource busy" in done.stderr
    assert b"1 change of Steno's own records was refused" in done.stderr
    shown = resident.do(PROGRAM, "show", "@last").stdout.decode()
    assert "1 change of Steno's own records refused" in shown
    assert "sealed, complete" in shown
    events = resident.do(PROGRAM, "events", "@last").stdout.decode().splitlines()
    (event,) = [line for line in events if "unlink" in line]
    assert str(file) in event
    assert "EBUSY" in event
    assert "refused" in event


def test_a_killed_recorder_in_the_same_run_costs_nothing(resident: Home, observer: str) -> None:
    with ThreadPoolExecutor(1) as helper:  # the command itself may not kill it
        running = helper.submit(resident.record, observer, WITHOUT_ITS_RECORDER)
        until(resident.told.exists)
        os.kill(int(resident.told.read_text()), signal.SIGKILL)
        assert running.result(SECONDS).returncode == -signal.SIGKILL
    until(lambda: _state_of_last(resident) == "unsealed")
    assert resident.do(PROGRAM, "recover", "@last").returncode in {0, 3}
    done = resident.do(PROGRAM, "undo", "@last")
    assert done.returncode == 0, done.stdout + done.stderr
    assert resident.tree() == resident.before


def _state_of_last(resident: Home) -> str:
    found = json.loads(resident.do(PROGRAM, "list", "--json").stdout)
    return str(found["runs"][0]["state"])


def test_a_run_within_the_run_keeps_its_own_record(resident: Home, observer: str) -> None:
    done = resident.record(observer, f"{PROGRAM} run --no-git --observer none -- echo inner")
    assert done.stdout == b"inner\n"
    inner, outer, _ = resident.listed()
    assert Recorded(resident.store / inner).is_valid
    assert Recorded(resident.store / outer).event("kernel_observed").get("store_refused", 0) == 0


@pytest.mark.parametrize("link", [".local", ".local/share/steno"])
def test_a_link_on_the_way_to_the_store_stays(resident: Home, observer: str, link: str) -> None:
    shutil.move(resident.path / link, resident.path.parent / "moved")
    (resident.path / link).symlink_to(resident.path.parent / "moved")
    removed = resident.path / link
    resident.record(
        observer, f"rm -rf {removed}; ln -sfn /nowhere {removed}; mv {removed.parent} {resident.path}2"
    )
    assert (resident.path / link).is_symlink()
    assert len(resident.listed()) == 2


@pytest.mark.parametrize("alone", ["none", *observers(("ebpf",))])
def test_who_cannot_stop_the_command_writes_its_record_again_and_says_what_is_gone(
    alone: str, clean_env: dict[str, str], tmp_path: Path
) -> None:
    place = tmp_path / "where one lives"
    place.mkdir()
    env = {**clean_env, "HOME": str(place)}
    del env["STENO_HOME"]
    store = place / ".local/share/steno/runs"
    words = [str(PROGRAM), "run", "--no-git", "--observer", alone, "--", "sh", "-c"]
    subprocess.run([*words, "true"], env=env, timeout=SECONDS, check=True)
    done = subprocess.run(
        [*words, f"rm -rf '{place}'; echo gone"], capture_output=True, env=env, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"gone\n")
    assert b"store_changed" in done.stderr
    assert b"1 record of an earlier run is no longer there" in done.stderr
    (run,) = runs(store)
    assert run.verdict().gaps == ["store_changed"]
    assert run.stream("stdout") == b"gone\n"
    assert run.event("gap")["reason"] == "store_changed"
    assert ("kernel_observed" in run.types) == (alone == "ebpf")


@pytest.mark.parametrize("alone", ["none", *observers(("ebpf",))])
def test_who_cannot_stop_the_command_puts_the_local_key_back_and_says_so(
    alone: str, clean_env: dict[str, str], tmp_path: Path
) -> None:
    key = tmp_path / "where one lives/.local/state/steno/local.key"
    key.parent.mkdir(parents=True)
    key.write_bytes(bytes(range(32)))
    home = tmp_path / "where one lives"
    words = [str(PROGRAM), "run", "--no-git", "--observer", alone, "--store", str(tmp_path / "store")]
    done = subprocess.run(
        [*words, "--", "rm", "-rf", str(home)],
        capture_output=True,
        env={**clean_env, "HOME": str(home)},
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0
    assert b"1 local key was removed or changed, and put back" in done.stderr
    (run,) = runs(tmp_path / "store")
    assert run.verdict().gaps == ["store_changed"]
    assert key.read_bytes() == bytes(range(32))


@pytest.mark.parametrize("alone", ["none", *observers(("ebpf",))])
def test_an_earlier_record_that_was_changed_is_a_gap(
    alone: str, clean_env: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    words = [
        *(str(PROGRAM), "run", "--no-git", "--observer", alone, "--store", str(store)),
        *("--", "sh", "-c", f"truncate -s 0 {store}/*/manifest.json"),
    ]
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, env=clean_env, timeout=SECONDS, check=False)
    assert b"1 record of an earlier run was changed" in done.stderr
    assert runs(store)[-1].verdict().gaps == ["store_changed"]


def test_a_store_that_was_moved_has_the_record_and_it_is_said_where(
    clean_env: dict[str, str], tmp_path: Path
) -> None:
    store, moved = tmp_path / "store", tmp_path / "moved"
    words = [str(PROGRAM), "run", "--no-git", "--observer", "none", "--store", str(store), "--"]
    done = subprocess.run(
        [*words, "mv", str(store), str(moved)],
        capture_output=True,
        env=clean_env,
        timeout=SECONDS,
        check=False,
    )
    (run,) = runs(moved)
    assert run.verdict().gaps == ["store_changed"]
    assert f"it is at {run.path}" in done.stderr.decode()


@pytest.mark.parametrize(
    "removal",
    [
        "rm lock; cd evidence && rm -r events.ndjson terminal && mkdir events.ndjson && ln -s / terminal",
        "rm -r lock evidence && ln -s / evidence",
    ],
    ids=["one by one", "all at once"],
)
def test_files_of_the_spool_alone_that_are_removed_are_there_again(
    clean_env: dict[str, str], tmp_path: Path, removal: str
) -> None:
    store = tmp_path / "store"
    words = [str(PROGRAM), "run", "--no-git", "--observer", "none", "--store", str(store), "--", "sh", "-c"]
    script = f"echo kept; cd {store}/2*/spool && {removal}"
    subprocess.run([*words, script], capture_output=True, env=clean_env, timeout=SECONDS, check=True)
    (run,) = runs(store)
    assert run.verdict().gaps == ["store_changed"]
    assert run.stream("stdout") == b"kept\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.parametrize("observer", observers(STOPPING))
def test_what_is_removed_from_a_full_disk_is_kept_by_another_name(
    observer: str, clean_env: dict[str, str], tmp_path: Path
) -> None:
    """There is no room for a copy, and none is needed; the seal waits until there is."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "none", disk], check=True)
    try:
        resident = Home(disk, [])
        fill = disk / "fill"
        done = resident.record(observer, f'cat /dev/zero >{fill} 2>/dev/null; rm -rf "$HOME"')
        assert b"no room for contents that the run removed" in done.stderr
        assert _state_of_last(resident) == "unsealed"
        assert resident.tree() != resident.before
        fill.unlink()
        assert resident.do(PROGRAM, "recover", "@last").returncode == 0
        done = resident.do(PROGRAM, "undo", "@last")
        assert done.returncode == 0, done.stdout + done.stderr
        assert resident.tree() == resident.before
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_directory_that_the_run_closed_is_looked_into_all_the_same(resident: Home, observer: str) -> None:
    deep = resident.path / "deep"
    resident.record(observer, 'rm "$HOME/deep/er/notes"; chmod -R 000 "$HOME/deep"')
    assert resident.do(PROGRAM, "undo", "@last", "--dry-run").returncode == 0
    assert stat.S_IMODE(deep.stat().st_mode) == 0
    done = resident.do(PROGRAM, "undo", "@last")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: state[1:] for name, state in resident.tree().items()} == {
        name: state[1:] for name, state in resident.before.items()
    }
