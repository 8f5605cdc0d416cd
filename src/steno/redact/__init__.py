"""Redaction: no secret reaches the disk in clear.

In: bytes and text on their way to the record. Out: the same, with secrets masked, and the tally of them.
Never: I/O.
"""

from steno.redact.engine import Redactor, Span
from steno.redact.findings import Findings
from steno.redact.rules import RULES, Rule
from steno.redact.stream import StreamRedactor

__all__ = ["RULES", "Findings", "Redactor", "Rule", "Span", "StreamRedactor"]
