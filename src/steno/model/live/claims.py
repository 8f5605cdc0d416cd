"""What the programs of a run say while it goes on: decisions of policy, and calls as an agent tells of them.

They write to the intake, and may have wrecked it: lines that are not ours are passed over, no link is
followed, no folder of somebody else is trusted. Where nobody knows what is secret in this run, the arguments
of calls are not shown.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from steno.agents.hook_payload import interpreted
from steno.bundle.folder import Folder
from steno.evidence import canonical, intake, kinds, layout
from steno.evidence.claims import PolicyLine, SdkLine
from steno.evidence.intake import (
    BadIntakeError,
    Closed,
    Decided,
    Ended,
    HookTold,
    Noticed,
    Opened,
    PolicyTold,
)
from steno.evidence.intake_names import FOLDER_PREFIX, ON_DISK
from steno.judge.activity import CALL, Happening, shortened
from steno.model.live.growing import GrowingLines
from steno.redact.redactor import Redactor

_MOST_PROXIES = 100
_MOST_CONNECTIONS = 1000
_MOST_CALLS = 10_000
_ARGUMENTS_SHOWN = 400


class _Said(msgspec.Struct):
    """What of a line of an SDK's own log is shown."""

    run_id: str
    event_type: str
    source: str
    tool: str | None = None
    tool_call_id: str | None = None
    steno: dict[str, Any] | None = None


_said = msgspec.json.Decoder(_Said)


