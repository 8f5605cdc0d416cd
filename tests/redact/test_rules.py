"""Every rule catches its own examples, exactly, and leaves its counterexamples alone."""

from __future__ import annotations

import subprocess
import sys

from steno.redact import RULES, Findings, Redactor
from steno.redact.rule import compile_rule
from steno.redact.rules import SHAPES
from support.cases import cases
from support.program import SECONDS

EXAMPLES = [(rule.name, example) for rule in RULES for example in rule.examples]


def test_every_rule_has_lines_that_must_and_lines_that_must_not_be_caught() -> None:
    with cases() as case:
        for rule in RULES:
            with case(rule.name):
                assert rule.examples
                assert rule.counterexamples
                assert rule.description
                assert all(example.secret in example.line for example in rule.examples)


def test_the_names_of_rules_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_a_pattern_captures_one_group_and_that_is_the_secret() -> None:
    with cases() as case:
        for rule in SHAPES:
            with case(rule.name):
                assert compile_rule(rule.pattern).groups == 1
                assert compile_rule(rule.head).groups == 1


def test_the_prefilter_matches_wherever_the_pattern_does() -> None:
    with cases() as case:
        for rule in SHAPES:
            for example in rule.examples:
                with case((rule.name, example)):
                    assert compile_rule(rule.prefilter).search(example.line) is not None


def test_the_head_matches_every_beginning_of_a_secret() -> None:
    with cases() as case:
        for rule in SHAPES:
            head = compile_rule(rule.head)
            for example in rule.examples:
                start = example.line.index(example.secret)
                for end in range(start + 1, start + len(example.secret) + 1):
                    with case((rule.name, example, end)):
                        found = head.search(example.line[:end])
                        assert found is not None
                        assert found.start(1) <= start


def test_a_line_that_must_be_caught_is_masked_and_nothing_else_of_it() -> None:
    with cases() as case:
        for rule, example in EXAMPLES:
            with case((rule, example)):
                spans = Redactor(findings=Findings()).find(example.line)
                assert [example.line[span.start : span.end] for span in spans] == [example.secret]


def test_a_line_is_caught_inside_a_larger_text() -> None:
    with cases() as case:
        for rule, example in EXAMPLES:
            with case((rule, example)):
                data = b"first line\n" + example.line + b"\nlast line, key and token without value\n"
                masked = Redactor(findings=Findings()).mask(data, "output")
                assert example.secret not in masked or len(example.secret) < 4
                assert len(masked) == len(data)
                assert masked.endswith(b"\nlast line, key and token without value\n")


def test_a_line_that_must_not_be_caught_is_left_alone() -> None:
    with cases() as case:
        for rule in RULES:
            for line in rule.counterexamples:
                with case((rule.name, line)):
                    redactor = Redactor(findings=Findings())
                    assert redactor.mask(line, "output") == line
                    assert redactor.mask(line + b"\n", "output") == line + b"\n"


def test_masked_lines_are_not_findings_again() -> None:
    with cases() as case:
        for rule, example in EXAMPLES:
            with case((rule, example)):
                redactor = Redactor(findings=Findings())
                assert redactor.find(redactor.mask(example.line, "output")) == []
                text = redactor.text(example.line.decode("latin-1"), "field")
                assert "[REDACTED:" in text
                assert redactor.text(text, "field") == text


def test_no_pattern_is_compiled_before_it_is_needed() -> None:
    script = (
        "import re, re2; compiled = []\n"
        "re2.compile = lambda *asked: compiled.append(asked)\n"
        "import steno.redact.redactor, steno.redact.scanner as scanner\n"
        "scanner.Scanner(); print(len(compiled))"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=SECONDS)
    assert told.stdout == b"0\n"
