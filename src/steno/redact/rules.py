"""The list of all rules, as data.

In: nothing. Out: `RULES`. Never: matching.
"""

from __future__ import annotations

from steno.redact.rule import Example, Rule
from steno.redact.shapes import SHAPES

PAIRS: tuple[Rule, ...] = ()
RULES: tuple[Rule, ...] = (*SHAPES, *PAIRS)

__all__ = ["PAIRS", "RULES", "SHAPES", "Example", "Rule"]
