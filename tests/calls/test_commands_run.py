"""Commands: only what was given the very text, by the agent itself, is the command that is claimed."""

from __future__ import annotations

from typing import Any

import pytest

from support.calls_judged import BETWEEN, child, hooked, of_agent, result
from support.frames_made import FakeFrames

SNAPSHOT = "source /home/ada/.claude/shell-snapshots/snapshot-bash-1-a.sh 2>/dev/null || true"
CLAUDE = (
    SNAPSHOT
    + " && shopt -u extglob 2>/dev/null || true && eval {} < /dev/null && pwd -P >| /tmp/claude-1-cwd"
)
CODEX = """\
__CODEX_SNAPSHOT_OVERRIDE_SET_0="${{CODEX_VERSION+x}}"
__CODEX_SNAPSHOT_OVERRIDE_0="${{CODEX_VERSION-}}"

if . '/home/ada/.codex/shell_snapshots/1.sh' >/dev/null 2>&1; then :; fi

if [ -n "${{__CODEX_SNAPSHOT_OVERRIDE_SET_0}}" ]; then
  if [ -z "${{CODEX_VERSION+x}}" ] || [ "${{CODEX_VERSION-}}" != "${{__CODEX_SNAPSHOT_OVERRIDE_0}}" ]; then \
export CODEX_VERSION="${{__CODEX_SNAPSHOT_OVERRIDE_0}}"; else export CODEX_VERSION; fi
else builtin unset CODEX_VERSION 2>/dev/null || command unset CODEX_VERSION; fi
builtin unset __CODEX_SNAPSHOT_OVERRIDE_SET_0 2>/dev/null || command unset __CODEX_SNAPSHOT_OVERRIDE_SET_0
if [ -n "${{PATH:-}}" ]; then export PATH='/x/codex-path':"$PATH"; else export PATH='/x/codex-path'; fi

exec '/bin/bash' -c {}"""


GEMINI = """\
shopt -u promptvars nullglob extglob nocaseglob dotglob; _bgpids_file=/tmp/gemini-shell-vR0vj3/bgpids.tmp
(
  trap 'jobs -p > "$_bgpids_file"' EXIT
{}
)
__code=$?
exit $__code"""


def shell(*words: str) -> FakeFrames:
    return child(hooked()).exec("/usr/bin/bash", ["bash", *words], process=4, at=BETWEEN)


def judged(made: FakeFrames, command: Any, tool: str = "Bash", **more: Any) -> str | None:
    return result(of_agent(made, tool, {"command": command}, **more), "command_claimed")


@pytest.mark.parametrize("option", ["-c", "-lc"])
def test_a_shell_with_the_very_text_confirms(option: str) -> None:
    assert judged(shell(option, "ls -l | wc"), "ls -l | wc") == "confirmed"
    assert judged(shell("-c", "-l", "ls -l | wc"), ["bash", "-lc", "ls -l | wc"], "shell") == "confirmed"


@pytest.mark.parametrize(
    ("claimed", "ran"),
    [
        ("ls", "false"),
        ("ls -l", "echo pwned > PWN; ls -l"),
        ("pytest", "echo pytest; true"),
        ("rm -rf a b", "rm -rf ab"),
        ("echo 'a'", "echo a"),
        ("ls", "ls # and more"),
    ],
)
def test_another_text_is_left_open_however_much_it_resembles_the_command(claimed: str, ran: str) -> None:
    call = of_agent(shell("-c", ran), "Bash", {"command": claimed}, {"exit_code": 0})
    assert (call["verdict"], call["said"]["corroboration"]) == ("unobserved", "self_reported")
    assert result(call, "exit_status_claimed") == "unobserved"


@pytest.mark.parametrize(
    ("command", "quoted"),
    [
        ("echo hi", "'echo hi'"),
        ("echo 'hi' there", "'echo '\"'\"'hi'\"'\"' there'"),
        ("echo 'hi' there", "'echo '\\''hi'\\'' there'"),
        ("it's $HOME", '"it\'s \\$HOME"'),
        ("make", "make"),
    ],
)
def test_the_forms_in_which_agents_wrap_a_command_confirm_it(command: str, quoted: str) -> None:
    assert judged(shell("-c", CLAUDE.format(quoted)), command) == "confirmed"
    assert judged(shell("-c", CODEX.format(quoted)), command) == "confirmed"


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("echo hello > made.txt", "echo hello > made.txt"),
        (" cat <<E\nhi\nE\n", "cat <<E\nhi\nE"),
        ("echo \\", "echo \\ "),
    ],
)
def test_gemini_gives_a_command_to_its_shell_without_quotes(command: str, given: str) -> None:
    assert judged(shell("-c", GEMINI.format(given)), command, "run_shell_command") == "confirmed"


