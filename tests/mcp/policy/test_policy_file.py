"""The policy file: every problem is told at once, with its place, and nothing else ever comes out."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from steno.errors import BadPolicyError
from steno.mcp.policy import grammar, loader
from steno.mcp.policy.loader import load
from steno.mcp.policy.policy import Call

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "src/steno/mcp/policy/policy.schema.json").read_text())
RULE = "version: 1\nrules:\n- tools: [a]\n  action: ask\n  "
FULL = """\
version: 1
default: ask
hide_denied: true
dry_run: true
approval: {command: [./ask, "-x"], seconds: 5}
methods: {allow: ["x/*"], deny: ["resources/read"]}
rules:
  - name: reading
    servers: [fs]
    tools: ["read_*"]
    action: allow
    arguments: {type: object, required: [path]}
    paths: {arguments: [path, "paths[]"], under: [., /srv]}
    urls: {arguments: [url], hosts: ["*.example.org"], schemes: [https], ports: [443, 8443], optional: true}
    rate: {calls: 3, seconds: 0.5}
  - servers: [other]
    action: deny
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


def problems(file: Path, data: bytes | str) -> list[str]:
    """What is said about the file, without its name."""
    file.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    with pytest.raises(BadPolicyError) as caught:
        load(file)
    assert caught.value.hint
    assert all(problem.startswith(str(file)) for problem in caught.value.problems)
    return [problem.removeprefix(f"{file}:").strip() for problem in caught.value.problems]


def test_a_full_policy_is_read(file: Path) -> None:
    file.write_text(FULL)
    policy = load(file)
    assert policy.digest == hashlib.sha256(FULL.encode()).hexdigest()
    assert (policy.default, policy.hide_denied, policy.dry_run) == ("ask", True, True)
    assert policy.approval is not None
    assert policy.approval.command == [str(file.parent / "ask"), "-x"]
    assert policy.approval.seconds == 5
    assert [rule.name for rule in policy.rules] == ["reading", "rule 2"]
    assert [constraint.reason for constraint in policy.rules[0].constraints] == [
        "arguments_invalid",
        "path_not_allowed",
        "url_not_allowed",
    ]
    assert policy.decide(Call("fs", "read_x", {"path": f"{file.parent}/x"}), 0).action == "allow"


def test_json_is_a_policy_too(file: Path) -> None:
    file.write_text(json.dumps(yaml.safe_load(FULL), indent=1))
    assert len(load(file).rules) == 2


def test_a_policy_without_anything_denies_everything(file: Path) -> None:
    file.write_text("version: 1")
    assert load(file).decide(Call("s", "t", {}), 0).reason == "denied_by_default"


def test_all_problems_are_told_at_once_with_line_and_column(file: Path) -> None:
    assert problems(
        file,
        "version: 2\ndefalt: allow\nrules:\n  - tool: [x]\n    action: permit\n  - tools: ['[a]', 1]\n"
        "    action: deny\n    rate: {calls: 0, seconds: 1}\n",
    ) == [
        "1:10: version is 1",
        "2:1: a policy has no key 'defalt'; did you mean default?",
        "4:5: a rule has no key 'tool'; did you mean tools?",
        "4:5: a rule names tools, or servers, or both",
        "5:13: action is allow, ask or deny",
        "6:13: a glob knows only * and ?, not [",
        "6:20: an entry of tools is a word; quotes make it one",
        "8:5: a rule that denies has no rate: it denies every call",
        "8:19: calls is a whole number from 1 to 100000",
    ]


