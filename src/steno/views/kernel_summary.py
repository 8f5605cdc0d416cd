"""What the kernel layer of a run amounts to, in a few numbers and lines: its part of `steno show`.

In: an open record. Out: JSON data, or None for a run without the layer, and lines that are safe to print.
Never verifies, and never reads the table of all events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from steno.views import measures
from steno.views.file_list import Choice, Wanted, chosen
from steno.views.kernel_layer import KernelLayer, has_kernel_layer
from steno.views.network import network
from steno.views.paint import Paint
from steno.views.plain import listed
from steno.views.record import Record

_OBSERVED = "kernel_observed"
_ENDPOINTS_SHOWN = 5
_LOSSES = {
    "lost_events": "events lost",
    "lost_blobs": "contents lost",
    "unreadable": "calls whose arguments could not be read",
    "undecoded": "calls counted, not decoded",
    "unresolved": "changes of files whose name could not be learned",
    "elsewhere": "changes in another root or mount namespace, not among the files",
    "unknown_parents": "processes whose parent is not known",
    "unseen_exits": "processes whose end was not seen",
}


def kernel(record: Record) -> dict[str, Any] | None:
    if not has_kernel_layer(record):
        return None
    layer = KernelLayer(record)
    processes, files, found = layer.processes(), layer.files(), network(layer)
    read = chosen(files, Wanted(Choice.READ))
    return {
        "observed": _observed(record),
        "processes": len(processes),
        "outlived": sum(one.outlived for one in processes),
        "files_seen": len(files),
        "files_read": sum(1 for _ in read),
        "files_changed": dict(Counter(one.file.change for one in files if one.file.change != "none")),
        "endpoints": [one.name for one in found.endpoints],
        "unix_sockets": [one.name for one in found.unix],
    }


def lines(found: dict[str, Any] | None, paint: Paint) -> Iterator[str]:
    if found is None:
        return
    processes = "1 process" if found["processes"] == 1 else f"{found['processes']} processes"
    outlived = f", {found['outlived']} of them alive when it ended" if found["outlived"] else ""
    yield f"{processes}{outlived}"
    yield f"{_changed(found['files_changed'])}, {found['files_read']} read"
    yield _named(found["endpoints"], "endpoint")
    if found["unix_sockets"]:
        yield _named(found["unix_sockets"], "unix socket")
    observed = found["observed"] or {}
    lost = [f"{observed[name]} {words}" for name, words in _LOSSES.items() if observed.get(name)]
    if lost:
        yield paint("warning", listed(lost, len(lost)))


def _observed(record: Record) -> dict[str, Any] | None:
    """What the observer says of its own work; the last word counts."""
    said = [event.data for event in record.layers.events() if event.type == _OBSERVED]
    data: dict[str, Any] | None = msgspec.to_builtins(said[-1]) if said else None
    return data


def _changed(changes: dict[str, int]) -> str:
    if not changes:
        return "no file changed"
    parts = [f"{count} {change}" for change, count in sorted(changes.items())]
    return f"{measures.counted(sum(changes.values()), 'file')} changed ({listed(parts, len(parts))})"


def _named(names: list[str], thing: str) -> str:
    if not names:
        return f"no {thing}"
    return f"{measures.counted(len(names), thing)}: {listed(names, _ENDPOINTS_SHOWN)}"
