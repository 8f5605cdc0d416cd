"""The listener for openai-agents, held against the framework itself with a scripted model."""

from __future__ import annotations

import ast
import asyncio
import fcntl
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    LocalShellTool,
    OutputGuardrail,
    OutputGuardrailTripwireTriggered,
    RunContextWrapper,
    Runner,
    Tool,
    function_tool,
    set_tracing_disabled,
)
from agents.mcp import MCPToolMetaContext
from agents.testing import ScriptedModel, UnexpectedModelCall, assistant_message, function_call
from agents.tool_context import ToolContext
from hypothesis import given
from hypothesis import strategies as st

from steno.claims import logs as claim_logs
from steno.contracts import assay
from steno.evidence import intake
from steno.shims import openai_agents
from steno.shims.openai_agents import (
    StenoRunHooks,
    run_environment,
    run_recorded,
    tool_meta_resolver,
)

RUN_ID = "2026-01-25T12-00-00-000Z_a1b2c3d4"
DONE = assistant_message("done")
set_tracing_disabled(True)


@function_tool
def shout(text: str) -> str:
    return text.upper()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a run that this process is a part of."""
    path = tmp_path / "sdk.ndjson"
    for name in [name for name in os.environ if name.startswith(("STENO_", "ASSAY_RUNNER_"))]:
        monkeypatch.delenv(name)
    for name, value in {intake.RUN_ID: RUN_ID, intake.SDK_LOG: str(path), intake.ORIGIN_NS: "0"}.items():
        monkeypatch.setenv(name, value)
    return path


def scripted(*steps: Any, tools: tuple[Tool, ...] = (shout,), **more: Any) -> Agent[Any]:
    return Agent(name="agent", model=ScriptedModel(steps), tools=list(tools), **more)


def shouting(call_id: str = "call-1", **arguments: Any) -> Any:
    return [function_call("shout", arguments or {"text": "hi"}, call_id=call_id)]


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_bytes().splitlines()]


def told(log: Path) -> list[tuple[int, str, str | None]]:
    return [(line["seq"], line["event_type"], line["tool_call_id"]) for line in lines(log)]


def is_taken_whole(log: Path) -> bool:
    """Whether the recorder takes every line of it."""
    taken = claim_logs.take(log.read_bytes(), RUN_ID)
    return taken.refused is None and len(taken.lines) == len(lines(log))


def test_a_tool_call_and_the_end_of_a_run_become_lines_that_the_recorder_takes(log: Path) -> None:
    result = asyncio.run(Runner.run(scripted(shouting(), [DONE]), "go", hooks=StenoRunHooks()))
    assert result.final_output == "done"
    assert told(log) == [
        (0, "tool_call_started", "call-1"),
        (1, "tool_call_completed", "call-1"),
        (2, "run_finished", None),
    ]
    started, completed, finished = lines(log)
    assert (started["source"], started["sdk_name"], started["tool"]) == (
        "openai-agents",
        "openai-agents",
        "shout",
    )
    assert started["sdk_version"].startswith("0.")
    assert started["steno"]["input"] == {"text": "hi"}
    assert completed["steno"]["output"] == "HI"
    assert finished["steno"]["message"] == "done"
    assert is_taken_whole(log)


def test_a_run_that_fails_is_told_and_the_agent_gets_its_error(log: Path) -> None:
    with pytest.raises(UnexpectedModelCall):
        asyncio.run(run_recorded(scripted(), "go"))
    assert told(log) == [(0, "run_failed", None)]
    assert lines(log)[0]["steno"]["message"].startswith("UnexpectedModelCall: ")


def test_a_final_answer_that_a_guardrail_refuses_ends_as_failed(log: Path) -> None:
    def refuse(*_: object) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    agent = scripted([DONE], output_guardrails=[OutputGuardrail(refuse)])
    with pytest.raises(OutputGuardrailTripwireTriggered):
        asyncio.run(run_recorded(agent, "go"))
    assert told(log)[-1] == (1, "run_failed", None)


def test_hooks_of_ones_own_are_called_as_well(log: Path) -> None:
    class Mine(StenoRunHooks):
        seen = 0

        async def on_tool_start(self, context: Any, agent: Agent[Any], tool: Tool) -> None:
            Mine.seen += 1
            await super().on_tool_start(context, agent, tool)

    asyncio.run(run_recorded(scripted(shouting(), [DONE]), "go", hooks=Mine()))
    assert Mine.seen == 1
    assert len(lines(log)) == 3


def test_a_tool_without_an_id_gets_one_that_says_so(log: Path) -> None:
    async def twice(hooks: StenoRunHooks, tool: Tool) -> None:
        context, agent = RunContextWrapper(context=None), scripted()
        for _ in range(2):
            await hooks.on_tool_start(context, agent, tool)
        for answer in ("one", "two"):
            await hooks.on_tool_end(context, agent, tool, answer)

    asyncio.run(twice(StenoRunHooks(), LocalShellTool(executor=lambda _: "")))
    assert [line["tool_call_id"] for line in lines(log)] == [
        "inferred:0",
        "inferred:1",
        "inferred:0",
        "inferred:1",
    ]
    assert {line["steno"]["id_from"] for line in lines(log)} == {"inferred"}
    assert is_taken_whole(log)


def test_writers_at_the_same_time_share_the_numbers(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_agents, "_LOCK_TRIES", 10_000)  # the machine may hold any of them still
    hooks = StenoRunHooks()

    def one(_: int) -> None:
        asyncio.run(hooks.on_agent_end(None, scripted(), "done"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(64)))
    StenoRunHooks().run_failed(ValueError("late"))
    assert [line["seq"] for line in lines(log)] == list(range(65))
    assert is_taken_whole(log)


def test_a_log_that_somebody_holds_does_not_stop_the_agent(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(openai_agents, "_LOCK_TRIES", 2)
    with log.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        StenoRunHooks().run_failed(ValueError("lost"))
    assert log.read_bytes() == b""
    assert "another writer holds its lock" in capsys.readouterr().err


def test_what_cannot_be_written_is_said_once_and_leaves_a_gap(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hooks = StenoRunHooks()
    hooks.run_failed(ValueError("kept"))
    with log.open("ab") as other:
        other.write(b'{"torn')
    hooks.run_failed(ValueError("lost"))
    hooks.run_failed(ValueError("lost"))
    with log.open("ab") as other:
        other.write(b'":0,"seq":1}\n')
    hooks.run_failed(ValueError("kept"))
    heard = capsys.readouterr().err
    assert heard.count("steno:") == heard.count("its last line is torn") == 1
    assert [line["seq"] for line in lines(log)] == [0, 1, 4]


@pytest.mark.parametrize("there", ["a link", "a directory", "no folder"])
def test_an_agent_whose_log_cannot_be_opened_goes_on(
    log: Path, there: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = log.with_name("target")
    target.touch()
    if there == "a link":
        log.symlink_to(target)
    elif there == "a directory":
        log.mkdir()
    else:
        monkeypatch.setenv(intake.SDK_LOG, str(log / "below"))
    result = asyncio.run(run_recorded(scripted(shouting(), [DONE]), "go"))
    assert result.final_output == "done"
    assert capsys.readouterr().err.count("steno:") == 1
    assert target.read_bytes() == b""


def test_outside_of_a_run_nothing_is_written(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(intake.SDK_LOG)
    asyncio.run(run_recorded(scripted(shouting(), [DONE]), "go"))
    with pytest.raises(UnexpectedModelCall):
        asyncio.run(run_recorded(scripted(), "go"))
    assert not log.exists()


def test_the_names_of_the_contract_are_enough(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (intake.RUN_ID, intake.SDK_LOG):
        monkeypatch.setenv(assay.VARIABLES[name], os.environ[name])
        monkeypatch.delenv(name)
    monkeypatch.delenv(intake.ORIGIN_NS)
    asyncio.run(run_recorded(scripted([DONE]), "go"))
    assert lines(log)[0]["steno"]["at_ns"] is None
    assert is_taken_whole(log)


def test_long_answers_are_cut_and_said_to_be(log: Path) -> None:
    asyncio.run(run_recorded(scripted(shouting(text="\x00\u00e9" * 50_000), [DONE]), "go"))
    for line, name in zip(lines(log)[:2], ("input", "output"), strict=True):
        assert line["steno"]["cut"] is True
        assert 40_000 < len(json.dumps(line["steno"][name], ensure_ascii=False).encode()) <= intake.MAX_TOLD
    assert is_taken_whole(log)


def test_values_that_are_read_differently_become_text(log: Path) -> None:
    arguments = '{"big": 1e400, "long": 123456789012345678901, "half": "\\ud800", "ok": 1.5}'
    context = ToolContext(None, tool_name="shout", tool_call_id="call-1", tool_arguments=arguments)
    asyncio.run(StenoRunHooks().on_tool_start(context, scripted(), shout))
    (line,) = lines(log)
    assert line["steno"]["input"] == {"big": "inf", "long": "123456789012345678901", "half": "?", "ok": 1.5}


class Unsayable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_answer_that_cannot_be_told_costs_itself_and_not_the_line(log: Path) -> None:
    hooks = StenoRunHooks()
    context: Any = RunContextWrapper(context=None)
    asyncio.run(hooks.on_tool_end(context, scripted(), shout, {"deep": Unsayable()}))
    hooks.run_failed(ValueError("still here"))
    completed, failed = lines(log)
    assert completed["steno"]["output"] == "<dict that cannot be written: RuntimeError>"
    assert completed["steno"]["cut"]
    assert (failed["seq"], failed["event_type"]) == (1, "run_failed")


def shared(levels: int) -> list[Any]:
    value: list[Any] = ["leaf"]
    for _ in range(levels):
        value = [value, value]
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"name": "x"}
    value["again"] = [value, value]
    return value


@pytest.mark.parametrize("made", [shared(31), shared(200), cyclic()], ids=["shared", "deep", "cyclic"])
def test_an_answer_that_holds_itself_is_walked_no_further_than_is_kept(log: Path, made: Any) -> None:
    """Written out it would have more than a thousand million values."""
    context = ToolContext(None, tool_name="shout", tool_call_id="call-1", tool_arguments="{}")
    asyncio.run(StenoRunHooks().on_tool_end(context, scripted(), shout, made))
    (line,) = lines(log)
    assert line["steno"]["cut"] is True
    assert len(json.dumps(line["steno"]["output"])) <= 64 << 10
    assert is_taken_whole(log)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=20,
)


@given(answer=anything, arguments=st.text(st.characters()))
def test_whatever_a_tool_is_given_and_answers_the_recorder_can_take_the_line(
    tmp_path_factory: pytest.TempPathFactory, answer: Any, arguments: str
) -> None:
    log = tmp_path_factory.mktemp("any") / "sdk.ndjson"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(intake.RUN_ID, RUN_ID)
        patched.setenv(intake.SDK_LOG, str(log))
        hooks = StenoRunHooks()
    context = ToolContext(None, tool_name="shout", tool_call_id="call-1", tool_arguments=arguments)
    asyncio.run(hooks.on_tool_start(context, scripted(), shout))
    asyncio.run(hooks.on_tool_end(context, scripted(), shout, answer))
    taken = claim_logs.take(log.read_bytes(), RUN_ID)
    assert (len(taken.lines), taken.refused) == (2, None)
    assert all(line.steno is not None for line in taken.lines)


def meta_context(run_context: RunContextWrapper[Any]) -> MCPToolMetaContext:
    return MCPToolMetaContext(run_context, "files", "read", {})


def test_an_mcp_request_carries_the_id_of_its_tool_call(log: Path) -> None:
    context: Any = ToolContext(None, tool_name="read", tool_call_id="call-1", tool_arguments="{}")
    assert tool_meta_resolver(meta_context(context)) == {"steno/toolCallId": "call-1"}


def test_an_mcp_request_outside_of_a_run_or_of_a_tool_call_carries_nothing(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tool_meta_resolver(meta_context(RunContextWrapper(context=None))) is None
    monkeypatch.delenv(intake.RUN_ID)
    context: Any = ToolContext(None, tool_name="read", tool_call_id="call-1", tool_arguments="{}")
    assert tool_meta_resolver(meta_context(context)) is None


def test_the_environment_of_the_run_is_passed_on_and_nothing_else(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_RUNNER_RUN_ID", RUN_ID)
    assert set(run_environment()) == {
        intake.RUN_ID,
        intake.SDK_LOG,
        intake.ORIGIN_NS,
        "ASSAY_RUNNER_RUN_ID",
    }


def test_the_listener_stands_alone() -> None:
    """In the agent's own environment there may be nothing of Steno but this file."""
    tree = ast.parse(Path(openai_agents.__file__).read_bytes())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    needed = {alias.name for node in imports for alias in node.names}
    needed |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in needed} <= {*sys.stdlib_module_names, "agents"}
