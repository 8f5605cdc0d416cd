"""What recording costs a real agent: its task bare, and started by `steno agent`, interleaved.

In: the observers, how many rounds. Out: rows for Claude Code and Codex from npm (`make packages`), on a model
that is a script: at once, which is the hardest case, and with the patience that a real one needs. The budget
speaks of the agent's own time, from its start to its end, against the whole time of the bare one; what Steno
does before and after it, which is the same for a task of a second and of an hour, is in the columns beside.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from figures import NONE, Table, ratio, spread, times, verdict
from recorders import BARE, STENO, Recorder, Taken, measure, say_progress

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.real_agents import CLAUDE, CODEX, codex_config
from support.scripted_models import Event, MessagesModel, ResponsesModel, Say, ScriptedModel, Turn, Use

MOST = 1.10
PROMPT = "Make the files."
PATIENCE = 2.0  # seconds that a model takes for a turn
COLUMNS = (
    ("", 28),
    ("", 7),
    ("rounds", 6),
    ("the agent: median least..most", 29),
    ("x bare", 7),
    ("before", 8),
    ("after", 8),
    ("whole", 8),
    ("x bare", 7),
    ("events", 7),
    ("budget", 12),
)


class Kind(NamedTuple):
    """`bare`: how it is started without Steno, as its description in Steno says."""

    name: str
    program: Path
    model: type[ScriptedModel]
    script: Sequence[Turn]
    set_up: Callable[[Path, str], dict[str, str]]
    bare: list[str]
    arguments: list[str]
    patience: float = 0.0

    @property
    def title(self) -> str:
        return f"{self.name}, {self.patience:g} s a turn" if self.patience else f"{self.name}, model at once"


def _claude_settings(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex_settings(home: Path, url: str) -> dict[str, str]:
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(codex_config(url, "OPENAI_API_KEY"))
    return {"OPENAI_API_KEY": "scripted"}


_CLAUDE = Kind(
    "claude",
    CLAUDE,
    MessagesModel,
    [
        Use("call_write", "Write", {"file_path": "edited.txt", "content": "edited\n"}),
        Use("call_shell", "Bash", {"command": "echo hello > made.txt", "description": "Make a file"}),
        Say("All is done."),
    ],
    _claude_settings,
    ["-p", "--output-format", "stream-json", "--verbose"],
    ["--allowedTools", "Bash,Write"],
)
_CODEX = Kind(
    "codex",
    CODEX,
    ResponsesModel,
    [
        Use("call_edit", "exec_command", {"cmd": "echo edited > edited.txt"}),
        Use("call_shell", "exec_command", {"cmd": "echo hello > made.txt"}),
        Say("All is done."),
    ],
    _codex_settings,
    ["exec", "--json", "--skip-git-repo-check"],
    [],
)
KINDS = (_CLAUDE, _CODEX, _CLAUDE._replace(patience=PATIENCE), _CODEX._replace(patience=PATIENCE))


def compare(
    observers: Sequence[str],
    rounds: int,
    *,
    env: Mapping[str, str],
    place: Path,
    keep: Callable[[Mapping[str, Any]], None],
) -> None:
    table = Table(f"What recording costs a real agent ({rounds} rounds, interleaved)", COLUMNS)
    for number, kind in enumerate(KINDS):
        if not kind.program.exists():
            print(f"{kind.title}: left out, it is not installed; `make packages` does it where npm is")
            continue
        taken = _take_rounds(kind, observers, rounds, env, place / str(number))
        for name, found in taken.items():
            table.add(_line(kind, name, found, taken[BARE]))
        keep(
            {"agent": kind.title, "taken": {name: [each._asdict() for each in taken[name]] for name in taken}}
        )


def _take_rounds(
    kind: Kind, observers: Sequence[str], rounds: int, env: Mapping[str, str], place: Path
) -> dict[str, list[Taken]]:
    """One round more than is asked for: the first fills the caches, and the agent's home."""
    home, work = place / "home", place / "work"
    home.mkdir(parents=True)
    work.mkdir()
    taken: dict[str, list[Taken]] = {name: [] for name in (BARE, *observers)}
    with _patient(kind)(kind.script) as model:
        around = {**env, **kind.set_up(home, model.url), "STENO_AGENTS": str(place / "agents")}
        around["PATH"] = f"{kind.program.parent}:{env['PATH']}"
        for number in range(rounds + 1):
            for name, found in taken.items():
                own_home = {"HOME": str(home)} if name == BARE else {}
                recorder = Recorder(name, (), observer=None if name == BARE else name)
                one = measure(
                    recorder, _words(kind, name, home), cwd=work, env=around | own_home, log=place / "log"
                )
                if one.failure is not None:
                    say_progress(f"FAILED: {kind.title} under {name}: {one.failure}")
                elif number:
                    found.append(one)
    return taken


def _words(kind: Kind, name: str, home: Path) -> list[str]:
    if name == BARE:
        return [str(kind.program), *kind.bare, *kind.arguments, "--", PROMPT]
    start = [str(STENO), "agent", "start", "--observer", name, "--home", str(home)]
    return [*start, kind.name, PROMPT, "--", *kind.arguments]


def _patient(kind: Kind) -> type[ScriptedModel]:
    class Patient(kind.model):  # type: ignore[name-defined, misc]
        def events(self, turn: Turn) -> Iterator[Event]:
            time.sleep(kind.patience)
            return super().events(turn)  # type: ignore[no-any-return]

    return Patient


def _line(kind: Kind, name: str, taken: Sequence[Taken], bare: Sequence[Taken]) -> list[str]:
    own, whole = [each.own for each in taken], [each.whole for each in taken]
    line = [kind.title, name, str(len(taken))]
    found, most = spread(own), None if name == BARE else MOST
    if found is None:
        return [*line, "FAILED", *[NONE] * 6, verdict(None, most, "x")]
    if name == BARE:
        return [*line, f"{found.text()} s", *[NONE] * 6, ""]
    bare_whole = [each.whole for each in bare]
    before = [each.start_up for each in taken if each.start_up is not None]
    after = [each.whole - each.own - (each.start_up or 0.0) for each in taken]
    slower = ratio(own, bare_whole)
    flaws = sorted({flaw for each in taken for flaw in each.flaws})
    return [
        *line,
        f"{found.text()} s",
        times(slower),
        *(_seconds(each) for each in (before, after, whole)),
        times(ratio(whole, bare_whole)),
        " ".join([str(taken[-1].events), *flaws]),
        verdict(slower, most, "x"),
    ]


def _seconds(samples: Sequence[float]) -> str:
    found = spread(samples)
    return NONE if found is None else f"{found.median:.3f} s"
