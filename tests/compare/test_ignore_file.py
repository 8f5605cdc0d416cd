"""The file of rules: what is no such file is told with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.compare import ignore
from steno.compare.ignore import BadRulesError, Subject, parse


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "paths:\n", "paths: []\nnames:\n"])
def test_a_file_may_have_no_rules(text: str) -> None:
    assert len(parse(text.encode())) == 0


def test_a_word_is_the_text_that_stands_there() -> None:
    rules = parse(b"execs: [no, '0x10', \"1_000\", 2026-01-25]")
    for word in ("no", "0x10", "1_000", "2026-01-25"):
        assert rules.rule_for(Subject("execs", word)) is not None


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("path: [x]", 1, "unknown key 'path'"),
        ("paths: [/x]\n\npaths: [/y]", 3, "twice"),
        ("paths: x", 1, "is a list"),
        ("paths: {a: b}", 1, "is a list"),
        ("paths:\n  - /x\n  - [y]", 3, "is a word"),
        ("- x", 1, "is a mapping"),
        ("x", 1, "is a mapping"),
        ("? [a]\n: b", 1, "a key is a word"),
        ("paths: &a [x]", 1, "anchors"),
        ("paths:\n  - &a x\n  - *a", 2, "anchors"),
        ("paths: *a", 1, "anchors"),
        ("<<: [x]", 1, "unknown key"),
        ("paths: !!python/object:os.system [x]", 1, "tags"),
        ("paths:\n  - !secret x", 2, "tags"),
        ("paths: [/x]\n---\npaths: [/y]", 2, "more than one document"),
        ("paths:\n  - ''", 2, "1 to"),
        ("paths:\n  - " + "x" * 5000, 2, "1 to"),
        ("paths:\n  - /x\n  - build/x", 3, "matches nothing"),
        ("paths:\n  - ./x", 2, "matches nothing"),
        ("paths:\n  - ~/x", 2, "matches nothing"),
        ("paths:\n  - $TEMP/x", 2, "matches nothing"),
        ("paths:\n  - '?tmp/x'", 2, "matches nothing"),
        ("prefixes:\n  - usr", 2, "matches nothing"),
        ("prefixes:\n  - '**/usr'", 2, "matches nothing"),
        ("execs:\n  - /x\n  - 7", 3, "not a number"),
        ("names:\n  - 1.5", 2, "not a number"),
        ("paths:\n  - 0x10", 2, "not a number"),
        ("execs:\n  - null", 2, "or nothing"),
        ("execs:\n  - ~", 2, "or nothing"),
        ("paths:\n  -\n  - /x", 2, "or nothing"),
        ("endpoints:\n  - 192.0.2.1", 2, "not an endpoint"),
        ("endpoints:\n  - 192.0.2.1:99999", 2, "not an endpoint"),
        ("endpoints:\n  - ':80'", 2, "not an endpoint"),
        ("endpoints:\n  - host:http", 2, "not an endpoint"),
        ("cidrs:\n  - 10.0.0.1/8", 2, "host bits"),
        ("cidrs:\n  - everywhere", 2, "network"),
        ("paths: ]", 1, "expected"),
        ("paths:\n\t- x", 2, "cannot start"),
        ("paths:\n  - **/x", 2, "expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(BadRulesError) as raised:
        parse(text.encode())
    assert str(raised.value).startswith(f"line {line}: ")
    assert says in str(raised.value)


def test_an_address_is_no_number_to_the_base_of_60() -> None:
    rules = parse(b"cidrs:\n  - 2001:1:2:3:4:5:6:7")
    assert rules.rule_for(Subject("endpoints", "[2001:1:2:3:4:5:6:7]:80")) is not None


def test_text_that_is_not_utf8_is_told_with_its_line() -> None:
    with pytest.raises(BadRulesError, match="line 2: not UTF-8"):
        parse(b"paths:\n - caf\xe9")


def test_a_file_that_is_too_large_is_not_parsed() -> None:
    with pytest.raises(BadRulesError, match="larger than"):
        parse(b"#" * (ignore.MAX_BYTES + 1))


def test_too_many_rules_are_refused() -> None:
    with pytest.raises(BadRulesError, match="limit"):
        parse(b"execs:\n" + b"- x\n" * (ignore.MAX_RULES + 1))


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    with pytest.raises(BadRulesError, match="nested deeper"):
        parse(b"paths: " + b"[" * 200_000)


@given(st.binary(max_size=200) | st.text(alphabet="paths:[]{}-*&!|>'\"#\n \t", max_size=60).map(str.encode))
def test_any_bytes_are_rules_or_an_error_of_ours(data: bytes) -> None:
    try:
        parse(data)
    except BadRulesError:
        return
