"""Sessions of HTTP clients: found by their names, and each ended once."""

from __future__ import annotations

from pathlib import Path

from steno.evidence import intake
from steno.mcp.decision_log import DecisionLog
from steno.mcp.http.proxy import Sessions
from steno.mcp.policy.policy import Policy
from steno.mcp.session import Session


class _Made:
    def __init__(self, log: Path, most: int = 10) -> None:
        self._log = log
        self._count = 0
        self._journal = DecisionLog.open({}, str(log))
        self.sessions = Sessions(self._make, most)

    def _make(self) -> Session:
        self._count += 1
        policy = Policy(digest="0" * 64)
        return Session(
            policy, self._journal, label="l", source="s", connection=str(self._count), server_process=None
        )

    def closed(self) -> list[tuple[str, str]]:
        told = [intake.policy_told(line) for line in self._log.read_bytes().splitlines(keepends=True)]
        return [(one.connection, one.reason) for one in told if isinstance(one, intake.Closed)]


def test_a_name_leads_to_one_session_until_it_is_ended(tmp_path: Path) -> None:
    made = _Made(tmp_path / "log")
    first = made.sessions.named(b"a")
    assert made.sessions.named(b"a") is first
    made.sessions.end_named(b"a")
    made.sessions.end_named(b"a")
    assert made.sessions.named(b"a") is not first
    assert made.closed() == [("1", "client_closed")]


def test_of_too_many_names_the_one_that_was_not_used_longest_is_ended(tmp_path: Path) -> None:
    made = _Made(tmp_path / "log", most=2)
    for name in (b"a", b"b", b"a", b"c"):
        made.sessions.named(name)
    assert made.closed() == [("2", "client_closed")]


def test_without_its_server_a_session_ends_and_its_name_is_free(tmp_path: Path) -> None:
    made = _Made(tmp_path / "log")
    session = made.sessions.named(b"a")
    made.sessions.end_without_server(session)
    assert not made.sessions.is_open(session)
    assert made.sessions.named(b"a") is not session
    assert made.closed() == [("1", "server_exited")]


def test_at_the_end_every_session_is_ended(tmp_path: Path) -> None:
    made = _Made(tmp_path / "log")
    made.sessions.named(b"a")
    made.sessions.new()
    made.sessions.end_all()
    made.sessions.end_all()
    assert sorted(made.closed()) == [("1", "client_closed"), ("2", "client_closed")]
