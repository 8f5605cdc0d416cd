"""Masking what an attempt writes besides its recording: names of files, and our own words in meta.

In: what is secret, snapshots, their difference, the meta of an attempt. Out: the same without secrets. A file
has one masked name in all of them, and no two files share one. What a program goes by later (the run, its
directory, its home) is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from steno.contracts.agent_audit.changes import Diff, Snapshot
from steno.contracts.agent_audit.meta import Known
from steno.redact.engine import PLACEHOLDER, Redactor
from steno.redact.findings import Findings


class Masking:
    def __init__(self, environ: Mapping[str, str], command: Sequence[str]) -> None:
        self.redactor = Redactor(findings=Findings())
        self.redactor.learn(self.redactor.secrets_in_env(environ))
        self.redactor.learn(self.redactor.secrets_in_argv(command))
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def snapshot(self, found: Snapshot) -> Snapshot:
        name = self._naming(found)
        return {name(path): state for path, state in found.items()}

    def diff(self, found: Diff) -> Diff:
        parts = (found.created, found.modified, found.deleted, found.unreadable)
        name = self._naming(path for part in parts for path in part)
        return Diff(*(sorted(map(name, part)) for part in parts))

    def known(self, known: Known) -> Known:
        selector, text = known.selector, self.redactor.text
        return msgspec.structs.replace(
            known,
            selector=None if selector is None else text(selector, "selector"),
            steps=tuple(self.redactor.tree(dict(step), "steps") for step in known.steps),
            skills=tuple(text(name, "skills") for name in known.skills),
        )

    def error(self, error: str | None) -> str | None:
        return None if error is None else self.redactor.text(error, "error")

    def _naming(self, names: Iterable[str]) -> Callable[[str], str]:
        """Most directories have no name that is worth a closer look."""
        everything = "\n".join(names)
        if PLACEHOLDER not in everything and self.redactor.is_clean(everything.encode()):
            return str
        return self._name

    def _name(self, name: str) -> str:
        if name in self._given:
            return self._given[name]
        masked = self.redactor.text(name, "names")
        if masked == name and PLACEHOLDER not in name:
            return name
        numbered, number = masked, 1
        while numbered in self._taken:
            number += 1
            numbered = f"{masked}~{number}"
        self._taken.add(numbered)
        self._given[name] = numbered
        return numbered
