"""What a call does to a path, in the words of the record."""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest

from steno.evidence import wire
from steno.judge.operations import ON_FILES, Call, operations

FILE, FOLDER, LINK = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755, stat.S_IFLNK | 0o777


def call(op: str, arg: int = 0, **more: Any) -> Call:
    return Call(op, arg, notes=0, failed=False, mode=FILE, absent=False)._replace(**more)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (call("open", os.O_RDONLY), {"read"}),
        (call("open", os.O_WRONLY), {"write"}),
        (call("open", os.O_RDWR), {"read", "write"}),
        (call("open", os.O_RDONLY | os.O_TRUNC), {"read", "write"}),
        (call("open", os.O_WRONLY | os.O_CREAT, absent=True, mode=0), {"write"}),
        (call("open", os.O_RDONLY, absent=True, mode=0), {"existence"}),
        (call("open", os.O_RDONLY, failed=True), {"existence"}),
        (call("open", os.O_PATH), {"existence"}),
        (call("open", os.O_RDONLY, mode=FOLDER), {"directory"}),
        (call("open", os.O_RDONLY | os.O_DIRECTORY, mode=0), {"directory"}),
        (call("open", os.O_RDWR | os.O_TMPFILE, mode=FOLDER), {"directory"}),
        (call("readlink", mode=LINK), {"read"}),
        (call("readlink"), {"existence"}),
        (call("follow", mode=LINK), {"read"}),
        (call("watch", mode=FOLDER), {"directory"}),
        (call("rename"), {"delete"}),
        (call("rename", notes=wire.NOTES["exchange"]), {"write"}),
        (call("rmdir", mode=FOLDER), {"delete", "directory"}),
        (call("mkdir", absent=True, mode=0), {"directory", "write"}),
        (call("mkdir", failed=True, mode=FOLDER), {"existence"}),
        (call("chmod"), {"metadata"}),
        (call("exec"), {"execute", "read"}),
        (call("connect"), set()),
    ],
)
def test_the_operations_of_a_call(made: Call, expected: set[str]) -> None:
    assert operations(made) == expected


def test_every_operation_on_files_is_known() -> None:
    assert {op.name for op in wire.OPS.values() if op.category == "file"} | {
        "exec",
        "interpreter",
    } == ON_FILES
    for op in ON_FILES:
        assert operations(call(op))
