"""The tally of what was masked: places, rules, lengths and keyed digests.

The key is random, is not written anywhere and dies with the run, so that a short secret cannot be guessed
from the report.
"""

from __future__ import annotations

import hmac
import os
from typing import Any

EXAMPLE_LIMIT = 50
PLACE_LIMIT = 1000
DIGEST_HEX_DIGITS = 16
KEY_BYTES = 32


class Findings:
    """Counts secrets; keeps a bounded number of places and examples."""

    __slots__ = ("_counts", "_examples", "_key", "_left_off", "_places", "_total")

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(KEY_BYTES) if key is None else key
        self._counts: dict[str, int] = {}
        self._places: set[str] = set()
        self._left_off = 0
        self._examples: list[dict[str, Any]] = []
        self._total = 0

    def add(self, where: str, rule: str, secret: bytes) -> None:
        self._total += 1
        self._counts[rule] = self._counts.get(rule, 0) + 1
        if where not in self._places:
            self._keep_place(where)
        if len(self._examples) < EXAMPLE_LIMIT:
            self._keep_example(where, rule, secret)

    def _keep_place(self, where: str) -> None:
        # Past the limit a place is no longer remembered, so a repeated one is counted again: the
        # number left off is then an upper bound, which the report's field name says.
        if len(self._places) < PLACE_LIMIT:
            self._places.add(where)
        else:
            self._left_off += 1

    def _keep_example(self, where: str, rule: str, secret: bytes) -> None:
        digest = hmac.digest(self._key, secret, "sha256").hex()[:DIGEST_HEX_DIGITS]
        self._examples.append({"where": where, "rule": rule, "length": len(secret), "hmac": digest})

    @property
    def total(self) -> int:
        return self._total

    def snapshot(self) -> dict[str, Any]:
        return {
            "redacted_fields": sorted(self._places),
            "redacted_fields_left_off_at_most": self._left_off,
            "counts": dict(sorted(self._counts.items())),
            "total": self._total,
            "examples": [dict(example) for example in self._examples],
        }

    def __repr__(self) -> str:
        return f"Findings(total={self._total})"

    def __reduce__(self) -> str:
        raise TypeError("findings hold the key of the run and are not serialised")
