"""The names by which a run and its intake are known: variables of the environment, the logs, their bounds.

It imports nothing: a hook is started for every call of a tool and has no time to load what reads the lines.
"""

from typing import Final

# In the environment of every recorded command.
RUN_ID = "STENO_RUN_ID"
FOLDER = "STENO_INTAKE"  # a private folder in memory
ORIGIN_NS = "STENO_CLOCK_ORIGIN_NS"
SDK_LOG = "STENO_SDK_EVENT_LOG"
SDK_LOG_SCHEMA = "STENO_SDK_EVENT_SCHEMA"

# What the folder is called: in memory with the run's id behind it, else below the spool.
FOLDER_PREFIX = "steno-intake-"
ON_DISK = "intake"

# In the folder.
# Each proxy has a log of its own: see `policy_log`.
HOOKS = "hooks.ndjson"
SDK = "sdk.ndjson"  # of the contract of assay-runner: see `steno.evidence.intake`
MAX_LINE = 1 << 20
_MOST_DIGITS = 15  # so that JSON can hold it
MAX_TOLD = 64 << 10  # of arguments, answers and messages: more is cut, and said to be
MAX_PAYLOAD_TOLD = 4 * MAX_TOLD  # of all that a hook was given, each of its fields with at most MAX_TOLD
NOT_UNDERSTOOD = "payload_not_understood"
MAX_ID = 256  # of the id of a call
MAX_NAME = 1024
SDK_SCHEMA: Final = "assay.runner.sdk_event.v0"  # the log is written by foreign programs too
DISTURBED = "intake_disturbed"  # the gap: then less is recorded than was told
NOT_WANTED = "shim_none"  # why an intake is refused: nobody was to tell anything


def policy_log(pid: int, start_ticks: int) -> str:
    """The log of one proxy: it makes it itself, and nobody else has a reason to touch it."""
    return f"policy.{pid}-{start_ticks}.ndjson"


def policy_log_owner(name: str) -> tuple[int, int] | None:
    """The process that a log is named after: its number and start time. None: this is no such name."""
    owner = name.removeprefix("policy.").removesuffix(".ndjson")
    pid, _, ticks = owner.partition("-")
    if not (_is_number(pid) and _is_number(ticks)) or policy_log(int(pid), int(ticks)) != name:
        return None
    return int(pid), int(ticks)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