def test_constraints_are_held_against_an_action_only_where_it_is_one(file: Path) -> None:
    rule = "version: 1\nrules:\n- {tools: [x], action: ACTION, rate: {calls: 1, seconds: 1}}"
    assert problems(file, rule.replace("ACTION", "permit")) == ["3:24: action is allow, ask or deny"]
    assert problems(file, rule.replace("ACTION", "deny")) == [
        "3:30: a rule that denies has no rate: it denies every call"
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1:1: a policy is a mapping"),
        ("[]", "1:1: a policy is a mapping"),
        ("default: deny", "1:1: a policy needs the key version"),
        ("version: true", "1:10: version is 1"),
        ("version: 1.0", None),
        ("version: '1'", "1:10: version is 1"),
        ("version: 1\nversion: 1", "2:1: the key 'version' is there twice, first in line 1"),
        ("version: 1\ndry_run: yes", "2:10: 'yes' means different things"),
        ("version: 1\ndry_run: 'true'", "2:10: dry_run is true or false"),
        ("version: 1\nrules: {}", "2:8: rules is a list"),
        ("version: 1\nrules: [x]", "2:9: a rule is a mapping"),
        ("version: 1\nrules:\n- {tools: [], action: deny}", "3:11: tools is empty"),
        ("version: 1\nrules:\n- {tools: [a]}", "3:3: a rule needs the key action"),
        ("version: &a 1", "1:10: anchors and aliases are not taken here"),
        ("version: 1\nrules: &a [*a, *a]", "2:8: anchors and aliases"),
        ("version: !!int 1", "1:10: tags are not taken here"),
        ("version: 1\npins: !!python/object/apply:os.system ['true']", "2:7: tags are not taken here"),
        ("version: 1\n<<: {dry_run: true}", "2:1: '<<' means different things"),
        ("version: 1\n1: x", "2:1: a key is a word"),
        ("version: 1\n--- \nversion: 1", "2:1: there is more than one document"),
        ("version: 1\n\tdefault: x", "2:1: "),
        ("version: 1\nrules: [", ": "),
        ("version: 1\nrules: " + "[" * 40, "2:40: nested deeper than 32"),
        ("version: 1\nname: \0", "a character that YAML does not take"),
        ("version: 1\non_change: warn", "2:1: on_change says what becomes of pins"),
        ("version: 1\nmethods: {deny: [ping]}", "2:18: ping always passes"),
        ("version: 1\nmethods: {allow: [tools/call]}", "2:19: rules say which tools may be called"),
        ("version: 1\napproval: {command: [], seconds: 9999}", "2:34: seconds is a whole number"),
        ("version: 1\napproval: {command: [], seconds: 9999}", "2:21: command is empty"),
        (RULE + "paths: {arguments: [p], under: ['~/x']}", "5:35: ~"),
        (RULE + "paths: {under: [/x]}", "5:10: paths needs the key arg"),
        (RULE + "paths: {arguments: [p], under: [/x], optional: 1}", "5:50: optional is true or false"),
        (RULE + "urls: {arguments: [u], hosts: [A.b]}", "5:34: an entry of hosts is a name"),
        (RULE + "urls: {arguments: [u], hosts: [a], ports: [0]}", "5:46: an entry of ports is a whole"),
        (RULE + "arguments: {items: {type: [strin]}}", "5:29: bad schema"),
        (RULE + "arguments: {$ref: 'http://x/'}", "5:21: bad schema"),
        (RULE + "arguments: []", "5:14: arguments is a JSON Schema"),
        (b"version: 1\n# \xff\n", "2:3: not UTF-8"),
        ("version: 1\n# \ud800", "2:3: not UTF-8"),
    ],
)  # fmt: skip
def test_each_problem_is_told_where_it_is(file: Path, text: str | bytes, says: str | None) -> None:
    if says is None:
        file.write_text(str(text))
        assert load(file)
    else:
        assert any(says in problem for problem in problems(file, text))


def test_a_bomb_of_aliases_is_small(file: Path) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    told = problems(file, "\n".join(lines))
    assert len(told) == loader.MOST_PROBLEMS + 1
    assert "more problems" in told[-1]


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "large", "device", "nul"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("\0" if kind == "nul" else "policy")
    match kind:
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "large":
            path.write_bytes(b"#" * (loader.MAX_BYTES + 1))
        case "device":
            path.symlink_to("/dev/zero")
    with pytest.raises(BadPolicyError):
        load(path)


