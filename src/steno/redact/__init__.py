"""Redaction: no secret reaches the disk in clear. Nothing here reads or writes a file."""

from steno.redact.findings import Findings
from steno.redact.redactor import Redactor, Span
from steno.redact.rules import RULES, Rule
from steno.redact.stream import StreamRedactor

__all__ = ["RULES", "Findings", "Redactor", "Rule", "Span", "StreamRedactor"]
