"""An attempt whose output nobody read to its end: its exit code, and what can be read of it later.

The agent is a stand-in, started once a module with a reader that goes away at once.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steno.errors import BadRequestError
from steno.launch.status import attempt_left, lines_of_status, one_run
from steno.launch.translate import translate
from support.program import PROGRAM, SECONDS
from support.recorded import only_run
from support.stand_in_agent import Started, stand_in

SCRIPT = "echo a line; exit 6"


class Unread(NamedTuple):
    agent: Started
    exit_code: int
    run_id: str

    @property
    def audit(self) -> Path:
        return self.agent.root / "runs" / self.run_id / ".audit"


@pytest.fixture(scope="module")
def unread(tmp_path_factory: pytest.TempPathFactory) -> Unread:
    home = tmp_path_factory.mktemp("unread")
    agent = stand_in(
        home, {"PATH": os.environ["PATH"], "HOME": str(home), "STENO_HOME": str(home / "records")}
    )
    reader, writer = os.pipe()
    os.close(reader)
    words = [str(PROGRAM), "agent", "start", "--translate", "1", "standin", SCRIPT]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            env=agent.env,
            timeout=SECONDS,
            check=False,
        )
    finally:
        os.close(writer)
    return Unread(agent, done.returncode, agent.listed()[0]["runId"])


def test_a_reader_that_goes_away_costs_neither_the_exit_code_nor_the_record(unread: Unread) -> None:
    meta = json.loads((unread.audit / "meta.1.json").read_bytes())
    assert (unread.exit_code, meta["exitCode"]) == (6, 6)
    assert only_run(unread.agent.home / "records").is_valid


def test_what_it_said_can_be_told_later_at_another_level(unread: Unread) -> None:
    attempt = attempt_left(unread.agent.root, unread.run_id, None)
    first, *_, last = (json.loads(line) for line in translate(attempt, 2))
    assert first["data"]["session_id"] == "s-1"
    assert (last["type"], last["data"]["exit_code"]) == ("conversation.failed", 6)
    with pytest.raises(BadRequestError, match="has no attempt 2"):
        attempt_left(unread.agent.root, unread.run_id, 2)


def test_a_judgement_that_the_files_do_not_bear_out_is_told(unread: Unread) -> None:
    def judged_as(state: str) -> dict[str, Any]:
        file = unread.agent.root / "metadata" / "attempts" / unread.run_id / "1.json"
        entry = json.loads(file.read_bytes())
        entry["meta"]["protocol"]["completion"]["state"] = state
        file.write_text(json.dumps(entry))
        return one_run(unread.agent.root, unread.run_id)

    told = judged_as("completed")
    assert told["attempts"][0]["judgedAgain"]["state"] == "interrupted"
    assert "  its files now say: interrupted (PROCESS_EXIT_NON_ZERO)" in lines_of_status(told)
    assert "judgedAgain" not in judged_as("interrupted")["attempts"][0]


def test_files_that_were_changed_are_neither_judged_nor_translated(unread: Unread) -> None:
    log = unread.audit / "stdout.1.log"
    before = log.read_bytes()
    log.write_bytes(before + b'{"__SKILL_DONE__": true}\n')
    try:
        told = one_run(unread.agent.root, unread.run_id)["attempts"][0]
        with pytest.raises(BadRequestError, match=r"stdout\.1\.log in .* is not as Steno wrote it"):
            attempt_left(unread.agent.root, unread.run_id, 1)
    finally:
        log.write_bytes(before)
    assert told["changed"] == ["stdout.1.log"]
    assert "judgedAgain" not in told
