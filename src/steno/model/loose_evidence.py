"""Evidence that lies in no record, as the archive of another format carries it: held to the rules of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from steno.bundle.folder import Folder
from steno.bundle.pack import keep_file
from steno.bundle.reader import FolderLayers
from steno.bundle.verify import claim_problems
from steno.evidence import canonical, kinds, layout
from steno.evidence.syscalls import RowBatch, batches
from steno.judge.facts import RunFacts
from steno.judge.judgement import Judgement
from steno.judge.scan import held
from steno.model.documents import Documents


class LooseEvidence:
    """Files of a run are put into it by the names that a record has for them. They may be anybody's."""

    def __init__(self) -> None:
        self._place = TemporaryDirectory(prefix="steno-evidence-")
        self._folder = Folder(Path(self._place.name))
        self._layers = FolderLayers(self._folder, "")
        self.facts: RunFacts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.close()
        self._place.cleanup()

    def put_events(self, run_id: str, events: Sequence[kinds.Event]) -> None:
        """The first of all: they say of which run the others are."""
        self.put(layout.EVENTS, (canonical.encode_line(kinds.to_json(event)) for event in events))
        self._layers = FolderLayers(self._folder, run_id)
        self.facts = RunFacts.from_events(run_id, events)

    def put(self, path: str, blocks: Iterable[bytes]) -> None:
        keep_file(self._folder, path, blocks)

    def claim_problems(self) -> Iterator[str]:
        """Where what programs told is not what the events tell of."""
        return claim_problems(self._layers, self.facts)

    @property
    def row_count(self) -> int:
        """Of the table of system calls, whose rows were all read for it."""
        return held(self._layers).rows

    def batches(self, columns: Sequence[str]) -> Iterator[RowBatch]:
        """The rows of that table; none where there is none."""
        return batches(self._layers, columns) if self._layers.has(layout.KERNEL_TABLE) else iter(())

    def documents(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """What follows from the evidence, by name."""
        documents = Documents(Judgement(self._layers), self._folder.path)
        for path in paths:
            yield path, documents.read_all(path)
