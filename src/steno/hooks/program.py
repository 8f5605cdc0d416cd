"""`steno hook AGENT`: one event of an agent, forwarded to the recorder of the run that it is part of.

In: the agent's JSON on stdin, the environment of a recorded command. Out: one line in the run's intake, with
what the agent gave us, made small; readers of the record know what it means. Outside of a run it does
nothing. It never fails the agent: whatever happens, it returns, with one line on stderr if something is lost.
The environment is never written; what would reach a disk is masked first. It is started at every call of a
tool, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from steno.capture.procfs import parent, start_ticks
from steno.claims.client import Intake
from steno.evidence.intake_names import HOOKS
from steno.hooks.payload import MAX_PAYLOAD, NotUnderstoodError, encoded, read

# Gemini CLI takes stderr for an answer when stdout is empty; to all of them an empty object says nothing.
_ANSWER = b"{}\n"
_PIECE = 1 << 20
_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "ksh", "mksh", "ash", "fish", "busybox"})
_SEPARATORS = frozenset(";|&\n")
_MOST_SHELLS = 8
_MOST_BYTES = 128 << 10
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def run(agent: str) -> None:
    try:
        _tell(agent)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - a hook that fails would stop its agent
        _complain(f"this was not recorded: {error or type(error).__name__}")
    with suppress(OSError):
        os.write(1, _ANSWER)


def _tell(agent: str) -> None:
    intake = Intake.of(os.environ)
    if intake is None:
        _payload(keep=False)  # whoever writes it must not meet a closed pipe
        return
    at_ns = intake.now()
    line = {"run_id": intake.run_id, "at_ns": at_ns, "agent": agent, **_processes(agent), **_given(agent)}
    if not is_in_memory(intake.folder):
        line = _masked(line)
    log = intake.log(HOOKS)
    try:
        log.append(encoded(line) + b"\n")
    finally:
        log.close()


def _given(agent: str) -> dict[str, Any]:
    try:
        payload, cut = read(_payload(keep=True))
    except NotUnderstoodError as error:
        _complain(f"what {agent} said cannot be understood: {error}")
        return {"problem": str(error)}
    return {"payload": payload, "cut": cut}


def _payload(*, keep: bool) -> bytes:
    """At most one byte more than is taken; the rest is read and forgotten."""
    kept = bytearray()
    with suppress(OSError):  # a closed stdin is an empty one
        while piece := os.read(0, _PIECE):
            if keep:
                kept += piece[: MAX_PAYLOAD + 1 - len(kept)]
    return bytes(kept)


def _processes(agent: str) -> dict[str, Any]:
    return {"process": _key(os.getpid()), "parent": _key(find_agent_pid(agent))}


def _key(pid: int) -> dict[str, int] | None:
    ticks = start_ticks(pid)  # /proc may hide the processes of others
    return None if ticks is None else {"pid": pid, "start_ticks": ticks}


def _masked(line: dict[str, Any]) -> dict[str, Any]:
    """Loads the rules, which takes a tenth of a second: only for an intake that is not in memory."""
    from steno.redact import Findings, Redactor

    redactor = Redactor(findings=Findings())
    redactor.learn(redactor.secrets_in_env(os.environ))
    if "payload" in line:
        line["payload"] = redactor.foreign(line["payload"], "hook")
    return line


def _complain(message: str) -> None:
    if sys.stderr is None:  # it was closed, and its number may be another file by now
        return
    with suppress(OSError):
        os.write(2, f"steno: {message}\n".encode("utf-8", "replace"))


def find_agent_pid(agent: str) -> int:
    """The nearest process above us that is not a shell whose command text is this hook."""
    pid = os.getppid()
    for _ in range(_MOST_SHELLS):
        above = parent(pid) if _is_only_for(agent, _words(pid)) else 0
        if above <= 0:
            break
        pid = above
    return pid


def is_in_memory(path: str) -> bool:
    """By the table of mounts; False also when it does not tell."""
    try:
        device = os.stat(path).st_dev  # noqa: PTH116 - hooks have a start-up budget
        table = _read("/proc/self/mountinfo").decode("utf-8", "replace")
    except OSError:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in table.splitlines():
        mount, _, filesystem = line.partition(" - ")
        if mount.split(" ")[2:3] == [wanted]:
            return filesystem.split(" ")[0] in _IN_MEMORY
    return False


def _is_only_for(agent: str, words: list[str]) -> bool:
    """`sh -c 'steno hook claude'`: a text of one command. A shell that does more is somebody's program."""
    if len(words) < 3 or words[0].rpartition("/")[2].lstrip("-") not in _SHELLS:  # noqa: PLR2004 - sh -c TEXT
        return False
    has_text = any(word.startswith("-") and not word.startswith("--") and "c" in word for word in words[1:-1])
    return has_text and any(f"hook {agent}" in word and not _SEPARATORS & set(word) for word in words[2:])


def _words(pid: int) -> list[str]:
    try:
        return _read(f"/proc/{pid}/cmdline").decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = b""
        while len(found) < _MOST_BYTES and (piece := os.read(fd, _MOST_BYTES)):
            found += piece
        return found
    finally:
        os.close(fd)
