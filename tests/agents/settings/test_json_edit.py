from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.launch import json_edit

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["projects", "/a", "/b", "x"]) | st.text(max_size=4), VALUES, max_size=4
)
COMMENTS = st.sampled_from(["", " ", "\n", '// a "note" }\n', '/* {"b": 1} , */', "\r\n\t", "// , ]\n  "])
KEYS = ["projects", "/home/user/work", "trusted"]


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A value as a person may write it, with comments everywhere and trailing commas."""

    def gap() -> str:
        return draw(COMMENTS)

    def show(value: Any) -> str:
        if isinstance(value, dict):
            pairs = [
                f"{gap()}{json.dumps(key)}{gap()}:{gap()}{show(item)}{gap()}" for key, item in value.items()
            ]
            return "{" + ",".join(pairs) + (draw(st.sampled_from(["", ","])) if pairs else "") + gap() + "}"
        if isinstance(value, list):
            shown = [f"{gap()}{show(item)}{gap()}" for item in value]
            return "[" + ",".join(shown) + (draw(st.sampled_from(["", ","])) if shown else "") + gap() + "]"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    return gap() + show(value) + gap()


def is_kept_in(text: str, made: str) -> bool:
    """Every letter is still there, in its order: something was put in, and nothing but blanks taken out."""
    letters = iter("".join(made.split()))
    return all(letter in letters for letter in "".join(text.split()))


def comments(text: str) -> list[str]:
    found = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return [one.strip() for one in found if one.startswith("/")]


def has(value: Any, keys: list[str]) -> bool:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def with_value(value: dict[str, Any], keys: list[str], new: Any) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps(value))
    at = whole
    for key in keys[:-1]:
        at = at.setdefault(key, {})
    at[keys[-1]] = new
    return whole


def leads_through_objects(value: Any, keys: list[str]) -> bool:
    for key in keys[:-1]:
        if key not in value:
            return True
        value = value[key]
        if not isinstance(value, dict):
            return False
    return True


@given(
    st.data(),
    OBJECTS,
    st.lists(st.sampled_from([*KEYS, "x", "/a", "ü\u2028"]), min_size=1, max_size=3),
    VALUES,
)
def test_only_the_value_changes_and_every_comment_stays(
    data: st.DataObject, value: dict[str, Any], keys: list[str], new: Any
) -> None:
    text = data.draw(written(value))
    if not leads_through_objects(value, keys):
        with pytest.raises(ValueError, match="is not an object"):
            json_edit.set_value(text.encode(), keys, new)
        return
    made = json_edit.set_value(text.encode(), keys, new)

    assert json_edit.read(made) == with_value(value, keys, new)
    assert json_edit.set_value(made, keys, new) == made
    assert has(value, keys) or is_kept_in(text, made.decode())
    assert sorted(comments(text)) == sorted(comments(made.decode()))


@given(st.data(), OBJECTS, st.sampled_from(["one", "two", 1, {"a": []}, None, True]))
def test_what_is_appended_is_in_the_list_once(data: st.DataObject, value: dict[str, Any], new: Any) -> None:
    value = {**value, "list": ["one", "two"]}
    text = data.draw(written(value))
    made = json_edit.append(text.encode(), ["list"], new)

    wanted = ["one", "two"] if new in ("one", "two") else ["one", "two", new]
    assert json_edit.read(made) == {**value, "list": wanted}
    assert is_kept_in(text, made.decode())
    assert json_edit.append(made, ["list"], new) == made


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:/*\\ \n1atrue\u2028', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        made = json_edit.set_value(text, ["a", "b"], True)
    except ValueError:
        return
    assert json_edit.get(made, ["a", "b"]) is True


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("", '{\n  "a": {\n    "b": true\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": true\n  }\n}'),
        ('{"x": 1}\n', '{"x": 1, "a": {"b": true}}\n'),
        (
            '{\n\t"x": 1 // one\n}\n',
            '{\n\t"x": 1, // one\n\t"a": {\n\t\t"b": true\n\t}\n}\n',
        ),
        ('{\r\n    "x": 1,\r\n}', '{\r\n    "x": 1,\r\n    "a": {\r\n        "b": true\r\n    }\r\n}'),
        ('{\n  "a": {\n    "c": 2\n  }\n}', '{\n  "a": {\n    "c": 2,\n    "b": true\n  }\n}'),
        ('{"a": {"b": 1 /* old */}}', '{"a": {"b": true /* old */}}'),
        ('{"a": {"b": [1, /* one */ 2]}}', '{"a": {"b": /* one */ true}}'),
        ('{\n  "a": {\n    "b": { // one\n    }\n  }\n}', '{\n  "a": {\n    "b": // one\n    true\n  }\n}'),
        ('{"a": 1, "a": {"b": false}}', '{"a": 1, "a": {"b": true}}'),
        ('\ufeff{"a":{"b":true}}', '\ufeff{"a":{"b":true}}'),
    ],
)
def test_a_value_is_put_in_as_the_file_is_written(text: str, made: str) -> None:
    assert json_edit.set_value(text.encode(), ["a", "b"], True).decode() == made


@pytest.mark.parametrize(
    "text",
    [
        b"{} /* x",
        b"{} /*/",
        b'{"a": "/* x */',
        b"{",
        b"{,}",
        b"[ ,]",
        b"[1,,]",
        b'{"a": NaN}',
        b"\xff",
        b'{"a": 1} x',
        b"[" * 100_000,
        b"{'a': 1}",
    ],
)
def test_what_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_edit.set_value(text, ["a"], 1)


def test_true_is_not_one() -> None:
    assert json_edit.set_value(b'{"a": 1}', ["a"], True) == b'{"a": true}'


@pytest.mark.parametrize(
    "text", [b"/* " * 200_000, b'"' + b'\\"' * 200_000, b"[ , " * 100_000, b"//" * 200_000]
)
def test_a_hostile_text_is_refused_in_linear_time(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_edit.set_value(b"{" + text, ["a"], 1)
