"""Archives of assay-runner in the tests: made, taken apart, forged and judged."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import pyarrow.parquet as pq

from steno.bundle.folder import Folder
from steno.bundle.pack import keep_file, write_tar
from steno.bundle.seal import Sweeper, seal
from steno.bundle.verify import Verdict
from steno.contracts.assay import manifest as assay_manifest
from steno.contracts.assay import verify as assay
from steno.evidence import layout
from steno.export.contracts import assay_runner
from support.frames_made import FakeFrames
from support.kernel_tables import observed_spool
from support.program import PROGRAM, SECONDS, Steno
from support.reading import opened
from support.spools import RUN_ID

Files = dict[str, bytes]


class Measured(NamedTuple):
    """One run of the installed program, exported as an archive, and what `steno verify` says of that."""

    path: Path
    files: Files
    verified: dict[str, Any]
    done: subprocess.CompletedProcess[bytes]

    def json(self, name: str) -> dict[str, Any]:
        found = json.loads(self.files[name])
        assert isinstance(found, dict)
        return found

    @property
    def surface(self) -> dict[str, Any]:
        return self.json(assay_manifest.SURFACE)

    @property
    def health(self) -> dict[str, Any]:
        return self.json(assay_manifest.HEALTH)

    @property
    def correlation(self) -> dict[str, Any]:
        return self.json(assay_manifest.CORRELATION)

    @property
    def kernel(self) -> list[dict[str, Any]]:
        return lines_in(self.files[assay_manifest.KERNEL_LINES])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What the kernel lines are made of, in their order."""
        rows: list[dict[str, Any]] = pq.read_table(
            io.BytesIO(self.files[assay_manifest.KERNEL_TABLE])
        ).to_pylist()
        return rows

    @property
    def run_id(self) -> str:
        return run_id_of(self.files)

    @property
    def status(self) -> str:
        found = self.verified["verdicts"][0]["status"]
        assert isinstance(found, str)
        return found


class Measure(Protocol):
    def __call__(
        self,
        observer: str,
        *command: str,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> Measured: ...


def run_measured(
    steno: Steno,
    archives: Path,
    observer: str,
    *command: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    shim: str = "auto",
) -> Measured:
    """Run a command under an observer, export it into a directory, and verify what was exported."""
    options = ("--no-git", "--observer", observer, "--shim", shim)
    done = steno("run", *options, "--", *command, cwd=cwd, env=env)
    exporting = steno("export", "@last", "--as", "assay-runner", "-o", archives)
    assert exporting.returncode == 0, exporting.stderr
    archive = Path(exporting.stdout.decode().strip())
    verified = steno("verify", "--json", archive)
    return Measured(archive, taken_apart(archive), json.loads(verified.stdout), done)


def steno_in(home: Path) -> Steno:
    """The installed program with a home and a store of its own, for more than one test."""

    def run(
        *words: str | Path,
        input: bytes | None = None,  # noqa: A002 - the name that subprocess.run uses
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        own = {"PATH": os.environ["PATH"], "HOME": str(home), "STENO_HOME": str(home / "runs")}
        return subprocess.run(
            [PROGRAM, *words],
            input=input or b"",
            capture_output=True,
            cwd=cwd or home,
            env={**own, **(env or {})},
            timeout=SECONDS,
            check=False,
        )

    return run


def sealed_run(run: Path, made: FakeFrames, **changed: Any) -> Path:
    """A sealed bundle whose calls these were; `changed` are fields of `kernel_observed`."""
    observed_spool(run, made, **changed)
    with Folder(run) as folder:
        seal(folder, RUN_ID, Sweeper())
    return run


def exported(run: Path, directory: Path) -> Path:
    with opened(run) as found:
        return assay_runner(found, directory).path


def taken_apart(archive: Path) -> Files:
    with tarfile.open(archive) as opened:
        return {member.name: _content(opened, member) for member in opened.getmembers()}


def _content(opened: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = opened.extractfile(member)
    assert file is not None
    return file.read()


def put_together(files: Mapping[str, bytes], target: Path, *, anew: bool = True) -> Path:
    """An archive of these files, by our own writer; `anew`: with a manifest that fits them."""
    with TemporaryDirectory() as scratch, Folder(Path(scratch)) as folder:
        for path, data in files.items():
            if path != layout.MANIFEST or not anew:
                keep_file(folder, path, [data])
        if anew:
            keep_file(folder, layout.MANIFEST, [assay_manifest.build(run_id_of(files), folder)])
        with target.open("wb") as out:
            write_tar(folder, set(files) - {layout.MANIFEST}, out)
    return target


def run_id_of(files: Mapping[str, bytes]) -> str:
    found = json.loads(files[layout.MANIFEST])["run_id"]
    assert isinstance(found, str)
    return found


def forged(archive: Path, target: Path, path: str, change: Callable[[bytes], bytes]) -> Path:
    """The archive with one file changed, and a manifest whose digests are right again."""
    files = taken_apart(archive)
    changed = change(files[path])
    assert changed != files[path], "the forgery changes nothing"
    return put_together({**files, path: changed}, target)


def verdict_of(archive: Path) -> Verdict:
    return assay.verify(archive)


def failed_step(archive: Path) -> tuple[str, int, str]:
    """The verdict, the step that failed, and what it says."""
    verdict = verdict_of(archive)
    step = verdict.steps[-1]
    return verdict.status.value, step.number, "; ".join(step.problems)


def lines_in(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def raw_tar(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A gzip member as ours around any tar headers."""
    out = io.BytesIO()
    for info, data in members:
        out.write(info.tobuf(tarfile.USTAR_FORMAT))
        out.write(data + bytes(-len(data) % tarfile.BLOCKSIZE))
    out.write(bytes(2 * tarfile.BLOCKSIZE))
    out.write(bytes(-out.tell() % tarfile.RECORDSIZE))
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    return header + gzip.compress(out.getvalue(), mtime=0)[len(header) :]
