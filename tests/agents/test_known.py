"""What is known of agents, in the places that read it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from steno.agents.known import builtin, shell_forms
from steno.agents.made import HOOK_AGENTS

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import generate_agents


def test_what_start_up_reads_of_the_definitions_is_as_they_are() -> None:
    assert generate_agents.MODULE.read_text(encoding="utf-8") == generate_agents.module(), "run `make docs`"


@pytest.mark.parametrize("page", generate_agents.PAGES, ids=lambda page: page.name)
def test_the_tables_of_agents_in_the_docs_are_as_the_definitions(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert generate_agents.with_tables(text) == text, "run `make docs`"


def test_agents_that_wrap_the_commands_of_the_shell_are_asked_for_their_form() -> None:
    assert [form.__module__.rpartition(".")[2] for form in shell_forms()] == ["claude", "codex", "gemini"]


def test_every_agent_with_hooks_says_when_a_call_begins_and_ends() -> None:
    for name in HOOK_AGENTS:
        hooks = builtin()[name].hooks
        assert hooks is not None
        emitted = {event.emits for event in hooks.events.values()}
        assert {"tool_call_started", "tool_call_completed", "run_finished"} <= emitted
