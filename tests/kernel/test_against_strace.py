"""Two witnesses of the same work: strace and the kernel layer tell the same sets of (operation, path)."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

from steno.evidence import wire
from support.observers import observers
from support.program import Steno
from support.recorded import only_run
from support.strace import CALLS, witnessed
from support.tracees import Row, exits, rows

GIT = "git -c core.fsmonitor=false -c gc.auto=0 -c maintenance.auto=false"
WORK = {
    "a pipeline": "printf 'b\\na\\n' | sort > sorted; cat sorted | tr a-z A-Z | wc -l; ls -la . > l; rm l",
    "a commit": f"{GIT} init -q . && echo > one && {GIT} add one && {GIT} commit -q -m 1 && {GIT} status -s",
    "a compilation": "echo 'int main(void){return 3;}' > m.c && gcc -o m m.c && ./m; echo $?",
    "an archive": "mkdir -p d/e && echo x > d/e/f && ln -s f d/e/l && tar cf t d && rm -r d && tar xf t",
    "copies": "mkdir a; echo x > a/x; cp -a a b; mv b c; ln c/x h; chmod 600 h; touch -d @5 h; rmdir c",
    "a connection": "exec 3<>/dev/tcp/127.0.0.1/1 || true; ls; cat /etc/passwd >/dev/null",
    "moving about": "mkdir -p p/q; cd p; echo 1 > q/f; cd q; cat f; cd ../..; cat p/q/f; (cd p; ls q)",
}
# Names that a program makes up anew each time.
MADE_UP = [
    (re.compile(r"/tmp/cc\w{6}((?:\.\w+)*)$"), r"/tmp/ccXXXXXX\1"),
    (re.compile(r"/tmp_obj_\w{6}$"), "/tmp_obj_XXXXXX"),
    (re.compile(r"/\.git/t\w{6}$"), "/.git/tXXXXXX"),
    (re.compile(r"/proc/\d+"), "/proc/PID"),
]
# Where the two witnesses rightly differ, and why.
EXPLAINED = {
    # What a nameless descriptor is called differs from run to run.
    "not a path": re.compile(r"^(?:pipe|socket|anon_inode):"),
    # Whether git writes its index anew depends on the tick of the clock it runs in.
    "a matter of time": re.compile(r"/\.git/index\.lock$"),
    # A file reached by its descriptor: strace tells the way, the record what it leads to.
    "through a descriptor": re.compile(r"^/proc/PID/fd/"),
}


def _plain(effects: set[tuple[str, str]]) -> set[tuple[str, str]]:
    plain = set()
    for operation, path in effects:
        name = os.path.normpath(path)  # what is not there keeps its dots in the record
        for pattern, instead in MADE_UP:
            name = pattern.sub(instead, name)
        if not any(pattern.search(name) for pattern in EXPLAINED.values()):
            plain.add((operation, name))
    return plain


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("observer", observers())
@pytest.mark.parametrize("name", WORK)
def test_strace_and_the_kernel_layer_tell_the_same(
    steno: Steno, store: Path, clean_env: dict[str, str], tmp_path: Path, name: str, observer: str
) -> None:
    room = tmp_path / "room"
    command = [shutil.which("bash") or "bash", "--norc", "--noprofile", "-c", WORK[name]]
    room.mkdir()
    expected = witnessed(command, room, clean_env, tmp_path / "trace.log")
    shutil.rmtree(room)
    room.mkdir()
    steno("run", "--no-git", "--observer", observer, "--", *command, cwd=room)
    run = only_run(store)
    # What we add: the link on the way, the script's interpreter, what lies in a renamed directory.
    seen = [row for row in rows(run) if row.op not in {"follow", "interpreter", "moved", "moved_to"}]
    by_call = [row for row in seen if row.call in CALLS]
    assert len(expected.effects) > 20
    assert _plain({_effect(row) for row in by_call}) == _plain(expected.effects)
    addresses = {(row.op, (row.path or b"").decode()) for row in seen if row.op in {"connect", "bind"}}
    assert addresses == expected.addresses
    assert exits(rows(run)) == _by_number(expected.ends)
    assert run.is_valid


def _effect(row: Row) -> tuple[str, str]:
    if (row.path or b"").startswith(b"/proc/self/fd/"):
        return row.op, "/proc/PID/fd/0"
    # A name that was gone when somebody looked is joined from words, and marked so: no link is followed.
    if row.notes & wire.NOTES["not_resolved"] and row.where.startswith("/"):
        folder, name = os.path.split(row.where)
        return row.op, str(Path(folder).resolve() / name)
    return row.op, row.where


def _by_number(ends: Counter[str]) -> Counter[str]:
    numbered: Counter[str] = Counter()
    for end, times in ends.items():
        kind, _, what = end.partition(" ")
        numbered[f"killed {signal.Signals[what].value}" if kind == "killed" else end] += times
    return numbered
