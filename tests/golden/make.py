"""Makes the golden bundles of this Steno's format: `unshare --uts make.py FOLDER [NAME...]`, as root.

They are made once for each format and never again: what an old Steno recorded, a later one must read.
It needs a Steno at /opt/steno that everybody may start, perl, and a user `ada`. Everything happens below
/home/ada, on a host named `golden`, so that a record says nothing of the machine that made it. `answers.py`
then writes what every command answers.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HOME = Path("/home/ada")
PROJECT = HOME / "project"
STORE = HOME / "runs"
STENO = "/opt/steno/bin/steno"
ENVIRONMENT = {
    "HOME": str(HOME),
    "USER": "ada",
    "LANG": "C.UTF-8",
    "PATH": "/opt/steno/bin:/usr/bin:/bin",
    "STENO_HOME": str(STORE),
    "XDG_RUNTIME_DIR": str(HOME),
    "API_TOKEN": "ghp_" + "EXAMPLEexample0123456789EXAMPLEexampl",
}
AS_ADA = ("setpriv", "--reuid=ada", "--regid=ada", "--init-groups", "--")
SECONDS = 120

PIPES = "echo out; echo err >&2; cat; exit 3"

WORK = r"""
cat notes.txt
echo 'one line more' >> notes.txt
echo new > made.txt
printf 'a file\nof two lines\n' > two.txt
rm old.txt
mv before.txt after.txt
mkdir -p dir/below && echo deep > dir/below/deep.txt && mv dir moved
ln -s notes.txt link && ln notes.txt second-name
chmod 600 mode.txt
touch -d 2024-01-01T00:00:00Z times.txt
printf 'same\n' > same.txt
cp table.bin copied.bin
echo temporary > temporary.txt && rm temporary.txt
mkdir scratch && : > scratch/a && rm -r scratch
echo "token = $API_TOKEN" > secret.txt
echo tampered > ../outside.txt
ls missing; cat /etc/shadow > /dev/null
./script.sh argument
(exit 3)
sh -c 'kill -TERM $$'
no-such-program
perl -MSocket -e '
  socket(my $tcp, PF_INET, SOCK_STREAM, 0); connect($tcp, pack_sockaddr_in(9, inet_aton("127.0.0.1")));
  socket(my $udp, PF_INET, SOCK_DGRAM, 0); send($udp, "x", 0, pack_sockaddr_in(9, inet_aton("127.0.0.1")));
  socket(my $own, PF_INET, SOCK_STREAM, 0); bind($own, pack_sockaddr_in(0, INADDR_LOOPBACK)); listen($own, 1);
  socket(my $name, PF_UNIX, SOCK_STREAM, 0); connect($name, pack_sockaddr_un("/run/no-such-socket"));
'
exit 4
"""

HOSTILE = rb"""
printf x > "$(printf 'two\nlines')"
printf x > "$(printf '\033[2J\033[31mred')"
printf x > "$(printf 'latin-\351')"
printf x > "$(printf 'right-to-left-\342\200\256txt.exe')"
printf x > "$(printf '<script>alert(1)<\057script>' | tr / _)"
printf x > '$(touch planted); `touch planted`'
printf x > 'a "quoted" name\with\backslashes'
printf x > ' leading and trailing '
printf x > '-rf'
printf x > "$(printf 'tab\there')"
printf x > 'password=hunter2hunter2'
ln -s "$(printf '\377\376')" "$(printf 'link-\200')"
mv "$(printf 'latin-\351')" "$(printf 'moved-\351')"
sh -c : "$(printf '\303\050')" "$(printf 'a\nb')" ''
printf '\033]0;title\007\033[2J\377\376 not text \000 end\n'
printf x > "$(printf '%0250d' 0)"
"""

GIT = r"""
echo changed >> tracked.txt
git mv -q moved.txt renamed.txt
rm removed.txt
echo untracked > untracked.txt
printf '\000\001\002' > picture.bin
echo "password = hunter2hunter2" > settings.ini
git add untracked.txt && git commit -qm 'a commit of the run'
git checkout -q -b side
"""

POLICY = """
version: 1
default: deny
rules:
  - tools: ["read_*"]
    action: allow
  - tools: ["write_*"]
    action: deny
"""

SERVER = r"""
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    result = {"content": []}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "files", "version": "1"}}
    elif method == "tools/list":
        tools = ("read_file", "write_file", "read_twice")
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
    elif params["name"] == "read_file":
        result = {"content": [{"type": "text", "text": open(params["arguments"]["path"]).read()}]}
    elif params["name"] == "read_twice":
        open("behind-your-back.txt", "w").write("written by a tool that reads")
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""

