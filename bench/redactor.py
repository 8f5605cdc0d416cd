"""How fast the redactor is, and how often it masks what is no secret. Run it as a script.

`python bench/redactor.py` prints a table of speeds and the findings in the source of the standard
library; `--show` prints each of these findings too.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from steno.redact import Findings, Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTE = 1_000_000
CLEAN = b"2024-01-01 12:00:00 INFO compiled module foo.bar in 12 ms, wrote 33 files to build/out\n"
DENSE = b"password: hunter2\ntoken=ghp_EXAMPLEexample0123456789EXAMPLEexample\n"


def library_files() -> Iterator[Path]:
    """The sources of the standard library, without what was installed beside it."""
    root = Path(sysconfig.get_paths()["stdlib"])
    return (path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts)


def megabytes_per_second(data: bytes, chunk: int) -> float:
    stream = Redactor(findings=Findings()).stream("bench")
    chunks = [data[position : position + chunk] for position in range(0, len(data), chunk)]
    begin = time.perf_counter()
    for piece in chunks:
        stream.feed(piece)
    stream.close()
    return len(data) / MEGABYTE / (time.perf_counter() - begin)


def print_speeds(library: bytes) -> Iterator[dict[str, str | float]]:
    """Each as soon as it is measured, and given back."""
    cases = (
        ("clean text", CLEAN * (50 * MEGABYTE // len(CLEAN)), 4 << 10),
        ("standard library", library, 64 << 10),
        ("dense secrets", DENSE * (MEGABYTE // 2 // len(DENSE)), 64 << 10),
    )
    print(f"{'input':<20}{'chunk':>8}{'MB':>8}{'MB/s':>10}", flush=True)
    for name, data, chunk in cases:
        speed = max(megabytes_per_second(data, chunk) for _ in range(3))
        print(f"{name:<20}{chunk:>8}{len(data) / MEGABYTE:>8.1f}{speed:>10.1f}", flush=True)
        yield {
            "input": name,
            "chunk": chunk,
            "megabytes": len(data) / MEGABYTE,
            "megabytes_per_second": speed,
        }


def print_findings(paths: list[Path], *, show: bool) -> None:
    redactor = Redactor(findings=Findings())
    counts: Counter[str] = Counter()
    outside_tests = size = 0
    for path in paths:
        data = path.read_bytes()
        size += len(data)
        for span in redactor.find(data):
            counts[span.rule] += 1
            outside_tests += not any("test" in part for part in path.parts[-3:])
            if show:
                line = data[data.rfind(b"\n", 0, span.start) + 1 : span.end].strip()
                print(f"{span.rule:<16} {path.name}: {line[-100:]!r}")
    total = sum(counts.values())
    rate = total / size * MEGABYTE
    print(f"\n{len(paths)} files, {size / MEGABYTE:.1f} MB, {total} findings, {rate:.1f} per MB")
    print(f"outside of tests: {outside_tests}; by rule: {dict(counts.most_common())}")


def main() -> None:
    paths = list(library_files())
    list(print_speeds(b"".join(path.read_bytes() for path in paths)))
    print_findings(paths, show="--show" in sys.argv)


if __name__ == "__main__":
    main()
