"""What may stand in a policy file: the types that it is read as, of which `policy.schema.json` is made."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType, inspect

from steno.mcp.pins import OnChange
from steno.mcp.policy import globs
from steno.mcp.policy.constraints import DEFAULT_SCHEMES, LIST_MARK, MAX_PORT, quoted
from steno.mcp.policy.policy import Action
from steno.mcp.protocol import ALWAYS_PASS, CALL_TOOL
from steno.strict_yaml import Node, Problem

MAX_CALLS = 100_000
MAX_SECONDS = 30 * 86_400
NOT_OF_DENY = ("arguments", "paths", "urls", "rate")  # of the keys of a rule

Check = Callable[[str], str | None]  # of a word: what is wrong with it


def _argument_problem(name: str) -> str | None:
    return None if name.removesuffix(LIST_MARK) else f"{LIST_MARK} stands behind a name"


def _directory_problem(path: str) -> str | None:
    is_home = path.startswith("~")
    return "~ is not taken here; write the whole path, or one from the policy file on" if is_home else None


def _method_problem(glob: str) -> str | None:
    return "rules say which tools may be called" if glob == CALL_TOOL else globs.problem(glob)


def _denied_problem(glob: str) -> str | None:
    if glob in ALWAYS_PASS:
        return f"{glob} always passes: without it nothing can be connected or listed"
    return _method_problem(glob)


# `is` says what a value is, where its type alone does not; `check` looks at a word more closely.
_GLOB_SCHEMA = {"maxLength": globs.MAX_LENGTH, "pattern": r"^[^\[\]{}\\!]*$"}
Word = Annotated[str, Meta(min_length=1)]
Glob = Annotated[str, Meta(min_length=1, extra={"check": globs.problem}, extra_json_schema=_GLOB_SCHEMA)]
Globs = Annotated[list[Glob], Meta(min_length=1)]
Arguments = Annotated[
    list[Annotated[str, Meta(min_length=1, extra={"check": _argument_problem})]],
    Meta(min_length=1, description="Names of arguments; NAME[] is a list of them."),
]
Optional = Annotated[bool, Meta(description="Let calls through that have none of the arguments.")]
Host = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9._:*?-]+$",
        extra={
            "is": "a name or address in small letters, without brackets or a port",
            "check": globs.problem,
        },
        extra_json_schema={"maxLength": globs.MAX_LENGTH},
    ),
]
Scheme = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9+.-]*$", extra={"is": "a word in small letters, such as https"})
]


class _Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    def problems(self) -> Iterator[tuple[str | None, str]]:
        """Of the mapping as a whole: the key that is wrong, or None, and why."""
        yield from ()


class Methods(_Mapping, frozen=True):
    """Methods other than tools/call."""

    allow: Annotated[
        list[Annotated[Glob, Meta(extra={"check": _method_problem})]],
        Meta(min_length=1, description="Let through, though the protocol does not know them."),
    ] = []
    deny: Annotated[
        list[Annotated[Glob, Meta(extra={"check": _denied_problem})]],
        Meta(min_length=1, description="Refused, though the protocol knows them."),
    ] = []


class Approval(_Mapping, frozen=True):
    """Who answers when the action is ask."""

    command: Annotated[
        list[Word],
        Meta(min_length=1, description="Gets the call as JSON on stdin; exit status 0 approves."),
    ]
    seconds: Annotated[int, Meta(ge=1, le=3600)] = 60


class Paths(_Mapping, frozen=True):
    """The arguments are paths, and lie under one of some directories."""

    arguments: Arguments
    under: Annotated[
        list[Annotated[str, Meta(min_length=1, extra={"check": _directory_problem})]],
        Meta(min_length=1, description="Directories, absolute or relative to this file."),
    ]
    optional: Optional = False


class Urls(_Mapping, frozen=True):
    """The arguments are addresses of some hosts."""

    arguments: Arguments
    hosts: Annotated[list[Host], Meta(min_length=1)]
    schemes: (
        Annotated[list[Scheme], Meta(min_length=1, extra_json_schema={"default": [*DEFAULT_SCHEMES]})]
        | UnsetType
    ) = UNSET
    ports: Annotated[list[Annotated[int, Meta(ge=1, le=MAX_PORT)]], Meta(min_length=1)] = []
    optional: Optional = False


class Rate(_Mapping, frozen=True):
    """At most so many calls of this rule in any span of so many seconds."""

    calls: Annotated[int, Meta(ge=1, le=MAX_CALLS)]
    seconds: Annotated[float, Meta(ge=0.001, le=MAX_SECONDS)]


class Rule(_Mapping, frozen=True):
    action: Action
    name: Annotated[Word, Meta(description="For messages.")] | UnsetType = UNSET
    servers: Annotated[Globs, Meta(description="Labels of servers; any, if there are none.")] | UnsetType = (
        UNSET
    )
    tools: Annotated[Globs, Meta(description="Names of tools; any, if there are none.")] | UnsetType = UNSET
    arguments: (
        Annotated[
            dict[str, Any],
            Meta(
                description="A JSON Schema (2020-12) that the arguments must fit.",
                extra={"is": "a JSON Schema, a mapping", "is_schema": True},
            ),
        ]
        | UnsetType
    ) = UNSET
    paths: Paths | UnsetType = UNSET
    urls: Urls | UnsetType = UNSET
    rate: Rate | UnsetType = UNSET

    def problems(self) -> Iterator[tuple[str | None, str]]:
        if self.tools is UNSET and self.servers is UNSET:
            yield None, "a rule names tools, or servers, or both"
        for name in NOT_OF_DENY:
            if self.action == "deny" and getattr(self, name) is not UNSET:
                yield name, f"a rule that denies has no {name}: it denies every call"


class PolicyFile(_Mapping, frozen=True):
    """docs/policy.md explains every key. What this schema cannot say, `steno mcp check` does."""

    version: Literal[1]
    default: Annotated[Action, Meta(description="For calls that no rule fits.")] = "deny"
    rules: Annotated[list[Rule], Meta(description="The first rule that fits decides.")] = []
    methods: Methods = Methods()
    approval: Approval | UnsetType = UNSET
    hide_denied: Annotated[bool, Meta(description="Leave tools out of listings that are never allowed.")] = (
        False
    )
    dry_run: Annotated[bool, Meta(description="Tell decisions and do not enforce them.")] = False
    pins: Annotated[Word, Meta(description="The pin file, relative to this file.")] | UnsetType = UNSET
    on_change: Annotated[OnChange, Meta(description="When a tool is not as it was pinned.")] | UnsetType = (
        UNSET
    )

    def problems(self) -> Iterator[tuple[str | None, str]]:
        if self.on_change is not UNSET and self.pins is UNSET:
            yield "on_change", "on_change says what becomes of pins, and there are none"


def json_schema() -> dict[str, Any]:
    """With what `problems` of a mapping say, which msgspec cannot know."""
    made = msgspec.json.schema(PolicyFile)
    made["$defs"]["PolicyFile"]["dependentRequired"] = {"on_change": ["pins"]}
    made["$defs"]["Rule"] |= {
        "anyOf": [{"required": ["tools"]}, {"required": ["servers"]}],
        "if": {"properties": {"action": {"const": "deny"}}, "required": ["action"]},
        "then": {"properties": dict.fromkeys(NOT_OF_DENY, False)},
    }
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "A policy of steno mcp", **made}


# --- reading a file by these types ----------------------------------------------------------------------


def read(root: Node, problems: list[Problem]) -> PolicyFile | None:
    """None, and at least one problem more: it is no policy."""
    found = _Reader(problems).value(root, inspect.type_info(PolicyFile), "a policy")
    return found if isinstance(found, PolicyFile) and not problems else None


class _Reader:
    """What msgspec would say of one problem by its path, said of all of them at their line and column."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems

    def value(self, node: Node, kind: inspect.Type, name: str, extra: Any = None) -> Any:
        """What stands there; UNSET where it is wrong."""
        if isinstance(kind, inspect.Metadata):
            return self.value(node, kind.type, name, {**(kind.extra or {}), **(extra or {})})
        if isinstance(kind, inspect.StructType):
            return self._mapping(node, kind, name)
        if isinstance(kind, inspect.ListType):
            return self._list(node, kind, name)
        extra, value = extra or {}, node.plain()
        if (problem := _problem(value, kind, name, extra)) is not None:
            return self._wrong(node, problem)
        return self._schema(node, value) if "is_schema" in extra else value

    def _schema(self, node: Node, schema: dict[str, Any]) -> Any:
        # Loaded only for a file that has schemas, because the library for them takes its time.
        from steno.mcp.policy import json_schema

        try:
            json_schema.check(schema)
        except json_schema.BadSchemaError as error:
            return self._wrong(node.at(error.place), f"bad schema: {error}")
        return schema

    def _mapping(self, node: Node, kind: inspect.StructType, name: str) -> Any:
        fields = {field.name: field for field in kind.fields}
        if not isinstance(node.value, dict):
            return self._wrong(node, f"{name} is a mapping with keys such as {', '.join(sorted(fields)[:3])}")
        for key, entry in node.value.items():
            if key not in fields:
                self._wrong(entry.key, f"{name} has no key {quoted(key)}; {_suggestion(key, fields)}")
        missing = [key for key, field in fields.items() if field.required and key not in node.value]
        for key in missing:
            self._wrong(node, f"{name} needs the key {key}")
        given = {key: entry.value for key, entry in node.value.items() if key in fields}
        values = {key: self.value(value, fields[key].type, key) for key, value in given.items()}
        # A key whose value is wrong was given all the same, which is all that the mapping's own check asks.
        told = {key: None if value is UNSET else value for key, value in values.items()}
        whole = cast("_Mapping", kind.cls(**dict.fromkeys(missing), **told))
        for wrong, why in whole.problems():
            self._wrong(node if wrong is None else node.value[wrong].key, why)
        return whole

    def _list(self, node: Node, kind: inspect.ListType, name: str) -> Any:
        if not isinstance(node.value, list):
            return self._wrong(node, f"{name} is a list")
        if len(node.value) < (kind.min_length or 0):
            return self._wrong(node, f"{name} is empty")
        item_name = "a rule" if isinstance(kind.item_type, inspect.StructType) else f"an entry of {name}"
        return [self.value(item, kind.item_type, item_name) for item in node.value]

    def _wrong(self, node: Node, why: str) -> Any:
        self._problems.append(Problem(node.line, node.column, why))
        return UNSET


