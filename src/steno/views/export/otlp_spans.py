"""Spans in the JSON of OTLP: ids, times, attributes, status, as `ExportTraceServiceRequest` has them.

In: names and plain values, which may hold anything. Out: dictionaries in the field names of OTLP/JSON: ids in
hexadecimal, 64-bit numbers as strings. Ids are digests of the run's id and of what the span stands for, so
that exporting again gives the same span. Never asks a clock, never draws a random number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from steno.text.safe import ELLIPSIS

INTERNAL = 1
ERROR = 2
LONGEST_TEXT = 4000
MOST_ITEMS = 100
MOST_EVENTS = 128  # as the kits of OpenTelemetry have it
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_LARGEST = (1 << 63) - 1

Data = dict[str, Any]
Value = str | bool | int | list[str] | None


class Spans:
    """The spans of one run: they share a trace, and the wall-clock time of its start."""

    def __init__(self, run_id: str, started_at_ms: int) -> None:
        self._run_id = run_id
        self._started_ns = started_at_ms * 1_000_000
        self._trace_id = _digest(run_id, "trace")[:_TRACE_BYTES].hex()

    def span(
        self,
        key: str,
        name: str,
        times: tuple[int, int],
        attributes: Mapping[str, Value],
        *,
        parent: str | None = None,
        links: Iterable[str] = (),
        events: Iterable[Data] = (),
        error: str | None = None,
    ) -> Data:
        """`key` says what the span stands for; `parent` and `links` are keys of others."""
        start_ns, end_ns = times
        happened = list(events)
        found: Data = {
            "traceId": self._trace_id,
            "spanId": self.span_id(key),
            "name": cut(name),
            "kind": INTERNAL,
            "startTimeUnixNano": self.moment(start_ns),
            "endTimeUnixNano": self.moment(max(start_ns, end_ns)),
            "attributes": attribute_list(attributes),
        }
        if parent is not None:
            found["parentSpanId"] = self.span_id(parent)
        linked = [{"traceId": self._trace_id, "spanId": self.span_id(one)} for one in links]
        if linked:
            found["links"] = linked
        if happened:
            found["events"] = happened[:MOST_EVENTS]
        if len(happened) > MOST_EVENTS:
            found["droppedEventsCount"] = len(happened) - MOST_EVENTS
        if error is not None:
            found["status"] = {"code": ERROR, "message": cut(error)}
        return found

    def event(self, name: str, at_ns: int, attributes: Mapping[str, Value]) -> Data:
        return {
            "name": cut(name),
            "timeUnixNano": self.moment(at_ns),
            "attributes": attribute_list(attributes),
        }

    def span_id(self, key: str) -> str:
        return _digest(self._run_id, f"span {key}")[:_SPAN_BYTES].hex()

    def moment(self, at_ns: int) -> str:
        """Wall-clock time: that of the run's start, and what the monotonic clock says since."""
        return str(min(max(self._started_ns + at_ns, 0), _LARGEST))


def attribute_list(attributes: Mapping[str, Value]) -> list[Data]:
    """What is None was not recorded, and is no attribute."""
    return [
        {"key": key, "value": _any_value(value)}
        for key, value in sorted(attributes.items())
        if value is not None
    ]


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + ELLIPSIS


def _any_value(value: str | bool | int | list[str]) -> Data:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_LARGEST <= value <= _LARGEST else {"stringValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": cut(value)}
    kept = [{"stringValue": cut(item)} for item in value[:MOST_ITEMS]]
    if len(value) > MOST_ITEMS:
        kept.append({"stringValue": f"{ELLIPSIS} {len(value) - MOST_ITEMS} more"})
    return {"arrayValue": {"values": kept}}


def _digest(run_id: str, what: str) -> bytes:
    return hashlib.sha256(f"steno.otlp.v1\0{run_id}\0{what}".encode()).digest()
