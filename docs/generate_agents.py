"""Writes what pages and start-up need of the agents: `python docs/generate_agents.py --write`."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from steno.agents.definition import HookEvent, Hooks, TerminalSignal, Values
from steno.agents.known import builtin

ROOT = Path(__file__).parents[1]
MODULE = ROOT / "src" / "steno" / "agents" / "made.py"
PAGES = [ROOT / "docs" / name for name in ("agents.md", "hooks.md", "calls.md")]
_TABLE = re.compile(r"(<!-- agents: (\w+) -->\n\n).*?(\n<!-- end -->\n)", re.DOTALL)
_KINDS = {
    "read": "only look",
    "read_one": "open what they are given, and only look",
    "write": "leave `content` in a file",
    "edit": "change what is in a file",
    "patch": "change several files, and may remove one",
    "run": "run a command",
    "delegate": "have other tools called",
}


def module() -> str:
    agents = builtin().items()
    keys = [agent.mcp.call_id_key for _, agent in agents if agent.mcp.call_id_key]
    variables = {name: below for _, agent in agents for name, below in agent.state.variables.items()}
    lines = [
        '"""What start-up needs of the agents; made by docs/generate_agents.py from NAME.toml."""',
        "",
        "# Agents that tell by hooks.",
        f"HOOK_AGENTS = ({_words(name for name, agent in agents if agent.hooks)})",
        "# Where an agent's own id of a call is found in `params._meta` of a request to a server.",
        f"CALL_ID_KEYS = ({_words(keys)})",
        "# Variables that lead to what an agent keeps for itself -> what follows their value.",
        "STATE_VARIABLES = {",
        *(f'    "{name}": "{below}",' for name, below in sorted(variables.items())),
        "}",
    ]
    return "\n".join([*lines, ""])


def with_tables(page: str) -> str:
    return _TABLE.sub(lambda found: f"{found[1]}{_TABLES[found[2]]()}{found[3]}", page)


def _known() -> str:
    head = ["| agent | seen with | its stream | skills | MCP servers |", "| --- | --- | --- | --- | --- |"]
    return _rows(
        head,
        (
            (
                name,
                agent.checked_with or "not run",
                f"as `{agent.stream.parser}`" if agent.stream.parser != name else "its own",
                _code([f"{agent.launch.skills_dir}/" if agent.launch.skills_dir else ""]),
                _code(dict.fromkeys(place.file for place in agent.settings.mcp_servers)),
            )
            for name, agent in builtin().items()
        ),
    )


def _signals() -> str:
    head = ["| agent | a turn ended | it failed |", "| --- | --- | --- |"]
    return _rows(
        head,
        (
            (name, *("; ".join(_signal(one) for one in agent.stream.signals if one.means == outcome)
                     for outcome in ("end_of_turn", "failed")))
            for name, agent in builtin().items()
        ),
    )  # fmt: skip


def _signal(signal: TerminalSignal) -> str:
    where = "" if signal.stream == "stdout" else f" on {signal.stream}"
    if isinstance(signal.match, str):
        return f"`{signal.match.strip()}`{where}"
    unless = f", without {_fields(signal.unless)}" if signal.unless else ""
    return f"{_fields(signal.match)}{unless}{where}"


def _fields(values: Values) -> str:
    told = []
    for name, wanted in values.items():
        words = [wanted] if isinstance(wanted, str) else wanted
        told.append(
            f"`{name}`" if words == ["*"] else f"`{name}` {' or '.join(f'`{word}`' for word in words)}"
        )
    return " and ".join(told)


def _trust() -> str:
    head = ["| agent | file | key | value |", "| --- | --- | --- | --- |"]
    return _rows(
        head,
        (
            (name, f"`{trust.file}`", f"`{' . '.join(trust.key)}`", f"`{trust.value}`")
            for name, agent in builtin().items()
            if (trust := agent.settings.trust) is not None
        ),
    )


def _hooks() -> str:
    head = ["| agent | where | it needs |", "| --- | --- | --- |"]
    return _rows(
        head,
        (
            (
                f"{name} {agent.checked_with}",
                f"`~/{hooks.file}`, or `{hooks.file}` of a project"
                if hooks.file
                else f"`~/{hooks.folder}/`: programs named {_code(hooks.settings_names())}",
                _code(hooks.arguments),
            )
            for name, agent in builtin().items()
            if (hooks := agent.hooks) is not None
        ),
    )


def _events() -> str:
    head = ["| agent | event | becomes | with |", "| --- | --- | --- | --- |"]
    return _rows(
        head,
        (
            (name, f"`{event}`", f"`{told.emits}`", _code(_facts(hooks, told)))
            for name, agent in builtin().items()
            if (hooks := agent.hooks) is not None
            for event, told in hooks.events.items()
        ),
    )


def _facts(hooks: Hooks, event: HookEvent) -> list[str]:
    if not event.emits.startswith("tool_call_"):
        return [event.message] if event.message else []
    of_call = (event.tool or hooks.tool, event.call_id or hooks.call_id, event.input or hooks.input)
    return [path for path in (*of_call, event.output, event.error, *hooks.server[:1]) if path]


def _tools() -> str:
    names = list(builtin())
    head = ["| tools that | names, by agent |", "| --- | --- |"]
    rows = []
    for kind, said in _KINDS.items():
        found = [(name, getattr(builtin()[name].tools, kind)) for name in names]
        rows.append((said, "; ".join(f"{name} {_code(tools)}" for name, tools in found if tools)))
    return _rows(head, rows)


def _state() -> str:
    head = ["| agent | below `$HOME` | below the value of |", "| --- | --- | --- |"]
    return _rows(
        head,
        (
            (
                name,
                _code(agent.state.home),
                ", ".join(f"`{name}`{f' (`{below}` in it)' if below else ''}"
                          for name, below in agent.state.variables.items()),
            )
            for name, agent in builtin().items()
            if agent.state.home or agent.state.variables
        ),
    )  # fmt: skip


_TABLES: dict[str, Callable[[], str]] = {
    "known": _known,
    "signals": _signals,
    "trust": _trust,
    "hooks": _hooks,
    "events": _events,
    "tools": _tools,
    "state": _state,
}


def _rows(head: list[str], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows), ""])


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words if word)


def _words(words: Iterator[str] | list[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


if __name__ == "__main__":
    if "--write" in sys.argv:
        MODULE.write_text(module(), encoding="utf-8")
        for page in PAGES:
            page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(module(), end="")
