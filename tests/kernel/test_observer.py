"""Who is to witness: what was asked for, or the best that there is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steno.capture import observer
from steno.capture.cgroup import Refusal
from steno.capture.observer import Observer, choose_observer, fit_to_scope
from steno.errors import CaptureError

NO_SCOPE = Refusal("not_permitted", "/sys/fs/cgroup: Permission denied")


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An installation with steno-trace and without steno-probe, and the capabilities of root."""
    monkeypatch.setattr("steno.__file__", str(tmp_path / "steno" / "__init__.py"))
    monkeypatch.setattr(observer, "may_load", lambda: True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "STENO_TRACE": program(tmp_path, "steno-trace"),
    }


def program(directory: Path, name: str) -> str:
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return str(path)


def chosen(wish: str, environ: dict[str, str]) -> Observer:
    found = choose_observer(wish, environ)
    assert found is not None
    return found


def test_none_is_none(environ: dict[str, str]) -> None:
    assert choose_observer("none", environ) is None


def test_auto_is_notify_where_there_is_no_probe(environ: dict[str, str]) -> None:
    found = chosen("auto", environ)
    assert (found.mode, found.probe, found.optional) == ("notify", None, False)


def test_auto_is_both_where_there_is_a_probe_and_goes_on_without(
    environ: dict[str, str], tmp_path: Path
) -> None:
    found = chosen("auto", {**environ, "STENO_PROBE": program(tmp_path, "steno-probe")})
    assert (found.mode, found.optional) == ("both", True)
    assert found.probe is not None
    assert found.probe.ring_bytes == 16 << 20


def test_auto_is_notify_without_the_capabilities(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "may_load", lambda: False)
    assert chosen("auto", {**environ, "STENO_PROBE": program(tmp_path, "steno-probe")}).mode == "notify"


def test_notify_is_notify_whatever_there_is(environ: dict[str, str], tmp_path: Path) -> None:
    found = chosen("notify", {**environ, "STENO_PROBE": program(tmp_path, "steno-probe")})
    assert (found.mode, found.probe) == ("notify", None)


@pytest.mark.parametrize("wish", ["ebpf", "both"])
def test_a_probe_that_is_asked_for_is_insisted_on(wish: str, environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="steno-probe is not there"):
        choose_observer(wish, environ)
    found = chosen(wish, {**environ, "STENO_PROBE": program(tmp_path, "steno-probe")})
    assert (found.mode, found.optional) == (wish, False)


def test_a_wrong_size_of_the_ring_is_never_passed_over(environ: dict[str, str], tmp_path: Path) -> None:
    wrong = {"STENO_PROBE": program(tmp_path, "steno-probe"), "STENO_RING_BYTES": "1"}
    with pytest.raises(CaptureError, match="no size of a ring"):
        choose_observer("auto", {**environ, **wrong})


def test_without_steno_trace_only_auto_goes_without(environ: dict[str, str]) -> None:
    del environ["STENO_TRACE"]
    assert choose_observer("auto", environ) is None
    for wish in ("notify", "ebpf", "both"):
        with pytest.raises(CaptureError, match="steno-trace is not there"):
            choose_observer(wish, environ)


def test_without_a_cgroup_an_optional_probe_is_left_out(environ: dict[str, str], tmp_path: Path) -> None:
    with_probe = {**environ, "STENO_PROBE": program(tmp_path, "steno-probe")}
    fitted = fit_to_scope(chosen("auto", with_probe), NO_SCOPE)
    assert (fitted.mode, fitted.probe) == ("notify", None)


def test_without_a_cgroup_a_probe_that_was_asked_for_is_an_error(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with_probe = {**environ, "STENO_PROBE": program(tmp_path, "steno-probe")}
    with pytest.raises(CaptureError, match="not_permitted"):
        fit_to_scope(chosen("ebpf", with_probe), NO_SCOPE)


def test_notify_needs_no_cgroup(environ: dict[str, str]) -> None:
    found = chosen("notify", environ)
    assert fit_to_scope(found, NO_SCOPE) == found
