"""The rows of tool calls: what was said, decided, checked and seen, each in a table of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steno.evidence import canonical, layout
from steno.model import rows
from steno.model.calls import calls_of
from support.making import FINISHED, make_run, start
from support.reading import opened


class Documents:
    """Of a record that tells of calls alone."""

    path = Path("/record")

    def __init__(self, told: dict[str, Any]) -> None:
        self._told = canonical.encode(told)

    def has(self, path: str) -> bool:
        return path == layout.CALLS

    def size(self, _path: str) -> int:
        return len(self._told)

    def read(self, _path: str, start: int = 0) -> Any:
        return iter([self._told[start:]])

    def read_all(self, _path: str, _limit: int) -> bytes:
        return self._told


def seen(**files: list[str]) -> dict[str, Any]:
    every = ("read", "written", "created", "deleted", "attempted")
    return {
        "kernel_event_count": 3,
        "files": {name: files.get(name, []) for name in every},
        "endpoints": {"connected": ["b", "a"], "sent": ["a"]},
        "unix_sockets": {"connected": ["/run/x"]},
        "execs": {"ran": ["/usr/bin/git"]},
        "own_state": ["/home/.agent"],
    }


def call(**more: Any) -> dict[str, Any]:
    none = dict.fromkeys(("server", "said", "decided", "window", "seen"))
    return {"tool_call_id": "c", "tool": "rm", "verdict": "unobserved", "rules": [], **none, **more}


def rule(result: str = "contradicted") -> dict[str, str]:
    return {"rule": "r", "result": result, "says": "it says"}


TOLD = {
    "calls": [
        call(
            said={"source": "hook", "corroboration": "corroborated", "rule": "one", "input": {"a": 1}},
            decided={
                "decision": "deny",
                "reason": "no",
                "dry_run": True,
                "outcome": "ok",
                "connection": "s",
                "arguments": {"a": 2},
            },
            window={
                "start_ns": 5,
                "end_ns": str(1 << 60),
                "ended_by": "end",
                "told_by": "proxy",
                "process": None,
            },
            rules=[rule(), rule("confirmed")],
            seen=seen(
                written=["/w/b", "/w/a", "/dev/null", "pipe:[N]"],
                created=["/w/b"],
                deleted=["/w/c"],
                attempted=["/w/d"],
            ),
        ),
        call(),
    ],
    "ambiguous": [{**seen(), "candidates": ["c", "d"]}],
    "unattributed": {**seen(read=["/r"]), "by_servers": {"list": seen()}},
    "claims": [
        {
            "source": "agent",
            "event_type": "task_completed",
            "corroboration": "self_reported",
            "rules": [rule()],
        }
    ],
}


def test_a_call_has_what_was_said_decided_and_by_whom_its_window_is_told() -> None:
    first, second = calls_of(Documents(TOLD)).table_rows()
    assert (first.told_by, first.corroboration, first.corroborated_by) == ("hook", "corroborated", "one")
    assert (first.decision, first.dry_run, first.decision_outcome) == ("deny", True, "ok")
    assert (first.started_ns, first.ended_ns) == (5, 1 << 60)
    assert (first.window_told_by, first.window_ended_by) == ("proxy", "end")
    assert (first.input, first.arguments) == ('{"a":1}', '{"a":2}')
    assert (second.told_by, second.decision, second.dry_run, second.n_events) == (None, None, False, None)


def test_checks_are_of_a_call_or_of_a_claim() -> None:
    found = calls_of(Documents(TOLD))
    assert list(found.claim_rows()) == [rows.Claim(1, "agent", "task_completed", "self_reported")]
    assert [(one.call, one.claim, one.result, one.detail) for one in found.check_rows()] == [
        (1, None, "contradicted", "it says"),
        (1, None, "confirmed", "it says"),
        (None, 1, "contradicted", "it says"),
    ]


def test_effects_are_of_a_call_of_one_of_several_or_of_none() -> None:
    found = list(calls_of(Documents(TOLD)).effect_rows())
    assert [(one.call, one.candidates, one.server) for one in found] == [
        (1, [], None),
        (None, ["c", "d"], None),
        (None, [], None),
        (None, [], "list"),
    ]
    assert [one.files_read for one in found] == [[], [], ["/r"], []]


def test_what_was_created_is_not_told_as_written_too_and_what_is_no_file_was_not_changed() -> None:
    one = next(calls_of(Documents(TOLD)).effect_rows())
    assert (one.files_created, one.files_deleted, one.files_tried) == (["/w/b"], ["/w/c"], ["/w/d"])
    assert one.files_written == ["/dev/null", "/w/a", "pipe:[N]"]
    assert one.files_changed == ["/w/a", "/w/b", "/w/c"]
    assert (one.endpoints, one.sockets, one.programs) == (["a", "b"], ["/run/x"], ["/usr/bin/git"])
    assert (one.own_state, one.n_events) == (["/home/.agent"], 3)


def test_where_nobody_could_see_there_is_no_row_of_what_was_outside_of_every_call(tmp_path: Path) -> None:
    told = {**TOLD, "calls": [call()], "ambiguous": [], "unattributed": None}
    assert list(calls_of(Documents(told)).effect_rows()) == []
    with opened(make_run(tmp_path, start(), *FINISHED)) as run:
        assert {"calls", "claims", "checks", "effects"} < run.tables.keys()
        assert list(run.effects) == []
