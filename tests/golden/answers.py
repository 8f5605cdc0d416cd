"""What every reading command answers about a golden bundle, as data.

`answers.py FOLDER` writes it beside the bundles of a new format; that, too, happens once.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steno.cli.main import exit_code

COMMANDS = {
    "verify": ["verify"],
    "show": ["show"],
    "tree": ["tree"],
    "files": ["files", "--all", "--diff"],
    "net": ["net"],
    "calls": ["calls"],
    "surface": ["surface"],
    "projected": ["surface", "--project"],
    "play": ["play"],
    "tail": ["tail"],
    "events": ["events"],
}
LINES = {"play", "tail", "events"}
EXPORTS = ("agent-audit", "agent-snapshot", "asciicast", "assay-runner", "capture-run", "otlp", "perfetto")


def answers(bundle: Path) -> dict[str, Any]:
    """By command: its answer with the exit code; under `exports`, the digest of each file that is written."""
    found: dict[str, Any] = {name: asked(name, bundle) for name in COMMANDS}
    return {**found, "exports": {form: exported(form, bundle) for form in EXPORTS}}


def kept_answers(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(_beside(bundle).read_bytes()))
    return found


def _beside(bundle: Path) -> Path:
    return bundle.with_name(bundle.name.replace(".tar.gz", ".answers.json.gz"))


def asked(name: str, bundle: Path) -> dict[str, Any]:
    code, printed = _steno(*COMMANDS[name], str(bundle), "--json")
    printed = printed.replace(str(bundle).encode(), bundle.name.encode())
    if name in LINES:
        return {"exit": code, "lines": [json.loads(line) for line in printed.splitlines()]}
    return {"exit": code, "answer": json.loads(printed) if printed else None}


def exported(form: str, bundle: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        code, _ = _steno("export", str(bundle), "--as", form, "-o", f"{folder}/out")
        return {"exit": code, "files": dict(_digests(Path(folder)))}


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes().replace(str(folder).encode(), b"FOLDER")
            yield str(path.relative_to(folder)), hashlib.sha256(content).hexdigest()


def _steno(*words: str) -> tuple[int, bytes]:
    """A command in this process: two hundred starts of the program would take a minute."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        code = exit_code(list(words))
        printed.flush()
    return code, printed.buffer.getvalue()


def main() -> None:
    for bundle in sorted(Path(sys.argv[1]).resolve().glob("*.tar.gz")):
        text = json.dumps(answers(bundle), sort_keys=True, indent=1).encode()
        _beside(bundle).write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
