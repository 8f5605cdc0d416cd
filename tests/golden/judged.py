"""The digest of everything that is concluded from the golden bundles, by the rules of this Steno.

`judged.py` writes the digests of a new number of rules; those of an older one stay as they are.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from steno.bundle.judged import JudgedFiles
from steno.bundle.pack import unpacked
from steno.evidence import layout
from steno.judge.rules import RULES

HERE = Path(__file__).parent
KEPT = HERE / "judged" / f"rules-{RULES}.json"


def digests() -> dict[str, dict[str, str]]:
    return {f"{path.parent.name}/{path.name}": _of(path) for path in sorted(HERE.glob("v*/*.tar.gz"))}


def _of(bundle: Path) -> dict[str, str]:
    with unpacked(bundle) as run:
        files = JudgedFiles.of(run)
        names = filter(files.has, layout.JUDGED_FILES)
        return {name: hashlib.sha256(b"".join(files.read(name))).hexdigest() for name in names}


if __name__ == "__main__":
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(digests(), indent=1, sort_keys=True) + "\n")
