"""Packing: a sealed bundle as one `.tar.gz`, the same bytes every time.

In: a bundle's folder and a place to write. Out: a plain archive, manifest first, the rest sorted. Unpacking
trusts nothing: the files have the names and sizes of the manifest, and go into a private directory, or there
is an error. What is unpacked is not verified here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from steno.bundle import manifest as manifests
from steno.bundle import plain_tar
from steno.bundle.folder import Folder
from steno.errors import UnreadableBundleError
from steno.evidence.run_id import is_run_id


def pack(run: Folder, out: IO[bytes]) -> None:
    manifest = manifests.read(run)
    plain_tar.write(run, manifest.files, out)


@contextmanager
def unpacked(path: Path) -> Iterator[Folder]:
    """The packed bundle in a private temporary directory, for as long as it is looked at.

    Its folder has the name of the run that the file is named after, which verification compares.
    """
    named = path.name.removesuffix(".tar.gz")
    with TemporaryDirectory(prefix="steno-unpacked-") as scratch:
        place = Path(scratch, named if is_run_id(named) else "run")
        place.mkdir(mode=0o700)
        folder = Folder(place)
        with folder:
            try:
                plain_tar.unpack(path, folder, _sizes, manifests.MAX_BYTES)
            except manifests.NewerFormatError as error:
                raise UnreadableBundleError(
                    f"{path}: {error}", hint="`pip install --upgrade steno` gets the newest one"
                ) from None
            except plain_tar.ERRORS as error:
                raise UnreadableBundleError(
                    f"{path} is not a packed bundle: {error}", hint="`steno pack RUN` makes one"
                ) from None
            yield folder


def _sizes(manifest: bytes) -> dict[str, int]:
    return {name: digest.bytes for name, digest in manifests.parse(manifest).files.items()}
