"""capture-run, clause by clause.

Each test drives the installed `steno` and reads what `steno export --as capture-run` wrote.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from steno.evidence import kinds
from support.artifacts import Artifacts, Capture, git, sha256
from support.making import make_run, start
from support.program import Steno
from support.recorded import only_run

HEX = re.compile(r"[0-9a-f]{64}")
RUN_ID = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-\d{3}Z_[0-9a-f]{8}")
REQUIRED = {"env.json", "events.jsonl", "hashes.json", "stdout_tail.txt", "stderr_tail.txt"}
REPO_FILES = {
    "repo_before.json",
    "repo_after.json",
    "repo_diff.patch",
    "repo_status_before.txt",
    "repo_status_after.txt",
}
EVENTS = [
    "run_start",
    "repo_snapshot_before",
    "command_started",
    "command_finished",
    "repo_snapshot_after",
    "run_finish",
]
SUMMARY_FIELDS = {"changed_files", "added", "modified", "deleted", "renamed", "untracked"}


# --- Purpose, inputs ------------------------------------------------------------------------------------


def test_any_command_is_run_and_its_exit_code_is_kept(capture: Capture) -> None:
    found = capture("sh", "-c", "exit 7")
    assert found.exit_code == 7
    assert found.json("env.json")["exit_code"] == 7


def test_cwd_is_the_working_directory(capture: Capture, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    found = capture("pwd", options=("--cwd", str(there)))
    assert found.raw("stdout_tail.txt") == f"{there}\n".encode()
    assert found.json("env.json")["cwd"] == str(there)


def test_git_can_be_turned_off(capture: Capture, repo: Path) -> None:
    found = capture("true", options=("--no-git",), cwd=repo)
    assert found.json("env.json")["git_enabled"] is False


def test_the_tails_have_a_limit(capture: Capture) -> None:
    found = capture("sh", "-c", "seq 1 100; seq 101 200 >&2", options=("--tail-bytes", "8"))
    assert found.raw("stdout_tail.txt") == b"\n99\n100\n"
    assert found.raw("stderr_tail.txt") == b"199\n200\n"


def test_raw_logs_are_off_by_default_and_masked_when_on(capture: Capture) -> None:
    script = "seq 1 3000; echo token=0123456789abcdefXYZ; echo err >&2"
    assert not {"stdout_full.txt", "stderr_full.txt"} & capture("sh", "-c", script).names
    found = capture("sh", "-c", script, options=("--raw-logs",))
    assert found.raw("stdout_full.txt").startswith(b"1\n2\n3\n")
    assert found.raw("stderr_full.txt") == b"err\n"
    assert b"0123456789abcdefXYZ" not in found.everything


def test_on_a_terminal_the_streams_are_told_apart_and_env_json_says_so(capture: Capture) -> None:
    found = capture("sh", "-c", "echo out; echo err >&2", options=("--pty", "always", "--raw-logs"))
    assert found.json("env.json")["streams"] == "split"
    for name in ("full", "tail"):
        assert found.raw(f"stdout_{name}.txt") == b"out\n"
        assert found.raw(f"stderr_{name}.txt") == b"err\n"


def test_without_the_split_the_merged_output_is_stdout_and_env_json_says_so(capture: Capture) -> None:
    options = ("--pty", "always", "--raw-logs", "--split", "off")
    found = capture("sh", "-c", "echo out; echo err >&2", options=options)
    assert found.json("env.json")["streams"] == "merged"
    for name in ("full", "tail"):
        assert found.raw(f"stdout_{name}.txt") == b"out\r\nerr\r\n"
        assert found.raw(f"stderr_{name}.txt") == b""


# --- Outputs --------------------------------------------------------------------------------------------


def test_all_artifacts_go_to_artifacts_capture_run_run_id(
    capture: Capture, store: Path, tmp_path: Path
) -> None:
    found = capture("true")
    assert found.path == tmp_path / "out" / "artifacts" / "capture_run" / only_run(store).path.name


def test_the_required_files_are_there(capture: Capture) -> None:
    assert capture("true").names >= REQUIRED


def test_with_git_the_repository_files_are_there(capture: Capture, repo: Path) -> None:
    assert capture("true", cwd=repo).names >= REQUIRED | REPO_FILES


def test_the_optional_redaction_report_is_always_there(capture: Capture) -> None:
    assert "redaction_report.json" in capture("true").names


def test_the_run_id_has_the_format_of_the_contract(capture: Capture) -> None:
    found = capture("true")
    assert RUN_ID.fullmatch(found.path.name)
    assert {event["run_id"] for event in found.lines("events.jsonl")} == {found.path.name}


def test_env_json_has_every_field(capture: Capture, repo: Path) -> None:
    env = capture("echo", "hi", cwd=repo).json("env.json")
    for field in (
        "run_id",
        "started_at_ms",
        "finished_at_ms",
        "cwd",
        "cmd",
        "exit_code",
        "git_enabled",
        "host",
        "tool_versions",
    ):
        assert field in env
    assert env["cmd"] == ["echo", "hi"]
    assert env["started_at_ms"] <= env["finished_at_ms"]
    assert {"os", "platform", "node"} <= set(env["host"])


def test_missing_tools_are_no_failure(capture: Capture, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    found = capture("/bin/true", env={"PATH": str(empty)})
    assert found.exit_code == 0
    assert found.json("env.json")["host"]["node"] is None


# --- Events ---------------------------------------------------------------------------------------------


def test_each_line_has_ts_ms_run_id_type_and_data(capture: Capture, repo: Path) -> None:
    for event in capture("true", cwd=repo).lines("events.jsonl"):
        assert set(event) == {"ts_ms", "run_id", "type", "data"}
        assert isinstance(event["ts_ms"], int)
        assert isinstance(event["data"], dict)


def test_the_six_types_come_in_order(capture: Capture, repo: Path) -> None:
    found = capture("true", cwd=repo)
    assert found.types == EVENTS
    times = [event["ts_ms"] for event in found.lines("events.jsonl")]
    assert times == sorted(times)


def test_with_git_off_there_are_exactly_four_events(capture: Capture, repo: Path) -> None:
    found = capture("true", options=("--no-git",), cwd=repo)
    assert found.types == ["run_start", "command_started", "command_finished", "run_finish"]
    assert not REPO_FILES & found.names
    assert "repo_diff_hash" not in found.json("hashes.json")


def test_the_data_of_each_event_has_the_minimal_fields(capture: Capture, repo: Path) -> None:
    found = capture("sh", "-c", "echo out; exit 3", cwd=repo)
    assert found.data("run_start") == {
        "cwd": str(repo),
        "cmd_redacted": ["sh", "-c", "echo out; exit 3"],
        "git_enabled": True,
    }
    for kind in ("repo_snapshot_before", "repo_snapshot_after"):
        assert set(found.data(kind)) == {"head", "branch", "status_summary", "diff_hash"}
        assert set(found.data(kind)["status_summary"]) == SUMMARY_FIELDS
        assert found.data(kind)["branch"] == "main"
    assert found.data("command_started")["pid"] > 1
    assert found.data("command_finished") == {
        "exit_code": 3,
        "stdout_tail_hash": sha256(b"out\n"),
        "stderr_tail_hash": sha256(b""),
    }
    assert found.data("run_finish") == {"exit_code": 3, "artifact_dir": str(found.path)}


def test_a_command_that_cannot_be_started_still_has_its_events(capture: Capture) -> None:
    found = capture("/no/such/program", options=("--no-git",))
    assert found.types == ["run_start", "command_started", "command_finished", "run_finish"]
    assert found.data("command_started") == {}
    assert found.data("command_finished")["exit_code"] == 127


# --- Redaction ------------------------------------------------------------------------------------------


def test_no_secret_is_written_wherever_it_came_from(capture: Capture, repo: Path) -> None:
    words, variable, out, err = (
        "Zx81kfQ0aa9PLmw2",
        "Qq7yT3nB5vWx9Rk1",
        "pP4dK8sL2mN6bV0c",
        "hH3gF7jD1aS5kL9z",
    )
    script = f"echo password={out}; echo 'Authorization: Bearer {err}' >&2; echo $API_TOKEN"
    found = capture("sh", "-c", script, "sh", f"--token={words}", cwd=repo, env={"API_TOKEN": variable})
    for secret in (words, variable, out, err):
        assert secret.encode() not in found.everything


def test_values_of_secret_keys_are_replaced(capture: Capture) -> None:
    keys = ["token", "secret", "password", "api_key", "bearer", "authorization"]
    keys += [key.upper() for key in keys]
    secrets = [f"v8Jq2LmXz91TbRw{chr(ord('a') + number)}" for number in range(len(keys))]
    found = capture("printf", "%s\n", *(f"{key}={value}" for key, value in zip(keys, secrets, strict=True)))
    assert [value for value in secrets if value.encode() in found.everything] == []


def test_userinfo_of_urls_is_stripped(capture: Capture) -> None:
    found = capture("echo", "https://ada:s3cr3tPass99@host.example/path")
    assert b"s3cr3tPass99" not in found.everything
    assert b"host.example/path" in found.raw("stdout_tail.txt")


def test_header_lines_keep_only_presence_and_length(capture: Capture) -> None:
    found = capture("echo", "X-Api-Key: 9f8e7d6c5b4a39281706")
    assert b"9f8e7d6c5b4a39281706" not in found.everything
    assert b"X-Api-Key: " in found.raw("stdout_tail.txt")


def test_the_report_has_fields_counts_and_examples_without_values(capture: Capture) -> None:
    found = capture("echo", "password=correct-horse-battery")
    report = found.json("redaction_report.json")
    assert report["redacted_fields"]
    assert sum(report["counts"].values()) == report["total"] > 0
    assert all(set(example) == {"where", "rule", "length", "hmac"} for example in report["examples"])
    assert b"correct-horse-battery" not in found.everything


# --- Hashes ---------------------------------------------------------------------------------------------


def test_hashes_are_sha256_of_what_is_in_the_files(capture: Capture, repo: Path) -> None:
    found = capture("sh", "-c", "echo out; echo err >&2; echo more >> kept.txt", cwd=repo)
    hashes = found.json("hashes.json")
    assert all(HEX.fullmatch(value) for value in hashes.values())
    assert hashes == {
        "stdout_tail_hash": sha256(found.raw("stdout_tail.txt")),
        "stderr_tail_hash": sha256(found.raw("stderr_tail.txt")),
        "repo_diff_hash": sha256(found.raw("repo_diff.patch")),
        "env_hash": sha256(found.raw("env.json")),
    }


def test_env_hash_is_that_of_the_key_sorted_compact_form(capture: Capture) -> None:
    found = capture("echo", "grüße")
    text = json.dumps(found.json("env.json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert found.json("hashes.json")["env_hash"] == sha256(text.encode())


# --- Git ------------------------------------------------------------------------------------------------


def test_branch_head_and_porcelain_status_are_captured(
    capture: Capture, repo: Path, clean_env: dict[str, str]
) -> None:
    found = capture("sh", "-c", "echo x > new.txt; rm other.txt; echo 2 >> kept.txt", cwd=repo)
    head = git(repo, "rev-parse", "HEAD", env=clean_env).strip()
    status = git(repo, "status", "--porcelain", env=clean_env)
    for name in ("repo_before.json", "repo_after.json"):
        assert (found.json(name)["head"], found.json(name)["branch"]) == (head, "main")
    assert found.raw("repo_status_before.txt") == b""
    assert sorted(found.raw("repo_status_after.txt").decode().splitlines()) == sorted(status.splitlines())
    summary = found.json("repo_after.json")["status_summary"]
    assert summary == {
        "changed_files": 3,
        "added": 0,
        "modified": 1,
        "deleted": 1,
        "renamed": 0,
        "untracked": 1,
    }


def test_the_diff_is_hashed_in_both_snapshots(capture: Capture, repo: Path) -> None:
    found = capture("sh", "-c", "echo 2 >> kept.txt", cwd=repo)
    assert found.json("repo_before.json")["diff_hash"] == sha256(b"")
    assert found.json("repo_after.json")["diff_hash"] == sha256(found.raw("repo_diff.patch"))
    assert found.data("repo_snapshot_after") == found.json("repo_after.json")


def test_outside_a_repository_both_snapshots_say_so_and_nothing_else(
    capture: Capture, tmp_path: Path
) -> None:
    found = capture("true", cwd=tmp_path)
    assert found.types == EVENTS
    for kind in ("repo_snapshot_before", "repo_snapshot_after"):
        assert found.data(kind) == {"reason": "NOT_A_GIT_REPO"}
    assert not REPO_FILES & found.names
    assert "repo_diff_hash" not in found.json("hashes.json")


def test_before_the_first_commit_there_is_a_branch_and_no_head(
    capture: Capture, tmp_path: Path, clean_env: dict[str, str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q", "-b", "trunk", env=clean_env)
    found = capture("true", cwd=empty)
    assert set(found.json("repo_before.json")) == {"branch", "status_summary", "diff_hash"}
    assert found.data("repo_snapshot_after")["branch"] == "trunk"


def test_a_git_directory_that_the_command_removes_is_no_repository_afterwards(
    capture: Capture, steno: Steno, repo: Path
) -> None:
    found = capture("sh", "-c", "rm -rf .git; echo more >> kept.txt", cwd=repo)
    assert found.data("repo_snapshot_before")["branch"] == "main"
    assert found.data("repo_snapshot_after") == {"reason": "NOT_A_GIT_REPO"}
    assert "repo_diff_hash" not in found.json("hashes.json")
    shown = steno("show", "@last").stdout.decode()
    assert "after: not a git repository" in shown
    assert "no commit yet" not in shown
    assert "no file changed" not in shown.split("Kernel")[0]


def test_a_detached_head_is_named_as_git_names_it(
    capture: Capture, repo: Path, clean_env: dict[str, str]
) -> None:
    git(repo, "checkout", "-q", "--detach", env=clean_env)
    assert capture("true", cwd=repo).data("repo_snapshot_before")["branch"] == "HEAD"


# --- Determinism ----------------------------------------------------------------------------------------


def test_exporting_twice_gives_the_same_bytes_but_for_artifact_dir(
    capture: Capture, steno: Steno, repo: Path, tmp_path: Path
) -> None:
    found = capture("sh", "-c", "echo out; echo 2 >> kept.txt", cwd=repo)
    again = steno("export", "@last", "--as", "capture-run", "-o", tmp_path / "out")
    assert (again.returncode, again.stdout.decode().strip()) == (0, str(found.path))
    other = steno("export", "@last", "--as", "capture-run", "-o", tmp_path / "other")
    second = Artifacts(Path(other.stdout.decode().strip()), 0)
    assert second.names == found.names
    moved = found.everything.replace(str(found.path).encode(), str(second.path).encode())
    assert moved == second.everything


def test_no_path_of_the_machine_but_artifact_dir_and_cwd(capture: Capture, repo: Path, store: Path) -> None:
    found = capture("sh", "-c", "echo 2 >> kept.txt", cwd=repo)
    rest = found.everything.replace(str(found.path).encode(), b"")
    rest = rest.replace(f'"cwd":"{repo}"'.encode(), b"")
    for path in (repo, store, repo.parent, Path("/dev/shm")):
        assert str(path).encode() not in rest


def test_derived_objects_hold_no_time(capture: Capture, repo: Path) -> None:
    found = capture("true", cwd=repo)
    started = str(found.json("env.json")["started_at_ms"])[:7]
    for name in ("hashes.json", "repo_before.json", "repo_after.json", "redaction_report.json"):
        text = found.raw(name).decode().replace(found.path.name, "")
        assert "ts_ms" not in text
        assert not re.search(rf"(?<![0-9a-f]){started}\d{{6}}(?![0-9a-f])", text)


def test_other_content_in_the_artifact_directory_is_never_overwritten(
    capture: Capture, steno: Steno, tmp_path: Path
) -> None:
    found = capture("echo", "hi")
    (found.path / "stdout_tail.txt").write_bytes(b"mine")
    again = steno("export", "@last", "--as", "capture-run", "-o", tmp_path / "out")
    assert again.returncode == 2
    assert found.raw("stdout_tail.txt") == b"mine"


# --- The smoke test --------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("node") is None, reason="the command of the contract needs node")
def test_the_smoke_command_of_the_contract_passes(capture: Capture, repo: Path) -> None:
    found = capture("node", "-e", "console.log('ok')", cwd=repo)
    assert found.exit_code == 0
    assert found.names >= REQUIRED | REPO_FILES
    assert found.types == EVENTS
    assert all(HEX.fullmatch(value) for value in found.json("hashes.json").values())
    assert found.raw("stdout_tail.txt") == b"ok\n"
    assert not re.search(rb"bearer\s+[A-Za-z0-9._-]{8,}", found.everything, re.IGNORECASE)
    assert not re.search(rb"(token|password|secret|key|authorization)\s*[:=]\s*[^\s]+", found.everything)
    assert found.json("env.json")["host"]["node"].startswith("v")


# --- Episodes (facts §1) --------------------------------------------------------------------------------


def test_the_episodes_of_a_run_in_a_repository(capture: Capture, repo: Path) -> None:
    found = capture("true", cwd=repo)
    episodes = found.lines("episodes/episodes.jsonl")
    assert [episode["kind"] for episode in episodes] == [
        "EP.RUN_START",
        "EP.REPO_SNAPSHOT_BEFORE",
        "EP.CMD_FINISHED",
        "EP.REPO_DIFF",
        "EP.REPO_SNAPSHOT_AFTER",
        "EP.RUN_FINISH",
    ]
    assert [episode["episode_id"] for episode in episodes] == [
        f"{found.path.name}_{number:04d}" for number in range(1, 7)
    ]
    assert episodes[3]["hashes"] == {"repo_diff_hash": found.json("hashes.json")["repo_diff_hash"]}
    assert episodes[5]["outcome"] == {"exit_code": 0}


def test_the_episodes_outside_a_repository_skip_git(capture: Capture, tmp_path: Path) -> None:
    kinds_found = [one["kind"] for one in capture("true", cwd=tmp_path).lines("episodes/episodes.jsonl")]
    assert kinds_found == ["EP.RUN_START", "EP.GIT_SKIP", "EP.CMD_FINISHED", "EP.GIT_SKIP", "EP.RUN_FINISH"]


# --- A run that was cut short ---------------------------------------------------------------------------


def test_a_recovered_run_exports_what_it_has(steno: Steno, store: Path, tmp_path: Path) -> None:
    make_run(store, start("sleep", "100"), kinds.CommandStarted(7), sealed=False)
    assert steno("export", "@last", "--as", "capture-run").returncode == 2
    assert steno("recover", "@last").returncode == 0
    done = steno("export", "@last", "--as", "capture-run", "-o", tmp_path / "out")
    found = Artifacts(Path(done.stdout.decode().strip()), done.returncode)
    assert found.types == ["run_start", "command_started", "run_finish"]
    assert found.json("env.json")["exit_code"] is None
    finish = found.data("run_finish")
    assert finish["exit_code"] is None
    assert finish["completeness"] == {"complete": False, "completed": False, "gaps": ["recorder_killed"]}
    assert found.names >= REQUIRED
    assert b"incomplete" in done.stderr
