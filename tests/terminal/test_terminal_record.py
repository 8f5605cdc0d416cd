"""The terminal files are read by the programs they are made for: scriptreplay(1) and asciicast players."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.contracts.agent_audit.streams import stream_files
from steno.evidence import layout
from steno.model.recording import RecordedSoFar
from support.machine import NODE_MODULES
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import Recorded, only_run
from support.screen import Screen

TIMING, OUTPUT = "pty-timing.1.log", "pty-output.1.log"
PLAYER = NODE_MODULES / "asciinema-player" / "dist"
COLOURED = "printf 'h\\303\\251llo \\033[31mred\\033[0m\\n'; echo two; exit 4"


def audit_logs(run: Recorded) -> dict[str, bytes]:
    """The streams of a run as the agent-audit contract has them."""
    with Folder(run.path) as folder:
        layers = FolderLayers(folder, run.path.name)
        return {name: b"".join(blocks) for name, blocks in stream_files(RecordedSoFar(layers), 1).items()}


def replayed(run: Recorded, *options: str) -> bytes:
    """What scriptreplay shows of the logs of a run, which the options name."""
    with TemporaryDirectory() as logs:
        for name, content in audit_logs(run).items():
            (Path(logs) / name).write_bytes(content)
        shown = subprocess.run(
            ["scriptreplay", "--timing", TIMING, "--divisor", "1000", *options],
            capture_output=True,
            check=True,
            timeout=60,
            cwd=logs,
        ).stdout
    return shown.removesuffix(b"\n")  # scriptreplay ends with one of its own


def read_cast(run: Recorded) -> tuple[dict[str, Any], list[tuple[float, str, str]]]:
    """A strict reader of asciicast v3: a header line, then [interval, code, data] lines."""
    header, *lines = run.judged(layout.CAST).decode().splitlines()
    events = [json.loads(line) for line in lines]
    for interval, code, data in events:
        assert isinstance(interval, float)
        assert interval >= 0
        assert code in {"o", "i", "m", "r", "x"}
        assert isinstance(data, str)
    read = json.loads(header)
    assert isinstance(read, dict)
    return read, [(interval, code, data) for interval, code, data in events]


def test_scriptreplay_replays_a_terminal(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--pty", "always", "--", "sh", "-c", COLOURED)
    run = only_run(store)
    assert replayed(run, "--log-out", OUTPUT) == run.stream("output")


def test_scriptreplay_replays_separate_streams_in_their_order(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    script = (
        "echo out; until test -s shown; do sleep 0.01; done\n"
        "echo err >&2; until test -s told; do sleep 0.01; done; echo more"
    )
    with (tmp_path / "shown").open("wb") as shown, (tmp_path / "told").open("wb") as told:
        subprocess.run(
            [PROGRAM, "run", "--no-git", "--", "sh", "-c", script],
            stdout=shown,
            stderr=told,
            cwd=tmp_path,
            env=clean_env,
            check=True,
            timeout=SECONDS,
        )
    run = only_run(store)
    assert replayed(run, "--log-out", OUTPUT) == b"out\nerr\nmore\n"


def test_scriptreplay_replays_the_input(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--", "cat", input=b"typed\nlines\n")
    run = only_run(store)
    assert replayed(run, "--log-in", "stdin.1.log", "--stream", "in") == b"typed\nlines\n"


def test_scriptreplay_knows_the_facts_of_the_run(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.of_shell(
        "steno run --no-git -- sh -c 'stty size; exit 4'; echo rc=$?", clean_env, tmp_path
    )
    screen.see("rc=4")
    screen.rest()
    run = only_run(store)
    summary = replayed(run, "--log-out", OUTPUT, "--summary").decode()
    facts = dict(line.split(":", 1) for line in summary.splitlines() if ":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    assert (facts["EXIT_CODE"], facts["COLUMNS"], facts["LINES"]) == ("4", "100", "30")


def test_the_cast_is_asciicast_v3(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--pty", "always", "--", "sh", "-c", COLOURED)
    run = only_run(store)
    header, events = read_cast(run)
    assert header["version"] == 3
    assert header["term"] == {"cols": 80, "rows": 24, "type": "xterm"}
    shown = "".join(data for _, code, data in events if code == "o")
    assert shown == run.stream("output").decode()
    assert events[-1][1:] == ("x", "4")


def test_the_times_of_the_cast_add_up_to_the_run(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--", "sh", "-c", "for i in 1 2 3 4 5; do echo $i; sleep 0.02; done")
    run = only_run(store)
    _, events = read_cast(run)
    assert sum(interval for interval, _, _ in events) == pytest.approx(
        run.json("run.json")["duration_ns"] / 1e9, abs=1e-5
    )


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: asciinema-player cannot run")
@pytest.mark.skipif(
    not PLAYER.is_dir(), reason="asciinema-player is not installed: `make test` does it where npm is"
)
def test_the_real_player_plays_the_cast(steno: Steno, store: Path, tmp_path: Path) -> None:
    steno("run", "--no-git", "--pty", "always", "--", "sh", "-c", COLOURED)
    run = only_run(store)
    reader = Path(__file__).with_name("play-cast.mjs")
    (tmp_path / layout.CAST).write_bytes(run.judged(layout.CAST))
    played = subprocess.run(
        ["node", reader, PLAYER, tmp_path / layout.CAST],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert json.loads(played.stdout)["shown"] == run.stream("output").decode()


def test_a_resize_is_in_timing_and_cast(clean_env: dict[str, str], tmp_path: Path, store: Path) -> None:
    script = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"
    screen = Screen.of_shell(f'steno run --no-git -- sh -c "{script}"', clean_env, tmp_path)
    screen.see("ready")
    screen.resize(40, 120)
    screen.see("40 120")
    screen.rest()
    run = only_run(store)
    assert b"SIGWINCH ROWS=40 COLS=120\n" in audit_logs(run)[TIMING]
    assert [data for _, code, data in read_cast(run)[1] if code == "r"] == ["120x40"]


def test_a_secret_in_the_output_is_masked_at_equal_length(steno: Steno, store: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    done = steno(
        "run",
        "--no-git",
        "--",
        "sh",
        "-c",
        f"printf 'before '; printf ghp_; sleep 0.4; echo {token[4:]} after",
    )
    assert token.encode() in done.stdout
    shown = only_run(store).stream("stdout")
    assert len(shown) == len(done.stdout)
    assert token[4:].encode() not in shown
    assert shown.startswith(b"before ")
    assert shown.endswith(b" after\n")
