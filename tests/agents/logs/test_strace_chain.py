"""The chain of script and strace: the words that start it, and what is made of its trace."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from steno.contracts.agent_audit.meta import Ended, Launch
from steno.contracts.agent_audit.strace_reader import reconstruct, trace_file_lines
from steno.errors import CaptureError
from steno.launch import strace_chain
from steno.launch.strace_chain import Programs, StraceChain, find_programs
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.spools import MemoryLayers

SECRET = b"sk-9f3b7c1d5e2a4860b1c2"
PROGRAMS = Programs("/bin/script", "/bin/strace")
TRACE = (
    b'7 write(1</dev/pts/3<char 136:3>>, "key ' + SECRET[:9] + b'", 13) = 13\n'
    b'7 write(2</dev/pts/3<char 136:3>>, "well\\n", 5) = 5\n'
    b'8 write(1</dev/pts/3<char 136:3>>, "' + SECRET[9:] + b'\\n", 15) = 15\n'
    b"7 +++ killed by SIGTERM +++\n"
)
ENDED = Ended(
    Launch("env", ["SHELL=/bin/sh"], "/work"), 0, 1, started=True, exit_code=143, signal=None, error=None
)


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(findings=Findings(), literals=[SECRET])


@pytest.mark.process
def test_the_agent_keeps_its_shell_and_its_words(redactor: Redactor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strace_chain, "_comes_from_elsewhere", lambda: True)
    with StraceChain(PROGRAMS, redactor) as chain:
        words = chain.wrapped(["/bin/agent", "it's"], {"SHELL": "/bin/fish"})
    assert words[:3] == ["env", "SHELL=/bin/sh", "/bin/script"]
    inner = shlex.split(words[-1].partition("; ")[2])
    assert words[-1].startswith("echo >/proc/"), "what is to be read was waiting for the chain"
    assert inner[:4] == ["exec", "env", "SHELL=/bin/fish", "/bin/strace"]
    assert inner[-3:] == ["--", "/bin/agent", "it's"]


@pytest.mark.process
def test_the_streams_and_the_trace_are_masked_and_agree(redactor: Redactor, tmp_path: Path) -> None:
    with StraceChain(PROGRAMS, redactor) as chain:
        words = shlex.split(chain.wrapped(["/bin/agent"], {})[-1])
        Path(words[words.index("-o") + 1]).write_bytes(TRACE)
        counted = chain.rebuild(MemoryLayers([]))
        files = {name: b"".join(blocks) for name, blocks in chain.parts().items()}
        how = chain.ended(ENDED)
    assert counted == how.chunks == (2, 1)
    assert (how.signal, how.trace_source, how.launch.command) == ("SIGTERM", "strace", "/bin/agent")
    assert files["stderr"] == b"well\n"
    assert len(files["stdout"]) == len(b"key " + SECRET + b"\n")
    assert all(SECRET not in content and SECRET[9:] not in content for content in files.values())
    (tmp_path / "trace").write_bytes(files["fd-trace"])
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        reconstruct(trace_file_lines(tmp_path / "trace"), out, err)
    assert (tmp_path / "out").read_bytes() == files["stdout"]


@pytest.mark.process
def test_the_raw_trace_is_in_no_folder_so_nothing_is_left_when_we_are_killed(redactor: Redactor) -> None:
    with StraceChain(PROGRAMS, redactor) as chain:
        words = shlex.split(chain.wrapped(["/bin/agent"], {})[-1])
        held = Path(words[words.index("-o") + 1])
        assert held.readlink().name.startswith("memfd:steno-")
        assert held.stat().st_nlink == 0
    assert not held.exists()


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="script, strace"):
        find_programs({"PATH": str(tmp_path)})


@pytest.mark.process
def test_a_strace_that_may_not_trace_is_an_error_with_its_own_words(tmp_path: Path) -> None:
    for name in ("script", "strace"):
        (tmp_path / name).write_text(
            "#!/bin/sh\necho 'PTRACE_TRACEME: Operation not permitted' >&2\nexit 1\n"
        )
        (tmp_path / name).chmod(0o755)
    with pytest.raises(CaptureError, match="Operation not permitted"):
        find_programs({"PATH": f"{tmp_path}:/usr/bin:/bin"})


@pytest.mark.process
@pytest.mark.parametrize(
    ("script", "said"),
    [("#!/bin/sh\nread forever < /dev/zero\n", "has not ended"), ("#!/nowhere\n", "No such file")],
)
def test_a_strace_that_hangs_or_is_none_is_an_error_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setattr(strace_chain, "SECONDS", 0.1)
    for name in ("script", "strace"):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(CaptureError, match=said) as caught:
        find_programs({"PATH": str(tmp_path)})
    assert "leave --observer out" in caught.value.hint
