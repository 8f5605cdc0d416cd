"""What is new in a comparison, as SARIF for code scanners."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from steno import __version__
from steno.compare.comparison import Comparison, Entry
from steno.evidence import layout
from steno.model.capabilities import CATEGORIES, Category
from steno.text.safe import visible
from steno.views.diff import verdict, words

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
_SOURCE_ROOT = "SRCROOT"
_RUN_CWD = "$RUN_CWD/"
_DEGRADED = "degraded-evidence"
_PATH_GROUPS = {"files", "execs", "unix_sockets"}


def to_json(found: Comparison) -> dict[str, Any]:
    return {"$schema": SCHEMA, "version": VERSION, "runs": [_run(found)]}


def _run(found: Comparison) -> dict[str, Any]:
    return {
        "tool": {"driver": {"name": "steno", "version": __version__, "rules": list(_rules())}},
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": found.exit_code,
                "exitCodeDescription": f"{found.outcome.value}: {verdict(found)}",
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": list(_results(found)),
        "properties": {
            "verdict": found.outcome.value,
            "a": [source.root for source in found.a.sources],
            "b": [source.root for source in found.b.sources],
            "projected": found.b.is_projected,
            "byName": found.by_name,
            "notes": [note.says for note in found.notes],
        },
    }


def _rules() -> Iterator[dict[str, Any]]:
    for category in CATEGORIES:
        yield {
            "id": _rule_id(category),
            "shortDescription": {
                "text": f"{category.title}, and not in the run or baseline it is compared with"
            },
            "defaultConfiguration": {"level": _level(category)},
        }
    yield {
        "id": _DEGRADED,
        "shortDescription": {"text": "Something may have happened that the record does not have"},
        "defaultConfiguration": {"level": "warning"},
    }


def _results(found: Comparison) -> Iterator[dict[str, Any]]:
    for one in found.compared:
        yield from (_result(entry) for entry in one.added)
    for ignored in found.ignored:
        if ignored.change == "added":
            justification = f"ignored by {visible(str(ignored.rule))}"
            yield {
                **_result(ignored.entry),
                "suppressions": [{"kind": "external", "justification": justification}],
            }
    for why in found.degraded:
        yield {
            "ruleId": _DEGRADED,
            "ruleIndex": len(CATEGORIES),
            "level": "warning",
            "message": {"text": f"Degraded evidence, {visible(why)}"},
            "locations": [_location_in_bundle()],
            "partialFingerprints": _fingerprint(_DEGRADED, why),
        }


def _result(entry: Entry) -> dict[str, Any]:
    category = entry.category
    return {
        "ruleId": _rule_id(category),
        "ruleIndex": CATEGORIES.index(category),
        "level": _level(category),
        "message": {"text": f"{category.title}: {words(entry)}"},
        "locations": [_location(entry)],
        "partialFingerprints": _fingerprint(_rule_id(category), entry.text),
    }


def _location(entry: Entry) -> dict[str, Any]:
    logical = [{"fullyQualifiedName": entry.text, "kind": entry.category.group}]
    return {**(_location_of_path(entry) or _location_in_bundle()), "logicalLocations": logical}


def _location_of_path(entry: Entry) -> dict[str, Any] | None:
    """A file of the work tree is told relative to it, so that a reviewer's tool finds it."""
    if entry.category.group not in _PATH_GROUPS:
        return None
    if entry.text.startswith(_RUN_CWD):
        artifact = {"uri": quote(entry.text.removeprefix(_RUN_CWD)), "uriBaseId": _SOURCE_ROOT}
    elif entry.text.startswith("/"):
        artifact = {"uri": "file://" + quote(entry.text)}
    else:
        return None
    return {"physicalLocation": {"artifactLocation": artifact}}


def _location_in_bundle() -> dict[str, Any]:
    """What is no file is told where the bundle tells it; many readers want some file."""
    return {"physicalLocation": {"artifactLocation": {"uri": layout.SURFACE}}}


def _fingerprint(rule: str, text: str) -> dict[str, str]:
    return {"stenoCapability/v1": hashlib.sha256(f"{rule}\0{text}".encode()).hexdigest()}


def _rule_id(category: Category) -> str:
    return category.key.replace(".", "-").replace("_", "-")


def _level(category: Category) -> str:
    return "note" if category.is_attempt else "error"
