"""Text, arguments, environment, trees and known values."""

from __future__ import annotations

import pytest

from steno.redact import Findings, Redactor


@pytest.fixture
def findings() -> Findings:
    return Findings()


@pytest.fixture
def redactor(findings: Findings) -> Redactor:
    return Redactor(findings=findings)


def test_a_secret_in_a_text_becomes_a_placeholder_with_the_length_of_the_value(redactor: Redactor) -> None:
    assert redactor.text("password: hunter2", "f") == "password: [REDACTED:secret-pair:7]"


def test_a_text_without_a_secret_is_returned_as_it_is(redactor: Redactor, findings: Findings) -> None:
    assert redactor.text("MONKEY: banana", "f") == "MONKEY: banana"
    assert findings.total == 0


def test_lone_surrogates_survive(redactor: Redactor) -> None:
    value = b"caf\xe9 token=abc \xff".decode("utf-8", "surrogateescape")
    assert redactor.text(value, "f") == value.replace("abc", "[REDACTED:secret-pair:3]")
    assert redactor.text("\ud800 token=abc", "f") == "\ud800 token=[REDACTED:secret-pair:3]"


def test_a_secret_that_is_not_ascii_is_counted_in_bytes(redactor: Redactor) -> None:
    assert redactor.text("password: pässwörd", "f") == "password: [REDACTED:secret-pair:10]"


def test_a_private_key_becomes_one_placeholder(redactor: Redactor, findings: Findings) -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "RVhBTVBMRUVYQU1QTEVFWEFNUExF\n" * 3
        + "-----END RSA PRIVATE KEY-----\n"
    )
    text = redactor.text(key, "f")
    assert (
        text == "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED:private-key:86]\n-----END RSA PRIVATE KEY-----\n"
    )
    assert findings.total == 1


ARGUMENTS = [
    (["run", "--token", "abc"], ["run", "--token", "[REDACTED:argument:3]"]),
    (["run", "--password=hunter2"], ["run", "--password=[REDACTED:argument:7]"]),
    (["run", "--password=a b"], ["run", "--password=[REDACTED:argument:3]"]),
    (["run", "--key", "X"], ["run", "--key", "[REDACTED:argument:1]"]),
    (["run", "--key", "/etc/key.pem"], ["run", "--key", "/etc/key.pem"]),
    (["run", "--token", "--verbose"], ["run", "--token", "--verbose"]),
    (["env", "FOO_TOKEN=x y", "cmd"], ["env", "FOO_TOKEN=[REDACTED:argument:3]", "cmd"]),
    (["curl", "-u", "joe:pw", "u"], ["curl", "-u", "joe:[REDACTED:argument:2]", "u"]),
    (["/usr/bin/curl", "--user", "joe:pw"], ["/usr/bin/curl", "--user", "joe:[REDACTED:argument:2]"]),
    (["docker", "run", "-u", "1:2", "-p", "80:80"], ["docker", "run", "-u", "1:2", "-p", "80:80"]),
    (["docker", "login", "-p", "pw"], ["docker", "login", "-p", "[REDACTED:argument:2]"]),
    (["mysql", "-uroot", "-ppw"], ["mysql", "-uroot", "-p[REDACTED:argument:2]"]),
    (["sshpass", "-p", "pw", "ssh"], ["sshpass", "-p", "[REDACTED:argument:2]", "ssh"]),
    (["mkdir", "-p", "build"], ["mkdir", "-p", "build"]),
    (
        ["curl", "-H", "Authorization: Bearer x"],
        ["curl", "-H", "Authorization: Bearer [REDACTED:header:1]"],
    ),
    (["git", "clone", "https://tok@h/r"], ["git", "clone", "https://[REDACTED:url-userinfo:3]@h/r"]),
    (["sh", "-c", "X_TOKEN=abc run"], ["sh", "-c", "X_TOKEN=[REDACTED:secret-pair:3] run"]),
    (["sh", "-c", "run --token abc; ls"], ["sh", "-c", "run --token [REDACTED:option:3]; ls"]),
    (["python", "-c", "token = get_token()"], ["python", "-c", "token = get_token()"]),
    (["sort", "--key=2"], ["sort", "--key=2"]),
]


@pytest.mark.parametrize(("args", "expected"), ARGUMENTS)
def test_arguments_are_read_in_context(redactor: Redactor, args: list[str], expected: list[str]) -> None:
    assert redactor.argv(args, "cmd") == expected
    assert redactor.argv(expected, "cmd") == expected


