"""Lines of a Chrome trace: slices, instants, counters and the names of lanes, as ASCII JSON.

In: names that may hold anything, times in nanoseconds on the run's clock. Out: one JSON object a line, keys
sorted, times in microseconds with three decimals, so that no nanosecond is lost. Names are made visible and
cut; a control character never comes out as one. Never holds more than one line.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

from steno.evidence.canonical import SAFE_INTEGER
from steno.text.safe import ELLIPSIS, visible

LONGEST_NAME = 200
LONGEST_TEXT = 4000
_DEEPEST = 6
_MOST_ITEMS = 100

Data = dict[str, Any]


class Lane(NamedTuple):
    """Where something is drawn: a process of the trace, and a thread of it."""

    pid: int
    tid: int


def complete(name: str, lane: Lane, start_ns: int, end_ns: int, category: str, args: Data) -> str:
    duration = microseconds(max(end_ns - max(start_ns, 0), 0))
    return (
        f'{{"args":{args_of(args)},"cat":{quoted(category)},"dur":{duration},"name":{name_of(name)},"ph":"X",'
        f'"pid":{lane.pid},"tid":{lane.tid},"ts":{microseconds(start_ns)}}}'
    )


def instant(name: str, lane: Lane, at_ns: int, category: str, args: Data) -> str:
    return instant_of(name_of(name), args_of(args), lane, at_ns, quoted(category))


def instant_of(name: str, args: str, lane: Lane, at_ns: int, category: str) -> str:
    """The same of pieces that are JSON already; of a million rows few are new."""
    return (
        f'{{"args":{args},"cat":{category},"name":{name},"ph":"i","pid":{lane.pid},"s":"t",'
        f'"tid":{lane.tid},"ts":{microseconds(at_ns)}}}'
    )


def counter(name: str, pid: int, at_ns: int, values: dict[str, int]) -> str:
    return (
        f'{{"args":{args_of(values)},"name":{name_of(name)},"ph":"C","pid":{pid},"tid":0,'
        f'"ts":{microseconds(at_ns)}}}'
    )


def process_names(pid: int, name: str, *, label: str, place: int) -> list[str]:
    """What a process is called, what stands beside that, and where it stands among the others."""
    lane = Lane(pid, 0)
    return [
        _metadata("process_name", lane, {"name": short(name, LONGEST_NAME)}),
        _metadata("process_labels", lane, {"labels": short(label, LONGEST_NAME)}),
        _metadata("process_sort_index", lane, {"sort_index": place}),
    ]


def thread_name(lane: Lane, name: str) -> str:
    return _metadata("thread_name", lane, {"name": short(name, LONGEST_NAME)})


def microseconds(nanoseconds: int) -> str:
    whole = max(nanoseconds, 0)
    return f"{whole // 1000}.{whole % 1000:03d}"


def quoted(text: str) -> str:
    return encode_basestring_ascii(text)


def name_of(text: str) -> str:
    return quoted(short(text, LONGEST_NAME))


def short(text: str, longest: int) -> str:
    shown = visible(text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + ELLIPSIS


def _metadata(name: str, lane: Lane, args: Data) -> str:
    return f'{{"args":{args_of(args)},"name":"{name}","ph":"M","pid":{lane.pid},"tid":{lane.tid}}}'


def args_of(value: Data) -> str:
    return json.dumps(_bounded(value, 0), ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def _bounded(value: Any, depth: int) -> Any:
    """What a viewer can show of a value: no text without an end, no number that it would round."""
    match value:
        case str():
            return value if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1] + ELLIPSIS
        case bool() | None | float():
            return value
        case int():
            return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
        case _ if depth == _DEEPEST:
            return ELLIPSIS
        case dict():
            kept = sorted(value.items())[:_MOST_ITEMS]
            found = {short(str(key), LONGEST_NAME): _bounded(item, depth + 1) for key, item in kept}
            return found if len(kept) == len(value) else {**found, ELLIPSIS: len(value) - len(kept)}
        case _:
            kept = [_bounded(item, depth + 1) for item in value[:_MOST_ITEMS]]
            return kept if len(kept) == len(value) else [*kept, f"{ELLIPSIS} {len(value) - len(kept)} more"]
