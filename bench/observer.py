"""What the kernel observers cost a command: bare, Steno and its peers, interleaved, pinned and unpinned.

In: workloads and recorders. Out: a row for each workload, with every sample, printed as soon as its rounds
are over. The budgets speak of the command's own time under Steno, from its start to its end, against the
whole time of the bare command; what Steno does before and after it is in the columns beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commands import NEARLY_FREE, START_UP_OVER_NOTIFY, Workload
from figures import NONE, Table, print_table, ratio, spread, times, verdict
from recorders import BARE, NOTIFY, Recorder, Taken, measure, name_of_cores, on_cores, say_progress

COLUMNS = (
    ("", 28),
    ("", 9),
    ("", 8),
    ("rounds", 6),
    ("the command: median least..most", 31),
    ("x bare", 7),
    ("whole", 9),
    ("start-up", 8),
    ("events", 9),
    ("budget", 22),
)


class Row(NamedTuple):
    workload: Workload
    pinned: bool
    taken: dict[str, list[Taken]]

    def good(self, name: str) -> list[Taken]:
        return [each for each in self.taken.get(name, []) if each.failure is None]

    def own(self, name: str) -> list[float]:
        return [each.own for each in self.good(name)]

    def whole(self, name: str) -> list[float]:
        return [each.whole for each in self.good(name)]

    def start_up(self, name: str) -> list[float]:
        return [each.start_up for each in self.good(name) if each.start_up is not None]

    def slower(self, name: str) -> float | None:
        return None if self.workload.most_seconds else ratio(self.own(name), self.own(BARE))

    def budget(self, recorder: Recorder) -> float | None:
        """As a multiple of the bare command; in seconds where the workload says so."""
        if recorder.observer is None or self.workload.most_seconds is not None:
            return self.workload.most_seconds if recorder.observer else None
        if recorder.observer == NOTIFY:
            return self.workload.most
        return min(self.workload.most or NEARLY_FREE, NEARLY_FREE)

    def judged(self, recorder: Recorder) -> float | None:
        """What the budget speaks of."""
        if self.workload.most_seconds is None:
            return self.slower(recorder.name)
        found = spread(self.whole(recorder.name))
        return found.median if found else None


def compare(
    workloads: Iterable[Workload],
    recorders: Sequence[Recorder],
    *,
    rounds: int,
    env: Mapping[str, str],
    place: Path,
    keep: Callable[[Mapping[str, Any]], None],
) -> list[Row]:
    table = Table(f"What recording costs a command ({rounds} rounds, interleaved)", COLUMNS)
    rows = []
    for workload in workloads:
        say_progress(f"{workload.name}: once, so that its files are in the cache")
        _take(workload, Recorder(BARE, ()), env, place)
        for pinned in (True, False):
            row = Row(workload, pinned, {})
            for number in range(rounds):
                _take_round(row, recorders, number, rounds, env, place)
            keep(as_json(row, recorders))
            _print_row(table, row, recorders)
            rows.append(row)
    return rows


def _take_round(
    row: Row, recorders: Sequence[Recorder], number: int, rounds: int, env: Mapping[str, str], place: Path
) -> None:
    """Who begins is another in every round."""
    first = number % len(recorders)
    with on_cores(pinned=row.pinned):
        for recorder in (*recorders[first:], *recorders[:first]):
            before = row.taken.setdefault(recorder.name, [])
            latest = before[-1].whole if before else 0.0
            if row.pinned and not recorder.on_one_core:
                continue
            if len(before) < recorder.rounds(rounds, latest):
                before.append(_take(row.workload, recorder, env, place))


def _take(workload: Workload, recorder: Recorder, env: Mapping[str, str], place: Path) -> Taken:
    workload.clear()
    taken = measure(recorder, workload.words, cwd=workload.cwd, env=env, log=place / "output.log")
    if taken.failure is not None:
        say_progress(f"FAILED: {workload.name} under {recorder.name}: {taken.failure}")
    elif workload.result is not None:
        taken = taken._replace(own=float(workload.result.read_text()) / 1e9)
    workload.clear()
    return taken


def _print_row(table: Table, row: Row, recorders: Sequence[Recorder]) -> None:
    for recorder in recorders:
        table.add(_line(row, recorder))
    if row.workload.most_seconds is None or not row.start_up(NOTIFY):
        return
    for recorder in recorders:
        if recorder.observer not in {None, NOTIFY}:
            table.add(_start_up_line(row, recorder))


def _line(row: Row, recorder: Recorder) -> list[str]:
    name, taken = recorder.name, row.taken[recorder.name]
    line = [row.workload.name, name_of_cores(pinned=row.pinned), name, str(len(taken))]
    if not taken:
        return [*line, "not measured: takes long", *[NONE] * 4, ""]
    own = spread(row.own(name))
    if own is None:
        return [*line, "FAILED", *[NONE] * 4, verdict(None, row.budget(recorder), "")]
    micro = row.workload.result is not None
    unit = " s whole" if row.workload.most_seconds is not None else "x"
    return [
        *line,
        f"{own.text(1e6, 2)} µs" if micro else f"{own.text()} s",
        times(None if name == BARE else row.slower(name)),
        NONE if name == BARE else _seconds(row.whole(name)),
        _seconds(row.start_up(name)),
        _events(taken),
        verdict(row.judged(recorder), row.budget(recorder), unit),
    ]


def _start_up_line(row: Row, recorder: Recorder) -> list[str]:
    """Round by round, because its observers were started one after the other in each."""
    pairs = zip(row.start_up(recorder.name), row.start_up(NOTIFY), strict=False)
    more = spread([mine - other for mine, other in pairs])
    name = ["start-up, over notify", name_of_cores(pinned=row.pinned), recorder.name]
    if more is None:
        return [*name, "0", "FAILED", *[NONE] * 4, verdict(None, START_UP_OVER_NOTIFY, " s")]
    counted = str(len(row.start_up(recorder.name)))
    return [*name, counted, f"{more.text()} s", *[NONE] * 4, verdict(more.median, START_UP_OVER_NOTIFY, " s")]


def _seconds(samples: Sequence[float]) -> str:
    found = spread(samples)
    return f"{found.median:.3f} s" if found else NONE


def _events(taken: Sequence[Taken]) -> str:
    """The most of a run; and what the record lacks, when one lacks anything."""
    most = max((each.events or 0 for each in taken), default=0)
    flaws = sorted({flaw for each in taken for flaw in each.flaws})
    return " ".join([str(most) if most else NONE, *flaws])


def print_summary(rows: Sequence[Row], recorders: Sequence[Recorder]) -> None:
    """The same medians once more, a line a workload."""
    others = [each.name for each in recorders if each.name != BARE]
    print_table(
        "The same, short: the bare command in seconds, and how many times of it the others take",
        ["", "", BARE, *others],
        [
            [
                row.workload.name,
                name_of_cores(pinned=row.pinned),
                _bare(row),
                *(
                    _seconds(row.whole(n)) if row.workload.most_seconds else times(row.slower(n))
                    for n in others
                ),
            ]
            for row in rows
        ],
    )


def _bare(row: Row) -> str:
    found = spread(row.own(BARE))
    if found is None:
        return "FAILED"
    return f"{found.median * 1e6:.2f} µs" if row.workload.result else f"{found.median:.3f} s"


def as_json(row: Row, recorders: Sequence[Recorder]) -> dict[str, Any]:
    return {
        "workload": row.workload.name,
        "pinned": row.pinned,
        "unit_of_budgets": "x bare" if row.workload.most_seconds is None else "s whole",
        "budgets": {each.name: row.budget(each) for each in recorders},
        "judged": {each.name: row.judged(each) for each in recorders},
        "taken": {name: [each._asdict() for each in taken] for name, taken in row.taken.items()},
    }
