"""Secrets in the names of files, and in what we say of an attempt ourselves."""

from __future__ import annotations

import msgspec

from steno.contracts.agent_audit.changes import Diff, FileState
from steno.launch.snapshot import Masking
from support.attempts_made import known

KEY, OTHER = "sk-9f3b7c1d5e2a4860b1c2", "sk-1f3b7c1d5e2a4860b1c2"
STATE = FileState(size=1, mtime_ms=0, sha256="0" * 64)


def masking() -> Masking:
    return Masking({"SOME_API_KEY": KEY}, ["agent", "--token", "hunter2-and-more"])


def test_a_file_has_the_same_masked_name_in_every_list() -> None:
    mask = masking()
    (name, plain) = mask.snapshot({f"d/{KEY}.txt": STATE, "plain": STATE})
    assert KEY not in name
    assert name.startswith("d/[REDACTED:")
    assert plain == "plain"
    found = Diff(["plain"], [f"d/{KEY}.txt"], [], [f"d/{KEY}.txt"])
    assert mask.diff(found) == Diff(["plain"], [name], [], [name])


def test_two_files_never_share_a_name() -> None:
    mask = masking()
    once = mask.snapshot({KEY: STATE, OTHER: STATE})
    forged = next(iter(once))
    assert len(once) == 2
    assert len(mask.snapshot({KEY: STATE, OTHER: STATE, forged: STATE})) == 3


def test_what_was_given_as_an_option_is_no_name_either() -> None:
    assert "hunter2-and-more" not in str(masking().snapshot({"hunter2-and-more": STATE}))


def test_our_own_words_in_meta_are_masked_and_the_rest_is_left() -> None:
    mask, plain = masking(), known(selector="0123abcd")
    said = known(selector=f"./{KEY}", steps=({"detail": f"home {KEY}"},), skills=(KEY,))
    assert KEY not in str(msgspec.to_builtins(mask.known(said)))
    assert KEY not in str(mask.error(f"{KEY} cannot be used"))
    assert (mask.known(plain), mask.error(None)) == (plain, None)
