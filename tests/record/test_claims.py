"""The layers of claims: written, masked, and told of; what is wrong with a log is a gap or a word."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.claims import folder as claims_folder
from steno.claims.folder import IntakeFolder
from steno.claims.layers import Heard, keep_claims
from steno.evidence import intake as names
from steno.evidence import kinds, layout
from steno.evidence.claims import FileKey, PolicyLine, ProcessKey, ProxyLog, SdkLine
from steno.evidence.kinds import EventData
from steno.judge.claims import Claims, claims_of
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.claims_told import HOOK, POLICY, PROXY, closed, decided, ended, hook, noticed, opened, sdk
from support.spools import RUN_ID, open_spool

KNOWN = b"correct-horse-battery-9"


class Keeping:
    def __init__(self, spool: Folder, found: IntakeFolder) -> None:
        self.spool = spool
        self.found = found
        self.findings = Findings()
        self.events: list[EventData] = []

    def tell(self, name: str, *lines: bytes) -> None:
        (self.found.path / name).write_bytes(b"".join(lines))

    def keep(self, shim: str = "auto", **told: Any) -> None:
        redactor = Redactor(findings=self.findings, literals=[KNOWN])
        self.events = keep_claims(self.spool, self.found, redactor, Heard(RUN_ID, shim, 1000, **told))

    @property
    def claims(self) -> Claims:
        return claims_of(FolderLayers(self.spool, RUN_ID))

    @property
    def policy(self) -> list[PolicyLine]:
        return self.claims.policy

    @property
    def sdk(self) -> list[SdkLine]:
        return self.claims.sdk

    @property
    def lines(self) -> list[dict[str, Any]]:
        """As they stand in the file."""
        return [json.loads(line) for line in self.bytes.splitlines()]

    @property
    def intake(self) -> kinds.SdkIntake | None:
        return next((event for event in self.events if isinstance(event, kinds.SdkIntake)), None)

    @property
    def refused(self) -> str | None:
        return self.intake.refused if self.intake else None

    @property
    def logs(self) -> kinds.IntakeLogs | None:
        return next((event for event in self.events if isinstance(event, kinds.IntakeLogs)), None)

    def file(self, name: str) -> FileKey:
        found = (self.found.path / name).stat()
        return FileKey(found.st_dev, found.st_ino)

    @property
    def details(self) -> list[str]:
        return [event.detail for event in self.events if isinstance(event, kinds.Gap)]

    @property
    def gaps(self) -> list[str]:
        return [event.reason for event in self.events if isinstance(event, kinds.Gap)]

    @property
    def bytes(self) -> bytes:
        return (self.spool.path / layout.CLAIMS).read_bytes()


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Keeping]:
    open_spool(tmp_path / "run").close()
    made = claims_folder.make_in_memory(f"{RUN_ID[:-8]}{os.urandom(4).hex()}")
    assert made is not None
    with Folder(tmp_path / "run" / "spool") as spool:
        yield Keeping(spool, made)
    made.remove()


def test_where_nothing_was_told_nothing_is_kept_and_nothing_is_said(keeping: Keeping) -> None:
    keeping.keep()
    assert (keeping.bytes, keeping.events) == (b"", [])
    assert keeping.spool.has(layout.CLAIMS)


def test_decisions_are_numbered_and_their_connection_tells_how_many(keeping: Keeping) -> None:
    keeping.tell(POLICY, opened(), decided(1, 20), decided(2, 10), ended(1, 25), closed())
    keeping.keep()
    assert [(line.seq, line.steno.start_ns) for line in keeping.policy] == [(0, 10), (1, 20)]
    connection, logs = keeping.events
    assert isinstance(connection, kinds.McpConnection)
    assert connection.calls == 2
    assert logs == kinds.IntakeLogs(policy=[ProxyLog(PROXY, keeping.file(POLICY))])


def test_a_log_tells_of_the_connections_of_the_process_that_it_is_named_after(keeping: Keeping) -> None:
    other = ProcessKey(99, 1)
    keeping.tell(POLICY, opened(), decided(), opened("c2", proxy_process=other), decided(1, 10, "c2"))
    keeping.tell(names.policy_log(99, 1), opened("c3", proxy_process=other), ended(1, 30), opened("c1"))
    keeping.keep()
    assert {one.connection for one in keeping.events if isinstance(one, kinds.McpConnection)} == {"c1", "c3"}
    assert [line.steno.connection for line in keeping.policy] == ["c1"]
    assert keeping.details == ["logs of proxies: 4 lines could not be taken"]


def test_a_log_that_was_filled_hides_none_of_the_others_and_costs_no_time(keeping: Keeping) -> None:
    keeping.tell(POLICY, opened(), decided())
    keeping.tell(names.policy_log(1, 1), b"\n" * (8 << 20))
    keeping.tell(names.HOOKS, hook(), b"\n" * (8 << 20))
    keeping.keep()
    assert (len(keeping.policy), len(keeping.sdk)) == (1, 1)
    assert [said for said in keeping.details if "bytes" in said] == [
        "logs of proxies: 8388508 bytes after 100 such lines not read",
        "hooks.ndjson: 8388508 bytes after 100 such lines not read",
    ]


def test_hooks_of_which_no_line_is_kept_are_named(keeping: Keeping) -> None:
    puzzled = ProcessKey(50, 1)
    keeping.tell(names.HOOKS, hook(), hook(None, problem="payload_not_json", process=puzzled))
    hooks = keeping.file(names.HOOKS)
    keeping.keep()
    assert keeping.logs == kinds.IntakeLogs(hooks=hooks)
    keeping.keep("none")
    assert keeping.logs == kinds.IntakeLogs(hooks=hooks, hook_processes=[puzzled, HOOK])


def test_what_was_told_stands_there_as_it_was_told(keeping: Keeping) -> None:
    """Nothing is put together: no end in a beginning, no id that nobody told; what was wrong is missing."""
    log = [opened(), decided(decision="deny"), b"x\n", ended(outcome="denied"), noticed("pin_mismatch")]
    keeping.tell(POLICY, *log)
    keeping.tell(names.SDK, sdk(0, steno={"input": {"a": 1}, "of": "others"}, more=1))
    keeping.tell(names.HOOKS, hook(tool_call_id=None, at_ns=9), hook(None, problem="payload_not_json"))
    keeping.keep()
    assert [(line["seq"], line["log"], line["line"]) for line in keeping.lines] == [
        (0, POLICY, 0), (1, POLICY, 1), (2, POLICY, 3), (3, POLICY, 4),
        (4, names.SDK, 0), (5, names.HOOKS, 0), (6, names.HOOKS, 1),
    ]  # fmt: skip
    assert [line["told"] for line in keeping.lines[:4]] == [json.loads(log[line]) for line in (0, 1, 3, 4)]
    aside = {
        "at_ns": None,
        "cut": False,
        "id_from": "sdk",
        "input": {"a": 1},
        "message": None,
        "output": None,
    }
    assert keeping.lines[4]["told"] == json.loads(sdk(0)) | {"steno": aside}
    hooks = [json.loads(hook(tool_call_id=None, at_ns=9)), json.loads(hook(None, problem="payload_not_json"))]
    assert [line["told"] for line in keeping.lines[5:]] == hooks
    assert keeping.details == ["logs of proxies: 1 line could not be taken", "1 of payload_not_json"]
    assert [line.tool_call_id for line in keeping.sdk[1:]] == ["inferred:0e2336bb:1"]


def test_the_log_of_the_sdk_comes_first_then_hooks_and_they_are_numbered_as_one(keeping: Keeping) -> None:
    keeping.tell(names.HOOKS, hook(at_ns=1), hook("run_finished", 2, message="done"))
    keeping.tell(names.SDK, sdk(0), sdk(1, "tool_call_completed"))
    keeping.keep()
    assert [line.source for line in keeping.sdk] == ["openai-agents"] * 2 + ["claude"] * 2
    assert keeping.intake == kinds.SdkIntake(shim="openai-agents", lines=2, hooks=2)


@pytest.mark.parametrize(
    ("asked", "logs", "shim"),
    [
        ("auto", {names.SDK: sdk(0)}, "openai-agents"),
        ("auto", {names.HOOKS: hook()}, "claude"),
        ("auto", {names.SDK: b"x"}, "none"),
        ("codex", {names.HOOKS: hook()}, "codex"),
        ("codex", {}, "codex"),
        ("openai-agents", {}, "openai-agents"),
    ],
)
def test_the_shim_is_the_one_that_was_asked_for_or_the_first_that_came(
    keeping: Keeping, asked: str, logs: dict[str, bytes], shim: str
) -> None:
    for name, data in logs.items():
        keeping.tell(name, data)
    keeping.keep(asked)
    assert keeping.intake is not None
    assert keeping.intake.shim == shim


def test_a_refused_log_keeps_what_came_before_and_is_no_gap(keeping: Keeping) -> None:
    keeping.tell(names.SDK, sdk(0), sdk(5))
    keeping.keep()
    assert len(keeping.sdk) == 1
    assert keeping.events == [
        kinds.SdkIntake(shim="openai-agents", lines=1, hooks=0, refused="seq_gap", refused_line=1)
    ]


@pytest.mark.parametrize(
    ("asked", "word"), [("openai-agents", "empty_log"), ("claude", None), ("auto", None)]
)
def test_an_empty_log_is_refused_where_a_shim_was_named_that_writes_it(
    keeping: Keeping, asked: str, word: str | None
) -> None:
    keeping.keep(asked)
    assert keeping.refused == word


def test_with_shim_none_nobody_is_listened_to_and_that_is_said(keeping: Keeping) -> None:
    keeping.tell(names.SDK, sdk(0))
    keeping.tell(names.HOOKS, hook())
    keeping.keep("none")
    assert keeping.sdk == []
    assert keeping.intake == kinds.SdkIntake(shim="none", lines=0, hooks=0, refused="shim_none")


def test_with_shim_none_and_nothing_told_nothing_is_said(keeping: Keeping) -> None:
    keeping.keep("none")
    assert keeping.events == []


def test_damaged_lines_are_gaps_and_the_others_are_kept(keeping: Keeping) -> None:
    keeping.tell(POLICY, opened(), b"junk\n", decided())
    keeping.tell(names.HOOKS, b"junk\n", hook(), hook(None, problem="payload_not_json"))
    keeping.keep()
    assert keeping.gaps == ["policy_log_damaged", "hook_log_damaged", "hook_payload_unreadable"]
    assert (len(keeping.policy), len(keeping.sdk)) == (1, 1)


def test_a_log_that_is_no_log_any_more_is_a_gap_or_a_word(keeping: Keeping) -> None:
    for name in (*claims_folder.LOGS, POLICY):
        (keeping.found.path / name).unlink(missing_ok=True)
        os.mkfifo(keeping.found.path / name)
    keeping.keep()
    assert keeping.gaps == ["policy_log_damaged", "hook_log_damaged"]
    assert keeping.refused == "not_a_regular_file"


def test_a_folder_that_is_gone_is_a_gap(keeping: Keeping) -> None:
    aside = keeping.found.path.with_name(f"{keeping.found.path.name}-aside")
    keeping.tell(POLICY, opened(), decided())
    keeping.found.path.rename(aside)
    keeping.keep()
    assert keeping.gaps == ["intake_disturbed"]
    assert len(keeping.policy) == 1
    aside.rename(keeping.found.path)


@pytest.mark.parametrize("is_link", [False, True])
def test_where_the_command_put_something_else_in_its_place_it_is_written(
    keeping: Keeping, is_link: bool
) -> None:
    (keeping.spool.path / layout.EVIDENCE).mkdir(exist_ok=True)
    place = keeping.spool.path / layout.CLAIMS
    place.symlink_to("/etc/passwd") if is_link else place.mkdir()
    keeping.keep()
    assert (keeping.bytes, place.is_symlink()) == (b"", False)


IDS = [
    "toolu_01A09q90qw90lq917835lq9",
    "srvtoolu_014hJH82Qum7Td6UV8gDXThB",
    "call_0f3a9b1c2d4e5f60718293a4b5c6d7e8",
    "call_KzvTPlcDgWRNhxVJpLsWxHbq",
    "tc_runner_policy_001",
    str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)),
    "request:c1:42",
    "generated:c1:7",
]


@pytest.mark.parametrize("call", IDS)
def test_ids_are_join_keys_and_survive(keeping: Keeping, call: str) -> None:
    keeping.tell(POLICY, opened(), decided(tool_call_id=call))
    keeping.tell(names.SDK, sdk(0, tool_call_id=call))
    keeping.tell(names.HOOKS, hook(tool_call_id=call))
    keeping.keep()
    assert keeping.policy[0].tool_call_id == call
    assert [line.tool_call_id for line in keeping.sdk] == [call, call]
    assert keeping.findings.total == 0


def test_an_id_that_is_a_known_secret_is_masked_alike_everywhere(keeping: Keeping) -> None:
    call = KNOWN.decode()
    keeping.tell(POLICY, opened(), decided(tool_call_id=call))
    keeping.tell(names.SDK, sdk(0, tool_call_id=call))
    keeping.keep()
    assert KNOWN not in keeping.bytes
    assert keeping.policy[0].tool_call_id == keeping.sdk[0].tool_call_id
    assert keeping.policy[0].tool_call_id.startswith("[REDACTED:")


SECRETS = [KNOWN.decode(), "ghp_" + "a1B2c3D4" * 4 + "e5F6", "https://user:hunter2-and-3@host/x"]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_masked_wherever_it_was_told(keeping: Keeping, secret: str) -> None:
    nested = {"a": [{"b": secret}], secret: 1, "text": f"say {secret} twice {secret}"}
    keeping.tell(POLICY, opened(server=secret), decided(tool=secret, request_id=secret, arguments=nested))
    own = {"input": nested, "output": [secret], "message": f"I used {secret}"}
    keeping.tell(names.SDK, sdk(0, tool=secret, source=secret, sdk_version=secret, steno=own))
    keeping.tell(names.HOOKS, hook(tool=secret, server=secret, input=nested, output=secret, message=secret))
    keeping.keep()
    assert (len(keeping.policy), len(keeping.sdk)) == (1, 2)
    told = secret.removeprefix("ghp_").removeprefix("https://user:").removesuffix("@host/x").encode()
    assert told not in keeping.bytes


TELLERS: dict[str, tuple[str, bytes]] = {
    "opened": (POLICY, opened()),
    "decided": (POLICY, decided()),
    "ended": (POLICY, ended()),
    "noticed": (POLICY, noticed("pin_mismatch")),
    "closed": (POLICY, closed()),
    "hook": (names.HOOKS, hook(None)),
    "sdk": (names.SDK, sdk(0)),
}
FIXED = {"what", "run_id", "schema", "event_type", "decision", "outcome"}  # of the recorder's own words


@pytest.mark.parametrize("teller", TELLERS)
def test_there_is_no_text_in_a_line_in_which_a_secret_stays(keeping: Keeping, teller: str) -> None:
    log, line = TELLERS[teller]
    secret = KNOWN.decode()
    before = {"decided": [opened()], "ended": [opened(), decided()]}.get(teller, [opened()])
    for name, value in json.loads(line).items():
        if name in FIXED or not (value is None or isinstance(value, str)):
            continue
        told = json.dumps(json.loads(line) | {name: secret}).encode() + b"\n"
        keeping.tell(log, *(before if log == POLICY and teller != "opened" else []), told)
        keeping.keep()
        assert KNOWN not in keeping.bytes, name


def test_a_value_is_masked_by_its_name(keeping: Keeping) -> None:
    given = {
        "password": "hunter22x",
        "deep": {"api_key": "zyx-987-wvu-654"},
        "args": ["--token", "q1w2e3r4t5"],
    }
    keeping.tell(POLICY, opened(), decided(arguments=given))
    keeping.tell(names.SDK, sdk(0, steno={"input": given, "output": given}))
    keeping.keep()
    for secret in (b"hunter22x", b"zyx-987-wvu-654", b"q1w2e3r4t5"):
        assert secret not in keeping.bytes


def test_free_text_is_left_out_where_nobody_knows_what_is_secret(keeping: Keeping) -> None:
    keeping.tell(POLICY, opened(), decided(arguments={"path": "/a"}))
    keeping.tell(names.HOOKS, hook(input={"a": 1}, output="b", message="c"))
    keeping.keep(texts=False)
    assert (keeping.policy[0].steno.arguments, keeping.policy[0].steno.arguments_cut) == (None, True)
    own = keeping.sdk[0].steno
    assert own is not None
    assert (own.input, own.output, own.message, own.cut) == (None, None, None, True)
    assert keeping.sdk[0].tool_call_id == "toolu_01A09q90qw90lq917835lq9"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", ["x" * (names.MAX_TOLD + 1), nested(80)])
def test_what_is_too_much_is_left_out_and_said_to_be(keeping: Keeping, value: Any) -> None:
    keeping.tell(POLICY, opened(), decided(arguments=value))
    keeping.tell(names.SDK, sdk(0, steno={"input": value}))
    keeping.keep()
    assert (keeping.policy[0].steno.arguments, keeping.policy[0].steno.arguments_cut) == (None, True)
    own = keeping.sdk[0].steno
    assert own is not None
    assert (own.input, own.cut) == (None, True)


def test_numbers_that_json_readers_round_are_kept_as_text(keeping: Keeping) -> None:
    keeping.tell(POLICY, opened(), decided(arguments={"id": 2**60, "part": 0.5}))
    keeping.keep()
    assert keeping.policy[0].steno.arguments == {"id": str(2**60), "part": 0.5}
