"""The cgroup of one run and what goes with it: the probe that watches it, and the wait for who is left in it.

In: the id of the run, the chosen observer, how long to wait. Out: what the launch and the pump need, and the
events that tell of it: the scope before the command, its end after it. Never ends a process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from steno.capture.cgroup import (
    Awaited,
    KeeperChildren,
    Refusal,
    Scope,
    make_scope,
    process_names,
    sweep_beside,
)
from steno.capture.launcher import Keeper
from steno.capture.observer import InScope, Observer, fit_to_scope, start_probe
from steno.evidence import kinds
from steno.evidence.kinds import LeftProcess
from steno.record.counted_gaps import OUTLIVED
from steno.record.witness import SpoolWitness

MAX_TOLD, SHOWN = 100, 5


class RunScope:
    def __init__(self, run_id: str, observer: Observer, environ: Mapping[str, str]) -> None:
        """Make the cgroup, and start the probe if one is wanted. An error when one is insisted on."""
        sweep_beside()
        self._made = make_scope(run_id)
        self._channel: int | None = None
        self._children: KeeperChildren | None = None
        try:
            self.observer = fit_to_scope(observer, self._made)
            if self.observer.probe is not None and isinstance(self._made, Scope):
                self._channel = start_probe(self.observer.probe, self._made.fd, environ)
        except BaseException:
            self.close()
            raise

    def event(self) -> kinds.CgroupScope:
        match self._made:
            case Refusal(reason, detail):
                return kinds.CgroupScope(reason=reason, detail=detail)
            case made:
                return kinds.CgroupScope(hierarchy=made.kind, path=made.path, cgroup_id=made.cgroup_id)

    def for_launch(self) -> InScope:
        return InScope(self._made.fd if isinstance(self._made, Scope) else None, self._channel)

    def launched(self) -> None:
        """steno-trace has the probe's socket; as long as we held it too, it would not see its end."""
        if self._channel is not None:
            os.close(self._channel)
            self._channel = None

    def awaited(self, keeper: Keeper, seconds: float) -> Awaited:
        if isinstance(self._made, Scope):
            return Awaited(self._made, seconds)
        self._children = KeeperChildren(keeper.pid)
        return Awaited(self._children, seconds)

    def end(self, witness: SpoolWitness) -> None:
        """Tell who is left. A cgroup that cannot be removed is not taken for empty."""
        if isinstance(self._made, Refusal):
            return
        left = self._made.end()
        named = [LeftProcess(pid, name) for pid, name in process_names(left.processes[:MAX_TOLD])]
        witness.event(
            kinds.CgroupEnded(
                empty=left.removed and not left.processes,
                removed=left.removed,
                left=named,
                left_count=len(left.processes),
            )
        )
        if left.processes or not left.removed:
            who = ", ".join(f"{one.name} ({one.pid})" for one in named[:SHOWN])
            more = " …" if len(left.processes) > SHOWN else ""
            count = OUTLIVED.says(len(left.processes))
            witness.gap(OUTLIVED.reason, f"{count}: {who}{more}" if who else count)

    def close(self) -> None:
        """Leaves nothing behind, also when the run never began."""
        self.launched()
        if self._children is not None:
            self._children.close()
            self._children = None
        if isinstance(self._made, Scope):
            self._made.end()
            self._made.close()
            self._made = Refusal("failed", "it was closed")