@pytest.mark.parametrize(
    "script",
    [
        "evil; " + GEMINI.format("make"),
        GEMINI.format("make") + "; evil",
        GEMINI.format("make\nevil"),
        GEMINI.format("evil\nmake"),
        GEMINI.format("'make'"),
        GEMINI.format("make").replace("bgpids.tmp", "bgpids.tmp;evil"),
        GEMINI.format("make").replace("jobs -p", "evil; jobs -p"),
        "evil; " + CLAUDE.format("'make'"),
        CLAUDE.format("'make'") + "; evil",
        CLAUDE.format("'make'; evil"),
        CLAUDE.format("'make' && evil"),
        CLAUDE.format('"make$(evil)"'),
        CLAUDE.format("'make'").replace("bash-1-a.sh", "bash-1-a.sh;evil"),
        CODEX.format("'make'; evil"),
        CODEX.format("'make'").replace("then :; fi", "then :; fi\nevil"),
        CODEX.format("'make'").replace("export CODEX_VERSION;", "export CODEX_VERSION; evil;"),
        CODEX.format("'make'\nevil"),
    ],
)
def test_a_form_with_anything_beside_the_command_does_not_confirm_it(script: str) -> None:
    assert judged(shell("-c", script), "make") == "unobserved"


def test_a_program_without_a_shell_must_have_the_words_of_the_command() -> None:
    made = child(hooked()).exec("/usr/bin/git", ["git", "status"], process=4, at=BETWEEN)
    assert judged(made, ["/usr/bin/git", "status"], "shell") == "confirmed"
    assert judged(made, "git status") == "confirmed"
    assert judged(made, "git status; evil") == "unobserved"
    assert judged(made, "git push") == "unobserved"
    assert judged(made, "X=1 git status") == "unobserved"


def test_what_another_program_of_the_window_started_is_not_what_the_agent_ran() -> None:
    outer = shell("-c", "evil; bash -c 'ls -l'")
    outer.event("process", process=5, arg=1005 | 4 << 32, arg2=7, result=0, at=BETWEEN)
    outer.exec("/usr/bin/bash", ["bash", "-c", "ls -l"], process=5, at=BETWEEN)
    assert judged(outer, "ls -l") == "unobserved"
    script = child(hooked()).exec("/usr/bin/python3", ["python3", "evil.py"], process=4, at=BETWEEN)
    script.exec("/usr/bin/bash", ["bash", "-c", "ls -l"], process=4, at=BETWEEN)
    assert judged(script, "ls -l") == "unobserved"


def test_a_launcher_of_an_agent_may_stand_before_the_shell() -> None:
    def launched(*before: str) -> FakeFrames:
        words = [*before, "/bin/bash", "-c", "ls -l"]
        made = child(hooked()).exec("/proc/self/exe", words, resolved="/x/codex", process=4, at=BETWEEN)
        return made.exec("/usr/bin/bash", ["/bin/bash", "-c", "ls -l"], process=4, at=BETWEEN)

    assert judged(launched("codex", "--run-as", "1"), "ls -l") == "confirmed"
    other = child(hooked()).exec("/x/codex", ["codex", "bash", "-c", "evil"], process=4, at=BETWEEN)
    other.exec("/usr/bin/bash", ["/bin/bash", "-c", "ls -l"], process=4, at=BETWEEN)
    assert judged(other, "ls -l") == "unobserved"


@pytest.mark.timeout(20)
def test_long_hostile_texts_are_read_at_once() -> None:
    evil = CLAUDE.format("'make' && pwd -P >| x " * 2_000)
    assert judged(shell("-c", evil), "make") == "unobserved"
    assert judged(shell("-c", "fi\n" * 9_000 + "exec '/bin/sh' -c " + "a" * 9_000), "make") is not None
