"""Projections: the run's own directories become words, so that two checkouts compare."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.judge.surface_names import project

ROOTS = {"cwd": "/home/ada/work", "home": "/home/ada", "tmp": "/tmp"}
EMPTY: dict[str, list[str]] = {"attempted": []}


def surface(*paths: str, unix: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "run_id": "r",
        "filesystem_prefixes": sorted({path.rpartition("/")[0] + "/" for path in paths}),
        "filesystem_paths": sorted(paths),
        "process_execs": sorted(paths),
        "network_endpoints": ["1.2.3.4:80"],
        "steno": {
            "files": {"read": sorted(paths), "attempted": []},
            "execs": {"ran": sorted(paths)},
            "unix_sockets": {"connected": sorted(unix)},
            "endpoints": {"connected": ["1.2.3.4:80"]},
            "roots": ROOTS,
        },
    }


def paths(found: dict[str, Any]) -> list[str]:
    listed: list[str] = found["filesystem_paths"]
    return listed


def test_the_longest_root_that_holds_a_path_takes_its_place() -> None:
    found = project(
        surface("/home/ada/work/a", "/home/ada/.rc", "/tmp/x", "/etc/passwd", "/home/ada/workshop"), ROOTS
    )
    assert paths(found) == ["$HOME/.rc", "$HOME/workshop", "$RUN_CWD/a", "$TMP/x", "/etc/passwd"]
    assert found["filesystem_prefixes"] == ["$HOME/", "$RUN_CWD/", "$TMP/", "/etc/"]
    assert found["process_execs"] == found["steno"]["files"]["read"] == found["steno"]["execs"]["ran"]
    assert found["network_endpoints"] == ["1.2.3.4:80"]
    assert found["steno"]["roots"] == {"cwd": "$RUN_CWD", "home": "$HOME", "tmp": "$TMP"}


def test_a_root_itself_becomes_its_word() -> None:
    assert paths(project(surface("/home/ada/work", "/tmp"), ROOTS)) == ["$RUN_CWD", "$TMP"]


def test_unix_sockets_with_a_path_are_projected_and_abstract_ones_are_not() -> None:
    found = project(surface(unix=("/tmp/s", "@/tmp/s")), ROOTS)
    assert found["steno"]["unix_sockets"]["connected"] == ["$TMP/s", "@/tmp/s"]


@pytest.mark.parametrize("root", ["/", "", "relative", "//", None])
def test_what_is_no_directory_of_the_run_stands_for_nothing(root: str | None) -> None:
    roots = {"cwd": root, "home": None, "tmp": "/tmp/"}
    assert paths(project(surface("/a", "/tmp/b", "relative/c"), roots)) == ["$TMP/b", "/a", "relative/c"]


def test_the_same_directory_as_home_and_place_is_the_place() -> None:
    assert paths(project(surface("/r/a"), {"cwd": "/r", "home": "/r", "tmp": None})) == ["$RUN_CWD/a"]


NAMES = st.lists(st.sampled_from(["a", "b", "home", "ada"]), min_size=1, max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)


@given(st.lists(NAMES, max_size=6), st.lists(st.none() | NAMES, min_size=3, max_size=3))
def test_done_twice_it_is_done_once_and_the_surface_is_left_alone(
    names: list[str], found: list[str | None]
) -> None:
    given_surface = surface(*set(names))
    roots = dict(zip(("cwd", "home", "tmp"), found, strict=True))
    once = project(given_surface, roots)
    assert given_surface == surface(*set(names))
    assert project(once, once["steno"]["roots"]) == once
    assert once["filesystem_paths"] == sorted(set(once["filesystem_paths"]))
