"""Constraints hold against escapes: links, .., encodings, odd addresses, arguments under other names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steno.mcp.policy.constraints import (
    ArgumentNames,
    PathAllowlist,
    PathConstraint,
    UrlAllowlist,
    UrlConstraint,
)
from steno.mcp.policy.json_schema import BadSchemaError, SchemaConstraint, check


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with ways out of it, beside one whose name only begins like it."""
    base = tmp_path_factory.mktemp("paths")
    inside = base / "in"
    (inside / "sub").mkdir(parents=True)
    (base / "inner").mkdir()
    (base / "secret").write_text("")
    (inside / "file").write_text("")
    (inside / "100%").write_text("")
    links: dict[str, str | Path] = {
        "out": base,
        "gone": base / "nothing",
        "loop": "loop",
        "etc": "/etc",
        "here": "sub",
        "up": "../secret",
    }
    for name, target in links.items():
        (inside / name).symlink_to(target)
    (inside / "sub" / "hop").symlink_to("../out")
    (base / "alias").symlink_to(inside)
    return inside


@pytest.mark.parametrize(
    "path", ["", "/", "/file", "//sub/./", "/new/file", "/here/new", "/100%", "/é", "/a b"]
)
def test_a_path_inside_is_allowed(inside: Path, path: str) -> None:
    assert PathAllowlist([str(inside)]).violation(f"{inside}{path}") is None


@pytest.mark.parametrize(
    "path",
    [
        "{in}/../secret", "{in}/sub/../file", "{in}ner", "{in}/out", "{in}/out/secret", "{in}/gone",
        "{in}/loop", "{in}/loop/x", "{in}/etc/passwd", "{in}/up", "{in}/sub/hop/secret", "{in}/file\0.txt",
        "{in}/a\nb", "{in}/%2e%2e/secret", "{in}/..%2fsecret", "{in}/%252e%252e/secret", "{in}%2f..%2fsecret",
        "{in}/%c0%ae", "{in}/%2525252525252e",
        "{in}/..\\secret", "{in}/\uff0e\uff0e/secret", "{in}/\u2025/secret",
        "{in}/\udce9", "{in}/sub%00", "file://{in}/file", "~", "~/file", "file", "./file", "", "/",
        "/etc/passwd", "\\{in}",
        "{in}/file/x", " {in}/file", "{in}/" + "x" * 300,
    ],
)  # fmt: skip
def test_a_path_that_leads_out_or_could_is_refused(inside: Path, path: str) -> None:
    assert PathAllowlist([str(inside)]).violation(path.replace("{in}", str(inside))) is not None


@pytest.mark.parametrize("value", [None, 1, True, 1.5, [], ["/x"], {}, {"path": "/x"}, b"/x"])
def test_what_is_no_string_is_no_path_and_no_address(inside: Path, value: Any) -> None:
    assert PathAllowlist(["/"]).violation(value) is not None
    assert UrlAllowlist(hosts=["*"]).violation(value) is not None


def test_a_directory_may_be_named_by_its_link_and_by_what_the_link_leads_to(inside: Path) -> None:
    directories = PathAllowlist([str(inside.parent / "alias")])
    assert directories.violation(f"{inside.parent}/alias/file") is None
    assert directories.violation(f"{inside}/file") is None
    assert directories.violation(f"{inside.parent}/alias/out/secret") is not None


def test_a_directory_that_becomes_a_link_later_leads_nowhere_else(tmp_path: Path) -> None:
    directories = PathAllowlist([str(tmp_path / "later")])
    (tmp_path / "later").symlink_to("/etc")
    assert directories.violation(f"{tmp_path}/later/passwd") is not None


PIECES = st.sampled_from(
    ["..", ".", "", "sub", "out", "up", "here", "hop", "%2e%2e", "%2f", "..%2f", "secret", "é", "\0"]
)


@given(st.lists(PIECES, max_size=6))
@example(["here", "hop", "secret"])
def test_whatever_is_allowed_is_inside_when_it_is_opened(inside: Path, pieces: list[str]) -> None:
    path = "/".join([str(inside), *pieces])
    if PathAllowlist([str(inside)]).violation(path) is None:
        real = os.path.realpath(path)
        assert real == str(inside) or real.startswith(f"{inside}/")


