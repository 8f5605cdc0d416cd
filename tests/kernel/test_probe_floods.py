"""More than the probe's ring can hold: what is lost is counted to the last one, and what fits is not lost.

The flood (`native/tests/programs/flood.c`) makes calls when it is told to. After them it makes calls that are
only counted, until one is: then the ring has been read, and the flood can end without its end being lost.
What comes before the flood is less than the ring holds.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from steno.evidence import layout, wire
from support.observer_processes import held_still
from support.observers import PROBING, observers, working
from support.program import PROGRAM, Steno
from support.recorded import Recorded, only_run
from support.waiting import until

SOURCE = Path(__file__).parents[2] / "native" / "tests" / "programs" / "flood.c"
SMALLEST_RING, SMALL_RING = 4096, 65536
CALLS, MANY_CALLS = 50_000, 5_000_000
# The ring has room for each of these floods, also when nobody has time to read it meanwhile.
FITTING_CALLS, FITTING_FLOODS = 50_000, 4
PROCESSES = 10_000
NOWHERE = "/flood/nothing"
CROWD = f"""
import os
waiting, go = os.pipe()
for _ in range({PROCESSES}):
    if not os.fork():
        os.close(go)
        os.read(waiting, 1)
        os._exit(0)
os.close(go)
for _ in range({PROCESSES}):
    os.wait()
