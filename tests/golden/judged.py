"""The digest of everything that is concluded from the golden bundles, by the rules of this Steno: documents
and tables, with their columns.

`judged.py` writes the digests of a new number of rules; those of an older one stay as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import steno
from steno.bundle.pack import unpacked
from steno.evidence import layout
from steno.export.tables import json_line
from steno.judge.rules import RULES
from steno.model.evidence_files import documents_of

HERE = Path(__file__).parent
KEPT = HERE / "judged" / f"rules-{RULES}.json"


def digests() -> dict[str, dict[str, str]]:
    return {f"{path.parent.name}/{path.name}": _of(path) for path in sorted(HERE.glob("v*/*.tar.gz"))}


def _of(bundle: Path) -> dict[str, str]:
    with unpacked(bundle) as run:
        files = documents_of(run)
        assert files is not None
        names = filter(files.has, layout.JUDGED_FILES)
        found = {name: hashlib.sha256(b"".join(files.read(name))).hexdigest() for name in names}
    with steno.open(bundle) as opened:
        tables = opened.tables.items()
        return found | {f"table {name}": _digest(json_line(row) for row in table) for name, table in tables}


def _digest(lines: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()


if __name__ == "__main__":
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(digests(), indent=1, sort_keys=True) + "\n")