def test_the_place_of_an_argument_is_its_position(redactor: Redactor, findings: Findings) -> None:
    redactor.argv(["run", "--token", "abc"], "cmd")
    assert findings.snapshot()["redacted_fields"] == ["cmd[2]"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("GITHUB_TOKEN", "abc", "[REDACTED:environment-name:3]"),
        ("DB_PASS", "a b c", "[REDACTED:environment-name:5]"),
        ("KEY", "abc", "[REDACTED:environment-name:3]"),
        ("CLAUDE_CODE_MESSAGING_TOKEN", "x", "[REDACTED:environment-name:1]"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-x/agent.1", "/tmp/ssh-x/agent.1"),
        ("AWS_SECRET_ACCESS_KEY_FILE", "/run/key", "/run/key"),
        ("MAX_THINKING_TOKENS", "1000", "1000"),
        ("KEYBOARD", "us", "us"),
        ("GITHUB_TOKEN", "", ""),
        ("DATABASE_URL", "postgres://u:pw@db/x", "postgres://[REDACTED:url-userinfo:4]@db/x"),
        ("GITHUB_TOKEN", "[REDACTED:environment-name:3]", "[REDACTED:environment-name:3]"),
    ],
)
def test_the_name_of_a_variable_decides_as_well_as_its_value(
    redactor: Redactor, name: str, value: str, expected: str
) -> None:
    assert redactor.env(name, value, "env") == expected


def test_a_tree_keeps_its_structure_and_names_the_place(redactor: Redactor, findings: Findings) -> None:
    tree = {"cmd": ["run", "token=abc"], "n": 1, "ok": True, "none": None, "in": {"x": "https://u:p@h/"}}
    assert redactor.tree(tree, "events.run_start") == {
        "cmd": ["run", "token=[REDACTED:secret-pair:3]"],
        "n": 1,
        "ok": True,
        "none": None,
        "in": {"x": "https://[REDACTED:url-userinfo:3]@h/"},
    }
    assert findings.snapshot()["redacted_fields"] == ["events.run_start.cmd[1]", "events.run_start.in.x"]


def test_a_known_value_is_masked_wherever_it_stands(findings: Findings) -> None:
    redactor = Redactor(findings=findings, literals=[b"swordfish-42"])
    assert redactor.mask(b"it is xswordfish-42x\n", "f") == b"it is x************x\n"
    redactor.learn([b"another one", b"short"])
    assert redactor.mask(b"another one, short", "f") == b"***********, short"
    assert findings.snapshot()["counts"] == {"known-value": 2}


def test_known_values_that_overlap_are_both_masked() -> None:
    redactor = Redactor(findings=Findings(), literals=[b"abcdefgh", b"efghijkl"])
    assert redactor.mask(b"-abcdefghijkl-", "f") == b"-************-"


def test_a_known_value_of_several_lines_is_masked_line_by_line() -> None:
    redactor = Redactor(findings=Findings(), literals=[b"first-line\nsecond-line"])
    assert redactor.mask(b"first-line\r\nsecond-line\r\n", "f") == b"**********\r\n***********\r\n"


def test_the_secrets_of_an_environment_are_long_and_no_plain_words(redactor: Redactor) -> None:
    env = {
        "API_TOKEN": "abc-def-123",
        "PASSWORD": "password",
        "X_SECRET": "true",
        "SHORT_KEY": "abc",
        "SSH_AUTH_SOCK": "/tmp/ssh-x/agent.1",
        "HOME": "/home/joe",
        "DATABASE_URL": "postgres://user:longpassword@db/x",
    }
    assert redactor.secrets_in_env(env) == [b"abc-def-123", b"user:longpassword"]


def test_spans_are_sorted_and_apart(redactor: Redactor) -> None:
    data = b"Authorization: Bearer ghp_" + b"EXAMPLEexample0123456789" * 2 + b"\npassword: x\n"
    spans = redactor.find(data)
    assert [data[span.start : span.end][:4] for span in spans] == [b"ghp_", b"x"]


def test_the_working_directory_of_a_shell_is_not_a_password() -> None:
    redactor = Redactor(findings=Findings())
    directory = "/tmp/x8fK2pQ9/a-long-directory"
    assert redactor.secrets_in_env({"PWD": directory, "OLDPWD": directory}) == []
    assert redactor.mask(f"PWD={directory}\n".encode(), "x") == f"PWD={directory}\n".encode()
    assert redactor.secrets_in_env({"DB_PWD": "x8fK2pQ9Lw"}) == [b"x8fK2pQ9Lw"]


@pytest.mark.parametrize(
    "form",
    [
        b'pa"ss/w\\\\rd',
        b'pa\\"ss/w\\\\\\\\rd',
        b'pa\\"ss\\/w\\\\\\\\rd',
        b"pa%22ss%2Fw%5C%5Crd",
        b"pa%22ss/w%5C%5Crd",
    ],
)
def test_a_known_value_is_masked_in_the_notation_of_json_and_of_urls_too(form: bytes) -> None:
    redactor = Redactor(findings=Findings(), literals=[b'pa"ss/w\\\\rd'])
    assert redactor.mask(b"it is " + form + b" here", "output") == b"it is " + b"*" * len(form) + b" here"


def test_a_secret_in_the_key_of_a_tree_is_not_in_the_place_that_is_told(
    redactor: Redactor, findings: Findings
) -> None:
    redactor.tree({"token=abcdef12": {"x": "password: hunter2"}}, "f")
    assert "abcdef12" not in str(findings.snapshot())
