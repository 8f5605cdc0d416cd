"""`steno mcp wrap` between real processes: bytes, ends, signals, both sides made with the package `mcp`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from steno.evidence import intake
from support.mcp_wrapped import is_alive, message, told_in, tool_call
from support.program import PROGRAM, SECONDS, Steno
from support.waiting import until

TESTS = Path(__file__).parents[1]
RAW, SDK = TESTS / "support" / "mcp_raw_server.py", TESTS / "support" / "mcp_sdk_server.py"
POLICY = """\
version: 1
default: deny
rules:
  - tools: ["read_*"]
    action: allow
"""
MEGABYTE = 1_000_000
OUR_ID: Any = {"steno/toolCallId": "mine"}


class Wrap:
    """A client of a wrapped server, line by line."""

    def __init__(self, process: subprocess.Popen[bytes], place: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.stdin, self.stdout = process, process.stdin, process.stdout
        self.log, self.kept = place / "log", place / "kept"

    def send(self, *lines: bytes) -> None:
        self.stdin.write(b"".join(lines))
        self.stdin.flush()

    def line(self) -> bytes:
        return self.stdout.readline()

    def answer(self) -> Any:
        return json.loads(self.line())

    def ask(self, line: bytes) -> Any:
        self.send(line)
        return self.answer()

    def end(self) -> int:
        self.stdin.close()
        self.stdout.read()
        return self.process.wait(SECONDS)

    @property
    def told(self) -> list[intake.PolicyTold]:
        return told_in(self.log)

    @property
    def outcomes(self) -> list[str]:
        return [line.outcome for line in self.told if isinstance(line, intake.Ended)]

    @property
    def closed(self) -> intake.Closed:
        (closed,) = [line for line in self.told if isinstance(line, intake.Closed)]
        return closed


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@contextmanager
def wrapping(place: Path, env: dict[str, str], *server: str, options: tuple[str, ...] = ()) -> Iterator[Wrap]:
    """Around our raw server, unless another is named. Decisions go to a log, unless told otherwise."""
    log = options or ("--log", str(place / "log"))
    command = server or (sys.executable, "-S", str(RAW), str(place / "kept"))
    words = [str(PROGRAM), "mcp", "wrap", "--policy", "policy.yaml", "--label", "raw", *log, "--", *command]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=place
    )
    wrap = Wrap(process, place)
    try:
        yield wrap
    finally:
        process.kill()
        process.wait(SECONDS)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):  # of what was not read
                pipe.close()  # type: ignore[union-attr]


@pytest.fixture
def wrap(tmp_path: Path, policy: Path, clean_env: dict[str, str]) -> Iterator[Wrap]:
    with wrapping(tmp_path, clean_env) as wrap:
        yield wrap


def test_bytes_pass_unchanged_in_both_directions(wrap: Wrap) -> None:
    sent = [
        b'{"method":"tools/call",  "id":1,\t"jsonrpc":"2.0","params":{"name":"read_odd_bytes"}}\r\n',
        b"\n",
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"t":"é \\u00e9"}}\n'.encode(),
    ]
    wrap.send(*sent)
    assert wrap.line() == b'{"jsonrpc" : "2.0",\t"id":1, "result":{"content":[],"x":"\\u00e9"} }\r\n'
    last = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'  # without an end of line
    wrap.send(last)
    assert wrap.end() == 0
    assert wrap.kept.read_bytes() == b"".join(sent) + last


def test_a_refused_call_never_reaches_the_server(wrap: Wrap) -> None:
    assert wrap.ask(tool_call(1, "write_file"))["result"]["isError"] is True
    assert wrap.ask(b"[" + tool_call(2).strip() + b"]\n")[0]["error"]["code"] == -32600
    assert wrap.ask(tool_call(3, "read_x"))["result"] == {"content": []}
    assert wrap.end() == 0
    assert wrap.kept.read_bytes() == tool_call(3, "read_x")
    assert wrap.closed.reason == "client_closed"


def test_a_hundred_megabytes_pass_in_both_directions(wrap: Wrap) -> None:
    call = tool_call(1, "read_large", arguments={"path": "/a", "text": "x" * 100 * MEGABYTE})
    writer = threading.Thread(target=wrap.send, args=(call,))
    writer.start()
    answer = wrap.line()
    writer.join()
    assert len(answer) > 100 * MEGABYTE
    assert answer.endswith(b'yyy"}}\n')
    assert wrap.end() == 0
    assert wrap.kept.read_bytes() == call
    assert wrap.outcomes == ["result"]


def test_a_thousand_calls_at_once_are_told_apart(wrap: Wrap) -> None:
    ids = range(1000)
    wrap.send(*(tool_call(number, "read_later") for number in ids), tool_call("go", "read_all_held"))
    assert [wrap.answer()["id"] for _ in ids] == [*reversed(ids)]
    assert wrap.answer()["id"] == "go"
    assert wrap.end() == 0
    decided = [line for line in wrap.told if isinstance(line, intake.Decided)]
    ended = [line for line in wrap.told if isinstance(line, intake.Ended)]
    assert len({line.tool_call_id for line in decided}) == len(decided) == 1001
    assert [line.call for line in ended][:1000] == [number + 1 for number in reversed(ids)]


def test_a_client_that_only_writes_for_a_while_does_not_stop_the_wrap(wrap: Wrap) -> None:
    calls = 5000  # whose refusals are more than a pipe holds
    wrap.send(*(tool_call(number, "write_file") for number in range(calls)))
    assert [wrap.answer()["id"] for _ in range(calls)] == [*range(calls)]


def test_when_the_server_crashes_every_open_request_gets_an_error(wrap: Wrap) -> None:
    wrap.send(tool_call(1, "read_never"), message(id="p", method="tools/call", params={"name": "read_crash"}))
    answers = [wrap.answer(), wrap.answer()]
    assert {(one["id"], one["error"]["data"]["reason"]) for one in answers} == {
        (1, "server_gone"),
        ("p", "server_gone"),
    }
    assert wrap.line() == b""
    assert wrap.process.wait(SECONDS) == 128 + signal.SIGKILL
    assert wrap.outcomes == ["server_gone", "server_gone"]
    assert (wrap.closed.reason, wrap.closed.signal) == ("server_exited", "SIGKILL")


def test_the_wrap_exits_as_the_server_does(wrap: Wrap) -> None:
    assert wrap.ask(tool_call(1, "read_exit"))["error"]["data"]["reason"] == "server_gone"
    assert wrap.process.wait(SECONDS) == 3
    assert (wrap.closed.reason, wrap.closed.exit_code) == ("server_exited", 3)


def test_a_client_that_has_written_all_still_gets_its_answers(wrap: Wrap) -> None:
    wrap.send(tool_call(1, "read_x"))
    wrap.stdin.close()
    assert wrap.answer()["id"] == 1
    assert wrap.process.wait(SECONDS) == 0
    assert wrap.outcomes == ["result"]


def test_a_server_that_does_not_go_is_killed_with_its_group(
    tmp_path: Path, policy: Path, clean_env: dict[str, str]
) -> None:
    server = (sys.executable, "-S", str(RAW), str(tmp_path / "kept"), "deaf")
    with wrapping(tmp_path, clean_env, *server) as wrap:
        wrap.ask(tool_call(1, "read_x"))
        pids = [int(word) for word in (tmp_path / "kept.pids").read_text().split()]
        assert all(map(is_alive, pids))
        wrap.process.send_signal(signal.SIGTERM)
        assert wrap.process.wait(SECONDS) == 128 + signal.SIGKILL
        until(lambda: not any(map(is_alive, pids)))
        assert wrap.closed.signal == "SIGKILL"


def test_when_the_client_dies_the_server_is_ended(wrap: Wrap) -> None:
    wrap.ask(tool_call(1, "read_x"))
    wrap.send(tool_call(2, "read_never"))
    wrap.stdin.close()
    wrap.stdout.close()
    assert wrap.process.wait(SECONDS) == 0
    assert wrap.outcomes == ["result", "client_gone"]
    assert wrap.closed.reason == "client_closed"


def test_signals_and_stderr_are_the_servers(wrap: Wrap) -> None:
    wrap.ask(tool_call(1, "read_x"))
    wrap.process.send_signal(signal.SIGUSR1)
    assert wrap.answer()["method"] == "notifications/message"
    wrap.end()
    assert wrap.process.stderr is not None
    assert b"a word of the server on its stderr" in wrap.process.stderr.read()


def test_the_server_asks_and_the_client_answers(wrap: Wrap) -> None:
    assert wrap.ask(tool_call(1, "read_question"))["method"] == "roots/list"
    assert wrap.answer()["id"] == 1
    answer, unasked = message(id=77, result={"roots": []}), message(id=78, result={})
    wrap.send(unasked, answer)
    wrap.end()
    assert wrap.kept.read_bytes() == tool_call(1, "read_question") + answer


def test_the_process_of_the_server_is_told(wrap: Wrap) -> None:
    wrap.ask(tool_call(1, "read_x"))
    opened = wrap.told[0]
    assert isinstance(opened, intake.Opened)
    assert opened.proxy_process.pid == wrap.process.pid
    assert opened.server_process is not None
    fields = Path(f"/proc/{opened.server_process.pid}/stat").read_text().rpartition(")")[2].split()
    assert (int(fields[1]), int(fields[19])) == (wrap.process.pid, opened.server_process.start_ticks)


def test_no_call_passes_when_decisions_cannot_be_written(
    tmp_path: Path, policy: Path, clean_env: dict[str, str]
) -> None:
    with wrapping(tmp_path, clean_env, options=("--log", "/dev/full")) as wrap:
        assert wrap.ask(message(id=0, method="ping"))["result"] == {"content": []}
        refused = wrap.ask(tool_call(1, "read_x"))["result"]
        assert refused["isError"] is True
        assert "decision_log_unwritable" in refused["content"][0]["text"]
        assert wrap.end() == 0
        assert b"tools/call" not in wrap.kept.read_bytes()


def test_calls_pass_without_a_log_when_it_is_optional(
    tmp_path: Path, policy: Path, clean_env: dict[str, str]
) -> None:
    with wrapping(tmp_path, clean_env, options=("--log", "/dev/full", "--log-optional")) as wrap:
        assert wrap.ask(tool_call(1, "read_x"))["result"] == {"content": []}


def test_the_same_ids_on_two_connections_are_two_calls(
    tmp_path: Path, policy: Path, clean_env: dict[str, str]
) -> None:
    for _ in range(2):
        with wrapping(tmp_path, clean_env) as wrap:
            wrap.ask(tool_call(1, "read_x"))
            wrap.end()
    decided = [line for line in told_in(tmp_path / "log") if isinstance(line, intake.Decided)]
    assert [line.request_id for line in decided] == ["1", "1"]
    assert len({line.tool_call_id for line in decided}) == len({line.connection for line in decided}) == 2


def test_a_run_is_told_also_through_a_client_that_passes_no_environment_on(
    tmp_path: Path, policy: Path, clean_env: dict[str, str]
) -> None:
    told = {"STENO_RUN_ID": "r1", "STENO_INTAKE": str(tmp_path), "STENO_CLOCK_ORIGIN_NS": "1000"}
    words = [str(PROGRAM), "mcp", "wrap", "--policy", str(policy), "--", sys.executable, str(RAW), "kept"]
    client = (
        f"import subprocess; subprocess.run({words!r}, env={{'PATH': {clean_env['PATH']!r}}}, check=True)"
    )
    subprocess.run(
        [sys.executable, "-c", client],
        input=tool_call(1, "read_x"),
        stdout=subprocess.PIPE,
        env={**clean_env, **told},
        cwd=tmp_path,
        check=True,
        timeout=SECONDS,
    )
    (log,) = tmp_path.glob("policy.*-*.ndjson")
    lines = told_in(log)
    assert {line.run_id for line in lines} == {"r1"}
    assert [type(line) for line in lines] == [intake.Opened, intake.Decided, intake.Ended, intake.Closed]


def test_an_approval_is_asked_for_while_other_calls_pass(tmp_path: Path, clean_env: dict[str, str]) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "policy.yaml").write_text(
        POLICY + '  - tools: ["write_*"]\n    action: ask\n'
        f'approval: {{command: ["sh", "-c", "read answer <{gate}; exit $answer"]}}\n'
    )
    with wrapping(tmp_path, clean_env) as wrap:
        wrap.send(tool_call(1, "write_a"))
        assert wrap.ask(tool_call(2, "read_x"))["id"] == 2
        gate.write_text("0\n")
        assert wrap.answer() == {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
        wrap.send(tool_call(3, "write_b"))
        gate.write_text("1\n")
        assert wrap.answer()["result"]["isError"] is True
        wrap.end()
        reasons = [line.reason for line in wrap.told if isinstance(line, intake.Decided)]
        assert reasons == ["allowed_by_rule", "allowed_by_approval", "approval_refused"]


def test_a_call_that_is_approved_after_the_last_line_has_a_line_of_its_own(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "policy.yaml").write_text(
        POLICY + '  - tools: ["write_*"]\n    action: ask\n'
        f'approval: {{command: ["sh", "-c", "read answer <{gate}; exit $answer"]}}\n'
    )
    with wrapping(tmp_path, clean_env) as wrap:
        asked, last = tool_call(1, "write_a"), tool_call(2, "read_x").rstrip()
        wrap.send(asked, last)
        wrap.stdin.close()
        until(lambda: wrap.log.exists() and any(isinstance(line, intake.Decided) for line in wrap.told))
        gate.write_text("0\n")
        assert sorted(json.loads(line)["id"] for line in wrap.stdout) == [1, 2]
        assert wrap.process.wait(SECONDS) == 0
        assert wrap.kept.read_bytes() == last + b"\n" + asked


def test_a_request_of_the_server_that_the_policy_denies_gets_an_error_and_no_client(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY + 'methods: {deny: ["sampling/*"]}\n')
    asking = (
        "import sys\n"
        "sys.stdin.readline()\n"
        """print('{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{}}', flush=True)\n"""
        "open('got', 'w').write(sys.stdin.readline())\n"
        """print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)\n"""
    )
    with wrapping(tmp_path, clean_env, sys.executable, "-c", asking) as wrap:
        assert wrap.ask(tool_call(1, "read_x"))["id"] == 1
        assert wrap.end() == 0
    got = json.loads((tmp_path / "got").read_text())
    assert (got["id"], got["error"]["data"]["reason"]) == (5, "method_refused")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--policy", "missing.yaml", "--", "true"], 2, b"missing.yaml"),
        (["--policy", "bad.yaml", "--", "true"], 2, b"bad.yaml:3:1:"),
        (["--policy", "policy.yaml", "--", "no-such-program"], 127, b"check the name and PATH"),
        (["--policy", "policy.yaml", "--", "/etc/passwd"], 126, b"executable"),
        (["--policy", "policy.yaml"], 2, b"there is no server to start"),
        (["--policy", "policy.yaml", "--label", "a\nb", "--", "true"], 2, b"label"),
        (["--policy", "policy.yaml", "--log", "missing/log", "--", "true"], 125, b"--log-optional"),
    ],
)
def test_what_cannot_work_is_refused_before_the_server_starts(
    tmp_path: Path, policy: Path, steno: Steno, words: list[str], code: int, says: bytes
) -> None:
    (tmp_path / "bad.yaml").write_text("version: 1\ndefault: [")
    done = steno("mcp", "wrap", *words)
    assert done.returncode == code
    assert says in done.stderr
    assert b"hint: " in done.stderr
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_a_pinned_server_is_checked_and_a_policy_explained(
    tmp_path: Path, policy: Path, steno: Steno, clean_env: dict[str, str]
) -> None:
    policy.write_text(POLICY + "pins: pins.json\n")
    server = (sys.executable, str(RAW), "kept")
    pinned = steno("mcp", "pin", "--policy", policy, "--label", "raw", "--", *server)
    assert (pinned.returncode, pinned.stdout) == (0, b"added   read_x\n")
    again = steno("mcp", "pin", "--policy", policy, "--label", "raw", "--json", "--", *server)
    assert json.loads(again.stdout)["changes"] == []
    checked = steno("mcp", "check", "--policy", policy, "--json")
    assert json.loads(checked.stdout)["pins"]["servers"] == {"raw": 1}
    assert steno("mcp", "check", "--policy", policy).returncode == 0
    with wrapping(tmp_path, clean_env) as wrap:
        assert "not_listed" in wrap.ask(tool_call(1, "read_x"))["result"]["content"][0]["text"]
        assert len(wrap.ask(message(id=2, method="tools/list"))["result"]["tools"]) == 1
        assert wrap.ask(tool_call(3, "read_x"))["result"] == {"content": []}
        assert "not_pinned" in wrap.ask(tool_call(4, "read_y"))["result"]["content"][0]["text"]


def test_the_agent_of_the_example_says_when_its_server_has_ended() -> None:
    agent = TESTS.parent / "docs" / "examples" / "mcp" / "agent.py"
    words = [sys.executable, str(agent), "sh", "-c", "read request"]
    done = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stderr) == (1, b"the server has ended without an answer\n")


@pytest.mark.parametrize("mode", ["legacy", "auto"])  # auto: the current era, found by asking
def test_a_real_client_and_a_real_server_of_each_era(
    tmp_path: Path, policy: Path, clean_env: dict[str, str], mode: str
) -> None:
    steps: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    def the_last_is_decided() -> bool:
        told = told_in(tmp_path / "log")
        return any(isinstance(line, intake.Decided) and line.tool == "read_forever" for line in told)

    async def talk() -> None:
        words = [
            "mcp",
            "wrap",
            "--policy",
            str(policy),
            "--label",
            "sdk",
            "--log",
            str(tmp_path / "log"),
            "--",
        ]
        server = StdioServerParameters(
            command=str(PROGRAM), args=[*words, sys.executable, str(SDK)], env=clean_env
        )
        async with Client(server, mode=mode) as client:
            listed = await client.list_tools()
            assert {tool.name for tool in listed.tools} >= {"read_echo", "write_echo"}
            echoed = await client.call_tool("read_echo", {"text": "é"}, meta=OUR_ID)
            assert echoed.content[0].text == "é"  # type: ignore[union-attr]
            denied = await client.call_tool("write_echo", {"text": "x"})
            assert denied.is_error
            assert "denied_by_default" in denied.content[0].text  # type: ignore[union-attr]
            assert (await client.call_tool("read_failure")).is_error
            await client.call_tool("read_progress", progress_callback=on_progress)
            async with anyio.create_task_group() as calling:
                calling.start_soon(client.call_tool, "read_forever")
                await anyio.to_thread.run_sync(until, the_last_is_decided)
                calling.cancel_scope.cancel()

    anyio.run(talk)
    assert steps == [0, 1, 2]
    lines = told_in(tmp_path / "log")
    decided = [(line.tool, line.decision) for line in lines if isinstance(line, intake.Decided)]
    assert decided == [
        ("read_echo", "allow"),
        ("write_echo", "deny"),
        ("read_failure", "allow"),
        ("read_progress", "allow"),
        ("read_forever", "allow"),
    ]
    outcomes = [line.outcome for line in lines if isinstance(line, intake.Ended)]
    assert outcomes == ["result", "denied", "tool_error", "result", "cancelled"]
    assert next(line.tool_call_id for line in lines if isinstance(line, intake.Decided)) == "mine"
    assert [line.kind for line in lines if isinstance(line, intake.Noticed)] == []