def paths(*names: str, under: str = "/srv") -> PathConstraint:
    return PathConstraint(ArgumentNames(names), PathAllowlist([under]))


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/etc"}, {"Path": "/etc"}, {"PATH": "/etc"}, {"pa_th": "/etc"},
        {"path": "/srv/a", "PATH": "/etc"},
        {"edits": [{"path": "/etc"}]}, {"a": {"b": {"path": "/etc"}}}, {"path": ["/srv/a"]}, {"path": None},
        {"path": {"path": "/srv/a"}}, {"\u017frc": "/etc"}, {"src": "/etc"},
    ],
)  # fmt: skip
def test_an_argument_is_found_wherever_and_however_a_server_would_find_it(arguments: dict[str, Any]) -> None:
    assert paths("path", "src").violation(arguments) is not None


def test_other_arguments_are_left_alone() -> None:
    others = {"content": "/etc", "paths": ["/etc"], "deep": [{"x": ["/etc"]}]}
    assert paths("path").violation({"path": "/srv/a", **others}) is None


@pytest.mark.parametrize("arguments", [{}, {"file_path": "/etc/passwd"}, {"paths": []}])
def test_a_call_with_nothing_to_check_is_refused_unless_that_is_optional(arguments: dict[str, Any]) -> None:
    names, directories = ArgumentNames(["path", "paths[]"]), PathAllowlist(["/srv"])
    why = PathConstraint(names, directories).violation(arguments)
    assert why == "The call needs one of the arguments that the policy checks: 'path', 'paths[]'."
    assert UrlConstraint(names, UrlAllowlist(hosts=["*"])).violation(arguments) == why
    assert PathConstraint(names, directories, optional=True).violation(arguments) is None
    assert UrlConstraint(names, UrlAllowlist(hosts=["*"]), optional=True).violation(arguments) is None


def test_what_is_optional_is_checked_where_it_is() -> None:
    optional = PathConstraint(ArgumentNames(["path"]), PathAllowlist(["/srv"]), optional=True)
    assert optional.violation({"path": "/etc"}) is not None
    assert optional.violation({"path": None}) is not None


def test_a_list_of_paths_is_taken_where_the_policy_says_that_it_is_one() -> None:
    assert paths("paths[]").violation({"paths": ["/srv/a", "/srv/b"]}) is None
    assert paths("paths[]").violation({"paths": ["/srv/a", "/etc"]}) is not None
    assert paths("paths[]").violation({"paths": "/srv/a"}) is not None
    assert paths("paths[]").violation({"paths": [["/srv/a"]]}) is not None
    assert paths("paths", "paths[]").violation({"paths": "/srv/a"}) is None


def test_what_is_too_deep_to_be_read_is_refused() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = {"a": deep}
    assert paths("path").violation({"a": deep}) is not None


ADDRESSES = UrlAllowlist(
    hosts=["api.example.org", "*.cdn.example.org", "127.0.0.1", "::1"], schemes=["https", "http"]
)


@pytest.mark.parametrize(
    "address",
    [
        "https://api.example.org", "https://API.example.org/x?y=z@w#f", "HTTPS://a.cdn.example.org:443/",
        "http://127.0.0.1/", "http://[::1]:80/", "https://api.example.org/@x", "https://api.example.org?q=1",
    ],
)  # fmt: skip
def test_an_address_of_a_named_host_is_allowed(address: str) -> None:
    assert ADDRESSES.violation(address) is None


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example", "https://api.example.org.evil.example", "https://cdn.example.org", "ftp://api.example.org",
        "https://api.example.org@evil.example", "https://u:p@api.example.org", "https://api.example.org:8443",
        "https://api.example.org:0443", "https://api.example.org:", "https://api.example.org:99999",
        "https://evil.example\\@api.example.org", "https:\\\\api.example.org", "https:/api.example.org",
        "https:api.example.org", "//api.example.org", "api.example.org", "https://", "https:///x", "",
        "https://api.example.org.", "https://api\u3002example.org", "https://\u24d0pi.example.org", "https://api.example.org%2f",
        "https://api.example.org?@evil.example", "https://api.example.org#@evil.example", "https://api.example.org\t",
        " https://api.example.org", "https://api.example.org/a b", "https://api.example.org\r\nHost: x", "http://127.1",
        "http://2130706433", "http://0x7f000001", "http://0x7f.0.0.1", "http://0177.0.0.1", "http://127.0.0.01",
        "http://[::ffff:127.0.0.1]", "http://[0:0:0:0:0:0:0:1]", "http://[::1%25lo]", "http://[::1", "http://::1",
        "file:///etc/passwd", "javascript:alert(1)", "data:text/plain,x", "https://-a.cdn.example.org",
        "https://a..cdn.example.org", "https://.cdn.example.org", "https://[api.example.org]",
    ],
)  # fmt: skip
def test_an_address_that_leads_elsewhere_or_could_is_refused(address: str) -> None:
    assert ADDRESSES.violation(address) is not None


