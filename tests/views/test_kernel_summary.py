"""The kernel layer in `steno show`: a few lines, the same facts as data."""

from __future__ import annotations

import os
from errno import ECONNREFUSED, ENOENT
from pathlib import Path
from typing import Any

from steno.text.style import Paint
from steno.views import show
from steno.views.show import summary
from support.reading import opened, sealed
from support.run_builder import RunBuilder

EVIL = "\x1b]0;owned\x07\u202e\n"


def shown(run: RunBuilder, store: Path) -> tuple[str, dict[str, Any]]:
    path = sealed(run, store)
    with opened(path) as found:
        data = summary(found, path)
    return "\n".join(show.lines(data, Paint())), data


def test_what_the_kernel_saw_is_told_in_short(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process("sh")
        .wrote("/a")
        .read("/b")
        .wrote("/b", before=b"x")
        .read("/c")
        .looked("/d")
        .connected("inet:1.2.3.4:80")
        .connected("inet:1.2.3.5:80", -ECONNREFUSED)
        .connected("unix:/run/x")
        .connected("unix:/run/y", -ENOENT)
        .process("sleep", parent=1, code=None)
        .outlived()
    )
    text, data = shown(run, tmp_path)
    assert (
        "Kernel      2 processes, 1 of them alive when it ended\n"
        "            2 files changed (1 created, 1 modified), 2 read\n"
        "            1 endpoint: 1.2.3.4:80 (connected)\n"
        "            not reached: 1 endpoint: 1.2.3.5:80 (refused or failed: ECONNREFUSED)\n"
        "            1 unix socket: /run/x (connected)\n"
        "            not reached: 1 unix socket: /run/y (refused or failed: ENOENT)\n"
    ) in text
    assert data["kernel"] | {"observed": None} == {
        "observed": None,
        "processes": 2,
        "outlived": 1,
        "hook_processes": 0,
        "command_exit": {"code": 0, "signal": None},
        "files_seen": 4,
        "files_read": 2,
        "files_changed": {"created": 1, "modified": 1},
        "files_changed_by_others": 0,
        "files_gone_again": 0,
        "files_not_kept": [],
        "content_missing": [],
        "endpoints": ["1.2.3.4:80", "1.2.3.5:80"],
        "outcomes": [
            {"name": "1.2.3.4:80", "outcome": "connected", "sent": False},
            {"name": "1.2.3.5:80", "outcome": "refused or failed: ECONNREFUSED", "sent": False},
        ],
        "unix_sockets": ["/run/x", "/run/y"],
        "unix_outcomes": [
            {"name": "/run/x", "outcome": "connected", "sent": False},
            {"name": "/run/y", "outcome": "refused or failed: ENOENT", "sent": False},
        ],
    }
    assert data["kernel"]["observed"]["events"] == 15


def test_a_quiet_run_is_told_shortly(tmp_path: Path) -> None:
    text, _ = shown(RunBuilder().process("true"), tmp_path)
    assert "Kernel      1 process\n            no file changed, 0 read\n            no endpoint\n" in text


def test_changes_without_a_kept_state_are_never_told_as_no_change(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").read("/read").wrote("/gone", None)
    for path in ("/repo/.git/hooks/pre-commit", "/usr/x"):
        run.call("open", path, state=b"x", arg=os.O_WRONLY, result=0)
    text, data = shown(run, tmp_path)
    assert (
        "            no file changed among those whose states are kept, 1 created and gone again, 1 read\n"
        "            2 more paths may have changed: their states are not kept "
        "(1 ignored, special, or of another user, 1 inside .git): /usr/x, /repo/.git/hooks/pre-commit\n"
    ) in text
    assert data["kernel"]["files_not_kept"] == [
        {"path": "/repo/.git/hooks/pre-commit", "did": ["written"], "why": "inside .git"},
        {"path": "/usr/x", "did": ["written"], "why": "ignored, special, or of another user"},
    ]


def test_what_the_observer_missed_is_told(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").kernel(lost_events=3, unseen_exits=1).gap("kernel_events_lost")
    assert "3 events lost, 1 process whose end was not seen" in shown(run, tmp_path)[0]


def test_a_run_without_the_layer_has_no_such_section(tmp_path: Path) -> None:
    text, data = shown(RunBuilder(observer="none"), tmp_path)
    assert "Kernel " not in text
    assert data["kernel"] is None


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").wrote(f"/{EVIL}").connected(f"inet:{EVIL}").connected(f"unix:{EVIL}")
    text, _ = shown(run.call("open", f"/not kept {EVIL}", state=b"x", arg=os.O_WRONLY), tmp_path)
    assert "owned" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert all(one.strip() for one in text.splitlines())
