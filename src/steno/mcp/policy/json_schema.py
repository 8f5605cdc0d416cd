"""JSON Schema for the arguments of a call: no argument makes a pattern slow, and nothing is ever fetched.

Whatever goes wrong while arguments are judged, they do not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import re2
from jsonschema import Draft202012Validator, SchemaError, ValidationError, validators
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCES = ("$ref", "$dynamicRef")
_NOT_TAKEN = {
    "patternProperties": "patternProperties is not taken here; propertyNames with a pattern is",
    "$id": "$id is not taken here: the schema has no other place than the policy",
}
_MAX_SAID = 200
_QUIETLY = re2.Options()
_QUIETLY.log_errors = False  # what is wrong is said once, by us
Place = tuple[str | int, ...]


class BadSchemaError(ValueError):
    """A schema that cannot be used; `place` is the way from its root to what is wrong."""

    def __init__(self, says: str, place: Place) -> None:
        super().__init__(says)
        self.place = place


class SchemaConstraint:
    """Of a schema that has passed `check`."""

    reason = "arguments_invalid"

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self._validator = _Validator(schema, registry=Registry())

    def violation(self, arguments: dict[str, Any]) -> str | None:
        try:
            error = next(self._validator.iter_errors(arguments), None)
        except Exception:  # noqa: BLE001 - a check that cannot be made has not been passed
            return "The arguments cannot be checked against the schema of the policy."
        if error is None:
            return None
        where = "".join(f"/{part}" for part in error.absolute_path) or "as a whole"
        return f"The arguments do not fit the schema of the policy ({where}: {error.message})."[:_MAX_SAID]


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not re2.search(pattern, instance):
        yield ValidationError(f"does not match {pattern!r}")


_Validator: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _pattern}
)


def check(schema: Any) -> None:
    for place, part in _parts(schema, ()):
        _check_part(part, place)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise BadSchemaError(error.message[:_MAX_SAID], tuple(error.absolute_path)) from None
    _check_references(schema)


def _check_part(part: dict[str, Any], place: Place) -> None:
    for name, why in _NOT_TAKEN.items():
        if name in part:
            raise BadSchemaError(why, (*place, name))
    if part.get("$schema", DIALECT) != DIALECT:
        raise BadSchemaError(f"the schemas of a policy are {DIALECT}", (*place, "$schema"))
    pattern = part.get("pattern")
    if isinstance(pattern, str):
        try:
            re2.compile(pattern, _QUIETLY)
        except re2.error:
            raise BadSchemaError("not a pattern of RE2", (*place, "pattern")) from None


def _check_references(schema: Any) -> None:
    resolver = Registry().resolver_with_root(
        Resource.from_contents(schema, default_specification=DRAFT202012)
    )
    for place, part in _parts(schema, ()):
        for name in _REFERENCES:
            reference = part.get(name)
            if not isinstance(reference, str):
                continue
            if not reference.startswith("#"):
                raise BadSchemaError(
                    "a reference stays inside of its schema: it begins with #", (*place, name)
                )
            try:
                resolver.lookup(reference)
            except (Unresolvable, ValueError, LookupError, TypeError):
                raise BadSchemaError("the reference leads nowhere", (*place, name)) from None


def _parts(schema: Any, place: Place) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every schema inside of a schema. What is only data there, such as an enum, is no schema."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for name, value in schema.items():
        if name in {"const", "enum", "default", "examples", "required"}:
            continue
        here = (*place, name)
        if name in {"properties", "$defs", "definitions", "dependentSchemas"} and isinstance(value, dict):
            for key, item in value.items():
                yield from _parts(item, (*here, key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from _parts(item, (*here, index))
        else:
            yield from _parts(value, here)
