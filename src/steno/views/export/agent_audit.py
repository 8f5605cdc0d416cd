"""The fourth seed's view: `<run_id>/.audit/`, the audit files of one attempt, from any bundle.

In: a sealed bundle and a directory. Out: the seed's files with the number 1, the same bytes every time. The
files before and after are those that the observer recorded below the working directory, and there are none
without a kernel layer. What `steno agent` told of the agent (its name, its trust, how it ended and by which
rules) is in meta; of another command nobody judged how it ended. What strace split is not in a bundle: then
meta and a note say how these files differ. Never writes what the bundle does not hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from steno.bundle.blobs import BlobReader
from steno.bundle.folder import Folder
from steno.evidence import canonical
from steno.judge.audit_meta import Known, PolicyGiven, TrustGiven, agent_steps, describe, ended
from steno.judge.audit_streams import AUDIT, PARTS, TraceSource, file_name, stream_files
from steno.judge.snapshot_diff import Diff, FileState, Snapshot, spelled
from steno.model.contents import kept_contents
from steno.model.kernel_layer import KernelLayer, Seen, has_kernel_layer, whole
from steno.model.record import Record, open_record, readable
from steno.views.export import Exported
from steno.views.export.placing import place_tree
from steno.views.plain import utf8

ATTEMPT = 1
_FILES = ("fs-before", "fs-after", "fs-diff")
_NOT_KEPT = "not_kept"
_MS = 1_000_000
_STRACE = (
    "strace told stdout from stderr, and its split is not in the recording: here stdout is the whole "
    "terminal and stderr is empty, while completion was judged by the split; the .audit of the run "
    "directory has it"
)


class _Facts(msgspec.Struct, frozen=True, rename="camel"):
    agent_name: str | None = None
    policy: PolicyGiven | None = None
    hooks: bool = False
    trust: TrustGiven | None = None
    skills: list[str] = []
    completion: dict[str, Any] | None = None
    rules: dict[str, Any] | None = None
    trace_source: TraceSource | None = None


def export(folder: Folder, directory: Path) -> Exported:
    with open_record(folder) as record, kept_contents(record.run) as contents:
        files = _files(record, contents)
        place = place_tree(
            directory, record.run_id, {f"{AUDIT}/{name}": made for name, made in files.items()}
        )
        notes = [*_no_observer(record), *_differences(record)]
    return Exported(place, tuple(notes))


def _files(record: Record, contents: BlobReader | None) -> dict[str, Iterable[bytes]]:
    files: dict[str, Iterable[bytes]] = {
        name: _recorded(record, blocks) for name, blocks in stream_files(record.layers, ATTEMPT).items()
    }
    parts: tuple[str, ...] = PARTS
    unreadable: list[str] = []
    if has_kernel_layer(record):
        changes = _Changes(record, contents)
        unreadable = changes.diff.unreadable
        for part, made in zip(_FILES, (changes.before, changes.after, changes.diff), strict=True):
            files[file_name(part, ATTEMPT)] = [_json(made)]
    else:
        parts = tuple(part for part in PARTS if part not in _FILES)
    files[file_name("meta", ATTEMPT)] = [_json(_meta(record, parts, unreadable))]
    return files


def _meta(record: Record, parts: tuple[str, ...], unreadable: list[str]) -> Any:
    with readable(record.run):
        how = ended(record.layers, tuple(record.completeness["gaps"]))
        steps = agent_steps(record.layers)
    known = Known(
        run_id=record.run_id,
        agent=Path(how.launch.command).name or how.launch.command,
        run_directory=how.launch.cwd,
        attempt=ATTEMPT,
        parts=parts,
        unreadable=tuple(unreadable),
        steps=steps.told,
        notes=tuple(_differences(record)),
    )
    return describe(_with_facts(known, steps.facts), how)


def _with_facts(known: Known, facts: Mapping[str, Any]) -> Known:
    told = _told(facts)
    return msgspec.structs.replace(
        known,
        agent=told.agent_name or known.agent,
        policy=told.policy,
        hooks=told.hooks,
        trust=told.trust,
        skills=tuple(told.skills),
        completion=told.completion,
        rules=told.rules,
    )


def _told(facts: Mapping[str, Any]) -> _Facts:
    """What is not as `steno agent` writes it comes from somebody else, and says nothing."""
    try:
        return msgspec.convert(facts, _Facts)
    except msgspec.ValidationError:
        return _Facts()


def _differences(record: Record) -> Iterator[str]:
    with readable(record.run):
        told = _told(agent_steps(record.layers).facts)
    if told.trace_source == "strace":
        yield _STRACE


def _no_observer(record: Record) -> Iterator[str]:
    if not has_kernel_layer(record):
        yield "there was no observer: fs-before, fs-after and fs-diff are left out"


def _recorded(record: Record, blocks: Iterable[bytes]) -> Iterator[bytes]:
    with readable(record.run):
        yield from blocks


def _json(value: Any) -> bytes:
    return canonical.encode(utf8(msgspec.to_builtins(value)))


class _Changes:
    """The regular files that the observer recorded below the working directory."""

    def __init__(self, record: Record, contents: BlobReader | None) -> None:
        self.before: Snapshot = {}
        self.after: Snapshot = {}
        self._digests = _digests(contents)
        created, modified, deleted, unknown = list[str](), list[str](), list[str](), list[str]()
        for path, seen in _below(record.facts.start.cwd, KernelLayer(record).files()):
            file = seen.file
            old, new = (
                self._note(self.before, path, seen, "before"),
                self._note(self.after, path, seen, "after"),
            )
            if file.change == "unknown":
                unknown.append(path)
            elif new and not old:
                created.append(path)
            elif old and not new:
                deleted.append(path)
            elif old and file.change == "modified":
                modified.append(path)
        self.diff = Diff(*map(sorted, (created, modified, deleted, unknown)))

    def _note(self, snapshot: Snapshot, path: str, seen: Seen, when: str) -> bool:
        state = seen.file.before if when == "before" else seen.file.after
        if not state.exists or state.type != "file":
            return False
        digest = self._digests.get(state.blob or "")
        snapshot[path] = FileState(
            size=whole(state.size or 0),
            mtime_ms=whole(seen.told[when].get("mtime_ns", 0)) // _MS,
            sha256=digest,
            error=None if digest else state.content or _NOT_KEPT,
        )
        return True


def _below(cwd: str, files: Iterable[Seen]) -> Iterator[tuple[str, Seen]]:
    above = cwd.rstrip("/").encode() + b"/"
    for seen in files:
        if seen.file.name.startswith(above):
            path = seen.file.name[len(above) :].decode("utf-8", "surrogateescape")
            if path.partition("/")[0] != AUDIT:
                yield spelled(path), seen


def _digests(contents: BlobReader | None) -> dict[str, str]:
    """Of the contents that are kept in clear."""
    if contents is None:
        return {}
    return {
        key: hashlib.sha256(content).hexdigest()
        for key, content in contents.contents()
        if content is not None
    }
