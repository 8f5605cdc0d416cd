"""Where stdout and stderr of an attempt come from: our own recording, which has told them apart already.

In: the layers of a recording. Out: the logs to judge by, how many writes each stream has, and which audit
files are to be made from elsewhere (none). `strace_chain` is the other source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from steno.agents.terminal_signal import Log
from steno.contracts.agent_audit.meta import Ended
from steno.contracts.agent_audit.streams import Chunks, chunks, tapes
from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.model.recording import RecordedSoFar, recorded

Logs = Mapping[Log, Iterable[bytes]]


class SplitStreams(Protocol):
    def rebuild(self, layers: Layers) -> Chunks: ...
    def logs(self, layers: Layers) -> Logs: ...
    def parts(self) -> Mapping[str, Iterable[bytes]]: ...
    def ended(self, how: Ended) -> Ended: ...


class RecordedStreams:
    def rebuild(self, layers: Layers) -> Chunks:
        return chunks(RecordedSoFar(layers))

    def logs(self, layers: Layers) -> Logs:
        """The same that the audit files have: what nobody split is stdout."""
        out, err = tapes(RecordedSoFar(layers))
        found: dict[Log, str | None] = {"pty": layout.OUTPUT, "stdout": out, "stderr": err}
        known = recorded(layers)
        return {source: layers.read(tape) for source, tape in found.items() if tape in known}

    def parts(self) -> Mapping[str, Iterable[bytes]]:
        return {}

    def ended(self, how: Ended) -> Ended:
        return how
