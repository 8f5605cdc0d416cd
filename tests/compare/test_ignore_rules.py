"""The rules of what does not matter: which entries fall under them."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from steno.compare.ignore import Subject, parse


def matches(kind: str, word: str, subject: Subject) -> bool:
    text = yaml.safe_dump({kind: [word]})
    return parse(text.encode()).rule_for(subject) is not None


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("/tmp/*", "/tmp/a", True),
        ("/tmp/*", "/tmp/a/b", False),
        ("/tmp/**", "/tmp/a/b", True),
        ("/tmp/**", "/tmp", False),
        ("**/*.pyc", "/a/b/c.pyc", True),
        ("**/*.pyc", "c.pyc", True),
        ("/a/**/z", "/a/z", True),
        ("/a/**/z", "/a/b/c/z", True),
        ("/a/**/z", "/a/bz", False),
        ("/a?c", "/abc", True),
        ("/a?c", "/a/c", False),
        ("/a.c", "/abc", False),
        ("$TMP/x[1]", "$TMP/x[1]", True),
        ("/new\nline/*", "/new\nline/x", True),
        ("/caf\u00e9/*", "/caf\u00e9/x", True),
        ("/**", "/a\nb", True),
        ("@/run/*", "@/run/x", True),
        ("pipe:[N]", "pipe:[N]", True),
        ("other-root:/etc/*", "other-root:/etc/x", True),
    ],
)
def test_a_star_stays_in_its_directory_and_two_do_not(glob: str, path: str, expected: bool) -> None:
    assert matches("paths", glob, Subject("files", path)) is expected
    assert matches("execs", glob, Subject("execs", path)) is expected


@pytest.mark.parametrize(
    ("prefix", "path", "expected"),
    [
        ("/usr", "/usr/lib/x", True),
        ("/usr/", "/usr/lib/x", True),
        ("/usr/", "/usr", True),
        ("/usr", "/usrlocal", False),
        ("/", "/anything", True),
        ("$HOME/.cache", "$HOME/.cache/a", True),
    ],
)
def test_a_prefix_is_made_of_whole_names(prefix: str, path: str, expected: bool) -> None:
    assert matches("prefixes", prefix, Subject("files", path)) is expected


@pytest.mark.parametrize(
    ("word", "endpoint", "expected"),
    [
        ("192.0.2.1:443", "192.0.2.1:443", True),
        ("192.0.2.1:443", "192.0.2.1:4430", False),
        ("192.0.2.1:443", "192.0.2.11:443", False),
        ("*:443", "[2001:db8::1]:443", True),
        ("*:443", "192.0.2.1:80", False),
        ("192.0.2.1:*", "192.0.2.1:9", True),
        ("[2001:db8::1]:*", "[2001:db8::1]:9", True),
        ("*:*", "192.0.2.1:9", True),
        ("pypi.example:443", "pypi.example:443", True),
    ],
)
def test_an_endpoint_is_exact_or_has_a_star_for_host_or_port(
    word: str, endpoint: str, expected: bool
) -> None:
    assert matches("endpoints", word, Subject("endpoints", endpoint)) is expected


@pytest.mark.parametrize(
    ("network", "endpoint", "expected"),
    [
        ("10.0.0.0/8", "10.1.2.3:5", True),
        ("10.0.0.0/8", "11.1.2.3:5", False),
        ("2001:db8::/32", "[2001:db8:1::9]:5", True),
        ("2001:db8::/32", "10.1.2.3:5", False),
        ("10.0.0.0/8", "name.example:5", False),
        ("127.0.0.1", "127.0.0.1:5", True),
    ],
)
def test_a_network_holds_addresses(network: str, endpoint: str, expected: bool) -> None:
    assert matches("cidrs", network, Subject("endpoints", endpoint)) is expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("a.example.org",), True),
        (("A.Example.ORG",), True),
        (("a.example.org", "b.example.org"), True),
        (("a.example.org", "evil.test"), False),
        ((), False),
    ],
)
def test_a_harmless_name_does_not_hide_another_of_the_same_address(
    names: tuple[str, ...], expected: bool
) -> None:
    assert matches("names", "*.example.org", Subject("endpoints", "192.0.2.1:443", names)) is expected


def test_a_rule_is_only_asked_about_what_it_is_for() -> None:
    rules = parse(b"paths: ['**']\nexecs: [/bin/true]")
    assert rules.rule_for(Subject("execs", "/bin/false")) is None
    assert rules.rule_for(Subject("endpoints", "192.0.2.1:1")) is None
    assert rules.rule_for(Subject("policy_decisions", "allow:x")) is None
    assert rules.rule_for(Subject("unix_sockets", "/run/x")) is not None


def test_the_rule_that_is_named_is_the_first_one_with_its_line() -> None:
    rules = parse(b"# what does not matter\nprefixes:\n  - /usr\n  - /usr/lib\n")
    assert str(rules.rule_for(Subject("files", "/usr/lib/x"))) == "prefixes: /usr (line 3)"


def test_a_pattern_with_many_stars_is_matched_in_linear_time() -> None:
    rules = parse(b"paths: ['" + b"*a" * 100 + b"b']")
    assert rules.rule_for(Subject("files", "a" * 100_000)) is None


@given(
    kind=st.sampled_from(["paths", "prefixes", "execs", "names"]),
    word=st.text(min_size=1, max_size=30),
    text=st.text(max_size=30),
)
def test_any_word_can_be_asked_about_any_entry(kind: str, word: str, text: str) -> None:
    if kind in {"paths", "prefixes"}:
        word = f"/{word}"
    data = yaml.safe_dump({kind: [word]}, allow_unicode=False).encode()
    rules = parse(data)
    for group in ("files", "execs", "endpoints"):
        rules.rule_for(Subject(group, text, (text,)))
    if kind in {"paths", "prefixes"} and not set(word) & set("*?") and not word.endswith("/"):
        assert rules.rule_for(Subject("files", word)) is not None
