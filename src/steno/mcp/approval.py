"""Asking somebody whether a call may be made: a command that the policy names answers with its exit status.

In: the command, a call, and why it is asked about; the command gets them as one JSON object on its stdin.
Out: True for exit status 0 in time, and False for everything else. What the command prints goes nowhere,
because stdout belongs to the protocol; its stderr is ours, and a terminal is left to it, so that it can ask a
person there. Blocks for as long as the policy says: call it from a thread of its own.
"""

from __future__ import annotations

import json
import subprocess

from steno.mcp.policy import APPROVAL_SECONDS, Call, Ruling


def ask(command: list[str], call: Call, ruling: Ruling, seconds: float = APPROVAL_SECONDS) -> bool:
    question = {
        "server": call.server,
        "tool": call.tool,
        "arguments": call.arguments,
        "reason": ruling.reason,
        "says": ruling.says,
    }
    try:
        answered = subprocess.run(
            command,
            input=json.dumps(question).encode() + b"\n",
            stdout=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    return answered.returncode == 0
