"""How long an agent waits for its hook: `steno hook`, against a Python that does nothing, interleaved.

In: how many rounds. Out: one row, with the budget. The hook is inside of a run: its intake is a folder in
memory, and every round tells one line there.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from figures import Table, ratio, spread, times, verdict
from recorders import STENO
from steno.evidence import intake_names

MOST_MILLISECONDS = 60.0
ROUNDS = 20  # for each that is asked for: a start is short
PAYLOAD = (
    b'{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"toolu_1",'
    b'"tool_input":{"command":"make test"},"tool_response":{"stdout":"ok","stderr":""}}'
)
COLUMNS = (("", 22), ("rounds", 6), ("ms: median least..most", 24), ("x python", 8), ("budget", 14))


def compare(
    rounds: int, *, env: Mapping[str, str], place: Path, keep: Callable[[Mapping[str, Any]], None]
) -> None:
    place.chmod(0o700)
    told = {intake_names.RUN_ID: "bench", intake_names.FOLDER: str(place), intake_names.ORIGIN_NS: "0"}
    bare, hook = [sys.executable, "-c", "pass"], [str(STENO), "hook", "claude"]
    pairs = [(_milliseconds(bare, env), _milliseconds(hook, {**env, **told})) for _ in range(rounds * ROUNDS)]
    samples = {
        "python -c pass": [each for each, _ in pairs],
        "steno hook claude": [each for _, each in pairs],
    }
    table = Table("what an agent waits for at every call of a tool", COLUMNS)
    for (name, found), most in zip(samples.items(), (None, MOST_MILLISECONDS), strict=True):
        measured = spread(found)
        assert measured is not None
        compared = times(ratio(found, samples["python -c pass"]))
        budget = verdict(measured.median, most, " ms")
        table.add([name, str(len(found)), measured.text(digits=1), compared, budget])
        keep({"program": name, "milliseconds": found})
    written = (place / intake_names.HOOKS).read_bytes().count(b"\n")
    if written != len(pairs):
        print(f"  only {written} of {len(pairs)} hooks told something")


def _milliseconds(words: list[str], env: Mapping[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(words, input=PAYLOAD, stdout=subprocess.DEVNULL, env=env, check=True)
    return (time.perf_counter() - begin) * 1000
