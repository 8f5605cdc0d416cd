"""What a policy decides: the first rule that fits, its constraints, limits, pins, methods and listings."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp_types import methods

from steno.mcp.policy import summary
from steno.mcp.policy.loader import load
from steno.mcp.policy.policy import Call, Policy
from steno.mcp.protocol import ALWAYS_PASS, CALL_TOOL, KNOWN

Made = Callable[..., Policy]
SECOND = 1_000_000_000


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A policy with these keys."""

    def make(**keys: Any) -> Policy:
        path = tmp_path / "policy.json"
        path.write_text(json.dumps({"version": 1, **keys}))
        return load(path)

    return make


def reason(policy: Policy, tool: str, arguments: Any = None, *, server: str = "s", at: int = 0) -> str:
    ruling = policy.decide(Call(server, tool, arguments), at)
    assert ruling.message
    decisions = {"allowed_by_rule": "allow", "allowed_by_default": "allow", "approval_required": "ask"}
    assert ruling.action == decisions.get(ruling.reason, "deny")
    return ruling.reason


def test_the_first_rule_that_fits_decides(made: Made) -> None:
    policy = made(
        default="allow",
        rules=[
            {"tools": ["write_x"], "action": "allow"},
            {"tools": ["write_*"], "servers": ["s"], "action": "deny"},
            {"tools": ["*"], "servers": ["other"], "action": "deny"},
        ],
    )
    assert reason(policy, "write_x") == "allowed_by_rule"
    assert reason(policy, "write_y") == "denied_by_rule"
    assert reason(policy, "read") == "allowed_by_default"
    assert reason(policy, "read", server="other") == "denied_by_rule"
    assert reason(policy, "write_x", server="other") == "allowed_by_rule"


def test_a_broken_constraint_refuses_and_no_later_rule_is_asked(made: Made, tmp_path: Path) -> None:
    policy = made(
        rules=[
            {
                "tools": ["get"],
                "action": "allow",
                "arguments": {"properties": {"n": {"type": "integer"}}},
                "paths": {"arguments": ["path"], "under": ["."], "optional": True},
                "urls": {"arguments": ["url"], "hosts": ["example.org"], "optional": True},
            },
            {"tools": ["*"], "action": "allow"},
        ]
    )
    assert reason(policy, "get") == "allowed_by_rule"
    assert (
        reason(policy, "get", {"n": 1, "path": f"{tmp_path}/x", "url": "https://example.org"})
        == "allowed_by_rule"
    )
    assert reason(policy, "get", {"n": "x"}) == "arguments_invalid"
    assert reason(policy, "get", {"path": "/etc"}) == "path_not_allowed"
    assert reason(policy, "get", {"url": "https://example.com"}) == "url_not_allowed"


@pytest.mark.parametrize("arguments", [None, {}, {"file_path": "/etc/passwd"}])
def test_a_rule_about_paths_refuses_a_call_without_one(made: Made, arguments: Any) -> None:
    paths = {"arguments": ["path"], "under": ["proj"]}
    policy = made(rules=[{"tools": ["move_file"], "action": "allow", "paths": paths}])
    assert reason(policy, "move_file", arguments) == "path_not_allowed"


@pytest.mark.parametrize("arguments", [[], "x", 1, True, 0, "", False])
def test_arguments_that_are_no_object_are_refused(made: Made, arguments: Any) -> None:
    assert reason(made(default="allow"), "t", arguments) == "arguments_invalid"


def test_a_limit_counts_only_what_is_let_through(made: Made) -> None:
    policy = made(
        rules=[
            {
                "tools": ["t", "u"],
                "action": "allow",
                "arguments": {"required": ["n"]},
                "rate": {"calls": 2, "seconds": 1},
            }
        ]
    )
    assert [reason(policy, "t") for _ in range(5)] == ["arguments_invalid"] * 5
    assert reason(policy, "t", {"n": 1}) == "allowed_by_rule"
    assert reason(policy, "u", {"n": 1}) == "allowed_by_rule"
    assert reason(policy, "t", {"n": 1}, at=SECOND - 1) == "rate_limited"
    assert reason(policy, "t", {"n": 1}, at=SECOND) == "allowed_by_rule"


def test_an_approval_is_asked_for_where_somebody_can_give_it(made: Made) -> None:
    rules = [{"tools": ["t"], "action": "ask", "rate": {"calls": 1, "seconds": 1}}]
    assert reason(made(rules=rules), "t") == "approval_unavailable"
    policy = made(rules=rules, approval={"command": ["true"]})
    assert reason(policy, "t") == "approval_required"
    assert reason(policy, "t") == "rate_limited"
    assert reason(made(default="ask"), "t") == "approval_unavailable"


