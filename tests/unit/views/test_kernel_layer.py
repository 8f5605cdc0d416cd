"""Reading a kernel layer: why there is none, and what a stranger's files can do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernel_bundles import file, kernel_run, line, process
from making import make_run, start
from steno.bundle.folder import Folder
from steno.bundle.spool import holding
from steno.errors import BadRequestError, UnreadableBundleError
from steno.events import canonical, kinds, layout
from steno.views import file_list, network, process_tree
from steno.views.kernel_layer import KernelLayer
from steno.views.paint import Paint
from steno.views.record import open_record

READERS: list[Callable[[KernelLayer], Any]] = [
    lambda layer: list(process_tree.lines(layer, Paint(), width=80)),
    lambda layer: list(file_list.lines(layer.files(), Paint(), width=80)),
    lambda layer: list(network.lines(layer, Paint(), width=80)),
    process_tree.to_json,
    network.to_json,
]


def why_not(path: Path) -> BadRequestError:
    with (
        Folder(path) as folder,
        open_record(folder) as record,
        pytest.raises(BadRequestError) as raised,
    ):
        KernelLayer(record)
    return raised.value


def test_a_run_without_the_layer_says_so_with_a_hint(tmp_path: Path) -> None:
    error = why_not(make_run(tmp_path))
    assert str(error) == "this run has no kernel layer: it was recorded with observer 'none'"
    assert "steno doctor" in error.hint
    assert error.exit_code == 2


def test_a_run_that_is_not_sealed_says_what_to_do(tmp_path: Path) -> None:
    path = make_run(tmp_path, start(), kinds.CommandStarted(7), sealed=False)
    assert "steno recover" in why_not(path).hint
    with Folder(path / layout.SPOOL) as spool, holding(spool):
        assert "still going on" in str(why_not(path))


@pytest.mark.parametrize("name", [layout.PROCESSES, layout.FILES, layout.KERNEL_LINES])
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"\xff",
        b'{"processes":1,"files":1}',
        b"[" * 100_000,
        b'{"category":"net"}\n{"category":"file"}\n',
    ],
    ids=["torn", "list", "no text", "wrong type", "deep", "fields missing"],
)
def test_a_damaged_file_is_an_error_with_a_hint(tmp_path: Path, name: str, content: bytes) -> None:
    path = kernel_run(tmp_path, processes=[process(1, "sh")], files=[file("/a", "created")])
    (path / name).write_bytes(content)
    with Folder(path) as folder, open_record(folder) as record:
        found = KernelLayer(record)
        with pytest.raises(UnreadableBundleError) as raised:  # noqa: PT012 - one of them does
            for read in READERS:
                read(found)
    assert "steno verify" in raised.value.hint


@pytest.mark.parametrize(
    "layer",
    [
        {"processes": [process(1, "sh", first_ns="many")]},
        {"processes": [process(1, "sh", execs=[{"argv": "no list"}])]},
        {"files": [file("/a", "modified", after={"exists": True, "type": "file", "size": "much"})]},
        {"files": [{**file("/a", "modified"), "path_b64": "no base64!"}]},
        {"files": [{**file("/a", "modified"), "before": None}]},
        {"lines": [line(1, "connect", "inet:1.2.3.4:80", first_ns="12")]},
        {"lines": [line(1, "connect", "inet:1.2.3.4:80", count="3")]},
    ],
    ids=["time", "argv", "size", "base64", "state", "first", "count"],
)
def test_a_field_of_another_kind_is_an_error_with_a_hint(tmp_path: Path, layer: dict[str, Any]) -> None:
    path = kernel_run(tmp_path, **layer)
    with Folder(path) as folder, open_record(folder) as record:
        found = KernelLayer(record)
        with pytest.raises(UnreadableBundleError) as raised:  # noqa: PT012 - one of them does
            for read in READERS:
                read(found)
    assert raised.value.hint


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    path = kernel_run(tmp_path)
    (tmp_path / "elsewhere").write_bytes(canonical.encode({"processes": []}))
    (path / layout.PROCESSES).unlink()
    (path / layout.PROCESSES).symlink_to(tmp_path / "elsewhere")
    with Folder(path) as folder, open_record(folder) as record, pytest.raises(UnreadableBundleError):
        KernelLayer(record).processes()


def test_numbers_beyond_what_json_can_hold_are_read(tmp_path: Path) -> None:
    path = kernel_run(tmp_path, processes=[process(1, "sh", first_ns=2**53, ended_ns=2**53 + 1_500_000_000)])
    with Folder(path) as folder, open_record(folder) as record:
        lines = list(process_tree.lines(KernelLayer(record), Paint(), width=None))
    assert lines[1].split()[1] == "1.50s"