CLIENT = r"""
import json, subprocess
server = subprocess.Popen(["steno", "mcp", "wrap", "--policy", "policy.yaml", "--label", "files", "--",
                           "/usr/bin/python3", "-ISE", "server.py"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def ask(number, method, **params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()
    print(server.stdout.readline(), end="")
about = {"name": "golden", "version": "1"}
ask(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
ask(2, "tools/list")
meta = {"tool_call_id": "call_read"}
ask(3, "tools/call", name="read_file", arguments={"path": "notes.txt", "_meta": meta})
ask(4, "tools/call", name="write_file", arguments={"path": "notes.txt"})
ask(5, "tools/call", name="read_twice", arguments={})
server.stdin.close()
server.wait()
"""


def hooked_agent() -> str:
    """A script that does what an agent does, and tells of it through hooks as Claude Code does."""

    def told(event: str, **more: object) -> str:
        payload = {"session_id": "s-1", "cwd": str(PROJECT), "hook_event_name": event, **more}
        return f"printf '%s' {_quoted(json.dumps(payload))} | steno hook claude\n"

    def call(number: int, tool: str, does: str, response: object, **tool_input: object) -> str:
        about = {"tool_name": tool, "tool_input": tool_input, "tool_use_id": f"toolu_{number:02d}"}
        after = told("PostToolUse", tool_response=response, **about)
        return told("PreToolUse", **about) + does + "\n" + after

    bash = {"stdout": "hello\n", "stderr": "", "interrupted": False}
    return (
        told("SessionStart", source="startup")
        + call(1, "Bash", "sh -c 'echo hello'", bash, command="echo hello")
        + call(2, "Write", "echo kept > kept.txt", {}, file_path=f"{PROJECT}/kept.txt", content="kept\n")
        + call(3, "Write", ":", {}, file_path=f"{PROJECT}/never.txt", content="never written\n")
        + call(4, "Read", "cat notes.txt > /dev/null", {}, file_path=f"{PROJECT}/notes.txt")
        + call(5, "Read", "rm old.txt", {}, file_path=f"{PROJECT}/notes.txt")
        + told("Stop", last_assistant_message="Done: all tests pass.")
    )


def main() -> None:
    target = Path(sys.argv[1]).resolve()
    socket.sethostname("golden")
    target.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or CASES:
        shutil.rmtree(STORE, ignore_errors=True)
        for left in (".local", ".config", "bin", "outside.txt"):
            path = HOME / left
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        make_project()
        CASES[name]()
        (run,) = (path for path in STORE.iterdir() if not path.name.startswith("."))
        pack = target / f"{name}.tar.gz"
        pack.unlink(missing_ok=True)
        _done([STENO, "pack", str(run), "-o", str(pack)])
        print(f"{name}: {run.name}, {pack.stat().st_size} bytes", flush=True)


def make_project() -> None:
    shutil.rmtree(PROJECT, ignore_errors=True)
    PROJECT.mkdir()
    for name in ("notes", "old", "before", "mode", "times", "same"):
        (PROJECT / f"{name}.txt").write_text(f"{name}\n")
    (PROJECT / "same.txt").write_text("same\n")
    (PROJECT / "table.bin").write_bytes(bytes(range(256)) * 16)
    (PROJECT / "script.sh").write_text('#!/bin/sh -e\necho "script: $1"\n')
    (PROJECT / "script.sh").chmod(0o755)
    (HOME / "outside.txt").write_text("outside\n")
    _done(["chown", "-R", "ada:ada", str(HOME)])


def run(*words: str, user: Sequence[str] = AS_ADA, input: bytes = b"") -> None:  # noqa: A002 - as subprocess has it
    """A recording without a terminal. How the command ended is in the record."""
    _quiet([*user, STENO, "run", *words], input)


