"""Every known defect of the program behind capture-run: we do not have it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from support.artifacts import Artifacts, Capture, git
from support.program import Steno
from support.recorded import runs


def test_the_reported_length_is_that_of_the_value(capture: Capture) -> None:
    found = capture("echo", "password=exactly-19-letters")
    lengths = {example["length"] for example in found.json("redaction_report.json")["examples"]}
    assert lengths == {len("exactly-19-letters")}


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        (["--token", "a8sK3kd92LmQ"], "a8sK3kd92LmQ"),
        (['key="quoted vaLue9 Zz8x"'], "quoted vaLue9 Zz8x"),
        (["api_key='quoted vaLue9 Zz8x'"], "quoted vaLue9 Zz8x"),
        (["https://t0kenN9xQ2v@host.example/x"], "t0kenN9xQ2v"),
        (["ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"], "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    ],
)
def test_what_the_real_program_leaks_is_not_leaked(capture: Capture, words: list[str], secret: str) -> None:
    found = capture("echo", *words)
    assert secret.encode() not in found.everything
    assert found.json("redaction_report.json")["total"] > 0


def test_the_patch_is_redacted(capture: Capture, repo: Path) -> None:
    secret = "ghp_" + "z9Y8x7W6v5U4t3S2r1Q0p9O8n7M6l5K4j3I2"
    (repo / "config.env").write_text(f"GITHUB_TOKEN={secret}\n")
    found = capture("true", cwd=repo)
    assert b"config.env" in found.raw("repo_diff.patch")
    assert secret.encode() not in found.everything


def test_a_monkey_is_not_a_key(capture: Capture) -> None:
    assert capture("echo", "MONKEY: banana").raw("stdout_tail.txt") == b"MONKEY: banana\n"


def test_one_large_chunk_gives_a_right_tail(capture: Capture) -> None:
    script = "import os; os.write(1, b'x' * 9999 + b'y')"
    found = capture("python3", "-c", script)
    assert found.raw("stdout_tail.txt") == b"x" * 3999 + b"y"


def test_a_signalled_shell_is_128_plus_the_signal(capture: Capture) -> None:
    found = capture("sh", "-c", "kill -KILL $$")
    assert found.exit_code == 137
    assert found.data("command_finished")["exit_code"] == 137
    assert found.data("run_finish")["exit_code"] == 137


def test_git_apply_takes_the_patch(
    capture: Capture, repo: Path, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repo), str(clone), env=clean_env)
    found = capture("sh", "-c", "echo four >> kept.txt; printf 'no newline' > new.txt", cwd=repo)
    patch = found.raw("repo_diff.patch")
    assert patch.endswith(b"\n")
    git(clone, "apply", str(found.path / "repo_diff.patch"), env=clean_env)
    assert (clone / "kept.txt").read_bytes() == (repo / "kept.txt").read_bytes()
    assert (clone / "new.txt").read_bytes() == b"no newline"


def test_staged_and_untracked_changes_are_in_the_diff(capture: Capture, repo: Path) -> None:
    script = "echo staged > staged.txt; git add staged.txt; echo loose > loose.txt; echo 2 >> kept.txt"
    patch = capture("sh", "-c", script, cwd=repo).raw("repo_diff.patch")
    for name in (b"staged.txt", b"loose.txt", b"kept.txt"):
        assert b"+++ b/" + name in patch


def test_artifacts_in_the_repository_are_no_change_of_it(steno: Steno, repo: Path) -> None:
    store = repo / "records"
    for _ in range(2):
        done = steno("run", "--store", store, "--export", "capture-run:.", "--", "true", cwd=repo)
        assert done.returncode == 0, done.stderr
    (_, second) = runs(store)
    found = Artifacts(repo / "artifacts" / "capture_run" / second.path.name, 0)
    for name in ("before", "after"):
        assert found.json(f"repo_{name}.json")["status_summary"]["changed_files"] == 0
        assert found.raw(f"repo_status_{name}.txt") == b""
    assert found.raw("repo_diff.patch") == b""


def test_no_bare_hash_of_a_short_secret_is_in_the_report(capture: Capture) -> None:
    secret = "hunter2hunter2"
    found = capture("sh", "-c", f"echo password={secret}")
    assert secret.encode() not in found.everything
    for digest in (hashlib.sha256, hashlib.sha1, hashlib.md5):
        bare = digest(secret.encode()).hexdigest()
        assert bare.encode() not in found.everything
        assert all(
            example["hmac"] != bare[:16] for example in found.json("redaction_report.json")["examples"]
        )
