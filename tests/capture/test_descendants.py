"""What a launcher took over: alive or not, and a word when that may have changed."""

from __future__ import annotations

import os
import select
import subprocess

import pytest

from steno.capture.cgroup import ReapedChildren
from support.waiting import SECONDS, until


def test_children_that_have_ended_do_not_count_although_nobody_has_collected_them() -> None:
    with subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!; exec sleep 61"], stdout=subprocess.PIPE
    ) as launcher:
        assert launcher.stdout is not None
        child = int(launcher.stdout.readline())
        left = ReapedChildren(launcher.pid)
        assert left.populated()
        poller = select.poll()
        poller.register(*left.changes)
        assert poller.poll(0) == []
        os.kill(child, 9)
        assert poller.poll(SECONDS * 1000)
        assert not left.populated()
        assert poller.poll(0) == []  # a zombie wakes nobody twice
        assert not left.populated()
        left.close()
        launcher.kill()


def test_a_child_that_comes_later_is_met() -> None:
    with subprocess.Popen(["sh"], stdin=subprocess.PIPE) as launcher:
        left = ReapedChildren(launcher.pid)
        assert not left.populated()
        assert launcher.stdin is not None
        launcher.stdin.write(b"sleep 60 & pid=$!; read line; kill $pid; wait\n")
        launcher.stdin.flush()
        until(left.populated)
        launcher.stdin.write(b"\n")
        launcher.stdin.flush()
        until(lambda: not left.populated())
        left.close()
        launcher.stdin.close()


def test_a_keeper_that_is_gone_has_none() -> None:
    launcher = subprocess.Popen(["true"])
    launcher.wait()
    left = ReapedChildren(launcher.pid)
    assert not left.populated()
    left.close()


def test_a_child_that_one_read_passes_by_is_not_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE) as launcher:
        assert launcher.stdout is not None
        launcher.stdout.readline()
        left = ReapedChildren(launcher.pid)
        (child,) = left._read_children()  # noqa: SLF001 - what the kernel tells is made up below
        reads = iter([set(), {child}, {child}, {child}, set(), {child}, {child}])
        monkeypatch.setattr(left, "_read_children", lambda: next(reads))
        assert left.populated()
        assert left.populated()
        left.close()
        os.kill(child, 9)