class ClaimsWatch:
    def __init__(self, folder: Folder, run_id: str, redactor: Redactor, *, texts: bool) -> None:
        self._folder = folder
        self._run_id = run_id
        self._mask = Masking(redactor, texts=texts)
        self._logs: dict[str, GrowingLines] = {}
        self._servers: dict[str, str] = {}
        self._tools: dict[tuple[str, int], str] = {}
        self._latest_ns = 0

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
        self._logs.clear()
        self._folder.close()

    def take(self) -> list[Happening]:
        self._find_logs()
        found = []
        for name, log in self._logs.items():
            for line in log.take():
                told = self._of_line(name, line + b"\n")
                if told is not None:
                    self._latest_ns = max(self._latest_ns, told.at_ns)
                    found.append(told)
        return found

    def _find_logs(self) -> None:
        try:
            names = self._folder.names()
        except OSError:
            return
        for name in names:
            ours = name in {intake.HOOKS, intake.SDK} or intake.policy_log_owner(name) is not None
            if ours and name not in self._logs and len(self._logs) < _MOST_PROXIES:
                try:
                    self._logs[name] = GrowingLines(self._folder.open(name))
                except OSError:
                    continue

    def _of_line(self, name: str, line: bytes) -> Happening | None:
        try:
            if name == intake.HOOKS:
                return self._hook(intake.hook_told(line))
            if name == intake.SDK:
                return self._sdk(_said.decode(line))
            return self._policy(intake.policy_told(line))
        except (BadIntakeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _policy(self, told: PolicyTold) -> Happening | None:
        if not self._is_of_now(told.run_id, told.at_ns):
            return None
        match told:
            case Opened():
                if len(self._servers) < _MOST_CONNECTIONS:
                    self._servers[told.connection] = told.server
                return self._mask.call(told.at_ns, "connected", told.server, f"policy on {told.source}")
            case Decided():
                return self._decided(told)
            case Ended():
                tool = self._tools.pop((told.connection, told.call), "")
                return self._mask.call(told.at_ns, told.outcome.replace("_", " "), tool)
            case Noticed():
                return self._mask.call(told.at_ns, told.kind, told.detail, bad=True)
            case Closed():
                server = self._servers.pop(told.connection, "")
                return self._mask.call(told.at_ns, "closed", server, told.reason)

    def _decided(self, told: Decided) -> Happening:
        server = self._servers.get(told.connection)
        tool = f"{server}.{told.tool}" if server else told.tool
        if len(self._tools) < _MOST_CALLS:
            self._tools[told.connection, told.call] = tool
        return self._mask.decided(told.at_ns, told.decision, tool, told.reason, told.arguments)

    def _hook(self, told: HookTold) -> Happening | None:
        if not self._is_of_now(told.run_id, told.at_ns):
            return None
        found = interpreted(told)
        if found is None:
            return None
        tool = f"{found.server}.{found.tool}" if found.server else found.tool
        said = found.event_type or found.problem or "not understood"
        return self._mask.said(found.at_ns, said, found.agent, tool, found.input)

    def _sdk(self, told: _Said) -> Happening | None:
        at_ns = (told.steno or {}).get("at_ns")
        at_ns = at_ns if isinstance(at_ns, int) else self._latest_ns
        if not self._is_of_now(told.run_id, at_ns):
            return None
        return self._mask.said(
            at_ns, told.event_type, told.source, told.tool, (told.steno or {}).get("input")
        )

    def _is_of_now(self, run_id: str, at_ns: int) -> bool:
        return run_id == self._run_id and 0 <= at_ns <= canonical.SAFE_INTEGER


class Masking:
    """Makes happenings of what was said."""

    def __init__(self, redactor: Redactor | None, *, texts: bool) -> None:
        """`redactor` is None for what is masked already."""
        self._redactor = redactor
        self._texts = texts

    def decided(self, at_ns: int, decision: str, tool: str, reason: str, arguments: Any) -> Happening:
        given = self._given(arguments)
        detail = reason if decision != "allow" else given
        told = self.call(at_ns, decision, tool, detail, bad=decision != "allow")
        return told._replace(facts=told.facts | {"reason": self._text(reason)})

    def said(self, at_ns: int, event_type: str, source: str, tool: str | None, given: Any) -> Happening:
        word = event_type.removeprefix("tool_call_").replace("_", " ")
        told = self.call(
            at_ns, f"says {word}", tool or source, self._given(given), bad=event_type == "run_failed"
        )
        return told._replace(facts=told.facts | {"source": self._text(source)})

    def call(self, at_ns: int, word: str, subject: str, detail: str = "", *, bad: bool = False) -> Happening:
        return Happening(at_ns, CALL, self._text(word), self._text(subject), self._text(detail), bad=bad)

    def _text(self, text: str) -> str:
        readable = text.encode("utf-8", "replace").decode()
        return shortened(readable if self._redactor is None else self._redactor.text(readable, "live"))

    def _given(self, value: Any) -> str:
        if value is None or not self._texts:
            return ""
        try:
            masked = value if self._redactor is None else self._redactor.foreign(value, "live")
            text = canonical.encode(masked).decode()
        except (ValueError, RecursionError):
            return ""
        return text if len(text) <= _ARGUMENTS_SHOWN else f"{text[:_ARGUMENTS_SHOWN]}…"


def of_policy_line(line: PolicyLine) -> Happening:
    """A line of a sealed layer."""
    detail = line.steno
    tool = f"{detail.server}.{line.tool}" if detail.server else line.tool
    return Masking(None, texts=True).decided(
        detail.start_ns, line.decision, tool, detail.reason, detail.arguments
    )


def of_sdk_line(line: SdkLine, latest_ns: int) -> Happening:
    """A line of a sealed layer; one without a time stands where the last one stood."""
    detail = line.steno
    at_ns = latest_ns if detail is None or detail.at_ns is None else detail.at_ns
    server = None if detail is None else detail.server
    tool = f"{server}.{line.tool}" if server else line.tool
    given = None if detail is None else detail.input
    return Masking(None, texts=True).said(at_ns, line.event_type, line.source, tool, given)


def intakes(start: kinds.RunStart, run_id: str) -> list[str]:
    """Where the intake of the run is in memory."""
    return [path for path in start.scratch if Path(path).name == f"{FOLDER_PREFIX}{run_id}"]


def open_intake(run: Path, start: kinds.RunStart, run_id: str, owner: int) -> Folder | None:
    """The folder where the programs of the run tell of themselves; None when it is not there, or not ours."""
    for path in [*map(Path, intakes(start, run_id)), run / layout.SPOOL / ON_DISK]:
        try:
            folder = Folder(path, follow=False)
        except (OSError, ValueError):
            continue
        if os.fstat(folder.fd).st_uid == owner:
            return folder
        folder.close()
    return None
