"""Capabilities as sets: read from a surface, joined, told by name."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.model import capabilities
from steno.model.capabilities import CATEGORIES
from support.capabilities_made import surface

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_every_category_of_a_surface_is_read() -> None:
    made: dict[str, Any] = {category.key.replace(".", "_"): [f"/{category.key}"] for category in CATEGORIES}
    found = capabilities.of_surface(surface(**made), projected=False)
    assert found.entries == {category.key: {f"/{category.key}"} for category in CATEGORIES}


def test_a_projected_surface_has_words_for_the_directories_of_its_run() -> None:
    told = surface(files_read=["/srv/a/x", "/home/ada/.rc", "/tmp/t", "/etc/hosts"])
    found = capabilities.of_surface(told, projected=True)
    assert found.entries["files.read"] == {"$RUN_CWD/x", "$HOME/.rc", "$TMP/t", "/etc/hosts"}


def test_what_one_run_could_do_is_no_attempt_of_the_joined_runs() -> None:
    one = capabilities.of_surface(surface(files_attempted=["/a", "/b"]), projected=False)
    other = capabilities.of_surface(surface(files_written=["/a"]), projected=False)
    joined = capabilities.joined([one, other])
    assert joined.entries["files.written"] == {"/a"}
    assert joined.entries["files.attempted"] == {"/b"}


def test_joined_runs_have_the_names_of_all() -> None:
    one = capabilities.of_surface(surface(names={"192.0.2.1": ["b.example"]}), projected=False)
    other = capabilities.of_surface(surface(names={"192.0.2.1": ["a.example", "b.example"]}), projected=False)
    assert capabilities.joined([one, other]).names == {"192.0.2.1": ("a.example", "b.example")}


def test_by_name_every_name_of_an_address_is_an_entry_and_what_has_none_stays() -> None:
    told = surface(
        endpoints_connected=["192.0.2.1:443", "[2001:db8::1]:80", "192.0.2.9:22"],
        names={"192.0.2.1": ["good.example", "bad.example"], "2001:db8::1": ["six.example"]},
    )
    found = capabilities.by_name(capabilities.of_surface(told, projected=False))
    assert found.entries["endpoints.connected"] == {
        "good.example:443",
        "bad.example:443",
        "six.example:80",
        "192.0.2.9:22",
    }


@pytest.mark.parametrize(
    ("entry", "parts"),
    [
        ("192.0.2.1:80", ("192.0.2.1", "80")),
        ("[2001:db8::1]:80", ("2001:db8::1", "80")),
        ("name.example:80", ("name.example", "80")),
        ("nothing", ("nothing", "")),
        ("", ("", "")),
    ],
)
def test_an_endpoint_has_a_host_and_a_port(entry: str, parts: tuple[str, str]) -> None:
    assert capabilities.split_endpoint(entry) == parts


def test_another_schema_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown schema"):
        capabilities.of_surface({**surface(), "schema": "other.v9"}, projected=False)


def _places(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return [path]
    return [path, *(place for key, inner in value.items() for place in _places(inner, (*path, key)))]


@given(place=st.sampled_from(_places(surface())), planted=_JSON, projected=st.booleans())
def test_a_surface_with_anything_planted_in_it_is_read_or_refused(
    place: tuple[str, ...], planted: Any, projected: bool
) -> None:
    told: Any = copy.deepcopy(surface(files_read=["/srv/a/x"]))
    if place:
        inner = told
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = planted
    else:
        told = planted
    try:
        capabilities.of_surface(told, projected=projected)
    except msgspec.ValidationError:
        return
