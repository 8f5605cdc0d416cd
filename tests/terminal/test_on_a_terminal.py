"""On a terminal: the command finds one, and the user notices nothing."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from steno.evidence import layout
from support.programs import needs
from support.recorded import only_run, runs, spooled
from support.screen import Screen
from support.waiting import until

RUN = "steno run --no-git --"


def test_the_command_has_a_terminal_of_the_same_size(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.of_shell(
        f"{RUN} sh -c 'stty size; test -t 0 && test -t 1 && test -t 2 && echo all'; echo rc=$?",
        clean_env,
        tmp_path,
    )
    screen.see("30 100\r\n")
    screen.see("all\r\n")
    screen.see("rc=0")
    screen.rest()
    run = only_run(store)
    terminal = run.json("run.json")["terminal"]
    assert (terminal["kind"], terminal["cols"], terminal["rows"], terminal["streams"]) == (
        "pty",
        100,
        30,
        "split",
    )
    assert run.is_valid


def test_the_terminal_shows_what_it_shows_without_us(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    command = "printf 'a\\tb\\033[31mred\\033[0m\\n'; echo err >&2; ls --color=always /"
    bare = Screen.of_shell(command, clean_env, tmp_path).rest()
    recorded = Screen.of_shell(f'{RUN} sh -c "{command}"', clean_env, tmp_path).rest()
    shown, _, message = recorded.rpartition(b"steno: recorded ")
    assert shown == bare
    assert only_run(store).path.name.encode() in message
    assert only_run(store).stream("output") == bare


def test_a_resized_window_reaches_the_command_and_the_record(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    script = "trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.05; done"
    screen = Screen.of_shell(f'{RUN} sh -c "{script}"; echo rc=$?', clean_env, tmp_path)
    screen.see("ready")
    screen.resize(40, 120)
    screen.see("40 120")
    screen.see("rc=5")
    screen.rest()
    assert only_run(store).event("terminal_resized") == {"cols": 120, "rows": 40}


def test_control_c_interrupts_the_command(clean_env: dict[str, str], tmp_path: Path, store: Path) -> None:
    screen = Screen.of_shell(f"{RUN} sh -c 'echo on; exec sleep 60'; echo rc=$?", clean_env, tmp_path)
    screen.see("on\r\n")
    screen.keys("\x03")
    screen.see("rc=130")
    screen.rest()
    assert only_run(store).event("command_finished")["signal"] == "SIGINT"


def test_a_command_that_catches_control_c_goes_on(clean_env: dict[str, str], tmp_path: Path) -> None:
    script = "trap 'echo caught' INT; echo on; read line; echo got $line"
    screen = Screen.of_shell(
        f'{RUN} bash -c "{script.replace("$", chr(92) + "$")}"; echo rc=$?', clean_env, tmp_path
    )
    screen.see("on\r\n")
    screen.keys("\x03")
    screen.see("caught")
    screen.line("later")
    screen.see("got later")
    screen.see("rc=0")
    screen.rest()


def test_control_z_stops_it_and_fg_brings_it_back(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.with_prompt(clean_env, tmp_path)
    screen.line(f"{RUN} cat")
    screen.line("hello")
    screen.see("hello\r\nhello\r\n")
    screen.keys("\x1a")
    screen.see("Stopped")
    screen.see("READY> ")
    screen.line("stty -a")
    screen.see(" echo ")
    screen.see("READY> ")
    screen.line("fg")
    screen.see("cat\r\n")
    until(lambda: b'"command_continued"' in spooled(store))
    screen.line("again")
    screen.see("again\r\nagain\r\n")
    screen.keys("\x04")
    screen.see("READY> ")
    screen.line("exit")
    screen.rest()
    run = only_run(store)
    assert [kind for kind in run.types if kind in {"command_stopped", "command_continued"}] == [
        "command_stopped",
        "command_continued",
    ]
    assert run.is_valid


def test_a_background_job_writes_and_can_be_brought_to_the_front(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.with_prompt(clean_env, tmp_path)
    screen.line(f"{RUN} sh -c 'echo from behind; read x; echo got $x' &")
    until(lambda: b"from behind" in _spooled_output(store))
    screen.line("fg")
    until(lambda: not screen.shell_has_the_terminal)  # or the shell would read what is typed next
    screen.see("steno run")
    screen.line("front")
    screen.see("got front")
    screen.see("READY> ")
    screen.line("exit")
    screen.rest()
    assert only_run(store).is_valid


@pytest.mark.parametrize(
    ("program", "keys", "expected"),
    [
        pytest.param(
            ["vim", "-u", "NONE", "note.txt"],
            "ihello from vim\x1b:wq\r",
            "hello from vim\n",
            marks=needs("vim"),
        ),
        (["bash", "--norc", "-i"], "echo typed > note.txt\rexit\r", "typed\n"),
        (["python3", "-q"], "open('note.txt','w').write('repl\\n')\rexit()\r", "repl\n"),
    ],
)
def test_full_screen_and_interactive_programs_work(
    clean_env: dict[str, str], tmp_path: Path, store: Path, program: list[str], keys: str, expected: str
) -> None:
    screen = Screen(["steno", "run", "--no-git", "--", *program], clean_env, tmp_path)
    until(lambda: bool(_spooled_output(store)))
    screen.keys(keys)
    screen.rest()
    assert (tmp_path / "note.txt").read_text() == expected
    assert only_run(store).event("command_finished")["exit_code"] == 0


@needs("less")
def test_less_reads_its_keys_from_the_terminal_while_its_input_is_a_pipe(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.of_shell(f"seq 500 | {RUN} less; echo rc=$?", clean_env, tmp_path)
    screen.see("28\r\n29\r\n")
    screen.keys("G")
    screen.see("500")
    screen.keys("q")
    screen.see("rc=0")
    screen.rest()
    assert only_run(store).is_valid


def test_job_control_inside_an_interactive_shell_works(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen(
        ["steno", "run", "--no-git", "--", "bash", "--norc", "-i"], {**clean_env, "PS1": "IN> "}, tmp_path
    )
    screen.see("IN> ")
    screen.line("sleep 60")
    until(lambda: b"sleep 60" in _spooled_output(store))
    until(lambda: _has_child_named(store, "sleep"))
    screen.keys("\x1a")
    screen.see("Stopped")
    screen.keys("kill %1; exit\rexit\r")  # at once: after the first exit there may be nobody to type for
    screen.rest()
    assert "command_stopped" not in only_run(store).types


def test_a_password_typed_without_echo_is_not_in_the_record(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.of_shell(
        f"{RUN} bash -c 'read -s -p word: p; echo; echo ${{#p}} letters; read -p name: n'",
        clean_env,
        tmp_path,
    )
    screen.see("word:")
    screen.line("correct horse")
    screen.see("13 letters")
    screen.see("name:")
    screen.line("ada")
    screen.rest()
    run = only_run(store)
    assert run.stream("stdin") == b"*" * 13 + b"\rada\r"
    report = run.json("redaction-report.json")
    assert report["counts"]["typed-without-echo"] == 1
    assert report["examples"][0]["length"] == 13


def test_a_password_that_is_shown_later_is_masked_too(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.of_shell(
        f"{RUN} bash -c 'read -s -p word: p; echo; echo you typed $p; echo end'", clean_env, tmp_path
    )
    screen.see("word:")
    screen.line("correct-horse-battery")
    screen.see("you typed correct-horse-battery")
    screen.rest()
    run = only_run(store)
    assert b"you typed *********************\r\nend" in run.stream("output")


@needs("vim")
def test_keys_for_a_full_screen_program_are_masked_and_told_apart(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen(["steno", "run", "--no-git", "--", "vim", "-u", "NONE", "x"], clean_env, tmp_path)
    until(lambda: bool(_spooled_output(store)))
    screen.keys(":q!\r")
    screen.rest()
    report = only_run(store).json("redaction-report.json")
    assert report["counts"]["typed-key-by-key"] == 1


def test_stderr_that_was_sent_elsewhere_stays_apart(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.of_shell(
        f"{RUN} sh -c 'echo out; echo err >&2; test -t 2 || echo nottty' 2>err.txt", clean_env, tmp_path
    )
    screen.see("nottty")
    screen.rest()
    run = only_run(store)
    assert (run.stream("stdout"), run.stream("stderr")) == (b"out\r\nnottty\r\n", b"err\n")
    assert (tmp_path / "err.txt").read_bytes().startswith(b"err\n")


def test_a_command_that_closes_its_terminal_and_opens_it_again_is_recorded(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    script = "exec 3>/dev/tty; exec 0<&- 1>&- 2>&-; exec 3>&-; sleep 0.3; echo back >/dev/tty"
    screen = Screen.of_shell(f"{RUN} bash -c '{script}'; echo rc=$?", clean_env, tmp_path)
    screen.see("back")
    screen.see("rc=0")
    screen.rest()
    assert only_run(store).stream("output") == b"back\r\n"


def test_a_daemon_that_keeps_the_terminal_survives_and_is_declared(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    script = "(until test -e go; do sleep 0.05; done; echo done >alive) & echo left $!"
    command = f"steno run --no-git --wait-descendants 0 -- sh -c '{script}'; echo rc=$?"
    screen = Screen.of_shell(command, clean_env, tmp_path)
    screen.see("left")
    screen.see("rc=0")
    screen.rest()
    (tmp_path / "go").touch()
    until((tmp_path / "alive").exists)
    run = only_run(store)
    assert "terminal_held" in run.types
    assert run.verdict().exit_code == 3


def test_a_closed_window_hangs_up_the_command_and_the_record_is_sealed(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen(
        ["steno", "run", "--no-git", "--", "sh", "-c", "echo on; exec sleep 60"], clean_env, tmp_path
    )
    screen.see("on\r\n")
    screen.hang_up()
    until((only_run(store).path / layout.MANIFEST).exists)
    assert only_run(store).event("command_finished")["signal"] == "SIGHUP"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_recorder_reaches_the_command(
    clean_env: dict[str, str], tmp_path: Path, store: Path, number: signal.Signals
) -> None:
    screen = Screen(
        ["steno", "run", "--no-git", "--", "sh", "-c", "echo on; exec sleep 60"], clean_env, tmp_path
    )
    screen.see("on\r\n")
    screen.signal(number)
    screen.rest()
    run = only_run(store)
    assert run.event("command_finished")["exit_code"] == 128 + number
    assert run.event("recorder_signalled") == {"signal": number.name, "forwarded": True}
    assert run.is_valid


def test_a_terminal_can_be_had_where_there_is_none(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    screen = Screen.of_shell(
        "echo piped | steno run --no-git --pty always -- sh -c 'test -t 0 && cat' >out 2>&1 </dev/null",
        clean_env,
        tmp_path,
    )
    screen.rest()
    assert only_run(store).json("run.json")["terminal"]["kind"] == "pty"


def _spooled_output(store: Path) -> bytes:
    if not store.exists():
        return b""
    found = [path for run in runs(store) for path in run.path.rglob(layout.OUTPUT)]
    return found[0].read_bytes() if found else b""


def _has_child_named(store: Path, name: str) -> bool:
    return any(
        _is_named(process, name, store) for process in Path("/proc").iterdir() if process.name.isdigit()
    )


def _is_named(process: Path, name: str, store: Path) -> bool:
    try:
        is_ours = str(store).encode() in (process / "environ").read_bytes()
        return is_ours and (process / "comm").read_text() == f"{name}\n"
    except OSError:  # it has ended meanwhile
        return False