def test_a_pin_file_that_is_missing_or_damaged_is_refused_with_what_to_do(file: Path) -> None:
    file.write_text("version: 1\npins: pins.json\n")
    with pytest.raises(BadPolicyError, match="No such file") as caught:
        load(file)
    assert "steno mcp pin" in caught.value.hint
    (file.parent / "pins.json").write_text('{"schema":"steno.mcp_pins.v1","servers":[]}')
    with pytest.raises(BadPolicyError, match="servers"):
        load(file)


def test_the_library_for_schemas_is_loaded_only_for_schemas(file: Path) -> None:
    file.write_text("version: 1\nrules: [{tools: [a], action: allow}]")
    code = (
        "import sys, pathlib; from steno.mcp.policy.loader import load; load(pathlib.Path(sys.argv[1]));"
        "sys.exit('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, file], check=False).returncode == 0


# --- hostile files --------------------------------------------------------------------------------

SCALARS = st.sampled_from(
    [
        None,
        True,
        1,
        -1,
        0.5,
        "",
        "x",
        "*",
        "[a]",
        "allow",
        "deny",
        "ask",
        "block",
        "/srv",
        "~",
        "a\0b",
        "\ud800",
    ]
)
KEYS = st.sampled_from(
    sorted(
        {key for mapping in SCHEMA["$defs"].values() for key in mapping["properties"]}
        | {"type", "$ref", "properties", "pattern", "other"}
    )
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


def read(folder: Path, data: bytes) -> None:
    path = folder / "policy"
    path.write_bytes(data)
    with contextlib.suppress(BadPolicyError):
        load(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("policies")


@given(st.dictionaries(KEYS, TREES, max_size=6))
def test_no_tree_upsets_the_reader(folder: Path, tree: dict[str, Any]) -> None:
    read(folder, json.dumps({"version": 1, **tree}).encode())


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
@example(b"? [a]\n: b")
@example(b"%YAML 9.9\n---\n")
@example(b"\xef\xbb\xbfversion: 1")
@example(b"\xff\xfev\x00")
def test_no_bytes_upset_the_reader(folder: Path, data: bytes) -> None:
    read(folder, data)


@given(st.data())
def test_no_damage_to_a_policy_upsets_the_reader(folder: Path, data: st.DataObject) -> None:
    text = bytearray(FULL.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        text[start : start + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=4))
    read(folder, bytes(text))


# --- the published schema -------------------------------------------------------------------------


def test_the_published_schema_is_made_of_what_reads_the_file() -> None:
    assert grammar.json_schema() == SCHEMA


@given(st.dictionaries(KEYS, TREES, max_size=4))
@example(yaml.safe_load(FULL))
def test_what_the_reader_takes_fits_the_published_schema(folder: Path, tree: dict[str, Any]) -> None:
    policy = {"version": 1, **tree}
    path = folder / "policy"
    path.write_text(json.dumps(policy))
    try:
        loader.read(path)
    except BadPolicyError:
        return
    jsonschema.validate(policy, SCHEMA)


@pytest.mark.parametrize(
    "policy",
    [
        {"on_change": "warn"},
        {"rules": [{"action": "allow"}]},
        {"rules": [{"action": "deny", "tools": ["a"], "rate": {"calls": 1, "seconds": 1}}]},
        {"rules": [{"action": "permit", "tools": ["a"]}]},
        {"rules": [{"action": "allow", "tools": ["[a]"]}]},
        {"defalt": "allow"},
    ],
)
def test_what_the_reader_refuses_an_editor_shows_too(policy: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": 1, **policy}, SCHEMA)


def test_the_published_schema_is_shipped(tmp_path: Path) -> None:
    assert (Path(grammar.__file__).parent / "policy.schema.json").exists()
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
