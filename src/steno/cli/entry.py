"""Where the program `steno` begins: a hook goes its own short way, everything else to the command line."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from steno.agents.made import HOOK_AGENTS
from steno.evidence.intake_names import FOLDER

INTERRUPTED = 130
FAULT = 70  # of Steno's own, which nobody foresaw: never a code that is a verdict
RUN_FAILURE = 125
HOOK_FAILURE = 1  # to an agent, 2 says: do not do this
# What is loaded at a start stays: looking for garbage in it again and again takes 5 % of a short command.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000
# Arrow imports them where they are there, which takes up to a quarter of a second, and no command needs them.
_LEFT_OUT = (
    *("cloudpickle", "numpy", "pandas"),
    *("pyarrow._azurefs", "pyarrow._gcsfs", "pyarrow._hdfs", "pyarrow._s3fs"),
)
# what exits as another program does must not exit with a code of that program's when it fails itself
_FAILURES = {
    "run": RUN_FAILURE,
    "agent start": RUN_FAILURE,
    "agent resume": RUN_FAILURE,
    "hook": HOOK_FAILURE,
}


def failure_code(words: list[str]) -> int | None:
    """The code of every failure of a command that has only one."""
    return _FAILURES.get(" ".join(words[:1])) or _FAILURES.get(" ".join(words[:2]))


def main() -> NoReturn:
    match sys.argv[1:]:
        case ["hook", agent] if (agent in HOOK_AGENTS or FOLDER in os.environ) and not os.isatty(0):
            sys.dont_write_bytecode = True  # a hook changes nothing but its log
            from steno.hooks.program import run

            run(agent)
            os._exit(0)
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    sys.modules.update(dict.fromkeys(_LEFT_OUT))  # type: ignore[arg-type]
    try:
        from steno.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:  # while it was still loading; nothing has begun
        os._exit(INTERRUPTED)
    except Exception:  # noqa: BLE001 - something of Steno's is missing; left to Python it would end with 1
        import traceback

        with suppress(OSError):
            traceback.print_exc()
        os._exit(failure_code(sys.argv[1:]) or FAULT)
