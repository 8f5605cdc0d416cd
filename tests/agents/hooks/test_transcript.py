"""The last words of an agent that its own log has."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.hooks import claude, reading, transcript
from steno.hooks.transcript import last_words
from support.hook_payloads import payload


def said(*texts: str, kind: str = "assistant") -> str:
    content = [{"type": "text", "text": text} for text in texts]
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}}) + "\n"


USED_A_TOOL = (
    json.dumps({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "toolu_1"}]}}) + "\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text(said("first") + said("go", kind="user") + said("All ", "done.") + USED_A_TOOL)
    return path


def test_the_last_message_with_text_is_found(log: Path) -> None:
    assert last_words(str(log)) == "All done."


def test_a_stop_without_last_words_looks_for_them_in_the_log(log: Path) -> None:
    data = payload("claude-Stop", last_assistant_message=None, transcript_path=str(log))
    told = reading.read(data, claude.AGENT)
    assert told is not None
    assert told["message"] == "All done."


def test_only_the_end_of_a_large_log_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "_MOST", 40)
    assert last_words(str(log)) is None


def test_a_link_is_not_followed(log: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(log)
    assert last_words(str(tmp_path / "link")) is None


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "", "nowhere", "a\0b"):
        assert last_words(f"{tmp_path}/{name}") is None


@given(lines=st.lists(st.binary(max_size=60) | st.just(b'{"type":"assistant","message":[]}')))
def test_no_bytes_make_it_fail(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert last_words(str(path)) is None