@pytest.mark.parametrize(
    "address", ["https://[::ffff:7f00:1]", "https://127.1", "https://0", "https://[::01]"]
)
def test_an_odd_notation_of_an_ip_address_is_refused_even_where_every_host_is_allowed(address: str) -> None:
    assert UrlAllowlist(hosts=["*"]).violation(address) is not None


def test_ports_and_schemes_are_those_that_the_policy_names() -> None:
    addresses = UrlAllowlist(hosts=["*"], schemes=["custom", "https"], ports=[8443])
    assert addresses.violation("https://h:8443") is None
    assert addresses.violation("custom://h:8443") is None
    assert addresses.violation("https://h") is not None
    assert UrlAllowlist(hosts=["*"]).violation("http://h") is not None
    assert UrlAllowlist(hosts=["*"], schemes=["custom"]).violation("custom://h") is not None


@given(st.text(max_size=40))
def test_no_text_upsets_a_check(text: str) -> None:
    for constraint in (paths("p", under="/"), UrlConstraint(ArgumentNames(["p"]), UrlAllowlist(hosts=["*"]))):
        assert constraint.violation({"p": text}) is None or constraint.violation({"p": text})


def test_arguments_fit_a_schema_or_it_is_said_where_not() -> None:
    schema = SchemaConstraint(
        {"properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    )
    assert schema.violation({"n": 1}) is None
    assert "/n" in str(schema.violation({"n": "one"}))


def test_a_pattern_that_is_none_is_an_error_and_nothing_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadSchemaError):
        check({"properties": {"x": {"pattern": "("}}})
    assert capfd.readouterr().err == ""


def test_a_pattern_that_makes_others_slow_is_not() -> None:
    schema = SchemaConstraint({"properties": {"x": {"pattern": "^(a+)+$"}}})
    assert schema.violation({"x": "a" * 50_000 + "b"}) is not None


def test_arguments_that_cannot_be_checked_do_not_fit() -> None:
    schema = SchemaConstraint(
        {"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"x": {"$ref": "#/$defs/x"}}}}}
    )
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"x": deep}
    assert "cannot be checked" in str(schema.violation(deep))


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "strin"}, ("type",)),
        ({"properties": {"a": {"$ref": "https://example.org/s"}}}, ("properties", "a", "$ref")),
        ({"$ref": "#/$defs/none"}, ("$ref",)),
        ({"$id": "https://example.org/"}, ("$id",)),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, ("$schema",)),
        ({"items": {"pattern": "(?=x)"}}, ("items", "pattern")),
        ({"allOf": [{}, {"patternProperties": {"a": {}}}]}, ("allOf", 1, "patternProperties")),
        ({"minLength": -1}, ("minLength",)),
    ],
)
def test_a_bad_schema_is_refused_with_its_place(schema: dict[str, Any], place: tuple[str | int, ...]) -> None:
    with pytest.raises(BadSchemaError) as caught:
        check(schema)
    assert caught.value.place == place


def test_an_argument_may_be_called_like_a_keyword() -> None:
    schema = SchemaConstraint({"properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}})
    assert schema.violation({"$ref": "https://example.org", "pattern": "(?=x)"}) is None
