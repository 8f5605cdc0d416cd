"""Escape sequences of terminals: colours, erasing, cursor movements, character sets, titles, hyperlinks.

In: bytes. Out: `strip`, a copy without sequences; `hide`, asterisks for a secret with the sequences in it
left as they are. Never: a judgement on secrets. A sequence that the bytes do not end counts as one, so the
copy of what came so far is always the beginning of the copy of what will have come.
"""

from __future__ import annotations

from steno.redact.rule import regex

ESCAPE = b"\x1b"
TEXT_MOST = 2048  # of a title or a link; what is longer is looked at as ordinary text

_CSI = rb"\[[<=>?]?[0-9;:]*+[ !$]?"
_TEXT = rb"\][0-9]*+;[^\x07\x1b\r\n]{0,%d}+" % TEXT_MOST
_CHARSET = rb"[()]"
_WHOLE = rb"\x1b(?:" + _CSI + rb"[@-~]\x0f?|" + _TEXT + rb"(?:\x07|\x1b\\)|" + _CHARSET + rb"[A-Z0-9])"
_PARTIAL = rb"\x1b(?:" + _CSI + rb"|\][0-9]*+|" + _TEXT + rb"\x1b?|" + _CHARSET + rb")?\Z"
ANY_SEQUENCE = regex(_WHOLE + rb"|" + _PARTIAL)

# What cannot hold a secret itself: in a secret these stay, while a title or the address of a link does not.
HARMLESS = rb"\x1b(?:" + _CSI + rb"[@-~]\x0f?|\]8;;(?:\x07|\x1b\\)|" + _CHARSET + rb"[A-Z0-9])"
HARMLESS_PARTIAL = rb"\x1b(?:" + _CSI + rb"|\](?:8(?:;(?:;\x1b?)?)?)?|" + _CHARSET + rb")?\Z"
_KEPT = regex(rb"(" + HARMLESS + rb"|[\r\n]+)")


def strip(data: bytes) -> bytes:
    return ANY_SEQUENCE.sub(b"", data) if ESCAPE in data else data


def hide(secret: bytes) -> bytes:
    """Equal length; every byte becomes an asterisk, line breaks and harmless sequences stay."""
    pieces = _KEPT.split(secret)
    pieces[::2] = [b"*" * len(piece) for piece in pieces[::2]]
    return b"".join(pieces)
