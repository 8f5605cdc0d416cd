"""What a server wrote before its end is read, however late; a call that waits in a pipe has not begun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from steno.evidence import intake
from support.mcp_wrapped import is_alive, message, told_in, tool_call
from support.program import PROGRAM, SECONDS
from support.waiting import until

# Each look at the server comes too late, as on a machine that is busy with something else.
_LATE = """
from steno.cli.entry import main
from steno.mcp.stdio import wrap
wrap.SILENCE = -1.0
main()
"""
_SERVER = """
import os, sys
sys.stdin.readline()
said = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}\\n' % (b"x" * 4096)
answer = b'{"jsonrpc":"2.0","id":1,"result":{}}\\n'
whole = said * NOTICES + answer
while whole:
    whole = whole[os.write(1, whole):]
os.write(os.open("pid", os.O_WRONLY | os.O_CREAT), b"%d\\n" % os.getpid())
"""
# More than waits in the wrap for a client that does not read, less than that and what two pipes hold.
NOTICES = 270


def has_ended(pid: Path) -> bool:
    return pid.exists() and pid.read_text().endswith("\n") and not is_alive(int(pid.read_text()))


def test_what_a_server_wrote_before_its_end_reaches_a_client_that_did_not_read_for_a_while(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    (tmp_path / "policy.yaml").write_text("version: 1\ndefault: allow\n")
    server = [sys.executable, "-S", "-c", _SERVER.replace("NOTICES", str(NOTICES))]
    words = ["mcp", "wrap", "--policy", "policy.yaml", "--log", "log", "--", *server]
    with subprocess.Popen(
        [sys.executable, "-c", _LATE, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=clean_env,
    ) as wrap:
        assert wrap.stdin is not None
        assert wrap.stdout is not None
        wrap.stdin.write(message(id=1, method="ping"))
        wrap.stdin.flush()
        until(lambda: has_ended(tmp_path / "pid"))
        *notices, answer = wrap.stdout.readlines()
        assert len(notices) == NOTICES
        assert json.loads(answer) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        wrap.stdin.close()
        assert wrap.wait(SECONDS) == 0


_DEAF = """
import os, sys, time
while not os.path.exists("go"):
    time.sleep(0.01)
open("hears", "w").write(str(time.monotonic_ns()))
sys.stdin.readline()
print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)
"""


def test_a_call_is_given_to_a_server_when_that_takes_the_last_of_it(
    tmp_path: Path, clean_env: dict[str, str]
) -> None:
    (tmp_path / "policy.yaml").write_text("version: 1\ndefault: allow\n")
    words = ["mcp", "wrap", "--policy", "policy.yaml", "--log", "log", "--", sys.executable, "-c", _DEAF]
    with subprocess.Popen(
        [PROGRAM, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=clean_env,
    ) as wrap:
        assert wrap.stdin is not None
        wrap.stdin.write(tool_call(1, "read", arguments={"text": "x" * (1 << 20)}))  # more than a pipe holds
        wrap.stdin.flush()
        until(lambda: (tmp_path / "log").exists() and len(told_in(tmp_path / "log")) > 1)
        (tmp_path / "go").touch()
        wrap.stdin.close()
        assert wrap.wait(SECONDS) == 0
    (decided,) = (one for one in told_in(tmp_path / "log") if isinstance(one, intake.Decided))
    (ended,) = (one for one in told_in(tmp_path / "log") if isinstance(one, intake.Ended))
    assert ended.given_ns is not None
    assert decided.at_ns < int((tmp_path / "hears").read_text()) < ended.given_ns < ended.at_ns
