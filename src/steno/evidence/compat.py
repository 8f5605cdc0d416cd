"""What records of an older format have under other names, and in other words.

One step for each format: format 1 becomes format 2. A step changes names and shapes, and concludes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, TypeVar

import msgspec

from steno.evidence import canonical, layout
from steno.evidence.claims import BadClaimError, PolicyLine, SdkLine

FIRST = 1
# Format 1 put a header line before two of its streams, for scriptreplay(1).
_HEADER = "Script started, recorded by steno as {run_id}\n"
# No bundle of format 1 has what programs of a run told as they told it: the Steno that sealed it had put the
# lines together. So these files keep their names.
FOLDED_POLICY = "layers/policy.ndjson"
FOLDED_SDK = "layers/sdk.ndjson"
FOLDED_CLAIMS = (FOLDED_POLICY, FOLDED_SDK)
_NAMES: dict[str, str] = {
    layout.EVENTS: "events.ndjson",
    layout.KERNEL_TABLE: "layers/kernel.parquet",
    layout.FILE_LINES: "layers/files.ndjson",
    layout.BLOBS: "blobs.parquet",
    FOLDED_POLICY: FOLDED_POLICY,
    FOLDED_SDK: FOLDED_SDK,
    layout.STATUS_BEFORE: "repo/status_before.txt",
    layout.STATUS_AFTER: "repo/status_after.txt",
    layout.DIFF: "repo/diff.patch",
    layout.WORKTREE_DIFF: "repo/worktree.patch",
    layout.CHANGES: "repo/changes.json",
    **{file: layout.shown(file) for tape in layout.TAPES for file in (tape, layout.index_of(tape))},
}
FILES = tuple(_NAMES)
# What the Steno that sealed it concluded. It is never read to be shown.
CONCLUDED = (
    "run.json",
    "hashes.json",
    "redaction-report.json",
    "observation-health.json",
    "capability-surface.json",
    "correlation-report.json",
    "calls.json",
    "layers/kernel.ndjson",
    "processes.json",
    "files.json",
    "repo/before.json",
    "repo/after.json",
    "terminal/timing",
    "terminal/session.cast",
    "terminal/output",
)

_Line = TypeVar("_Line", PolicyLine, SdkLine)


def evidence_of_first(names: Collection[str]) -> dict[str, str]:
    """Of the files of a bundle: what was recorded, by its name in format 1, with the name that it has now."""
    today = {name: path for path, name in _NAMES.items()}
    is_made = _NAMES[layout.index_of(layout.OUTPUT)] not in names  # of stdout and stderr
    return {
        name: today[name]
        for name in names
        if name in today and not (is_made and today[name] == layout.OUTPUT)
    }


def name_in_first(path: str) -> str | None:
    """The name that a file of a record has in format 1; None: it has none."""
    return _NAMES.get(path)


def header_in_first(path: str, run_id: str) -> bytes:
    """What format 1 has before the bytes of a stream."""
    return _HEADER.format(run_id=run_id).encode() if path in {layout.STDIN, layout.OUTPUT} else b""


def first_line_of_first(line: bytes, recorded: list[str]) -> bytes:
    """The event that begins a record, as format 2 has it. `recorded`: the streams that have an index."""
    raw: Any = canonical.decode_line(line)
    if isinstance(raw, dict) and isinstance(data := raw.get("data"), dict):
        terminal = data.get("terminal")
        if raw.get("type") == "run_start" and isinstance(terminal, dict):
            data["terminal"] = {**terminal, "recorded": recorded}
            return canonical.encode_line(raw)
    return line


class _PolicyLine(PolicyLine, frozen=True, kw_only=True):
    schema: Literal["assay.runner.policy_event.v0"]
    source_event_type: Literal["assay.tool.decision"]


class _SdkLine(SdkLine, frozen=True, kw_only=True):
    schema: Literal["assay.runner.sdk_event.v0"]


def folded_policy_line(line: bytes) -> PolicyLine:
    return PolicyLine(**_told(_read(line, _PolicyLine), PolicyLine))


def folded_sdk_line(line: bytes) -> SdkLine:
    return SdkLine(**_told(_read(line, _SdkLine), SdkLine))


def _told(line: PolicyLine | SdkLine, kind: type[PolicyLine | SdkLine]) -> dict[str, Any]:
    return {name: getattr(line, name) for name in kind.__struct_fields__}


def _read(line: bytes, kind: type[_Line]) -> _Line:
    try:
        return msgspec.convert(canonical.decode_line(line), kind)
    except (canonical.NotCanonicalError, msgspec.ValidationError) as error:
        raise BadClaimError(str(error)) from None
