"""Garbage in the place of a file: it ends with a verdict, whether or not the digests fit it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.bundle.verify import Status
from steno.evidence import canonical, layout
from support.resealing import BAD, event_lines, put_events, reseal, verdict_of


@pytest.mark.parametrize("depth", [40, 70, 300, 900, 100_000])
def test_deeply_nested_data_ends_with_a_verdict(bundle: Path, depth: int) -> None:
    lines = event_lines(bundle)
    nested = b"[" * depth + b"]" * depth
    tally = {
        **canonical.decode_line(lines[-2]),
        "type": "redaction_tally",
        "data": {"tally": {"a": "NESTED"}},
    }
    put_events(bundle, [*lines[:-2], canonical.encode_line(tally).replace(b'"NESTED"', nested), lines[-1]])
    reseal(bundle)
    passed_over = depth < 64  # as a field that only a newer Steno knows
    assert verdict_of(bundle).status is (Status.VALID if passed_over else Status.INVALID)


GARBAGE = [
    b"",
    b"\0",
    b"null",
    b"[]",
    b"{}",
    b"{}\n",
    b"\xff" * 100,
    b"9" * 5000,
    b"[" * 10_000,
    b'{"a":' * 5000,
]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_in_place_of_a_file_ends_with_a_verdict(bundle: Path, data: bytes) -> None:
    for name in (layout.MANIFEST, layout.EVENTS, layout.STDIN, layout.INDEX, layout.CHANGES):
        before = (bundle / name).read_bytes()
        (bundle / name).write_bytes(data)
        assert verdict_of(bundle).status is Status.INVALID
        if name != layout.MANIFEST:
            reseal(bundle)
            assert verdict_of(bundle).status is Status.INVALID
        (bundle / name).write_bytes(before)
        if name != layout.MANIFEST:
            reseal(bundle)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc_", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.binary(max_size=200) | JSON.map(canonical.encode))
def test_any_bytes_as_a_manifest_end_with_a_verdict(
    original: Path, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    run = hypothesis_copy(original, tmp_path_factory)
    (run / layout.MANIFEST).write_bytes(data)
    assert verdict_of(run).status in BAD


@given(
    st.binary(max_size=200)
    | st.lists(JSON.map(canonical.encode_line), max_size=4).map(b"".join)
    | st.tuples(st.sampled_from(["run_start", "gap", "run_finish"]), JSON).map(
        lambda drawn: canonical.encode_line({"type": drawn[0], "data": drawn[1]})
    )
)
def test_any_bytes_as_events_end_with_a_verdict_even_when_the_digests_are_right(
    original: Path, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    run = hypothesis_copy(original, tmp_path_factory)
    (run / layout.EVENTS).write_bytes(data)
    assert verdict_of(run).status in BAD
    reseal(run)
    assert verdict_of(run).status in BAD


def hypothesis_copy(original: Path, factory: pytest.TempPathFactory) -> Path:
    """One copy for all examples of a process; each example writes the file that it is about."""
    run = factory.getbasetemp() / "hypothesis" / original.name
    if not run.exists():
        run.parent.mkdir(exist_ok=True)
        shutil.copytree(original, run)
    (run / layout.EVENTS).write_bytes((original / layout.EVENTS).read_bytes())
    (run / layout.MANIFEST).write_bytes((original / layout.MANIFEST).read_bytes())
    return run
