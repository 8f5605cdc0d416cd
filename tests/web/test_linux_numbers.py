"""The numbers of Linux are the same wherever a record is read, and on the page."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from steno.evidence import linux_abi
from steno.evidence.linux_abi import ERRORS, SIGNALS
from steno.evidence.syscalls import result_word
from steno.judge.operations import has_failed_to_reach


def test_they_are_those_of_this_machine() -> None:
    assert all(getattr(errno, name, number) == number for number, name in ERRORS.items())
    assert {getattr(signal, name) for name in SIGNALS.values()} == set(SIGNALS)
    flags = {name: number for name, number in vars(linux_abi).items() if name.startswith("O_")}
    flags |= linux_abi.OPEN_FLAGS_OF.get(os.uname().machine, {})
    assert all(getattr(os, name, number) == number for name, number in flags.items())


def test_a_reader_with_other_numbers_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errno, "errorcode", {95: "ENOTSUP", 115: "EOTHER"})
    result_word.cache_clear()
    assert [result_word(-95), result_word(-115)] == ["EOPNOTSUPP", "EINPROGRESS"]
    assert not has_failed_to_reach("connect", -115)
    assert has_failed_to_reach("connect", -11)  # a queue that is full is no connection
