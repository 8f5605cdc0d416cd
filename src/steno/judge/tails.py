"""The last bytes of stdout and stderr, as the record holds them (masked).

In: layers. Out: at most `tail_bytes` bytes, beginning at a character. Where stdout and stderr were
merged, stdout is the merged output and stderr is empty; `run.json` says so. Where an observer split them on a
terminal they are what the programs wrote, before the terminal made it lines.
"""

from __future__ import annotations

from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge.streams import recorded

_CONTINUATION = range(0x80, 0xC0)
_LONGEST_CHARACTER = 4
# A tail is held in memory; a bundle that asks for more is not believed.
MAX_TAIL_BYTES = 16 << 20


def tail(layers: Layers, tape: str, limit: int) -> bytes:
    source = layout.OUTPUT if tape == layout.STDOUT and tape not in recorded(layers) else tape
    start = max(0, layers.size(source) - min(max(limit, 0), MAX_TAIL_BYTES))
    data = b"".join(layers.read(source, start))
    return data[_broken_character(data) :] if start else data


def _broken_character(data: bytes) -> int:
    """How many bytes at the front belong to a character whose beginning was cut off."""
    count = 0
    while count < min(len(data), _LONGEST_CHARACTER - 1) and data[count] in _CONTINUATION:
        count += 1
    return count
