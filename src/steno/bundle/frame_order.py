"""Events of two witnesses, put in order of time.

In: blocks of event records as steno-trace wrote them: what the probe tells comes a little later than what the
filter stops. Out: blocks of the same records, in order of their times. A call that waited for longer than
two blocks hold stands where it ended, under the time at which it began. Never holds more than two blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from steno.evidence import wire

_LONGS = wire.EVENT.size // 8
_FEW = 20_000  # so many are sorted before the library is loaded


def in_order_of_time(blocks: Iterator[bytes]) -> Iterator[bytes]:
    held = b""
    for block in blocks:
        together = _sorted(held + block)
        keep = len(block) // wire.EVENT.size * wire.EVENT.size
        out, held = together[: len(together) - keep], together[len(together) - keep :]
        if out:
            yield out
    if held:
        yield held


def _sorted(records: bytes) -> bytes:
    size = wire.EVENT.size
    times = memoryview(records).cast("Q")[0::_LONGS].tolist()
    if times == sorted(times):  # most are: of a list in order that is quickly told
        return records
    if len(times) > _FEW:
        return _sorted_by_arrow(records, times)
    order = sorted(range(len(times)), key=times.__getitem__)
    return b"".join([records[place * size : (place + 1) * size] for place in order])


def _sorted_by_arrow(records: bytes, times: list[int]) -> bytes:
    import pyarrow as pa  # late: start-up has a budget
    from pyarrow import compute

    count = len(times)
    order = compute.array_sort_indices(pa.array(times, pa.uint64()))
    column = pa.Array.from_buffers(pa.binary(wire.EVENT.size), count, [None, pa.py_buffer(records)])
    return bytes(column.take(order).buffers()[1].to_pybytes()[: len(records)])
