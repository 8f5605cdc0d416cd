"""Contents of a bundle: those with a secret open with the key of their own store, and with no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.keys import KEY_IN_STORE, make_or_read_key
from steno.errors import BadBundleError
from steno.evidence.layout import BLOBS
from steno.restore.states import LackingContentError, open_contents
from support.reading import opened
from support.resealing import reseal
from support.run_builder import Content, RunBuilder


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle in a store of its own, with a clear content and a secret one."""
    made = RunBuilder().process().deleted("/clear", b"clear")
    return made.deleted("/secret", Content(b"secret", secret=True)).seal(tmp_path / "store")


def test_every_content_opens_in_its_own_store(bundle: Path) -> None:
    with opened(bundle) as run, open_contents(run, bundle.parent) as contents:
        assert contents.get("before:/clear") == b"clear"
        assert contents.get("before:/secret") == b"secret"
        with pytest.raises(LackingContentError, match="is not in the record"):
            contents.get("after:/clear")


@pytest.mark.parametrize("kind", ["no store", "no key", "another key", "a bad key"])
def test_a_secret_stays_shut_elsewhere(
    bundle: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another"))
    elsewhere = tmp_path / "elsewhere"
    if kind != "no store":
        elsewhere.mkdir()
    if kind == "another key":
        with Folder(elsewhere) as store:
            make_or_read_key(store)
    if kind == "a bad key":
        (elsewhere / KEY_IN_STORE).write_bytes(b"short")
    with opened(bundle) as run, open_contents(run, elsewhere) as contents:
        assert contents.get("before:/clear") == b"clear"
        with pytest.raises(LackingContentError, match="holds a secret"):
            contents.get("before:/secret")


def test_a_bundle_without_blobs_lacks_every_content(bundle: Path) -> None:
    (bundle / BLOBS).unlink()
    reseal(bundle)
    with (
        opened(bundle) as run,
        open_contents(run, bundle.parent) as contents,
        pytest.raises(LackingContentError),
    ):
        contents.get("before:/clear")


def test_damaged_blobs_refuse_the_bundle(bundle: Path) -> None:
    (bundle / BLOBS).write_bytes(b"PAR1 nonsense PAR1")
    reseal(bundle)
    with (
        opened(bundle) as run,
        pytest.raises(BadBundleError, match=r"blobs\.parquet"),
        open_contents(run, bundle.parent),
    ):
        pass
