"""No planted secret of any listed kind is in any file of any bundle or export, wherever it was planted.

The kinds are written down here once more, on purpose not taken from the rules: a rule that is lost or
weakened must make a test fail.
"""

from __future__ import annotations

import base64
import random
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steno.evidence import layout
from support.observers import observers
from support.program import PROGRAM, Steno
from support.recorded import Recorded, only_run, runs
from support.screen import Screen
from support.sought import files_of
from support.waiting import until

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Planted:
    """A line of text and the secret in it. The secret is made anew for each test from a seed."""

    def __init__(self, kind: str, line: str, secret: str) -> None:
        self.kind = kind
        self.line = line
        self.secret = secret

    def __repr__(self) -> str:
        return f"{self.kind}: {self.line!r}"


def plant(seed: int) -> list[Planted]:
    chance = random.Random(seed)

    def letters(count: int, alphabet: str = ALNUM) -> str:
        return "".join(chance.choice(alphabet) for _ in range(count))

    def token(kind: str, prefix: str, count: int, alphabet: str = ALNUM) -> Planted:
        secret = letters(count, alphabet)
        return Planted(kind, f"see {prefix}{secret} there", secret)

    def pair(kind: str, form: str, count: int = 14) -> Planted:
        secret = letters(1, string.ascii_letters) + letters(count - 2) + letters(1, string.digits)
        return Planted(kind, form.replace("SECRET", secret), secret)

    jwt = ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"HS256"}', b'{"sub":"1234567890"}')
    )
    return [
        token("github classic", "ghp_", 36),
        token("github oauth", "gho_", 36),
        token("github server", "ghs_", 36),
        token("github fine", "github_pat_", 82),
        token("gitlab", "glpat-", 20),
        token("aws id", "AKIA", 16, string.ascii_uppercase + "234567"),
        pair("aws secret", "aws_secret_access_key = SECRET", 40),
        token("google api", "AIza", 35),
        token("google oauth", "GOCSPX-", 28),
        pair(
            "azure storage",
            "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=SECRET==;EndpointSuffix=core",
            86,
        ),
        token("azure client", "abc8Q~", 34),
        token("openai project", "sk-proj-", 48),
        token("openai", "sk-", 48),
        token("anthropic", "sk-ant-api03-", 93),
        token("slack bot", "xoxb-123456789012-123456789012-", 24),
        token("stripe", "sk_live_", 24),
        token("stripe webhook", "whsec_", 32),
        token("npm", "npm_", 36),
        token("pypi", "pypi-AgEIcHlwaS5vcmc", 60),
        token("hugging face", "hf_", 34),
        Planted("jwt", f"got {jwt}.{(s := letters(43))} back", s),
        pair("authorization bearer", "Authorization: Bearer SECRET", 24),
        pair("authorization basic", "authorization: Basic SECRET", 24),
        pair("cookie", "Cookie: session=SECRET; theme=dark", 24),
        pair("set-cookie", "Set-Cookie: sid=SECRET; Path=/; HttpOnly", 24),
        pair("api key header", "X-Api-Key: SECRET", 24),
        pair("curl header", "curl -H 'Authorization: token SECRET' https://example.org/x"),
        pair("url password", "git clone https://ada:SECRET@example.org/x.git"),
        pair("url token", "git clone https://SECRET@example.org/x.git", 24),
        pair("option apart", "tool --token SECRET --verbose"),
        pair("option joined", "tool --password=SECRET --verbose"),
        pair("quoted", 'export API_KEY="two words SECRET"'),
        pair("variable", "DB_PASSWORD=SECRET"),
        pair("json", '{"user": "ada", "password": "SECRET", "n": 1}'),
        pair("json compact", '{"api_key":"SECRET"}'),
        pair("yaml", "  client_secret: SECRET"),
        pair("netrc", "machine example.org login ada password SECRET"),
        pair("postgres", "postgres://ada:SECRET@db.example.org:5432/app"),
        pair("redis", "redis://:SECRET@cache:6379/0"),
        pair("query", "GET https://example.org/cb?access_token=SECRET&x=1"),
    ]


def key_block(seed: int) -> Planted:
    chance = random.Random(seed)
    body = ["".join(chance.choice(ALNUM + "+/") for _ in range(64)) for _ in range(8)]
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    return Planted("private key", "\n".join([begin, *body, end]), body[4])


def everything(seed: int) -> list[Planted]:
    return [*plant(seed), key_block(seed)]


def text_of(planted: list[Planted]) -> str:
    return "first line\n" + "\n".join(item.line for item in planted) + "\nlast line\n"