def test_tools_that_are_never_allowed_are_hidden_when_the_policy_says_so(made: Made) -> None:
    rules = [{"tools": ["no"], "action": "deny"}, {"tools": ["ask"], "action": "ask"}]
    policy = made(default="allow", hide_denied=True, rules=rules)
    assert [tool for tool in ("no", "ask", "yes") if policy.lists("s", tool)] == ["yes"]
    assert made(default="allow", hide_denied=True, rules=rules, approval={"command": ["true"]}).lists(
        "s", "ask"
    )
    assert made(rules=rules).lists("s", "no")
    assert made(rules=rules, hide_denied=True, dry_run=True).lists("s", "no")


def test_methods_pass_as_the_protocol_and_the_policy_say(made: Made) -> None:
    policy = made(methods={"allow": ["x/*", "resources/read"], "deny": ["resources/*", "x/bad"]})
    assert policy.passes_method("x/good")
    assert not policy.passes_method("x/bad")
    assert not policy.passes_method("resources/read")
    assert policy.passes_method("resources/list")
    assert policy.passes_method("prompts/get")
    assert not policy.passes_method("y")
    for odd in ("Tools/list", "tools/list ", "", "tools/calls", "notifications/other", CALL_TOOL):
        assert not made(default="allow").passes_method(odd)
    assert not made(methods={"allow": ["*"]}).passes_method(CALL_TOOL)


def test_every_method_of_the_protocol_is_known() -> None:
    tables = (methods.CLIENT_REQUESTS, methods.CLIENT_NOTIFICATIONS, methods.SERVER_REQUESTS)
    spec = {method for table in (*tables, methods.SERVER_NOTIFICATIONS) for method, _ in table}
    assert spec - {CALL_TOOL} <= ALWAYS_PASS | KNOWN
    assert all("list" in name or "notif" in name or name in spec for name in ALWAYS_PASS)


def test_many_threads_get_together_what_the_limit_allows(made: Made) -> None:
    policy = made(rules=[{"tools": ["t*"], "action": "allow", "rate": {"calls": 100, "seconds": 60}}])

    def decide(number: int) -> bool:
        return policy.decide(Call("s", f"t{number % 7}", {}), number).action == "allow"

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(decide, range(2000))) == 100


def test_names_without_end_do_not_fill_the_memory(made: Made) -> None:
    policy = made(rules=[{"tools": ["a*"], "action": "allow"}])
    for number in range(10_000):
        policy.decide(Call("s", f"a{number}", {}), 0)
    assert len(policy._first) <= 4096  # noqa: SLF001 - that it stays small is seen nowhere else
    assert len(policy.decide(Call("s", "b" * 1_000_000, {}), 0).message) < 500


def test_the_summary_says_what_is_hardly_meant(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "version: 1\ndefault: ask\nrules:\n"
        "  - {tools: ['*'], servers: [a, b], action: allow, rate: {calls: 2, seconds: 60}}\n"
        "  - {name: late, tools: [x], servers: [b], action: deny}\n"
        "  - {tools: [x], action: deny}\n"
    )
    told = summary.summary(path)
    assert [warning.partition(":")[0] for warning in told["warnings"]] == [
        "late is never reached",
        "some calls need an approval, and no command can give it",
    ]
    text = summary.text(told)
    assert "1  allow  * on a b (2 calls in 60 s)" in text
    assert "warning: late is never reached" in text
    assert json.loads(json.dumps(told)) == told


def test_the_summary_says_in_words_what_besides_the_rules_decides(tmp_path: Path) -> None:
    path, pins = tmp_path / "policy.yaml", tmp_path / "pins.json"
    pins.write_text('{"schema":"steno.mcp_pins.v1","servers":{"a":{}}}')
    path.write_text(
        "version: 1\nhide_denied: true\npins: pins.json\n"
        "approval: {command: [ask, 'a b'], seconds: 5}\nrules:\n"
        "  - {tools: [x], action: allow, paths: {arguments: [p], under: [.], optional: true}}\n"
        "  - {tools: [z], action: ask, paths: {arguments: [p], under: [.]}}\n"
    )
    text = summary.text(summary.summary(path)).splitlines()
    assert text[3:] == [
        "   1  allow  x on * (optional path)",
        "   2  ask    z on * (path)",
        "methods  rules are about tools/call; all other methods of the protocol pass, resources/read too",
        "approval ask 'a b' (within 5 s)",
        "hidden   tools that are never allowed are left out of listings",
        "pins     a 0 tools; a tool that is not as it was pinned is refused",
    ]


def test_the_summary_says_which_methods_do_not_pass(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nmethods: {deny: ['resources/read', 'prompts/*'], allow: ['x/*']}\n")
    told = summary.summary(path)
    assert told["methods"]["refused"] == ["prompts/get", "resources/read"]
    says = "all other methods of the protocol but prompts/get, resources/read pass; also x/*"
    assert f"methods  rules are about tools/call; {says}" in summary.text(told).splitlines()
