"""What is done when the agent has ended: steps 8 to 11, told to the record before it is sealed.

In: the streams of the attempt as they were recorded, the rules of the agent, the files before.
Out: the steps as events; how many writes each stream has, how the attempt ended, what became of the files.
The agent has run: what fails here is noted and told, never raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from steno.agents.completion import Completion, Rules, completion
from steno.agents.given_words import words_of_command
from steno.agents.long_look import LongLook
from steno.agents.masking import Masking
from steno.agents.run_directory import PreparedRun
from steno.agents.snapshot import Look
from steno.agents.split_streams import SplitStreams
from steno.agents.steps import Step, Steps
from steno.bundle.reader import FolderLayers
from steno.contracts.agent_audit.changes import diff
from steno.contracts.agent_audit.meta import ended
from steno.errors import StenoError
from steno.evidence import layout
from steno.evidence.kinds import EventData
from steno.model.recording import RecordedSoFar


class Judging:
    def __init__(
        self,
        prepared: PreparedRun,
        steps: Steps,
        before: Look,
        rules: Rules,
        streams: SplitStreams,
        long_look: LongLook,
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
