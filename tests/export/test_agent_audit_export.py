"""What `steno export --as agent-audit` writes is read by the programs it is made for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from support.program import Steno
from support.splitting import Terminal

WORDS = ["sh", "-c", "echo out; echo err >&2; printf 'caf\\303\\251'; echo made > made; exit 3"]


def test_the_audit_files_of_a_terminal_can_be_replayed_and_rebuilt(
    steno: Steno, store: Path, clean_env: dict[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shown, run = Terminal(clean_env, work, store).recorded(WORDS)
    done = steno("export", run.path, "--as", "agent-audit", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    audit = tmp_path / run.path.name / ".audit"
    meta = json.loads((audit / "meta.1.json").read_bytes())
    assert (meta["exitCode"], meta["runtime"]["mode"], meta["runtime"]["traceSource"]) == (3, "pty", "split")
    assert (audit / "stdout.1.log").read_bytes() == "out\ncafé".encode()
    assert (audit / "stderr.1.log").read_bytes() == b"err\n"
    assert json.loads((audit / "fs-diff.1.json").read_bytes())["created"] == ["made"]

    replayed = subprocess.run(
        ["scriptreplay", "-T", "pty-timing.1.log", "-O", "pty-output.1.log", "--divisor", "1000"],
        cwd=audit,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert replayed.stdout.removesuffix(b"\n") == shown
    assert (
        json.loads((audit / "meta.1.json").read_bytes())["auditFiles"]["ptyTiming"]
        == ".audit/pty-timing.1.log"
    )

    rebuilt = steno("agent", "reconstruct", audit / "fd-trace.1.log", "out", "err", "--json", cwd=tmp_path)
    assert rebuilt.returncode == 0, rebuilt.stderr
    chunks = meta["runtime"]["splitReconstruction"]
    assert chunks.items() <= json.loads(rebuilt.stdout).items()
    assert (tmp_path / "out").read_bytes() == (audit / "stdout.1.log").read_bytes()
    assert (tmp_path / "err").read_bytes() == (audit / "stderr.1.log").read_bytes()
