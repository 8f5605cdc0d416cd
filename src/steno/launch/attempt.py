"""One attempt from its reserved number to its meta file: steps 2 to 11 of agent-audit, in that order.

Until the agent is started every failure is an error, and the attempt says why it never began. From then on
nothing that we fail at changes the agent's exit code: it is noted. Steps 8 to 11 are told to the record
before it is sealed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from steno.agents.definition import AgentDefinition
from steno.agents.stream import Session
from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.capture.observer import NONE
from steno.contracts.agent_audit.changes import diff
from steno.contracts.agent_audit.completion import Completion, Rules, completion, endings
from steno.contracts.agent_audit.log_scan import words_of_command
from steno.contracts.agent_audit.meta import (
    Ended,
    Known,
    Launch,
    Meta,
    PolicyGiven,
    describe,
    ended,
)
from steno.errors import StenoError
from steno.evidence import layout
from steno.evidence.kinds import AgentStep, EventData
from steno.launch import agent_settings, skills
from steno.launch.environment import Home, ManagedPaths, build_environment, open_home
from steno.launch.finish import (
    STREAMS,
    collect_errors,
    describe_attempt,
    keep_meta,
    session_told,
    write_streams,
)
from steno.launch.run_dirs import DIRECTORY_HINT, PreparedRun, prepare_run
from steno.launch.snapshot import Masking, ScannedFiles, SnapshotProgress, Tell
from steno.launch.strace_chain import STRACE, RecordedStreams, SplitStreams, StraceChain, find_programs
from steno.launch.translate import Attempt, attempt_of
from steno.model.record import Record, open_record
from steno.model.recording import RecordedSoFar
from steno.record.run import OWN_FAILURE, Outcome, RunRequest, new_run_id, record


class LaunchOptions(NamedTuple):
    """What the user asked to have around the agent."""

    environ: Mapping[str, str]
    root: Path
    store: Path
    home: str = "isolated"
    skills: Path | None = None
    policy: Path | None = None
    hooks: bool = False
    observer: str = "auto"
    translate: Literal[0, 1, 2, 3] = 0
    quiet: bool = False  # the caller has a use for stdout: the agent's terminal is shown to nobody
    tell: Tell = lambda _: None  # how far a long look at the files is

    @property
    def shown(self) -> bool:
        """Whether the agent's terminal is passed on to the user's."""
        return self.translate == 0 and not self.quiet


class AgentCommand(NamedTuple):
    description: AgentDefinition
    program: Path
    arguments: Callable[[Sequence[str]], list[str]]  # of the program, with more that it is given
    selector: str | None  # of the run; None: a new one
    detail: str  # of step 1
    options: Sequence[str] = ()  # the arguments without what is said to the model
    policy: PolicyGiven | None = None
    notes: Sequence[str] = ()  # for the user, of what was found out on the way to it


class AttemptResult(NamedTuple):
    meta: Meta
    outcome: Outcome
    attempt: Attempt | None  # None: it is not to be translated
    notes: list[str]

    @property
    def exit_code(self) -> int:
        return OWN_FAILURE if self.outcome.not_started is not None else self.outcome.exit_code


def run_attempt(
    job: AgentCommand, options: LaunchOptions, *, on_sealing: Callable[[int], None]
) -> AttemptResult:
    steps = Steps()
    steps.did(Step.ARGUMENTS, job.detail)
    now = datetime.now(UTC)
    with ExitStack() as held:
        masking = Masking(options.environ, [str(job.program), *job.arguments(())])
        chain = held.enter_context(_chain(options, masking)) if options.observer == STRACE else None
        prepared = held.enter_context(prepare_run(options.root, job.description.name, job.selector, now=now))
        steps.did(
            Step.RUN_DIRECTORY,
            f"{prepared.run_dir}, attempt {prepared.attempt}",
            {"agentName": prepared.name.agent, "runId": prepared.name.run_id, "attempt": prepared.attempt},
        )
        return _Attempt(job, options, prepared, steps, masking, chain, held).run(on_sealing)


def _chain(options: LaunchOptions, masking: Masking) -> StraceChain:
    return StraceChain(find_programs(options.environ), masking.redactor)


class _Attempt:
    def __init__(
        self,
        job: AgentCommand,
        options: LaunchOptions,
        prepared: PreparedRun,
        steps: Steps,
        masking: Masking,
        chain: StraceChain | None,
        held: ExitStack,
    ) -> None:
        self._job = job
        self._options = options
        self._prepared = prepared
        self._steps = steps
        self._masking = masking
        self._long_look = SnapshotProgress(options.tell)
        self._chain = chain
        self._held = held
        self._split: SplitStreams = chain or RecordedStreams()
        self._began_ms = _now_ms()
        self._known = msgspec.structs.replace(
            prepared.entry.known,
            selector=job.selector,
            home=options.home,
            policy=job.policy,
            hooks=options.hooks,
            translate_level=options.translate,
        )
        self._notes = list(job.notes)  # for the user
        self._skill_texts: list[bytes] = []

    def run(self, on_sealing: Callable[[int], None]) -> AttemptResult:
        try:
            before = self._look()
            environ, arguments = self._build_world()
            rules = self._rules()
            judging = AfterRun(
                self._prepared, self._steps, before, rules, self._split, self._long_look, self._masking
            )
            outcome = record(self._request(environ, arguments, judging), on_sealing=on_sealing)
        except (StenoError, KeyboardInterrupt) as error:
            self._tell_that_it_never_began(str(error) or "interrupted")
            raise
        return self._finish(outcome, judging)

    # --- before the agent --------------------------------------------------------------------------

    def _look(self) -> ScannedFiles:
        before = self._long_look.look(self._prepared.run)
        found = self._masking.snapshot(before.files)
        self._prepared.audit.write_json("fs-before", found)
        self._steps.did(Step.FS_BEFORE, before.told)
        return before

    def _build_world(self) -> tuple[dict[str, str], list[str]]:
        """The environment and the arguments that the agent is started with."""
        description, options = self._job.description, self._options
        paths = ManagedPaths(options.root)
        home = open_home(options.home, paths, options.environ)
        environ = build_environment(options.environ, paths, description, home)
        observed = self._held.enter_context(
            agent_settings.observed(
                description,
                home,
                self._prepared.run_dir,
                self._job.options,
                hooks=options.hooks,
                policy=options.policy,
            )
        )
        self._notes += [*observed.uncovered, *observed.freed]
        self._learn(policy=observed.policy)
        facts = {"policy": msgspec.to_builtins(observed.policy), "hooks": options.hooks}
        self._steps.did(Step.ENVIRONMENT, _world(home, environ, observed), facts)
        self._inject_skills()
        self._trust(home.path, environ)
        return environ, self._job.arguments(observed.arguments)

    def _inject_skills(self) -> None:
        options, place = self._options, self._job.description.launch.skills_dir
        if place is not None:
            self._skill_texts += skills.texts_there(self._prepared.run_dir, place)
        if options.skills is None or place is None:
            self._steps.did(Step.SKILLS, "none")
            return
        injected = skills.inject([options.skills], self._prepared.run_dir, place)
        self._skill_texts += injected.texts
        self._learn(skills=tuple(injected.names))
        names = list(self._known.skills)
        self._steps.did(Step.SKILLS, ", ".join(names), {"skills": names})

    def _rules(self) -> Rules:
        described = self._job.description
        rules = Rules(
            parser=described.stream.parser,
            terminal_signals=described.stream.signals,
            given=endings(self._masking.redactor.mask(text, "skills") for text in self._skill_texts),
        )
        self._learn(rules=msgspec.to_builtins(rules))
        return rules

    def _trust(self, home: Path, environ: Mapping[str, str]) -> None:
        given = agent_settings.apply_trust(self._job.description, home, self._prepared.run_dir, environ)
        if given is None:
            self._steps.did(Step.TRUST, "the agent asks for none")
            return
        self._learn(trust=given)
        detail = f"{given.file}, {'there already' if given.already_there else 'written'}"
        self._steps.did(Step.TRUST, detail, {"trust": msgspec.to_builtins(given)})

    def _request(self, environ: Mapping[str, str], arguments: Sequence[str], judging: AfterRun) -> RunRequest:
        job, options = self._job, self._options
        command = [str(job.program), *arguments]
        self._steps.did(Step.LAUNCH, f"{job.program}, on a terminal")
        run_id = new_run_id()
        # Named before it begins: when this process is killed, somebody has to find the recording.
        self._prepared.keep(
            known=self._told(), store=str(options.store), record=run_id, files=self._prepared.audit.files
        )
        return RunRequest(
            run_id=run_id,
            command=self._chain.wrapped(command, environ) if self._chain else command,
            cwd=self._prepared.run_dir,
            store=options.store,
            environ=environ,
            recorder_environ=options.environ,
            pty="always",
            observer=NONE if self._chain else options.observer,
            opens_ours=self._chain is not None,
            name=f"{self._prepared.name.run_id} attempt {self._prepared.attempt}",
            exclude=[self._prepared.audit_dir],
            shown=options.shown,
            before=list(self._steps.told),
            after=judging.after,
        )

    def _learn(self, **found: Any) -> None:
        self._known = msgspec.structs.replace(self._known, **found)

    def _told(self) -> Known:
        """What is known by now, without a secret."""
        return self._masking.known(msgspec.structs.replace(self._known, steps=tuple(self._steps.as_data())))

    def _tell_that_it_never_began(self, error: str) -> None:
        how = self._without_a_record(None, error, started=False)
        known = msgspec.structs.replace(self._told(), parts=self._prepared.audit.parts)
        with suppress(StenoError):  # the error itself is what the user has to read
            keep_meta(self._options.root, self._prepared, describe(known, how))

    # --- after the agent ---------------------------------------------------------------------------

    def _finish(self, outcome: Outcome, judging: AfterRun) -> AttemptResult:
        notes = [*self._notes, *judging.notes]
        how = self._without_a_record(
            outcome.exit_code,
            outcome.not_started or outcome.seal_failure,
            started=outcome.not_started is None,
        )
        self._prepared.audit.expect(STREAMS)
        with collect_errors(notes), Folder(outcome.path) as folder, open_record(folder) as recorded:
            how = self._split.ended(ended(recorded, tuple(recorded.completeness["gaps"])))
            write_streams(self._prepared, recorded, self._split, notes)
            self._learn(session=self._session(recorded))
        self._learn(unreadable=judging.unreadable, completion=_as_data(judging.completion))
        meta = describe_attempt(self._prepared, self._told(), how)
        with collect_errors(notes):
            keep_meta(self._options.root, self._prepared, meta)
        notes += self._prepared.audit.notes
        if (problem := self._prepared.directory_problem()) is not None:
            notes.append(f"{self._prepared.name.run_id}: {problem}; {DIRECTORY_HINT}")
        return AttemptResult(
            meta, outcome, self._attempt(meta, notes) if self._options.translate else None, notes
        )

    def _session(self, recorded: Record) -> Session:
        described = self._job.description
        return session_told(recorded, self._split, described.stream.parser, described.stream.session_field)

    def _attempt(self, meta: Meta, notes: list[str]) -> Attempt | None:
        """None: it cannot be translated, and the notes say why."""
        audit, attempt = self._prepared.audit, None
        with collect_errors(notes):
            stdout, stderr = audit.read("stdout"), audit.read("stderr")
            attempt = attempt_of(meta, self._job.description.stream.session_field, stdout, stderr)
        return attempt  # noqa: RET504 - None when it was noted

    def _without_a_record(self, exit_code: int | None, error: str | None, *, started: bool) -> Ended:
        return Ended(
            Launch(str(self._job.program), [], str(self._prepared.run_dir)),
            self._began_ms,
            _now_ms(),
            started=started,
            exit_code=exit_code,
            signal=None,
            error=self._masking.error(error),
        )


def _world(home: Home, environ: Mapping[str, str], observed: agent_settings.Instrumentation) -> str:
    written = [one.told for one in observed.written]
    return ", ".join([f"home {home.kind}", f"{len(environ)} variables", *written, *observed.uncovered])


def _as_data(value: msgspec.Struct | None) -> dict[str, Any] | None:
    return None if value is None else msgspec.to_builtins(value)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Step(IntEnum):
    ARGUMENTS = 1
    RUN_DIRECTORY = 2
    FS_BEFORE = 3
    ENVIRONMENT = 4
    SKILLS = 5
    TRUST = 6
    LAUNCH = 7
    STREAMS = 8
    COMPLETION = 9
    FS_AFTER = 10
    META = 11  # told as it begins: the record is sealed before meta can say where it is


class Steps:
    def __init__(self) -> None:
        self.told: list[AgentStep] = []

    def did(self, step: Step, detail: str, facts: dict[str, Any] | None = None) -> AgentStep:
        if step != len(self.told) + 1:
            raise AssertionError(f"step {step} ({step.name}) after step {len(self.told)}")
        told = AgentStep(
            number=step.value,
            name=step.name.lower(),
            detail=detail,
            done_ms=time.time_ns() // 1_000_000,
            facts=facts,
        )
        self.told.append(told)
        return told

    def as_data(self) -> list[dict[str, Any]]:
        """Without the facts: they have places of their own in meta."""
        return [msgspec.to_builtins(msgspec.structs.replace(step, facts=None)) for step in self.told]


class AfterRun:
    def __init__(
        self,
        prepared: PreparedRun,
        steps: Steps,
        before: ScannedFiles,
        rules: Rules,
        streams: SplitStreams,
        long_look: SnapshotProgress,
        masking: Masking,
    ) -> None:
        self._prepared = prepared
        self._steps = steps
        self._before = before
        self._rules = rules
        self._split = streams
        self._long_look = long_look
        self._masking = masking
        self._facts: dict[Step, dict[str, Any]] = {}
        self.completion: Completion | None = None
        self.unreadable: tuple[str, ...] = ()
        self.notes: list[str] = []

    def after(self, layers: FolderLayers) -> Iterator[EventData]:
        yield self._told(Step.STREAMS, self._streams, layers)
        yield self._told(Step.COMPLETION, self._judge, layers)
        yield self._told(Step.FS_AFTER, self._look_again, layers)
        yield self._steps.did(Step.META, f"attempt {self._prepared.attempt} of {self._prepared.name.run_id}")

    def _told(self, step: Step, do: Callable[[FolderLayers], str], layers: FolderLayers) -> EventData:
        try:
            detail = do(layers)
        except (StenoError, OSError, ValueError) as error:
            self.notes.append(f"{step.name.lower()}: {error}")
            detail = f"failed: {error}"
        return self._steps.did(step, detail, self._facts.get(step))

    def _streams(self, layers: FolderLayers) -> str:
        found = self._split.rebuild(layers)
        how = self._split.ended(ended(RecordedSoFar(layers), ()))
        self._facts[Step.STREAMS] = {"traceSource": how.trace_source}
        return f"stdout in {found.stdout} writes, stderr in {found.stderr}"

    def _judge(self, layers: FolderLayers) -> str:
        self.completion = judged(layers, self._split, self._rules)
        if self.completion is None:
            return "none: the agent was not started"
        self._facts[Step.COMPLETION] = {
            "completion": msgspec.to_builtins(self.completion),
            "rules": msgspec.to_builtins(self._rules),
        }
        return f"{self.completion.state}: {self.completion.reason_code}"

    def _look_again(self, _: FolderLayers) -> str:
        audit = self._prepared.audit
        after = self._long_look.look(self._prepared.run, self._before)
        audit.write_json("fs-after", self._masking.snapshot(after.files))
        found = self._masking.diff(diff(self._before.files, after.files))
        audit.write_json("fs-diff", found)
        self.unreadable = tuple(found.unreadable)
        if after.unread:
            self.notes.append(f"fs_after: {after.told}")
        changes = (
            f"{len(found.created)} created, {len(found.modified)} modified, {len(found.deleted)} deleted"
        )
        return f"{after.told}: {changes}"


def judged(layers: FolderLayers, streams: SplitStreams, rules: Rules) -> Completion | None:
    """None for an agent that was not started: there is nothing to judge.

    All that is looked at is kept in the audit files, as `rejudging` shows.
    """
    recorded = RecordedSoFar(layers)
    facts = recorded.facts
    if not facts.started:
        return None
    how = streams.ended(ended(recorded, ()))
    typed = b"".join(layers.read(layout.STDIN))
    return completion(
        exit_code=facts.finished.exit_code if facts.finished else None,
        signal=how.signal,
        logs=streams.logs(layers),
        rules=rules,
        given=[*words_of_command(how.launch.args), typed],
    )
