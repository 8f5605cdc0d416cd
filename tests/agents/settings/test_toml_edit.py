from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.launch import toml_edit

DIRECTORY = '/home/user/a "strange" \\ way.to/ü'
KEYS = ["projects", DIRECTORY, "trust_level"]
BARE = st.sampled_from(["model", "projects", "mcp_servers", "a-b", "x_1"])
NAMES = BARE | st.sampled_from(['"/home/user/work"', "'/tmp'", '""', '"quo\\"ted"', '"a.b"'])
SCALARS = st.sampled_from(
    [
        *("1", "true", "nan", "-0.0", "0xff", "'lit'", "1979-05-27T07:32:00Z", '"text # no comment"', "[]"),
        *('"""two\nlines"""', "[1, 2, # c\n 3]", "{ a = 1, b = { c = 2 } }"),
    ]
)
NOTES = st.sampled_from(["", "# a note\n", "\n\n", "  # [not.a.table] \n"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """Tables, dotted names, inline tables, lists of tables, comments; each name once a table."""

    def body() -> str:
        names = draw(st.lists(NAMES, max_size=3, unique=True))
        dotted = draw(st.sampled_from(["", ".deep"]))
        return "".join(
            f"{draw(NOTES)}{name}{dotted} = {draw(SCALARS)}{draw(st.sampled_from(['', ' # why']))}\n"
            for name in names
        )

    text = body()
    heads = draw(st.lists(st.lists(NAMES, min_size=1, max_size=3).map(".".join), max_size=4, unique=True))
    for head in heads:
        table = f"[[{head}]]" if draw(st.integers(0, 5)) == 0 else f"[{head}]"
        text += f"{draw(NOTES)}{table} # of {len(head)}\n{body()}"
    text += draw(NOTES)
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def is_toml(text: str) -> bool:
    try:
        toml_edit.read(text.encode())
    except ValueError:
        return False
    return True


def comments_of(text: str) -> list[str]:
    return [line.rpartition("#")[2].strip() for line in text.splitlines() if "#" in line]


@given(
    files().filter(is_toml),
    st.sampled_from([KEYS, ["projects", "deep", "trust_level"], ["model"], ["x_1", "deep"]]),
)
def test_only_the_value_changes_and_every_comment_stays(text: str, keys: list[str]) -> None:
    before = toml_edit.read(text.encode())
    try:
        made = toml_edit.set_value(text.encode(), keys, "trusted")
    except ValueError:
        return
    after = toml_edit.read(made)

    assert toml_edit.get(made, keys) == "trusted"
    assert without(after, keys) == without(before, keys)
    assert toml_edit.set_value(made, keys, "trusted") == made
    assert is_kept_in(comments_of(text), comments_of(made.decode()))


def is_kept_in(some: list[str], more: list[str]) -> bool:
    found = iter(more)
    return all(note in found for note in some)


def without(value: Any, keys: list[str]) -> str:
    """As text, so that a number that is none equals itself; and empty tables on the way do not count."""
    if not keys or not isinstance(value, dict):
        return repr(value)
    key, *below = keys
    rest = {name: repr(item) for name, item in value.items() if name != key}
    inner = without(value.get(key, {}), below) if below else "{}"
    return repr((rest, inner if inner != repr(({}, "{}")) else "{}"))


@given(st.binary(max_size=60) | st.text(alphabet="[]{}=.\"'# \n\\a1", max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        made = toml_edit.set_value(text, ["a", "b"], "c")
    except ValueError:
        return
    assert toml_edit.get(made, ["a", "b"]) == "c"


def test_a_new_table_stands_at_the_end_and_the_rest_is_the_same_to_the_byte() -> None:
    text = b'# mine\nmodel = "m"   # fast\n\n[projects."/other"]\ntrust_level = "untrusted"\n\n# of the end'
    made = toml_edit.set_value(text, ["projects", "/work", "trust_level"], "trusted")
    assert made == text + b'\n\n[projects."/work"]\ntrust_level = "trusted"\n'


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (
            '[projects."/w"] # here\nother = 1 # one\n',
            '[projects."/w"] # here\nother = 1 # one\ntrust_level = "trusted"\n',
        ),
        (
            '[projects."/w"]\ntrust_level = "untrusted" # why\n',
            '[projects."/w"]\ntrust_level = "trusted" # why\n',
        ),
        ('projects = { "/x" = { a = 1 } } # in\n', None),
        ('projects."/x".trust_level = "trusted"\n', None),
    ],
)
def test_a_table_that_is_there_gets_the_value(text: str, made: str | None) -> None:
    done = toml_edit.set_value(text.encode(), ["projects", "/w", "trust_level"], "trusted")
    assert toml_edit.get(done, ["projects", "/w", "trust_level"]) == "trusted"
    assert made is None or done.decode() == made


@pytest.mark.parametrize("text", [b"a = ", b"\xff", b"[a]\n[a]\n", b"a = [" + b"[" * 100_000, b'{"a": 1}'])
def test_what_is_not_toml_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        toml_edit.set_value(text, ["a", "b"], "c")


def test_a_value_where_a_table_should_be_is_refused() -> None:
    with pytest.raises(ValueError, match="projects is not a table"):
        toml_edit.set_value(b"projects = 1\n", KEYS, "trusted")


def test_numbers_that_are_none_stay() -> None:
    made = toml_edit.set_value(b"x = nan\n", ["y"], json.loads("[1]"))
    assert math.isnan(toml_edit.read(made)["x"])
