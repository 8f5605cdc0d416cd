"""Blocks of skill content are no words of the agent, and hide nothing else."""

from __future__ import annotations

import json

from support.judged_logs import END, MARKER, SKILL, done, reason, told

BLOCK = b'<skill_content name="demo">\n' + SKILL + b"</skill_content>"


def test_a_block_of_skill_content_is_cut_out_without_knowing_the_skill() -> None:
    record = json.dumps({"output": "before " + BLOCK.decode() + " after"})
    escaped = record.replace("<", "\\u003c").replace(">", "\\u003e").replace("/", "\\/")
    for shown in (BLOCK, BLOCK.replace(b"\n", b"\r\n"), record.encode(), escaped.encode()):
        assert reason(stdout=shown)[0] == "unknown"
        assert reason(stdout=shown + b"\n" + MARKER)[0] == "completed"
        assert reason(stdout=shown + b"\n" + END)[0] == "awaiting_user_input"


def test_a_block_that_never_ends_hides_nothing() -> None:
    assert reason(stdout=b"I saw <skill_content in it.\n" + MARKER)[0] == "completed"
    assert reason(stdout=b"I saw <skill_content in it.\n" + END)[0] == "awaiting_user_input"
    assert told(stdout=b"<skill_content>\n" + done()).reason_code == "ALL_DONE"


def test_a_record_that_was_cut_in_a_block_hides_nothing_of_the_next_ones() -> None:
    cut = json.dumps({"output": "<skill_content>\nonly the beginnin"}).encode()
    whole = json.dumps({"output": BLOCK.decode()}).encode()
    assert reason(stdout=b"\n".join((cut, MARKER, whole)))[0] == "completed"


def test_what_follows_the_end_of_a_block_on_its_line_counts() -> None:
    assert reason(stdout=BLOCK + b" " + MARKER)[0] == "completed"
    assert reason(stdout=MARKER + BLOCK)[0] == "completed"
    assert reason(stdout=b"</skill_content>" + MARKER)[0] == "completed"
