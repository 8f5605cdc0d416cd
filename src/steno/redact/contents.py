"""Whether the content of a file holds a secret.

In: a redactor and bytes. Out: yes or no, and nothing is counted. Never changes the content.
"""

from __future__ import annotations

from steno.redact.engine import Redactor

_SCANNED = 1 << 18


def holds_secret(redactor: Redactor, content: bytes) -> bool:
    """Whether the redactor would mask anything; stops at the first."""
    if len(content) <= _SCANNED and redactor.is_clean(content):
        return False
    masker = redactor.uncounted_stream()
    sent = 0
    for start in range(0, len(content), _SCANNED):
        shown = masker.feed(content[start : start + _SCANNED])
        if shown != content[sent : sent + len(shown)]:
            return True
        sent += len(shown)
    return masker.close() != content[sent:]