def _problem(value: Any, kind: inspect.Type, name: str, extra: dict[str, Any]) -> str | None:
    if isinstance(kind, inspect.StrType):
        return _word_problem(value, kind, name, extra)
    is_good, wanted = _judged(value, kind, extra)
    return None if is_good else f"{name} is {wanted}"


def _judged(value: Any, kind: inspect.Type, extra: dict[str, Any]) -> tuple[bool, str]:
    match kind:
        case inspect.LiteralType(values):
            *others, last = map(str, values)
            is_good = value in values and not isinstance(value, bool)
            return is_good, f"{', '.join(others)} or {last}" if others else last
        case inspect.BoolType():
            return isinstance(value, bool), "true or false"
        case inspect.IntType(ge=least, le=most) | inspect.FloatType(ge=least, le=most):
            is_whole = isinstance(kind, inspect.IntType)
            is_number = isinstance(value, int if is_whole else int | float) and not isinstance(value, bool)
            is_good = is_number and (least or 0) <= value <= (most or 0)
            return is_good, f"a {'whole number' if is_whole else 'number'} from {least:g} to {most}"
        case _:
            return isinstance(value, dict), extra.get("is", "a mapping")


def _word_problem(value: Any, kind: inspect.StrType, name: str, extra: dict[str, Any]) -> str | None:
    if not isinstance(value, str):
        return f"{name} is a word; quotes make it one"
    if not value or "\0" in value:
        return f"{name} is empty" if not value else f"{name} has a NUL in it"
    if kind.pattern is not None and re.fullmatch(kind.pattern, value) is None:
        return f"{name} is {extra['is']}"
    check: Check | None = extra.get("check")
    return None if check is None else check(value)


def _suggestion(name: str, keys: Collection[str]) -> str:
    close = difflib.get_close_matches(name, keys, n=1)
    return f"did you mean {close[0]}?" if close else f"its keys are {', '.join(sorted(keys))}"
