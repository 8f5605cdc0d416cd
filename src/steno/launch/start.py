"""Starting an agent, and continuing one of its sessions: what the user asks for becomes an attempt.

Whatever can be known to be wrong before a run directory is made is an error here: an agent that nobody
knows or that is not installed, a home that is Steno's own, skills for an agent that has no place for them.
A resumed attempt has the home, the policy and the hooks of the one before, by the register; what stands in
the run directory, where the agent works, decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from steno.agents.catalog import Catalogue, find_program
from steno.agents.definition import AgentDefinition
from steno.agents.stream import is_session
from steno.contracts.agent_audit.meta import PolicyGiven
from steno.contracts.agent_audit.streams import AUDIT
from steno.errors import BadPolicyError, BadRequestError
from steno.launch.agent_settings import policy_given
from steno.launch.attempt import AgentCommand, AttemptResult, LaunchOptions, run_attempt
from steno.launch.environment import ManagedPaths, check_home, search_path
from steno.launch.recover import finish_crashed
from steno.launch.registry import AttemptRecord, AttemptState, attempts
from steno.launch.run_dirs import RunName, find_run, is_running, open_runs


class Words(NamedTuple):
    said: str | None  # to the model; None: nothing
    own: list[str]  # the agent's own arguments


def prompt_and_arguments(words: Sequence[str]) -> Words:
    end = words.index("--") if "--" in words else len(words)
    said, own = list(words[:end]), list(words[end + 1 :])
    for word in said:
        if word.startswith("-"):
            raise BadRequestError(
                f"{word!r} looks like an option of the agent",
                hint="the agent's own arguments follow --, as in "
                "`steno agent start claude 'Fix the tests.' -- --allowedTools Bash`",
            )
    return Words(" ".join(said) if said else None, own)


def start(
    agent: str,
    words: Sequence[str],
    options: LaunchOptions,
    *,
    selector: str | None,
    on_sealing: Callable[[int], None],
) -> AttemptResult:
    catalogue = Catalogue.load(options.environ)
    description = catalogue.get(agent)
    said = prompt_and_arguments(words)
    program = installed(description, options)
    policy = check(description, options, said.said)
    notes = [] if selector is None else finish_crashed(options.root, selector, catalogue)
    job = AgentCommand(
        description=description,
        program=program,
        arguments=lambda more: description.launch.start_words(said.said, [*more, *said.own]),
        selector=selector,
        detail=f"start {agent}, {'interactive' if said.said is None else 'with a prompt'}",
        options=description.launch.start_words(None if said.said is None else "", said.own),
        policy=policy,
        notes=notes,
    )
    return run_attempt(job, options, on_sealing=on_sealing)


def installed(description: AgentDefinition, options: LaunchOptions) -> Path:
    """Looked for where the agent will look."""
    return find_program(description, search_path(options.environ, ManagedPaths(options.root)))


def check(description: AgentDefinition, options: LaunchOptions, said: str | None) -> PolicyGiven | None:
    """Returns the policy, as it is now."""
    if said is None and not options.shown:
        raise BadRequestError(
            "there is nothing to say, so it is a session at the terminal, and that cannot be hidden",
            hint="give the agent words, or leave --translate and --json out",
        )
    check_home(options.home, ManagedPaths(options.root))
    if options.skills is not None and description.launch.skills_dir is None:
        raise BadRequestError(
            f"{description.name} has no folder for skills",
            hint="leave --skills out, or add `skills_dir` to its description",
        )
    if description.launch.skills_dir is not None and description.launch.skills_dir.partition("/")[0] == AUDIT:
        raise BadRequestError(
            f"skills cannot be in {AUDIT}, where Steno writes",
            hint=f"correct `skills_dir` in the description of {description.name}",
        )
    return None if options.policy is None else policy_given(options.policy)


_SAY = "say what is meant: `steno agent resume --policy FILE {run} …`, or --no-policy to go on without one"
_SHOWN_DIGITS = 12


class PreviousSettings(NamedTuple):
    attempt: int
    policy: PolicyGiven | None
    hooks: bool


def previous_settings(records: Sequence[AttemptRecord], home: str | None, name: RunName) -> PreviousSettings:
    """By the newest attempt in that home; one that cannot be read may have had any policy."""
    for record in reversed(records):
        if record.state is AttemptState.DAMAGED:
            raise BadRequestError(
                f"nobody knows which policy and hooks attempt {record.number} had: {record.problem}",
                hint=f"{_SAY.format(run=name.suffix)}, and --hooks or --no-hooks",
            )
        known = record.meta.steno if record.meta is not None else record.entry and record.entry.known
        if known and known.home == home:
            return PreviousSettings(record.number, known.policy, known.hooks)
    return PreviousSettings(0, None, hooks=False)


def unchanged_policy(before: PreviousSettings, name: RunName) -> Path | None:
    """Its path, when the file is still what it was."""
    if before.policy is None:
        return None
    path, then = before.policy.path, before.policy.sha256
    hint = _SAY.format(run=name.suffix)
    try:
        now = policy_given(Path(path)).sha256
    except BadPolicyError as error:
        raise BadRequestError(
            f"attempt {before.attempt} stood behind a policy that cannot be used any more: {error}", hint=hint
        ) from error
    if now != then:
        digests = f"its sha256 was {then[:_SHOWN_DIGITS]}…, and is {now[:_SHOWN_DIGITS]}…"
        raise BadRequestError(
            f"attempt {before.attempt} stood behind {path}, which has changed since: {digests}", hint=hint
        )
    return Path(path)


class _Last(NamedTuple):
    attempt: int
    session: str
    home: str | None


def resume(
    selector: str,
    words: Sequence[str],
    options: LaunchOptions,
    *,
    keep_policy: bool = True,
    keep_hooks: bool = True,
    on_sealing: Callable[[int], None],
) -> AttemptResult:
    """`keep_policy`, `keep_hooks`: what the attempt before had takes the place of what is in `options`."""
    catalogue = Catalogue.load(options.environ)
    said = prompt_and_arguments(words)
    with open_runs(options.root) as runs:
        name = find_run(runs, selector)
    description = catalogue.get(name.agent)
    if description.launch.resume is None:
        raise BadRequestError(
            f"{name.agent} cannot be continued",
            hint=f"start again in its run: `steno agent start --run-dir {name.suffix} {name.agent} …`",
        )
    notes = finish_crashed(options.root, selector, catalogue)
    records = attempts(options.root, name.run_id)
    if records and records[-1].state is AttemptState.RUNNING:
        raise is_running(name, records[-1].entry if records[-1].outlived else None)
    last = _last_session(records, name)
    if said.said is None and description.launch.resume_interactive is None:
        raise BadRequestError(
            f"{name.agent} cannot be continued without a message",
            hint=f"give one: `steno agent resume {name.suffix} 'Go on.'`",
        )
    options = options._replace(home=last.home or options.home)
    if keep_policy or keep_hooks:
        before = previous_settings(records, last.home, name)
        options = options._replace(
            policy=unchanged_policy(before, name) if keep_policy else options.policy,
            hooks=before.hooks if keep_hooks else options.hooks,
        )
    job = AgentCommand(
        description=description,
        program=installed(description, options),
        arguments=lambda more: (
            description.launch.resume_words(last.session, said.said, [*more, *said.own]) or []
        ),
        selector=selector,
        detail=f"resume {name.agent}, the session of attempt {last.attempt}",
        options=description.launch.resume_words("", None if said.said is None else "", said.own) or [],
        policy=check(description, options, said.said),
        notes=notes,
    )
    return run_attempt(job, options, on_sealing=on_sealing)


def _last_session(records: Sequence[AttemptRecord], name: RunName) -> _Last:
    for record in reversed(records):
        session = record.meta.interactive.session.value if record.meta else None
        if record.meta is not None and session is not None and is_session(session):
            return _Last(record.number, session, record.meta.steno.home)
    raise BadRequestError(
        f"no attempt of {name.run_id} told of a session",
        hint=f"start again in it: `steno agent start --run-dir {name.suffix} {name.agent} …`",
    )
