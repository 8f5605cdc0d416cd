"""The last happenings of a sealed run, as somebody who had followed it would have seen them.

Memory is bounded by how many are asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from steno.evidence import layout
from steno.evidence.syscalls import RowBatch, batches
from steno.judge.activity import ALWAYS, OPENS, Happening, Row, Teller, gathered
from steno.judge.claims import claims_of
from steno.judge.operations import MEANING_OF_OPEN
from steno.judge.scan import Reading
from steno.model.live.claims import intakes, of_policy_line, of_sdk_line
from steno.model.live.kernel import Taken
from steno.model.live.run_events import of_event
from steno.model.record import Record, checked, has_kernel_layer, readable

_COLUMNS = (
    *("mono_ns", "process", "op", "path", "resolved", "extra"),
    *("result", "notes", "arg", "exists", "mode"),
)
_WORTH_A_LOOK = ALWAYS | OPENS


def last_happenings(record: Record, most: int) -> Taken:
    parts = [_last(source, most) for source in (_kernel(record), _claims(record), _events(record))]
    found = sorted((one for part in parts for one in part.happenings), key=lambda one: one.at_ns)
    left_out = max(len(found) - most, 0)
    return Taken(found[left_out:], left_out + sum(part.passed_over for part in parts))


def _last(happenings: Iterable[Happening], most: int) -> Taken:
    kept: deque[Happening] = deque(maxlen=most)
    count = 0
    for one in happenings:
        kept.append(one)
        count += 1
    return Taken(gathered(kept), count - len(kept))


def _kernel(record: Record) -> Iterator[Happening]:
    if not has_kernel_layer(record):
        return
    teller = Teller(intakes(record.facts.start, record.run_id))
    with checked(record.run, layout.KERNEL_TABLE):
        own = Reading.of(record.layers).own.processes
        for batch in batches(record.layers, _COLUMNS):
            for row in _rows(batch.without(own) if own else batch):
                if (told := teller.tell(row)) is not None:
                    yield told


def _rows(batch: RowBatch) -> Iterator[Row]:
    rows = batch.rows_of(_WORTH_A_LOOK)
    numbers = zip(rows, batch.ops(rows), batch.numbers("arg", rows), strict=True)
    rows = [row for row, op, arg in numbers if op not in OPENS or arg & MEANING_OF_OPEN]
    columns = (
        batch.numbers("mono_ns", rows),
        batch.numbers("process", rows),
        batch.ops(rows),
        batch.texts("path", rows),
        batch.texts("resolved", rows),
        batch.texts("extra", rows),
        batch.optional("result", rows),
        batch.numbers("notes", rows),
        batch.numbers("arg", rows),
        [None if exists is None else bool(exists) for exists in batch.optional("exists", rows)],
        batch.modes(rows),
    )
    return map(Row._make, zip(*columns, strict=True))


def _claims(record: Record) -> Iterator[Happening]:
    latest_ns = 0
    with readable(record.run):
        claims = claims_of(record.layers)
        yield from map(of_policy_line, claims.policy)
        for line in claims.sdk:
            told = of_sdk_line(line, latest_ns)
            latest_ns = told.at_ns
            yield told


def _events(record: Record) -> Iterator[Happening]:
    with readable(record.run):
        for event in record.layers.events():
            if (told := of_event(event)) is not None:
                yield told
