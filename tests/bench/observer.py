"""What the kernel observer costs a command: bare, Steno and its peers, interleaved, pinned and unpinned.

In: workloads and recorders. Out: every sample, and a table of medians with their spread. The budgets speak of
the command's own time under Steno, from its start to its end, against the whole time of the bare command;
what Steno does before and after it is in the column beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commands import Workload
from figures import NONE, print_table, ratio, spread, times, verdict
from recorders import BARE, STENO_RUN, Recorder, Taken, measure, on_cores, say_progress

MICRO, SECONDS = 1e6, 1.0


class Row(NamedTuple):
    workload: Workload
    pinned: bool
    taken: dict[str, list[Taken]]

    def own(self, name: str) -> list[float]:
        return [each.own for each in self.taken.get(name, []) if each.failure is None]

    def whole(self, name: str) -> list[float]:
        return [each.whole for each in self.taken.get(name, []) if each.failure is None]

    @property
    def judged(self) -> float | None:
        """What the budget speaks of."""
        if self.workload.most_seconds is not None:
            found = spread(self.whole(STENO_RUN))
            return found.median if found else None
        return ratio(self.own(STENO_RUN), self.own(BARE))


def compare(
    workloads: Sequence[Workload],
    recorders: Sequence[Recorder],
    *,
    rounds: int,
    env: Mapping[str, str],
    place: Path,
) -> list[Row]:
    rows = [Row(each, pinned, {}) for pinned in (True, False) for each in workloads]
    for workload in workloads:
        say_progress(f"once, so that its files are in the cache: {workload.name}")
        _take(workload, Recorder(BARE, ()), env, place)
    for number in range(rounds):
        for row in rows:
            turned = [*recorders[number % len(recorders) :], *recorders[: number % len(recorders)]]
            with on_cores(pinned=row.pinned):
                for recorder in turned:
                    taken = _take(row.workload, recorder, env, place)
                    row.taken.setdefault(recorder.name, []).append(taken)
            latest = ", ".join(f"{each.name} {row.taken[each.name][-1].own:.3g}" for each in recorders)
            say_progress(f"round {number + 1}/{rounds} {_core(row)} {row.workload.name}: {latest}")
    return rows


def _take(workload: Workload, recorder: Recorder, env: Mapping[str, str], place: Path) -> Taken:
    workload.clear()
    taken = measure(recorder, workload.words, cwd=workload.cwd, env=env, log=place / "output.log")
    if taken.failure is not None:
        say_progress(f"FAILED: {workload.name} under {recorder.name}: {taken.failure}")
    elif workload.result is not None:
        taken = taken._replace(own=float(workload.result.read_text()) / 1e9)
    workload.clear()
    return taken


def print_rows(rows: Sequence[Row], recorders: Sequence[Recorder], rounds: int) -> None:
    peers = [each.name for each in recorders if each.name not in {BARE, STENO_RUN}]
    for pinned in (True, False):
        title = "one core" if pinned else "all cores"
        head = ["", BARE, "steno, the command", "x bare", "steno, whole"]
        head += [word for peer in peers for word in (f"{peer}, whole", "x bare")]
        _print(
            f"Seconds, {title} ({rounds} rounds, interleaved: median least..most)",
            [*head, "events", "budget"],
            [_line(row, peers, SECONDS) for row in rows if row.pinned == pinned and not row.workload.result],
        )
        head = ["", BARE, "steno", "x bare", *(word for peer in peers for word in (peer, "x bare")), "budget"]
        _print(
            f"Microseconds per call, {title}",
            head,
            [_micro_line(row, peers) for row in rows if row.pinned == pinned and row.workload.result],
        )


def _print(title: str, head: list[str], lines: list[list[str]]) -> None:
    if lines:
        print_table(title, head, lines)


def _line(row: Row, peers: Sequence[str], scale: float) -> list[str]:
    workload = row.workload
    line = [workload.name, _cell(row.own(BARE), scale), _cell(row.own(STENO_RUN), scale)]
    slowed = None if workload.most_seconds else ratio(row.own(STENO_RUN), row.own(BARE))
    line += [times(slowed), _cell(row.whole(STENO_RUN), scale)]
    for peer in peers:
        line += [_cell(row.whole(peer), scale), times(ratio(row.whole(peer), row.own(BARE)))]
    line.append(_events(row.taken.get(STENO_RUN, [])))
    if workload.most_seconds is not None:
        return [*line, verdict(row.judged, workload.most_seconds, " s whole")]
    return [*line, verdict(row.judged, workload.most, "x")]


def _events(taken: Sequence[Taken]) -> str:
    """The most of a run; and how whole the record is, when one is not."""
    most = max((each.events or 0 for each in taken), default=0)
    flaws = sorted({each.health for each in taken if each.health and each.health != "complete"})
    return " ".join([str(most) if most else NONE, *flaws])


def _micro_line(row: Row, peers: Sequence[str]) -> list[str]:
    line = [row.workload.name, _cell(row.own(BARE), MICRO)]
    for name in (STENO_RUN, *peers):
        line += [_cell(row.own(name), MICRO), times(ratio(row.own(name), row.own(BARE)))]
    return [*line, verdict(row.judged, row.workload.most, "x")]


def _cell(samples: Sequence[float], scale: float) -> str:
    found = spread(samples)
    return found.text(scale, 2 if scale == MICRO else 3) if found else "FAILED"


def _core(row: Row) -> str:
    return "one core" if row.pinned else "all cores"


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "workload": row.workload.name,
            "pinned": row.pinned,
            "budget_ratio": row.workload.most,
            "budget_seconds": row.workload.most_seconds,
            "judged": row.judged,
            "taken": {name: [each._asdict() for each in taken] for name, taken in row.taken.items()},
        }
        for row in rows
    ]
