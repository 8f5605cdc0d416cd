"""The name of a run: `YYYY-MM-DDTHH-mm-ss-SSSZ_<8hex>`, in order of time when sorted as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime

PATTERN = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z_[0-9a-f]{8}", re.ASCII)


def format_run_id(ts_ms: int, randomness: bytes) -> str:
    """`randomness` is four bytes; the caller has the source of chance."""
    moment = datetime.fromtimestamp(ts_ms / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H-%M-%S}-{ts_ms % 1000:03d}Z_{randomness[:4].hex()}"


def is_run_id(text: str) -> bool:
    return PATTERN.fullmatch(text) is not None