def split_terminal() -> None:
    """Somebody sits at the terminal: types, makes the window larger, types what is not shown."""
    script = """
    echo out; echo err >&2; read shown; stty size
    stty -echo; echo secret?; read hidden; stty echo; echo bye; exit 5
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(PROJECT)
        words = [*AS_ADA, STENO, "run", "--observer", "notify", "--no-git", "--", "sh", "-c", script]
        os.execvpe(words[0], words, {**ENVIRONMENT, "TERM": "xterm"})
    _read_until(terminal, b"err\r\n")
    termios.tcsetwinsize(terminal, (30, 100))
    os.write(terminal, b"typed\r")
    _read_until(terminal, b"30 100\r\nsecret?\r\n")
    os.write(terminal, b"correct horse battery\r")
    _read_until(terminal, b"bye\r\n")
    os.waitpid(pid, 0)
    os.close(terminal)


def in_git() -> None:
    git = """git init -q -b main . && git config user.name Ada && git config user.email ada@example.org &&
    echo 1 > tracked.txt && echo 2 > moved.txt && echo 3 > removed.txt && echo ignored > .gitignore &&
    git add . && git commit -qm first && echo 'not committed' > dirty.txt"""
    _quiet([*AS_ADA, "sh", "-c", git])
    run("--observer", "none", "--", "sh", "-c", GIT)


def mcp_policy() -> None:
    for name, text in (("policy.yaml", POLICY), ("server.py", SERVER), ("client.py", CLIENT)):
        (PROJECT / name).write_text(text)
    run("--observer", "notify", "--no-git", "--", "/usr/bin/python3", "-ISE", "client.py")


def agent_attempt() -> None:
    programs, described = HOME / "bin", HOME / ".config" / "steno" / "agents"
    programs.mkdir(parents=True)
    described.mkdir(parents=True)
    words = [{"type": "text", "text": "It is done."}]
    said = json.dumps({"type": "assistant", "message": {"content": words}})
    (programs / "scripted").write_text(
        "#!/bin/sh\n"
        """echo '{"type":"system","subtype":"init","session_id":"s-1"}'\n"""
        "echo 'a warning' >&2\necho made > made-by-agent.txt\n"
        f"echo {_quoted(said)}\n"
        """echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s-1"}'\n"""
    )
    (programs / "scripted").chmod(0o755)
    (described / "scripted.toml").write_text(
        'name = "scripted"\nprogram = "/home/ada/bin/scripted"\ninstall = "put it on PATH"\n'
        '[launch]\nstart = ["-p", "{prompt}"]\nresume = ["--resume", "{session}", "-p", "{message}"]\n'
        'skills_dir = ".scripted/skills"\nhome_variables = ["SCRIPTED_HOME"]\n'
        '[stream]\nparser = "claude"\nsession_field = "session_id"\n'
        '[[stream.signals]]\nstream = "stdout"\nkind = "json"\n'
        'match = {type = "result", is_error = "false"}\nmeans = "end_of_turn"\n'
    )
    _done(["chown", "-R", "ada:ada", str(HOME)])
    start = ["agent", "start", "--observer", "notify", "--store", str(STORE), "scripted", "Do it."]
    _quiet([*AS_ADA, STENO, *start])


def killed_and_recovered() -> None:
    """The recorder is killed in the middle; somebody finds the run, and seals what is there."""
    script = "echo before the end; echo kept >> notes.txt; echo $PPID > recorder; while :; do sleep 1; done"
    words = [*AS_ADA, STENO, "run", "--observer", "notify", "--no-git", "--", "sh", "-c", script]
    recorder = subprocess.Popen(words, cwd=PROJECT, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + SECONDS
    while not (PROJECT / "recorder").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)  # what was written so far reaches the spool
    recorder.kill()
    recorder.wait()
    _quiet(["pkill", "-KILL", "-u", "ada"])
    _done([*AS_ADA, STENO, "recover", "--all", "--store", str(STORE)])


def with_gaps() -> None:
    script = """
    rm -rf "$STENO_INTAKE"
    echo 'out of the run' > made.txt
    (trap '' HUP; exec sleep 3) &
    """
    run("--observer", "notify", "--no-git", "--", "sh", "-c", script)


def hostile_names() -> None:
    name = "<b>a \x1b[31mname</b>"
    run("--observer", "notify", "--no-git", "--name", name, "--", "sh", "-c", os.fsdecode(HOSTILE))


CASES: dict[str, Callable[[], None]] = {
    "pipes": lambda: run("--observer", "none", "--no-git", "--", "sh", "-c", PIPES, input=b"input\n"),
    "split-terminal": split_terminal,
    "git": in_git,
    "notify": lambda: run("--observer", "notify", "--no-git", "--", "sh", "-c", WORK),
    "ebpf": lambda: run("--observer", "ebpf", "--no-git", "--", "sh", "-c", WORK, user=()),
    "both": lambda: run("--observer", "both", "--no-git", "--", "sh", "-c", WORK, user=()),
    "mcp-policy": mcp_policy,
    "hooks": lambda: run("--observer", "notify", "--no-git", "--", "sh", "-c", hooked_agent()),
    "agent-attempt": agent_attempt,
    "killed-and-recovered": killed_and_recovered,
    "gaps": with_gaps,
    "hostile-names": hostile_names,
}


def _read_until(terminal: int, end: bytes) -> bytes:
    shown = b""
    while end not in shown:
        shown += os.read(terminal, 4096)
    return shown


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quiet(words: Sequence[str], input: bytes = b"") -> None:  # noqa: A002
    subprocess.run(
        list(words),
        cwd=PROJECT,
        env=ENVIRONMENT,
        input=input,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )


def _done(words: Sequence[str]) -> None:
    out = subprocess.DEVNULL
    subprocess.run(list(words), cwd=HOME, env=ENVIRONMENT, check=True, timeout=SECONDS, stdout=out)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    main()
