"""Continuing a session: another attempt in the same run directory.

In: a selector of a run and what to say. Out: an attempt with the next number, started in the home of the
newest attempt that told of a session, with that session, and behind the policy and with the hooks that were
asked for there last, unless the user says otherwise. All of it is taken from the register: what stands in the
run directory, where the agent works, decides nothing. What earlier attempts left is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from steno.agents.as_before import last_asked, same_policy
from steno.agents.catalogue import Catalogue
from steno.agents.command_line import words_of
from steno.agents.crashed import finish_crashed
from steno.agents.launching import Attempted, Job, Surroundings, run_attempt
from steno.agents.register import AttemptRecord, AttemptState, attempts
from steno.agents.run_directory import RunName, find_run, is_running, open_runs
from steno.agents.start import check, installed
from steno.agents.streams.session import is_session
from steno.errors import BadRequestError


class _Last(NamedTuple):
    attempt: int
    session: str
    home: str | None


def resume(
    selector: str,
    words: Sequence[str],
    around: Surroundings,
    *,
    keep_policy: bool = True,
    keep_hooks: bool = True,
    on_sealing: Callable[[int], None],
) -> Attempted:
    """`keep_policy`, `keep_hooks`: what the attempt before had takes the place of what is in `around`."""
    catalogue = Catalogue.load(around.environ)
    said = words_of(words)
    with open_runs(around.root) as runs:
        name = find_run(runs, selector)
    description = catalogue.get(name.agent)
    notes = finish_crashed(around.root, selector, catalogue)
    records = attempts(around.root, name.run_id)
    if records and records[-1].state is AttemptState.RUNNING:
        raise is_running(name, records[-1].entry if records[-1].outlived else None)
    last = _last_session(records, name)
    if said.said is None and description.resume_interactive is None:
        raise BadRequestError(
            f"{name.agent} cannot be continued without a message",
            hint=f"give one: `steno agent resume {name.suffix} 'Go on.'`",
        )
    around = around._replace(home=last.home or around.home)
    if keep_policy or keep_hooks:
        before = last_asked(records, last.home, name)
        around = around._replace(
            policy=same_policy(before, name) if keep_policy else around.policy,
            hooks=before.hooks if keep_hooks else around.hooks,
        )
    job = Job(
        description=description,
        program=installed(description, around),
        arguments=lambda more: description.resume_words(last.session, said.said, [*more, *said.own]) or [],
        selector=selector,
        detail=f"resume {name.agent}, the session of attempt {last.attempt}",
        options=description.resume_words("", None if said.said is None else "", said.own) or [],
        policy=check(description, around, said.said),
        notes=notes,
    )
    return run_attempt(job, around, on_sealing=on_sealing)


def _last_session(records: Sequence[AttemptRecord], name: RunName) -> _Last:
    for record in reversed(records):
        session = record.meta.interactive.session.value if record.meta else None
        if record.meta is not None and session is not None and is_session(session):
            return _Last(record.number, session, record.meta.steno.home)
    raise BadRequestError(
        f"no attempt of {name.run_id} told of a session",
        hint=f"start again in it: `steno agent start --run-dir {name.suffix} {name.agent} …`",
    )
