"""The rows that differ: both ways find the same, and it is what a plain loop finds."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steno.evidence import layout, syscalls
from steno.evidence.syscalls import BadTableError, Distinct, RowBatch, batches, by_arrow, by_dicts
from steno.judge import files as judged_files
from steno.judge.files import Touched
from steno.judge.scan import Reading
from support.documents import accesses, files, processes
from support.frames_made import ABSENT, FakeFrames, Found
from support.kernel_tables import kernel_layers, table_of
from support.spools import MemoryLayers

KEYS = ("process", "op", "path", "resolved", "result", "arg", "exists", "mode", "target")
STATES_FOUND = [None, ABSENT, Found(), Found(mode=0o40755), Found(mode=0o120777, target="/t")]
STATES = st.sampled_from(STATES_FOUND)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["stat", "open", "rename", "socket", "exec", "exit"]),
        st.sampled_from([b"/a", b"/b", b"/\xff", b""]),
        st.integers(1, 3),
        st.integers(0, 9),
        STATES,
        st.sampled_from([os.O_RDONLY, os.O_RDWR | os.O_CREAT, 1 << 63]),
        st.sampled_from([0, -2, None]),
    ),
    max_size=25,
)
DERIVATIONS: list[Callable[[MemoryLayers], Any]] = [accesses, processes, files]


def made_of(calls: list[tuple[Any, ...]]) -> FakeFrames:
    made = FakeFrames()
    for op, path, process, at, state, arg, result in calls:
        more = {} if result is None else {"result": result}
        made.event(op, path, process=process, at=at, state=state, arg=arg, **more)
    return made


def by_a_plain_loop(batch: RowBatch) -> Distinct:
    found: dict[tuple[Any, ...], tuple[int, int, int, int]] = {}
    rows = zip(*(batch.codes(name) for name in KEYS), strict=True)
    for row, (key, at) in enumerate(zip(rows, batch.numbers("mono_ns"), strict=True)):
        first, times, first_ns, last_ns = found.get(key, (row, 0, at, at))
        found[key] = first, times + 1, min(first_ns, at), max(last_ns, at)
    return Distinct(*map(list, zip(*found.values(), strict=True)))


@given(CALLS, st.integers(1, 30))
def test_both_ways_find_what_a_plain_loop_finds(calls: list[tuple[Any, ...]], size: int) -> None:
    layers = kernel_layers(made_of(calls))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syscalls, "BATCH", size)
        for batch in batches(layers, (*KEYS, "mono_ns")):
            assert by_dicts(batch, KEYS) == by_arrow(batch, KEYS) == by_a_plain_loop(batch)


@given(CALLS, st.integers(1, 30))
@settings(max_examples=40)
def test_every_derived_file_has_the_same_bytes_whichever_way(calls: list[tuple[Any, ...]], size: int) -> None:
    layers = kernel_layers(made_of(calls))
    for derive in DERIVATIONS:
        few = b"".join(derive(layers))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(syscalls, "LARGE", 0)
            patch.setattr(syscalls, "BATCH", size)
            assert b"".join(derive(layers)) == few


REPEATED = st.lists(
    st.sampled_from(
        [
            *(("stat", b"/a", 1, 0, state, 0, 0) for state in STATES_FOUND),
            ("open", b"/a", 1, 0, Found(), os.O_RDONLY, 0),
            *(("open", b"/a", 1, 0, state, os.O_WRONLY, 0) for state in (None, Found())),
            ("rename", b"/d", 1, 0, Found(mode=0o40755), 0, 0),
            *(("stat", b"/d/e", 1, 0, state, 0, 0) for state in STATES_FOUND),
            ("unlink", b"/d/e", 1, 0, Found(), 0, 0),
        ]
    ),
    max_size=40,
)


def told_of(layers: MemoryLayers) -> list[Any]:
    touched = Reading(layers).scanned(Touched)
    return [(touched.operations(path), touched.first(path)) for path in (b"/a", b"/d", b"/d/e")]


@given(REPEATED, st.sampled_from([(), ("late",)]), st.integers(1, 5))
@settings(max_examples=200)
def test_a_call_that_comes_again_in_a_later_batch_tells_nothing_that_is_passed_over(
    calls: list[tuple[Any, ...]], notes: tuple[str, ...], size: int
) -> None:
    made = FakeFrames()
    for at, (op, path, process, _, state, arg, result) in enumerate(calls):
        bits = notes if op == "rename" else ()
        made.event(op, path, process=process, at=at, state=state, arg=arg, result=result, notes=bits)
    layers = kernel_layers(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syscalls, "BATCH", size)
        told = told_of(layers)
        patch.setattr(judged_files, "_MOST_TAKEN", 0)
        assert told == told_of(layers)


def test_what_the_library_refuses_is_a_bad_table() -> None:
    layers = MemoryLayers([], {layout.KERNEL_TABLE: table_of(FakeFrames().event("stat", "/a"))})
    (batch,) = batches(layers, ("process", "mono_ns"))
    with pytest.raises(BadTableError, match="cannot be read"):
        by_arrow(batch, ("no such column",))


def test_an_index_beyond_its_dictionary_is_a_bad_table() -> None:
    beyond = pa.DictionaryArray.from_arrays(pa.array([7], pa.int32()), pa.array([b"/a"]), safe=False)
    batch = RowBatch(pa.RecordBatch.from_arrays([beyond], names=["path"]))
    with pytest.raises(BadTableError):
        batch.texts("path")


def test_the_rows_of_an_operation_are_found_without_reading_the_others() -> None:
    made = FakeFrames()
    for op in ("stat", "rename", "stat", "exit", "rename"):
        made.event(op, "/a")
    (batch,) = batches(kernel_layers(made), ("op",))
    assert batch.rows_of({"rename"}) == [1, 4]
    assert batch.rows_of({"rename", "exit"}) == [1, 3, 4]
    assert batch.rows_of({"mkdir"}) == []


def test_a_dictionary_of_more_operations_than_there_can_be_is_a_bad_table() -> None:
    many = pa.DictionaryArray.from_arrays(pa.array([300], pa.int32()), pa.array(["stat"] * 301))
    batch = RowBatch(pa.RecordBatch.from_arrays([many], names=["op"]))
    with pytest.raises(BadTableError, match="too many"):
        batch.rows_of({"stat"})


def test_a_mode_that_cannot_be_is_a_bad_table() -> None:
    batch = RowBatch(pa.RecordBatch.from_arrays([pa.array([-1], pa.int32())], names=["mode"]))
    with pytest.raises(BadTableError, match="mode"):
        batch.modes()