"""

pytestmark = pytest.mark.skipif(not working(PROBING), reason="no probe can be loaded here")


class Flooded(NamedTuple):
    run: Recorded
    marks: int  # calls that were made to mark how far the ring was read

    @property
    def health(self) -> dict[str, Any]:
        health = self.run.json("observation-health.json")
        assert isinstance(health, dict)
        return health

    @property
    def lost(self) -> int:
        """As the rows tell it, where it happened."""
        table = pq.read_table(self.run.path / layout.KERNEL_TABLE, columns=["op", "arg"])
        return int(pc.sum(table.filter(pc.equal(table["op"], "lost"))["arg"]).as_py() or 0)

    @property
    def told(self) -> int:
        """How many calls of the flood are in the record."""
        table = pq.read_table(self.run.path / layout.KERNEL_TABLE, columns=["op", "path"])
        is_flood = pc.and_(pc.equal(table["op"], "stat"), pc.equal(table["path"], NOWHERE.encode()))
        return int(pc.sum(is_flood).as_py() or 0)

    @property
    def marks_told(self) -> int:
        return int(self.run.event("kernel_observed")["undecoded"])


def undecoded(store: Path) -> int:
    """So far, in the run that is being recorded."""
    (header,) = store.glob(f"*/spool/kernel/{wire.HEADER_FILE}")
    fields = wire.HEADER.unpack(header.read_bytes())
    return int(fields[wire.Header._fields.index("undecoded")])


class Teller:
    """Tells the flood what to do."""

    def __init__(self, recorder: subprocess.Popen[bytes]) -> None:
        self._recorder = recorder
        self.marks = 0

    def say(self, letter: bytes) -> None:
        assert self._recorder.stdin is not None
        assert self._recorder.stdout is not None
        self._recorder.stdin.write(letter)
        self._recorder.stdin.flush()
        assert self._recorder.stdout.read(1) == letter

    def mark(self) -> bool:
        self.say(b"m")
        self.marks += 1
        return True

    def flood(self, store: Path, *, unread: bool) -> None:
        """Until the ring was read as far as a mark that was made afterwards."""
        before = self.marks
        with held_still(self._recorder.pid) if unread else nullcontext():
            self.say(b"f")
        until(lambda: self.mark() and undecoded(store) > before)

    def end(self) -> None:
        assert self._recorder.stdin is not None
        self._recorder.stdin.close()
        assert self._recorder.wait() == 0


def flood(
    calls: int,
    observer: str,
    folder: Path,
    env: Mapping[str, str],
    store: Path,
    *,
    unread: bool,
    times: int = 1,
) -> Flooded:
    """`unread`: nobody reads the ring while the flood goes on."""
    program = folder / "flood"
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", SOURCE, "-o", program], check=True, timeout=60)
    command = [str(program), str(calls), NOWHERE]
    words = [str(PROGRAM), "run", "--no-git", "--observer", observer, "--", *command]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=env
    ) as recorder:
        teller = Teller(recorder)
        teller.mark()  # it is there
        for _ in range(times):
            teller.flood(store, unread=unread)
        teller.end()
    return Flooded(only_run(store), teller.marks)


def check_every_call_is_told_or_lost(flooded: Flooded, calls: int) -> None:
    assert flooded.lost == flooded.health["ringbuf_drops"] > 0
    assert flooded.health["kernel_layer"] == "partial_ringbuf_drops"
    assert flooded.told + flooded.marks_told + flooded.lost == calls + flooded.marks
    assert flooded.run.verdict().exit_code == 3


@pytest.mark.parametrize("observer", observers(PROBING))
def test_what_finds_no_room_is_counted_to_the_last_one(
    observer: str, tmp_path: Path, clean_env: dict[str, str], store: Path
) -> None:
    env = {**clean_env, "STENO_RING_BYTES": str(SMALL_RING)}
    check_every_call_is_told_or_lost(flood(CALLS, observer, tmp_path, env, store, unread=True), CALLS)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_of_five_million_calls_each_is_told_or_counted(
    tmp_path: Path, clean_env: dict[str, str], store: Path
) -> None:
    env = {**clean_env, "STENO_RING_BYTES": str(SMALL_RING)}
    flooded = flood(MANY_CALLS, "ebpf", tmp_path, env, store, unread=False)
    check_every_call_is_told_or_lost(flooded, MANY_CALLS)


def test_the_ring_as_it_is_loses_nothing_of_an_ordinary_flood(
    tmp_path: Path, clean_env: dict[str, str], store: Path
) -> None:
    flooded = flood(FITTING_CALLS, "ebpf", tmp_path, clean_env, store, unread=False, times=FITTING_FLOODS)
    assert (flooded.health["ringbuf_drops"], flooded.lost) == (0, 0)
    assert flooded.health["kernel_layer"] == "complete"
    assert (flooded.told, flooded.marks_told) == (FITTING_CALLS * FITTING_FLOODS, flooded.marks)
    assert flooded.run.is_valid


@pytest.mark.parametrize("observer", observers(PROBING))
def test_the_smallest_ring_changes_nothing_for_the_command(observer: str, steno: Steno, store: Path) -> None:
    script = "for i in $(seq 200); do test -e /none/$i; done; exit 7"
    env = {"STENO_RING_BYTES": str(SMALLEST_RING)}
    done = steno("run", "--no-git", "--observer", observer, "--", "bash", "-c", script, env=env)
    assert done.returncode == 7
    flooded = Flooded(only_run(store), 0)
    assert flooded.lost == flooded.health["ringbuf_drops"]


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("observer", observers(PROBING))
def test_ten_thousand_processes_at_once_are_all_told(
    observer: str, tmp_path: Path, clean_env: dict[str, str], store: Path
) -> None:
    words = [str(PROGRAM), "run", "--no-git", "--observer", observer, "--", sys.executable, "-c", CROWD]
    subprocess.run(words, cwd=tmp_path, env=clean_env, check=True, timeout=600)
    run = only_run(store)
    table = pq.read_table(run.path / layout.KERNEL_TABLE, columns=["op"])
    counted = {row["values"]: row["counts"] for row in pc.value_counts(table["op"]).to_pylist()}
    assert counted["exit"] == PROCESSES + 1
    assert run.event("cgroup_ended") == {"empty": True, "removed": True}
    assert run.json("observation-health.json")["cgroup_correlation"] == "clean"
    assert run.is_valid
