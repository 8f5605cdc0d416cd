"""The rows of tool calls: what was said, decided, checked and seen, each in a table of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from steno.judge.calls.types import Call, Calls, Check, Claim, Decided, Effects, Said, Window
from steno.judge.types import EndpointNames, FileNames, Names, ProgramNames, SocketNames
from steno.model.tables import plain
from support.making import FINISHED, make_run, start
from support.reading import opened


def effects(**files: list[str]) -> Effects:
    every = ("read", "written", "created", "deleted", "attempted")
    names = Names(
        FileNames(**{name: files.get(name, []) for name in every}),
        EndpointNames(connected=["b", "a"], sent=["a"], bound=[], attempted=[]),
        SocketNames(connected=["/run/x"], bound=[], attempted=[]),
        ProgramNames(ran=["/usr/bin/git"], attempted=[]),
    )
    return Effects(n_events=3, names=names)


def call(**more: Any) -> Call:
    none = dict.fromkeys(("server", "said", "decided", "window", "seen"))
    return Call(
        **{
            "call": 1,
            "tool_call_id": "c",
            "tool": "rm",
            "verdict": "unobserved",
            "checks": [],
            **none,
            **more,
        }
    )


def check(result: str = "contradicted") -> Check:
    return Check("r", result, "it says")


SAID = Said(
    source="hook",
    sdk_name=None,
    sdk_version=None,
    tool=None,
    id_from="hook",
    events=[],
    input={"a": 1},
    corroboration="corroborated",
    rule="one",
)
DECIDED = Decided(
    decision="deny",
    reason="no",
    policy=None,
    dry_run=True,
    outcome="ok",
    source="steno.mcp.wrap",
    connection="s",
    request_id=None,
    id_from="request",
    method="tools/call",
    read_only=None,
    arguments={"a": 2},
    arguments_cut=False,
)
SEEN = effects(
    written=["/w/b", "/w/a", "/dev/null", "pipe:[N]"],
    created=["/w/b"],
    deleted=["/w/c"],
    attempted=["/w/d"],
)
TOLD = Calls(
    "run",
    [
        call(
            said=SAID,
            decided=DECIDED,
            window=Window(5, 1 << 60, "end", "proxy", None),
            checks=[check(), check("confirmed")],
            seen=replace(SEEN, call=1, own_state=["/home/.agent"]),
        ),
        call(call=2),
    ],
    ambiguous=[replace(effects(), candidates=["c", "d"])],
    unattributed=effects(read=["/r"]),
    by_servers=[replace(effects(), server="list")],
    claims=[
        Claim(
            claim=1,
            source="agent",
            kind="task_completed",
            seq=0,
            corroboration="self_reported",
            rule=None,
            checks=[check()],
        )
    ],
)


def test_a_call_has_what_was_said_decided_and_by_whom_its_window_is_told() -> None:
    first, second = TOLD.calls
    assert (first.told_by, first.corroboration, first.corroborated_by) == ("hook", "corroborated", "one")
    assert (first.decision, first.dry_run, first.decision_outcome) == ("deny", True, "ok")
    assert (first.started_ns, first.ended_ns) == (5, 1 << 60)
    assert (first.window_told_by, first.window_ended_by) == ("proxy", "end")
    assert (first.input, first.arguments) == ('{"a":1}', '{"a":2}')
    assert (second.told_by, second.decision, second.dry_run, second.n_events) == (None, None, False, None)


def test_checks_are_of_a_call_or_of_a_claim() -> None:
    assert [plain(one) for one in TOLD.claims] == [
        {"claim": 1, "source": "agent", "kind": "task_completed", "corroboration": "self_reported"}
    ]
    assert [(one.call, one.claim, one.result, one.detail) for one in TOLD.checks] == [
        (1, None, "contradicted", "it says"),
        (1, None, "confirmed", "it says"),
        (None, 1, "contradicted", "it says"),
    ]


def test_effects_are_of_a_call_of_one_of_several_or_of_none() -> None:
    found = TOLD.effects
    assert [(one.call, one.candidates, one.server) for one in found] == [
        (1, [], None),
        (None, ["c", "d"], None),
        (None, [], None),
        (None, [], "list"),
    ]
    assert [one.files_read for one in found] == [[], [], ["/r"], []]


def test_what_was_created_is_not_told_as_written_too_and_what_is_no_file_was_not_changed() -> None:
    one = TOLD.effects[0]
    assert (one.files_created, one.files_deleted, one.files_tried) == (["/w/b"], ["/w/c"], ["/w/d"])
    assert one.files_written == ["/dev/null", "/w/a", "pipe:[N]"]
    assert one.files_changed == ["/w/a", "/w/b", "/w/c"]
    assert (one.endpoints, one.sockets, one.programs) == (["a", "b"], ["/run/x"], ["/usr/bin/git"])
    assert (one.own_state, one.n_events) == (["/home/.agent"], 3)


def test_where_nobody_could_see_there_is_no_row_of_what_was_outside_of_every_call(tmp_path: Path) -> None:
    told = replace(TOLD, calls=[call()], ambiguous=[], unattributed=None)
    assert told.effects == []
    with opened(make_run(tmp_path, start(), *FINISHED)) as run:
        assert {"calls", "claims", "checks", "effects"} < run.tables.keys()
        assert list(run.effects) == []
