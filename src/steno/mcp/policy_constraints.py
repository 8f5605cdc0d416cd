"""The constraints of a rule, as they stand in a policy file.

In: a node of the file. Out: a constraint, or None and at least one problem more. The library for schemas
takes time to load and is loaded only for a file that has schemas. Follows the links of named directories.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from steno.mcp.constraints import LIST_MARK, ArgumentNames, PathConstraint, UrlConstraint
from steno.mcp.path_check import Directories
from steno.mcp.policy_fields import Fields
from steno.mcp.policy_nodes import Node, Problem
from steno.mcp.url_check import DEFAULT_SCHEMES, MAX_PORT, Addresses

if TYPE_CHECKING:
    from steno.mcp.argument_schema import SchemaConstraint

PATHS_KEYS = frozenset({"arguments", "under", "optional"})
URLS_KEYS = frozenset({"arguments", "hosts", "schemes", "ports", "optional"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_HOST = re.compile(r"[a-z0-9._:*?-]+")


def schema_constraint(node: Node | None, problems: list[Problem]) -> SchemaConstraint | None:
    if node is None:
        return None
    if not isinstance(node.value, dict):
        problems.append(Problem(node.line, node.column, "arguments is a JSON Schema, a mapping"))
        return None
    from steno.mcp.argument_schema import BadSchemaError, SchemaConstraint

    try:
        return SchemaConstraint(node.plain())
    except BadSchemaError as error:
        place = node.at(error.place)
        problems.append(Problem(place.line, place.column, f"bad schema: {error}"))
        return None


def paths_constraint(node: Node | None, folder: Path, problems: list[Problem]) -> PathConstraint | None:
    if node is None:
        return None
    fields = Fields(node, PATHS_KEYS, "paths", problems)
    fields.need("arguments", "under")
    names, optional = _names(fields), fields.flag("optional")
    directories: list[str] = []
    for item, directory in fields.placed_words("under"):
        if directory.startswith("~"):
            fields.problem(item, "~ is not taken here; write the whole path, or one from the policy file on")
        directories.append(str(folder / directory))
    return PathConstraint(names, Directories(directories), optional) if names and directories else None


def urls_constraint(node: Node | None, problems: list[Problem]) -> UrlConstraint | None:
    if node is None:
        return None
    fields = Fields(node, URLS_KEYS, "urls", problems)
    fields.need("arguments", "hosts")
    names, optional = _names(fields), fields.flag("optional")
    for item, host in fields.placed_words("hosts"):
        if not _HOST.fullmatch(host):
            fields.problem(item, "a host is a name or address in small letters, without brackets or a port")
    for item, scheme in fields.placed_words("schemes"):
        if not _SCHEME.fullmatch(scheme):
            fields.problem(item, "a scheme is a word in small letters, such as https")
    hosts, schemes, ports = fields.globs("hosts"), fields.words("schemes"), _ports(fields)
    if not names or not hosts:
        return None
    addresses = Addresses(hosts=hosts, schemes=schemes or DEFAULT_SCHEMES, ports=ports)
    return UrlConstraint(names, addresses, optional)


def _names(fields: Fields) -> ArgumentNames | None:
    names = []
    for item, name in fields.placed_words("arguments"):
        if name.removesuffix(LIST_MARK):
            names.append(name)
        else:
            fields.problem(item, f"{LIST_MARK} stands behind a name")
    return ArgumentNames(names) if names else None


def _ports(fields: Fields) -> list[int]:
    ports = fields.items("ports")
    for item in ports:
        if isinstance(item.value, bool) or not isinstance(item.value, int) or not 1 <= item.value <= MAX_PORT:
            fields.problem(item, f"a port is a whole number from 1 to {MAX_PORT}")
    node = fields.node("ports")
    if node is not None and node.value == []:
        fields.problem(node, "ports is empty")
    return [item.value for item in ports]