def assert_absent(planted: list[Planted], *places: Path) -> None:
    leaks = [
        (item.kind, name)
        for name, data in files_of(*places)
        for item in planted
        if item.secret.encode() in data
    ]
    assert leaks == []


def export_and_pack(steno: Steno, run: Recorded, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for words in (
        ["export", str(run.path), "--as", "capture-run", "-o", str(out)],
        ["pack", str(run.path), "-o", str(out / "run.tar.gz")],
    ):
        done = steno(*words)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "exported"


@pytest.mark.parametrize("redirect", ["", ">&2"])
def test_a_secret_that_is_printed_is_nowhere(
    steno: Steno, store: Path, tmp_path: Path, out: Path, redirect: str
) -> None:
    planted = everything(1)
    (tmp_path / "text").write_text(text_of(planted))
    done = steno("run", "--no-git", "--raw-logs", "--", "sh", "-c", f"cat text {redirect}")
    assert text_of(planted).encode() in (done.stdout, done.stderr)
    export_and_pack(steno, only_run(store), out)
    assert_absent(planted, store, out)
    assert only_run(store).is_valid


def test_a_secret_on_a_terminal_is_nowhere(
    clean_env: dict[str, str], steno: Steno, store: Path, tmp_path: Path, out: Path
) -> None:
    planted = everything(2)
    (tmp_path / "text").write_text(text_of(planted))
    Screen.of_shell("steno run --no-git -- cat text", clean_env, tmp_path).rest()
    export_and_pack(steno, only_run(store), out)
    assert_absent(planted, store, out)


def test_a_secret_in_the_input_is_nowhere(steno: Steno, store: Path, out: Path) -> None:
    planted = everything(3)
    steno("run", "--no-git", "--", "cat", input=text_of(planted).encode())
    export_and_pack(steno, only_run(store), out)
    assert_absent(planted, store, out)


@pytest.mark.parametrize("observer", observers())
def test_a_secret_in_the_arguments_is_nowhere(steno: Steno, store: Path, out: Path, observer: str) -> None:
    planted = everything(4)
    observed = ("run", "--no-git", "--observer", observer)
    steno(*observed, "--", "sh", "-c", "true", "sh", *(item.line for item in planted))
    steno(
        *observed,
        "--name",
        planted[0].line,
        "--",
        "echo",
        "--token",
        "Zk3v9QpLw8Rt",
        "--password=Tq7nXb2Lm5Vd",
    )
    for run in runs(store):
        export_and_pack(steno, run, out / run.path.name)
    assert_absent(
        [*planted, Planted("apart", "", "Zk3v9QpLw8Rt"), Planted("joined", "", "Tq7nXb2Lm5Vd")], store, out
    )


def test_a_secret_in_the_environment_is_nowhere_also_when_it_is_printed_bare(
    steno: Steno, store: Path, out: Path
) -> None:
    secrets = {
        "MY_API_TOKEN": "Vb8xQ2nLp4Rz7Kd",
        "DB_PASSWORD": "hunter2-but-longer",
        "PLAIN": "ghp_" + "Ab1" * 12,
    }
    done = steno(
        "run", "--no-git", "--", "sh", "-c", 'env; echo "bare $MY_API_TOKEN $DB_PASSWORD $PLAIN"', env=secrets
    )
    assert b"bare Vb8xQ2nLp4Rz7Kd" in done.stdout
    export_and_pack(steno, only_run(store), out)
    assert_absent(
        [Planted(name, "", value.removeprefix("ghp_")) for name, value in secrets.items()], store, out
    )


@pytest.mark.parametrize("observer", observers())
def test_a_secret_is_not_on_the_disk_while_the_command_runs(
    clean_env: dict[str, str], store: Path, repo: Path, tmp_path: Path, observer: str
) -> None:
    planted = [*everything(8), Planted("bare variable", "", "Vb8xQ2nLp4Rz7Kd")]
    (tmp_path / "text").write_text(text_of(everything(8)))
    (repo / "untracked.txt").write_text(text_of(everything(8)))
    script = 'cat ../text; echo "bare $MY_API_TOKEN done"; exec sleep 60'
    running = subprocess.Popen(
        [PROGRAM, "run", "--observer", observer, "--", "sh", "-c", script],
        cwd=repo,
        env={**clean_env, "MY_API_TOKEN": "Vb8xQ2nLp4Rz7Kd", "TMPDIR": str(tmp_path / "home")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    until(lambda: any(b" done" in path.read_bytes() for path in _written_down(store)))
    assert_absent(planted, store, tmp_path / "home")
    running.terminate()
    assert running.wait(timeout=60) == 143
    assert_absent(planted, store, tmp_path / "home")


def _written_down(store: Path) -> list[Path]:
    """Where the stdout of runs goes that are being recorded."""
    return [path for run in runs(store) for path in run.path.glob(f"{layout.SPOOL}/{layout.STDOUT}")]


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("when", ["before", "during"])
def test_a_secret_in_a_changed_file_is_nowhere(
    steno: Steno, store: Path, repo: Path, clean_env: dict[str, str], out: Path, when: str, staged: bool
) -> None:
    planted = everything(5)
    (repo.parent / "text").write_text(text_of(planted))
    script = "cat ../text >> kept.txt; cat ../text > new.txt" + ("; git add -A" if staged else "")
    if when == "before":
        subprocess.run(["sh", "-c", script], cwd=repo, env=clean_env, check=True)
        script = "echo one more >> kept.txt; echo one more >> new.txt"
    assert steno("run", "--", "sh", "-c", script, cwd=repo).returncode == 0
    run = only_run(store)
    assert run.json(layout.CHANGES)
    if when == "during":
        assert run.event("repo_snapshot_after")["masked_in_patch"] > 0
    export_and_pack(steno, run, out)
    assert_absent(planted, store, out)
    assert run.verdict().status == "valid"


def test_a_secret_in_a_binary_file_is_not_in_the_patch(
    steno: Steno, store: Path, repo: Path, clean_env: dict[str, str], tmp_path: Path
) -> None:
    planted = everything(6)
    data = b"\0\1\2" + text_of(planted).encode() + b"\0"
    (tmp_path / "raw").write_bytes(data)
    (tmp_path / "wide").write_bytes(text_of(planted).encode("utf-16"))
    steno("run", "--", "sh", "-c", "cp ../raw ../wide .; printf '\\0\\1harmless' > plain.bin", cwd=repo)
    run = only_run(store)
    assert sorted(run.event("repo_snapshot_after")["withheld"]) == ["raw", "wide"]
    assert run.json("redaction-report.json")["counts"]["withheld-file"] == 2
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", repo, clone], env=clean_env, check=True)
    subprocess.run(
        ["git", "apply", run.path / layout.DIFF],
        cwd=clone,
        env=clean_env,
        check=True,
    )
    assert (clone / "plain.bin").read_bytes() == b"\0\1harmless"
    assert_absent(planted, store, clone)


@pytest.mark.parametrize("observer", observers())
def test_a_secret_in_a_file_name_or_branch_is_nowhere(
    steno: Steno, store: Path, repo: Path, out: Path, observer: str
) -> None:
    token = "ghp_" + "Zy9" * 12
    steno(
        "run",
        "--observer",
        observer,
        "--",
        "sh",
        "-c",
        f"touch x-{token}; git checkout -q -b {token}",
        cwd=repo,
    )
    export_and_pack(steno, only_run(store), out)
    assert_absent([Planted("name", "", token[4:])], store, out)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), pieces=st.lists(st.integers(1, 90), min_size=1, max_size=12))
def test_a_secret_is_nowhere_however_its_bytes_arrive(
    steno: Steno, store: Path, tmp_path: Path, seed: int, pieces: list[int]
) -> None:
    planted = everything(seed)
    (tmp_path / "text").write_text(text_of(planted))
    script = (
        "import os,itertools\nd=open('text','rb').read()\n"
        f"for n in itertools.cycle({pieces}):\n"
        "    if not d: break\n"
        "    os.write(1,d[:n]); d=d[n:]\n"
    )
    done = steno("run", "--no-git", "--", "python3", "-c", script)
    assert done.stdout == text_of(planted).encode()
    assert_absent(planted, store)


def test_the_report_tells_lengths_and_no_plain_hash(steno: Steno, store: Path) -> None:
    steno("run", "--no-git", "--", "echo", "DB_PASSWORD=hunter22")
    report = only_run(store).json("redaction-report.json")
    assert report["total"] >= 1
    assert {example["length"] for example in report["examples"]} == {8}
    hashed = (
        subprocess.run(["sha256sum"], input=b"hunter22", capture_output=True, check=True).stdout[:16].decode()
    )
    assert hashed not in only_run(store).judged(layout.REDACTION_REPORT).decode()


def test_what_is_not_a_secret_stays(steno: Steno, store: Path) -> None:
    text = b"MONKEY: banana\nkeyboard=us\ntoken = get_token()\nfor key in keys:\ntokenizer: bpe\n"
    steno("run", "--no-git", "--", "cat", input=text)
    assert only_run(store).stream("stdout") == text
