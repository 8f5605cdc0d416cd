"""A value ends where the string ends that it stands in: JSON stays JSON, and the lines around it stay."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steno.redact import Findings, Redactor

KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
ENDINGS = [
    (
        r'{"text":"Authorization: Bearer q7w8e9r0t1y2u3i4\nnext line stays","k":"v"}',
        r'{"text":"Authorization: Bearer ****************\nnext line stays","k":"v"}',
    ),
    (
        r'{"t":"see Authorization: Basic dTpwdzE5","k":"v"}',
        r'{"t":"see Authorization: Basic ********","k":"v"}',
    ),
    (r'{"t":"password: swordfish\r\nnext","k":"v"}', r'{"t":"password: *********\r\nnext","k":"v"}'),
    (r'{"t":"say \"DB_PASS=swordfish\" and\nnext"}', r'{"t":"say \"DB_PASS=*********\" and\nnext"}'),
    (r'{"t":"curl -u joe:hunter2\nnext stays"}', r'{"t":"curl -u joe:*******\nnext stays"}'),
    (r'{"t":"mysql -u root -psw\"x y\nnext"}', r'{"t":"mysql -u root -p**\"x y\nnext"}'),
    (r'+{"t":"Set-Cookie: a=b; c=d\nnext","k":"v"}', r'+{"t":"Set-Cookie: ********\nnext","k":"v"}'),
    ("   12\t" + r'"t":"Set-Cookie: a=b\nnext",', "   12\t" + r'"t":"Set-Cookie: ***\nnext",'),
    (r"{'t': 'Cookie: a=b; c=d\nnext', 'k': 'v'}", r"{'t': 'Cookie: ********\nnext', 'k': 'v'}"),
    (
        r'{"a":"{\"t\":\"Cookie: a=b; c=d\\nnext stays\",\"k\":\"v\"}","z":1}',
        r'{"a":"{\"t\":\"Cookie: ********\\nnext stays\",\"k\":\"v\"}","z":1}',
    ),
    (r'{"password":"abc\ndef\"ghi","k":"v"}', r'{"password":"*************","k":"v"}'),
    (r'{"Cookie":["a=b\"; c"],"k":"v"}', r'{"Cookie":["********"],"k":"v"}'),
    (r'{"password": 12345678, "k": 1}', r'{"password": "******", "k": 1}'),
    (r'{"t":"{\"password\": 12345678}"}', r'{"t":"{\"password\": \"****\"}"}'),
    (
        r'{"t":"-----BEGIN PRIVATE KEY-----\n' + KEY + r'","k":"v"}',
        '{"t":"-----BEGIN PRIVATE KEY-----' + "*" * (len(KEY) + 2) + '","k":"v"}',
    ),
    (r'curl -H "Cookie: a=\"x\"; b=zz" next', 'curl -H "Cookie: *************" next'),
]


@pytest.mark.parametrize(("line", "expected"), ENDINGS)
def test_a_value_ends_where_its_string_says_that_it_ends(line: str, expected: str) -> None:
    data, after = (line + "\n").encode(), b'{"text":"' + b"Zm9vYmFyYmF6cXV4" * 3 + b'"}\n'
    redactor = Redactor(findings=Findings())
    result = redactor.mask(data + after, "output")
    assert result == expected.encode() + b"\n" + after
    assert redactor.find(result) == []
    for cut in range(len(data)):
        stream = Redactor(findings=Findings()).stream("output")
        assert (
            stream.feed(data[:cut]) + stream.settle() + stream.feed(data[cut:]) + stream.close()
            == result[: len(data)]
        )


UNDECIDED = [
    'Cookie: a="x"; b="hunter2"',
    '6" wide, Cookie: a="x"; b=hunter2',
    'PASSWORD="abc\\nhunter2"',
    'say "x Cookie: a=" b=hunter2',
    "Cookie: a=b\\nhunter2",
    '{"t" "Cookie: a=b\\nhunter2"}',
    '{"t":"Cookie: a=b\\nhunter2',
]


@pytest.mark.parametrize("line", UNDECIDED)
def test_where_no_string_is_certain_more_is_masked(line: str) -> None:
    assert b"hunter2" not in Redactor(findings=Findings()).mask(line.encode(), "output")


ORDINARY = st.lists(
    st.sampled_from(
        [
            "plain",
            " words",
            "\n",
            '"',
            "\\",
            "'",
            "/",
            "é",
            "\U0001f511",
            "{",
            "}",
            ",",
            ":",
            "=",
            "\t",
            "\\n",
            "7",
            "%41",
        ]
    ),
    max_size=8,
).map("".join)
LINES = [
    "DB_PASS={}",
    "Authorization: Bearer {}",
    "Set-Cookie: sid={}; Path=/",
    "  run: curl -H 'X-Api-Key: {}' https://example.test",
    "clone https://joe:{}@example.test/r.git",
    'password = "{}"',
    "passphrase: {}",
    "curl -u joe:{}",
    "--token {} --verbose",
    "got ghp_{} there",
]
SECRETS = st.text("abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=34, max_size=36).map(
    lambda text: "q7" + text + "X4z"
)
PLANTED = st.builds(
    lambda before, line, secret, after: f"{before}\n{line.format(secret)}\n{after}",
    ORDINARY,
    st.sampled_from(LINES),
    SECRETS,
    ORDINARY,
)
NAMES = st.sampled_from(["text", "a", "content", "é", 'q"', "stdout"])


def _documents(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=6,
    )


SCALARS = st.none() | st.booleans() | st.integers() | ORDINARY | PLANTED
NAMED = st.builds(lambda secret: {"api_token": secret, "k": "v"}, SECRETS)
INNER = _documents(SCALARS | NAMED).map(json.dumps)
DOCUMENTS = _documents(SCALARS | NAMED | INNER | INNER.map(lambda text: json.dumps({"text": text})))


def _assert_kept(before: Any, after: Any) -> None:
    """The same but for masks: nothing is changed that holds no secret, and of a text the other lines stay."""
    if before == after:
        return
    assert type(before) is type(after)
    if isinstance(before, dict):
        assert list(before) == list(after)
        before, after = list(before.values()), list(after.values())
    if isinstance(before, list):
        for left, right in zip(before, after, strict=True):
            _assert_kept(left, right)
        return
    assert "X4z" in before
    try:
        inner = json.loads(before)
    except ValueError:
        pass
    else:
        _assert_kept(inner, json.loads(after))
        return
    for left, right in zip(before.split("\n"), after.split("\n"), strict=True):
        assert left == right or "X4z" in left
        assert len(left) == len(right)


@given(
    document=DOCUMENTS,
    indent=st.sampled_from([None, None, 2]),
    is_ascii=st.booleans(),
    prefix=st.sampled_from(["", "+", "   12\t", "src/a.json:7:"]),
    cuts=st.lists(st.integers(0, 5000), max_size=4),
)
@example({"a": 'plain\nAuthorization: Bearer q7abX4z2\n"'}, None, True, "", [])
def test_json_with_secrets_stays_json_and_loses_nothing_else(
    document: Any, indent: int | None, is_ascii: bool, prefix: str, cuts: list[int]
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=is_ascii)
    data = "".join(f"{prefix}{line}\n" for line in text.split("\n")).encode()
    stream = Redactor(findings=Findings()).stream("output")
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    result = b"".join(
        stream.feed(data[start:end]) + stream.settle() for start, end in itertools.pairwise(edges)
    )
    result += stream.close()
    assert result == Redactor(findings=Findings()).mask(data, "output")
    assert len(result) == len(data)
    assert b"X4z" not in result
    lines = result.decode().removesuffix("\n").split("\n")
    assert all(line.startswith(prefix) for line in lines)
    _assert_kept(document, json.loads("\n".join(line[len(prefix) :] for line in lines)))
