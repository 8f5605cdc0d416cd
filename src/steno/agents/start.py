"""Step 1: from what the user asks for to a job that can be launched.

In: the name of an agent, the words for it, and what is to be around it. Out: an attempt, made. Whatever can
be known to be wrong before a run directory is made is an error here: an agent that nobody knows or that is
not installed, a home that is Steno's own, skills for an agent that has no place for them, a policy that is
none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from steno.agents.catalogue import Catalogue, find_program
from steno.agents.command_line import words_of
from steno.agents.crashed import finish_crashed
from steno.agents.description import AgentDescription
from steno.agents.isolation import ManagedPaths, check_home, search_path
from steno.agents.launching import Attempted, Job, Surroundings, run_attempt
from steno.agents.observing import policy_given
from steno.contracts.agent_audit.meta import PolicyGiven
from steno.errors import BadRequestError


def start(
    agent: str,
    words: Sequence[str],
    around: Surroundings,
    *,
    selector: str | None,
    on_sealing: Callable[[int], None],
) -> Attempted:
    catalogue = Catalogue.load(around.environ)
    description = catalogue.get(agent)
    said = words_of(words)
    program = installed(description, around)
    policy = check(description, around, said.said)
    notes = [] if selector is None else finish_crashed(around.root, selector, catalogue)
    job = Job(
        description=description,
        program=program,
        arguments=lambda more: description.start_words(said.said, [*more, *said.own]),
        selector=selector,
        detail=f"start {agent}, {'interactive' if said.said is None else 'with a prompt'}",
        options=description.start_words(None if said.said is None else "", said.own),
        policy=policy,
        notes=notes,
    )
    return run_attempt(job, around, on_sealing=on_sealing)


def installed(description: AgentDescription, around: Surroundings) -> Path:
    """Looked for where the agent will look."""
    return find_program(description, search_path(around.environ, ManagedPaths(around.root)))


def check(description: AgentDescription, around: Surroundings, said: str | None) -> PolicyGiven | None:
    """Returns the policy, as it is now."""
    if said is None and not around.shown:
        raise BadRequestError(
            "there is nothing to say, so it is a session at the terminal, and that cannot be hidden",
            hint="give the agent words, or leave --translate and --json out",
        )
    check_home(around.home, ManagedPaths(around.root))
    if around.skills is not None and description.skills is None:
        raise BadRequestError(
            f"{description.name} has no folder for skills",
            hint="leave --skills out, or add `skills` to its description",
        )
    return None if around.policy is None else policy_given(around.policy)
