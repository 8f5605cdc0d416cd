"""On a terminal the record tells stdout from stderr, exactly, and the user sees what they would see bare."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from steno.bundle.verify import Status
from support.observers import STOPPING, needs, observers
from support.recorded import only_run
from support.screen import Screen
from support.splitting import Terminal, counters, streams

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="without gcc nothing is observed")


@pytest.fixture(params=observers(STOPPING))
def terminal(
    request: pytest.FixtureRequest, clean_env: dict[str, str], tmp_path: Path, store: Path
) -> Terminal:
    return Terminal(clean_env, tmp_path, store, str(request.param))


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_a_shell_that_sends_a_line_to_stderr(terminal: Terminal, shell: str) -> None:
    script = terminal.program("echo one\necho two >&2\n{ echo three; ls /; } >&2\necho four")
    out, err = streams(terminal.split([shell, script]))
    assert out == b"one\nfour\n"
    assert err.startswith(b"two\nthree\n")


def test_descriptors_that_are_copies(terminal: Terminal) -> None:
    script = terminal.program(
        "exec 3>&1 4>&2\necho three >&3\necho four >&4\nexec 3>&- 4>&-\n"
        "exec 2>&1\necho both >&2\n"
        "exec 0>&1\necho zero >&0\n"
    )
    assert streams(terminal.split(["bash", script])) == (b"three\nboth\nzero\n", b"four\n")


def test_copies_with_high_numbers(terminal: Terminal) -> None:
    script = terminal.program(
        "import fcntl, os\n"
        "high = fcntl.fcntl(2, fcntl.F_DUPFD, 100)\n"
        "assert high >= 100\n"
        "os.write(high, b'high error\\n')\n"
        "for _ in range(20): last = os.dup(1)\n"
        "os.write(last, b'last copy\\n')\n"
    )
    run = terminal.split(["python3", script])
    assert streams(run) == (b"last copy\n", b"high error\n")
    assert counters(run)["unwatched"] == 0


def test_a_copy_on_a_number_of_the_programs_choice_is_counted(terminal: Terminal) -> None:
    script = terminal.program(
        "import os\nos.dup2(1, 500)\nos.write(500, b'unseen\\n')\nos.write(1, b'seen\\n')\n"
    )
    shown, run = terminal.recorded(["python3", script], status=Status.INCOMPLETE)
    assert shown == b"unseen\r\nseen\r\n"
    assert run.stream("stdout") == b"seen\n"
    assert counters(run)["unwatched"] == 1


def test_writes_in_several_parts(terminal: Terminal) -> None:
    script = terminal.program(
        "import os\n"
        "assert os.writev(1, [b'a', b'', b'b' * 100, b'\\n']) == 102\n"
        "assert os.writev(2, [b'c'] * 1000 + [b'\\n']) == 1001\n"
        "assert os.write(1, b'') == 0\n"
    )
    run = terminal.split(["python3", script])
    assert streams(run) == (b"a" + b"b" * 100 + b"\n", b"c" * 1000 + b"\n")


def test_a_terminal_opened_by_name(terminal: Terminal) -> None:
    script = terminal.program(
        "echo plain\necho tty >/dev/tty\necho error >/dev/stderr\n"
        "bash -c 'echo err >&2' 2>/dev/tty\necho fd >/dev/fd/2\n"
    )
    out, err = streams(terminal.split(["bash", script]))
    assert out == b"plain\ntty\n"
    assert err == b"error\nerr\nfd\n"


def test_a_terminal_opened_by_name_and_written_directly(terminal: Terminal) -> None:
    script = terminal.program(
        "import os\n"
        "low = os.open('/dev/tty', os.O_RDWR)\n"
        "os.write(low, b'low %d\\n' % low)\n"
        "many = [os.open('/dev/null', os.O_RDONLY) for _ in range(20)]\n"
        "high = os.open(os.ttyname(1), os.O_WRONLY)\n"
        "os.write(high, b'high\\n')\n"
        "os.write(2, b'error\\n')\n"
    )
    run = terminal.split(["python3", script])
    assert streams(run) == (b"low 3\nhigh\n", b"error\n")
    assert counters(run)["tty"] == len(b"low 3\nhigh\n")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_which_opens_its_terminal_again(terminal: Terminal) -> None:
    script = terminal.program(
        "process.stdout.write('out\\n'); process.stderr.write('err\\n');"
        "console.log('log'); console.error('bad')"
    )
    run = terminal.split(["node", script])
    assert streams(run) == (b"out\nlog\n", b"err\nbad\n")
    assert counters(run)["tty"] == 0


def test_what_the_kernel_refuses_is_refused(terminal: Terminal) -> None:
    script = terminal.program(
        "import ctypes, mmap, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "libc.mmap.restype = ctypes.c_void_p\n"
        "pages = libc.mmap(None, ctypes.c_size_t(16384), 3, 0x22, -1, ctypes.c_long(0))\n"
        "ctypes.memset(pages, 97, 8192)\n"
        "libc.mprotect(ctypes.c_void_p(pages + 8192), ctypes.c_size_t(8192), 0)\n"
        "def write(fd, address, length):\n"
        "    got = libc.write(fd, ctypes.c_void_p(address), ctypes.c_size_t(length))\n"
        "    os.write(2, b'%d %d\\n' % (got, ctypes.get_errno() if got < 0 else 0))\n"
        "write(1, 1, 10)\n"
        "write(1, pages + 8192 - 100, 200)\n"
        "write(1, pages + 8192 - 3000, 4000)\n"
        "write(1, pages, 2**63)\n"
        "write(1, 1, 0)\n"
        "write(9, pages, 10)\n"
        "read_only = os.open('/dev/tty', os.O_RDONLY)\n"
        "write(read_only, pages, 10)\n"
        "vector = (ctypes.c_void_p * 4)(pages, 5, pages + 5, 2**63 + 1)\n"
        "os.write(2, b'%d\\n' % libc.writev(1, vector, 2))\n"
        "os.write(2, b'%d\\n' % libc.writev(1, vector, 1))\n"
        "os.write(2, b'%d\\n' % libc.writev(1, vector, 2000))\n"
    )
    out, err = streams(terminal.split(["python3", script]))
    assert err.startswith(b"-1 14\n-1 14\n2048 0\n")
    assert out == b"a" * (2048 + 5)


def test_rarer_ways_to_write(terminal: Terminal) -> None:
    script = terminal.program(
        "import ctypes, os\n"
        "text = ctypes.create_string_buffer(b'positioned\\n')\n"
        "vector = (ctypes.c_void_p * 2)(ctypes.addressof(text), 11)\n"
        "pwritev2, nowhere = 328, ctypes.c_long(-1)\n"
        "for flags in (0, 1 << 32, 4):\n"  # what the kernel does not look at; and RWF_SYNC
        "    flags = ctypes.c_long(flags)\n"
        "    assert ctypes.CDLL(None).syscall(pwritev2, 2, vector, 1, nowhere, nowhere, flags) == 11\n"
    )
    assert streams(terminal.split(["python3", script])) == (b"", b"positioned\n" * 3)


def test_bytes_that_never_pass_the_programs_memory_are_counted(terminal: Terminal) -> None:
    script = terminal.program(
        "import os\nfd = os.open('program', os.O_RDONLY)\nos.write(1, b'%d\\n' % os.sendfile(1, fd, 0, 9))\n"
    )
    shown, run = terminal.recorded(["python3", script], status=Status.INCOMPLETE)
    assert shown == terminal.bare(["python3", script]) == b"import os9\r\n"
    assert run.stream("stdout") == b"9\n"
    assert counters(run)["unattributed"] == 9
    assert "terminal_bytes_unattributed:9" in run.json("observation-health.json")["notes"]


@pytest.mark.parametrize("limit", [256, 40])
def test_a_low_limit_of_descriptors(terminal: Terminal, limit: int) -> None:
    script = terminal.program(
        f"ulimit -n {limit}\necho out\necho err >&2\necho tty >/dev/tty\n"
        "exec 3</dev/null 4<&3 5<&3 6<&3 7<&3 8<&3 9<&3\necho again >/dev/tty\necho err >&2\n"
    )
    shown, run = terminal.recorded(["bash", script], status=Status.INCOMPLETE)  # it cannot be sure
    assert shown == terminal.bare(["bash", script])
    assert streams(run) == (b"out\ntty\nagain\n", b"err\nerr\n")


@pytest.mark.parametrize("option", ["--split=off", pytest.param("--observer=ebpf", marks=needs("ebpf"))])
def test_without_the_split_the_streams_are_merged(
    clean_env: dict[str, str], tmp_path: Path, store: Path, option: str
) -> None:
    """A probe alone stops nobody who writes, so it cannot split."""
    words = ["steno", "run", "--no-git", option, "--", "sh", "-c", "echo out; echo err >&2"]
    Screen(words, {**clean_env, "TERM": "xterm"}, tmp_path).rest()
    run = only_run(store)
    assert run.json("run.json")["terminal"]["streams"] == "merged"
    assert "split" not in run.event("kernel_observed")
    assert not (run.path / "terminal" / "stdout").exists()


@pytest.mark.parametrize("observer", observers())
def test_stdout_on_a_terminal_and_stderr_elsewhere_need_no_split(
    clean_env: dict[str, str], tmp_path: Path, store: Path, observer: str
) -> None:
    command = f"steno run --no-git --observer {observer} -- sh -c 'echo out; echo err >&2' 2>errors"
    Screen.of_shell(command, {**clean_env, "TERM": "xterm"}, tmp_path).rest()
    run = only_run(store)
    assert run.json("run.json")["terminal"]["streams"] == "separate"
    assert streams(run) == (b"out\r\n", b"err\n")
