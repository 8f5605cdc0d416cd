"""Without a terminal: the command finds pipes, and everything is as it would be bare."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from steno.claims.folder import VARIABLES
from steno.contracts import assay
from support.program import PROGRAM, Steno
from support.recorded import only_run, runs
from support.waiting import until

BIG = 3_000_000
# A command that reads nothing, and ends once there is something to read.
INPUT_IS_THERE = "python3 -c 'import select; select.select([0], [], [])'"


def shell(script: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in which `steno` is the installed program."""
    path = f"{PROGRAM.parent}{os.pathsep}{env['PATH']}"
    return subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        cwd=cwd,
        env={**env, "PATH": path},
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("code", [0, 1, 3, 125, 126, 127, 255])
def test_the_exit_code_is_the_commands_own(steno: Steno, store: Path, code: int) -> None:
    done = steno("run", "--no-git", "--", "sh", "-c", f"exit {code}")
    assert done.returncode == code
    assert only_run(store).event("command_finished")["exit_code"] == code


@pytest.mark.parametrize(("name", "number"), [("TERM", 15), ("SEGV", 11), ("KILL", 9), ("INT", 2)])
def test_a_signal_gives_128_plus_its_number(steno: Steno, store: Path, name: str, number: int) -> None:
    done = steno("run", "--no-git", "--", "sh", "-c", f"kill -{name} $$")
    assert done.returncode == 128 + number
    finished = only_run(store).event("command_finished")
    assert (finished["exit_code"], finished["signal"]) == (128 + number, f"SIG{name}")


def test_stdout_and_stderr_come_out_and_are_recorded_apart(steno: Steno, store: Path) -> None:
    done = steno("run", "--no-git", "--", "sh", "-c", "echo out; echo err >&2; printf more")
    assert (done.stdout, done.stderr) == (b"out\nmore", b"err\n")
    run = only_run(store)
    assert (run.stream("stdout"), run.stream("stderr")) == (b"out\nmore", b"err\n")
    assert run.json("run.json")["terminal"]["streams"] == "separate"
    assert run.is_valid


def test_nothing_is_added_to_what_the_command_writes(steno: Steno) -> None:
    done = steno("run", "--no-git", "--", "true")
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_pipeline_passes_through_on_either_side(clean_env: dict[str, str], tmp_path: Path) -> None:
    done = shell("printf x | steno run --no-git -- cat | wc -c", clean_env, tmp_path)
    assert done.stdout.strip() == b"1"


def test_piped_input_is_recorded(steno: Steno, store: Path) -> None:
    done = steno("run", "--no-git", "--", "wc", "-c", input=b"twelve bytes")
    assert done.stdout.strip() == b"12"
    run = only_run(store)
    assert run.stream("stdin") == b"twelve bytes"
    assert run.json("run.json")["terminal"]["stdin"] == "relayed"


def test_big_input_and_output_pass_whole(steno: Steno, store: Path) -> None:
    data = os.urandom(BIG).replace(b"=", b".").replace(b":", b".")
    done = steno("run", "--no-git", "--", "cat", input=data)
    assert done.stdout == data
    assert len(only_run(store).stream("stdout")) == len(data)


