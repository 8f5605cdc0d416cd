"""Streams of the agents, as they were recorded, and what is made of each.

Claude Code, Cline, Codex, Gemini CLI, opencode and Qwen Code were run with a scripted model; ids, times and
paths were then made neutral. iflow cannot be run without its service: its output is built from what is known
of its form.
`codex-echo` is `codex-success` with the answer printed once more.

`python tests/agent_streams.py` writes the translations anew; read the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steno.agents.catalog import Catalogue
from steno.launch.translate import Attempt, translate

CATALOGUE = Catalogue.load({})
GOLDEN = Path(__file__).parents[1] / "agents" / "logs" / "golden"
FILES = {1: "level-1.jsonl", 2: "level-2.jsonl", 3: "level-3.md"}
RUN_ID = "20260101T000000-agent-00000000"
_WAITS = ("awaiting_user_input", "TERMINAL_SIGNAL_WITHOUT_DONE_MARKER", 0)
_BROKE = ("interrupted", "PROCESS_EXIT_NON_ZERO", 1)
# How each of them ended: state, reason and exit code.
ENDINGS = {
    "claude-failed": _BROKE,
    "claude-max-turns": _BROKE,
    "claude-success": ("completed", "DONE_MARKER_FOUND", 0),
    "claude-terminal": _WAITS,
    "claude-tool-error": _WAITS,
    "cline-failed": _BROKE,
    "cline-success": _WAITS,
    "codex-echo": _WAITS,
    "codex-failed": _BROKE,
    "codex-patch": _WAITS,
    "codex-success": _WAITS,
    "codex-tool-error": _WAITS,
    "gemini-failed": ("interrupted", "PROCESS_EXIT_NON_ZERO", 144),
    "gemini-success": _WAITS,
    "gemini-tool-error": ("unknown", "INSUFFICIENT_EVIDENCE", 0),
    "iflow-success": _WAITS,
    "opencode-failed": _BROKE,
    "opencode-success": _WAITS,
    "opencode-tool-error": _WAITS,
    "qwen-success": _WAITS,
}


def recorded(name: str) -> Attempt:
    agent = name.partition("-")[0]
    state, reason_code, exit_code = ENDINGS[name]
    return Attempt(
        run_id=RUN_ID,
        number=1,
        agent=agent,
        stream=CATALOGUE.get(agent).stream.parser,
        stdout=(GOLDEN / name / "stdout").read_bytes(),
        stderr=(GOLDEN / name / "stderr").read_bytes(),
        state=state,
        reason_code=reason_code,
        exit_code=exit_code,
        terminal_signals=tuple(CATALOGUE.get(agent).stream.signals),
    )


def attempt(
    stdout: bytes, stderr: bytes = b"", *, stream: str = "codex", state: str = "completed"
) -> Attempt:
    return Attempt(
        run_id=RUN_ID,
        number=2,
        agent=stream,
        stream=stream,
        stdout=stdout,
        stderr=stderr,
        state=state,
        reason_code="SOME_REASON",
        exit_code=0,
    )


def translations(name: str) -> Iterator[tuple[Path, str]]:
    for level, file in FILES.items():
        yield GOLDEN / name / file, "".join(translate(recorded(name), level))


if __name__ == "__main__":
    for each in ENDINGS:
        for path, text in translations(each):
            path.write_text(text)