def test_a_closed_stdout_ends_the_command_promptly_with_sigpipe(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    done = shell('steno run --no-git -- yes | head -1; echo "${PIPESTATUS[0]}"', clean_env, tmp_path)
    assert done.stdout == b"y\n141\n"
    run = only_run(store)
    assert run.event("command_finished")["signal"] == "SIGPIPE"
    assert run.event("stream_closed")["stream"] == "terminal/stdout"
    assert run.is_valid


@pytest.mark.parametrize("fd", [0, 1, 2])
def test_a_descriptor_that_was_closed_is_closed_for_the_command_too(
    clean_env: dict[str, str], tmp_path: Path, store: Path, fd: int
) -> None:
    seen = tmp_path / "seen"
    look = f"test -e /proc/self/fd/{fd} && echo open >{seen} || echo closed >{seen}"
    done = shell(f"steno run --no-git -- sh -c '{look}' {fd}>&-", clean_env, tmp_path)
    assert done.returncode == 0
    assert seen.read_text() == "closed\n"
    assert only_run(store).is_valid


def test_stdin_from_a_file_is_the_same_file_with_the_same_offset(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    (tmp_path / "lines").write_text("first\nsecond\nthird\n")
    done = shell("{ steno run --no-git -- sed -n -u '1{p;q}'; cat; } < lines", clean_env, tmp_path)
    assert done.stdout == b"first\nsecond\nthird\n"
    assert only_run(store).json("run.json")["terminal"]["stdin"] == "inherited"


def test_a_loop_that_shares_one_pipe_sees_every_line(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    done = shell(
        f"seq 40 | while read n; do test $n -gt 3 || steno run --no-git -- {INPUT_IS_THERE}; echo $n; done",
        clean_env,
        tmp_path,
    )
    assert done.stdout.split() == [str(n).encode() for n in range(1, 41)]
    assert done.stderr == b""
    assert runs(store)[0].event("stdin_unread")["given_back"] is True


def test_input_that_cannot_be_put_back_is_declared(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    recorded = f"steno run --no-git -- {INPUT_IS_THERE}"
    script = f"{{ printf 'unread'; cat {fifo}; }} | {{ {recorded}; echo >{fifo}; }}"
    done = shell(script, clean_env, tmp_path)
    assert b"6 bytes of input were read ahead" in done.stderr
    assert b"hint:" in done.stderr
    assert only_run(store).event("stdin_unread") == {"bytes": 6, "given_back": False}


def test_output_that_leads_to_one_place_keeps_its_order(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    done = shell(
        "steno run --no-git -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done' 2>&1",
        clean_env,
        tmp_path,
    )
    assert done.stdout.split() == [f"{s}{i}".encode() for i in range(1, 9) for s in "oe"]
    run = only_run(store)
    assert run.stream("output") == done.stdout
    assert run.json("run.json")["terminal"]["streams"] == "merged"


def test_binary_output_with_nul_bytes_and_bad_utf8_is_exact(steno: Steno, store: Path) -> None:
    data = bytes(range(256)) * 40 + b"\xff\xfe\x00\xc3("
    (store.parent / "data").write_bytes(data)
    done = steno("run", "--no-git", "--", "cat", str(store.parent / "data"))
    assert done.stdout == data
    run = only_run(store)
    assert run.stream("stdout") == data
    assert run.is_valid


def test_the_command_finds_its_environment_and_arguments_unchanged(steno: Steno) -> None:
    bare = subprocess.run(["env"], env={"A": "1", "LC_ALL": "C"}, capture_output=True, check=True)
    script = 'import os,sys; os.write(1, os.environb.get(b"ODD", b"") + b"|" + os.fsencode(sys.argv[1]))'
    done = steno(
        "run",
        "--no-git",
        "--",
        "python3",
        "-c",
        script,
        os.fsdecode(b"\xff\xfe a"),
        env={"ODD": os.fsdecode(b"\xe9")},
    )
    assert bare.returncode == 0
    assert done.stdout == b"\xe9|\xff\xfe a"


def test_a_script_without_an_interpreter_line_runs_as_in_a_shell(steno: Steno, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "hello $1"\n')
    script.chmod(0o755)
    assert steno("run", "--no-git", "--", str(script), "you").stdout == b"hello you\n"


def test_the_command_finds_default_signal_actions(steno: Steno) -> None:
    done = steno("run", "--no-git", "--", "grep", "SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert ignored & (1 << 12 | 1 << 24) == 0  # SIGPIPE and SIGXFSZ, which Python ignores for itself


def test_late_output_of_a_leftover_process_reaches_a_waiting_pipe(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    done = shell(
        "x=$(steno run --no-git -- sh -c '(sleep 1; echo late) & echo now'); echo \"$x\"", clean_env, tmp_path
    )
    assert done.stdout == b"now\nlate\n"
    assert only_run(store).is_valid


def test_a_process_that_keeps_the_output_open_is_declared(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    done = shell("steno run --no-git -- sh -c 'sleep 30 & echo $!' >out 2>err", clean_env, tmp_path)
    assert done.returncode == 0
    os.kill(int((tmp_path / "out").read_text()), 9)
    run = only_run(store)
    assert "terminal_held" in run.types
    assert run.verdict().gaps == ["processes_outlived", "terminal_held"]
    assert run.verdict().exit_code == 3


def test_a_process_left_behind_goes_on_writing_to_the_users_file(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    script = "(until test -e go; do sleep 0.05; done; echo late; echo ok >alive) & echo now"
    command = f"steno run --no-git --wait-descendants 0 -- sh -c '{script}' >out 2>err"
    done = shell(command, clean_env, tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == "now\n"
    (tmp_path / "go").touch()
    until((tmp_path / "alive").exists)
    until(lambda: (tmp_path / "out").read_text() == "now\nlate\n")
    run = only_run(store)
    assert run.stream("stdout") == b"now\n"
    assert run.verdict().gaps == ["processes_outlived", "terminal_held"]


@pytest.mark.parametrize("left", [b"", b"x" * 1000])
def test_a_socket_as_stdin_is_relayed(
    clean_env: dict[str, str], tmp_path: Path, store: Path, left: bytes
) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.sendall(b"hello\n" + left)
    with theirs:
        done = subprocess.run(
            [PROGRAM, "run", "--no-git", "--", "sh", "-c", "read line; echo got $line; exit 5"],
            stdin=theirs.fileno(),
            capture_output=True,
            cwd=tmp_path,
            env=clean_env,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout) == (5, b"got hello\n")
    assert only_run(store).is_valid


def test_an_output_that_cannot_be_written_ends_the_command(
    clean_env: dict[str, str], tmp_path: Path, store: Path
) -> None:
    done = shell(
        "steno run --no-git -- sh -c 'while echo hi; do sleep 0.02; done; echo after >seen' >/dev/full",
        clean_env,
        tmp_path,
    )
    assert done.returncode == 128 + 13
    assert not (tmp_path / "seen").exists()
    assert only_run(store).event("stream_closed")["reason"] == "No space left on device"


@pytest.mark.parametrize(
    ("script", "redirected", "code", "said"),
    [
        ("echo x", ">/dev/full", 125, "stdout"),
        ("echo x >&2", "2>/dev/full", 125, None),
        ("echo x; exit 7", ">/dev/full", 7, "stdout"),
        ("echo x; exit 7", ">/dev/full 2>&1", 7, None),
        ("exit 0", ">/dev/full", 0, None),
    ],
)
def test_an_output_that_could_not_be_written_is_told_and_no_success(
    clean_env: dict[str, str], tmp_path: Path, script: str, redirected: str, code: int, said: str | None
) -> None:
    done = shell(f"steno run --no-git -- sh -c '{script}' {redirected}", clean_env, tmp_path)
    assert done.returncode == code
    told = f"steno: what the command wrote to {said} could not be written: No space left on device\nhint: "
    assert done.stderr.decode().startswith(told if said else "")
    assert bool(done.stderr) == bool(said)


def test_a_reader_that_left_is_no_failure(clean_env: dict[str, str], tmp_path: Path, store: Path) -> None:
    """The command writes once, when nobody reads any more, and does not mind."""
    script = "trap true PIPE; until test -e gone; do sleep 0.01; done; echo x; exit 0"
    done = shell(
        f"{{ steno run --no-git -- sh -c '{script}'; echo $? >code; }} | {{ exec <&-; touch gone; }}",
        clean_env,
        tmp_path,
    )
    assert (done.stderr, (tmp_path / "code").read_text()) == (b"", "0\n")
    assert only_run(store).event("stream_closed")["reason"] == "Broken pipe"


def test_the_command_finds_the_environment_that_we_were_given_and_eight_names_more(
    tmp_path: Path, store: Path
) -> None:
    given = {"PATH": os.environ["PATH"], "STENO_HOME": str(store)}
    done = subprocess.run(
        [PROGRAM, "run", "--no-git", "--observer", "none", "--", "env"],
        env=given,
        capture_output=True,
        cwd=tmp_path,
        check=True,
    )
    found = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert {name: found.pop(name) for name in given} == given
    assert sorted(found) == sorted((*VARIABLES, *assay.VARIABLES.values()))
    assert len(found) == 8
    assert only_run(store).json("run.json")["env"].keys() == {*given, *found}


def test_without_home_in_the_environment_a_command_is_recorded(tmp_path: Path, store: Path) -> None:
    given = {"PATH": os.environ["PATH"], "STENO_HOME": str(store), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run([PROGRAM, "run", "--", "true"], env=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert only_run(store).is_valid


@pytest.mark.parametrize("name", ["USR1", "ALRM"])
def test_a_signal_that_the_command_handles_reaches_it(
    clean_env: dict[str, str], tmp_path: Path, store: Path, name: str
) -> None:
    script = f"trap 'echo caught; exit 4' {name}; echo on; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [PROGRAM, "run", "--no-git", "--", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=clean_env,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"on\n"
    process.send_signal(signal.Signals[f"SIG{name}"])
    assert process.communicate(timeout=60)[0] == b"caught\n"
    assert process.returncode == 4
    assert only_run(store).event("recorder_signalled") == {"signal": f"SIG{name}", "forwarded": True}


def test_the_name_and_the_directory_are_recorded(steno: Steno, store: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    done = steno("run", "--no-git", "--name", "a name", "--cwd", "sub", "--", "pwd")
    assert done.stdout.strip() == str(tmp_path / "sub").encode()
    run = only_run(store).json("run.json")
    assert (run["name"], run["cwd"]) == ("a name", str(tmp_path / "sub"))


def test_the_store_is_private(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--", "true")
    found = {path.stat().st_mode & 0o077 for path in [store, *store.rglob("*")]}
    assert found == {0}
