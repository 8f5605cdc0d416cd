"""The GitHub Action: its description, and its scripts on real recordings. GitHub itself is a stand-in."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from steno.evidence import layout
from support.program import PROGRAM, SECONDS
from support.recorded import Recorded

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action"
DESCRIPTION: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text())
STEPS: list[dict[str, Any]] = DESCRIPTION["runs"]["steps"]
SCRIPTS = sorted(path.name for path in ACTION.glob("*.sh"))
MARKER = "<!-- steno:report -->"


class Job:
    """One job on a runner: its folders, and the outputs of its steps so far."""

    def __init__(self, place: Path) -> None:
        self.temp, self.work, self.github = (place / name for name in ("temp", "work", "github"))
        programs = place / "programs"
        for folder in (self.temp, self.work, self.github, programs):
            folder.mkdir()
        shutil.copy(ROOT / "tests" / "support" / "stand_in_gh.py", programs / "gh")
        self.env = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(place),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary"),
            "STAND_IN_GH": str(self.github),
        }
        self.program = str(PROGRAM)
        self._outputs: list[Path] = []

    def step(self, script: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        self._outputs.append(self.temp / f"output-{len(self._outputs)}")
        given = {f"STENO_ACTION_{name}": value for name, value in {"PROGRAM": str(PROGRAM), **inputs}.items()}
        return subprocess.run(
            ["bash", ACTION / script],
            cwd=self.work,
            env={
                **self.env,
                "GITHUB_OUTPUT": str(self._outputs[-1]),
                "GH_TOKEN": "not-a-real-token",
                **given,
            },
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    @property
    def outputs(self) -> dict[str, str]:
        written = [path.read_text() for path in self._outputs if path.exists()]
        return dict(line.split("=", 1) for text in written for line in text.splitlines())

    @property
    def comments(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.github / "comments.json").read_text())
        return found

    def record(self, command: str) -> str:
        done = self.step("record.sh", COMMAND=command, DIRECTORY=".", OBSERVER="auto")
        assert done.returncode == 0, done.stderr
        return self.outputs["bundle"]

    def forget(self) -> None:
        """As if no step had run so far."""
        while self._outputs:
            self._outputs.pop().unlink(missing_ok=True)

    def keep(self, baseline: str, ignore: str = "") -> None:
        done = self.step("keep.sh", BASELINE=baseline, IGNORE=ignore)
        assert done.returncode == 0, done.stderr

    def compare(self, baseline: str, ignore: str = "") -> subprocess.CompletedProcess[str]:
        kept = {"bundle": "none recorded", **self.outputs}
        return self.step(
            "compare.sh",
            PROGRAM=self.program,
            BUNDLE=kept["bundle"],
            BASELINE=baseline,
            KEPT_BASELINE=kept.get("baseline", ""),
            BASELINE_DIGEST=kept.get("baseline-digest", ""),
            IGNORE=ignore,
            KEPT_IGNORE=kept.get("ignore", ""),
            IGNORE_DIGEST=kept.get("ignore-digest", ""),
        )

    def comment(self, report: Path, number: str = "7") -> subprocess.CompletedProcess[str]:
        return self.step("comment.sh", REPORT=str(report), REPOSITORY="ada/engine", PULL_REQUEST=number)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


# --- the description ------------------------------------------------------------------------------------


def test_no_value_of_github_is_ever_part_of_a_script() -> None:
    for step in STEPS:
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"
    assert all("${{" not in (ACTION / name).read_text() for name in SCRIPTS)


def test_every_step_gives_its_script_what_the_script_reads() -> None:
    for step in STEPS:
        (script,) = re.findall(r"\$GITHUB_ACTION_PATH/([a-z]+\.sh)", step["run"])
        read = set(re.findall(r"\$\{?(STENO_ACTION_[A-Z_]+)", (ACTION / script).read_text()))
        assert read == {name for name in step["env"] if name.startswith("STENO_ACTION_")}, script


def test_every_script_is_a_step() -> None:
    assert [name for name in SCRIPTS if not any(name in step["run"] for step in STEPS)] == []


def test_the_token_is_given_to_the_comment_alone() -> None:
    assert [step["name"] for step in STEPS if "GH_TOKEN" in step["env"]] == ["Comment"]
    assert [step["name"] for step in STEPS if "inputs.token" in json.dumps(step)] == ["Comment"]


@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_every_input_and_output_is_in_the_page(kind: str) -> None:
    page = (ACTION / "README.md").read_text()
    assert [name for name in DESCRIPTION[kind] if f"| `{name}` |" not in page] == []


def test_nothing_is_uploaded_and_no_other_action_is_used() -> None:
    assert [step for step in STEPS if "uses" in step] == []


# --- the scripts ----------------------------------------------------------------------------------------


def test_steno_is_installed_from_the_checkout_of_the_action(job: Job) -> None:
    python = job.temp / "python"  # a stand-in for Python: it writes down what it is asked for
    python.write_text(
        f'#!/bin/sh\necho "$@" >> {job.temp}/asked\n[ "$2" = venv ] || exit 0\n'
        'mkdir -p "$3/bin" && cp "$0" "$3/bin/python"\n'
    )
    python.chmod(0o755)
    assert job.step("install.sh", PYTHON=str(python)).returncode == 0
    place = job.temp / "steno-program"
    assert (job.temp / "asked").read_text().splitlines() == [
        f"-m venv {place}",
        f"-m pip install --quiet --disable-pip-version-check {ROOT}",
    ]
    assert job.outputs == {"program": f"{place}/bin/steno"}


def test_the_command_runs_as_a_step_of_github_would_and_its_code_is_kept(job: Job) -> None:
    text = "env > environment\nfalse | true\ntouch 'never made'"
    bundle = job.record(text)
    assert job.outputs["command-exit-code"] == "1"
    assert not (job.work / "never made").exists()
    assert Path(bundle).name == job.outputs["run-id"]
    assert "STENO_ACTION" not in (job.work / "environment").read_text()
    assert Recorded(Path(bundle)).json(layout.RUN)["command"][-1] == text


def test_text_that_a_shell_would_act_on_is_the_commands_alone(job: Job) -> None:
    job.record("echo '$(touch injected) `touch injected` \"; touch injected; #' > said")
    assert not (job.work / "injected").exists()
    assert (job.work / "said").read_text().startswith("$(touch injected)")


def test_what_the_command_says_for_outputs_of_the_step_is_not_heard(job: Job) -> None:
    bundle = job.record("printf 'bundle=/evil\\nx<<command-exit-code=0\\n' >> \"$GITHUB_OUTPUT\"")
    assert set(job.outputs) == {"run-id", "bundle", "command-exit-code"}
    assert Path(bundle).parent.parent == job.temp


def test_where_nothing_can_be_recorded_the_step_fails(job: Job) -> None:
    done = job.step("record.sh", COMMAND="true", DIRECTORY=".", OBSERVER="nobody")
    assert done.returncode == 125
    assert "::error title=Steno::nothing was recorded" in done.stdout


def test_a_run_is_compared_with_the_baseline_and_reported_in_one_comment(job: Job) -> None:
    bundle = job.record("cat /dev/null")
    assert job.compare("").returncode == 0
    assert "gate-exit-code" not in job.outputs
    shutil.copy(job.outputs["lock"], job.work / "capability.lock")
    job.keep("capability.lock")
    job.record("echo more > 'new|file'")
    assert job.compare("capability.lock").returncode == 0
    assert job.outputs["gate-exit-code"] in {"1", "3"}
    assert "The run changed" not in Path(job.outputs["comparison"]).read_text()
    done = job.step("report.sh", BUNDLE=job.outputs["bundle"], COMPARISON=job.outputs["comparison"])
    assert done.returncode == 0, done.stderr
    report = Path(job.outputs["report"])
    text = report.read_text()
    assert text.startswith(MARKER)
    assert Path(job.outputs["comparison"]).read_text() in text
    assert (job.temp / "summary").read_text() == text
    assert bundle != job.outputs["bundle"]
    assert job.comment(report).returncode == 0
    assert [one["body"] for one in job.comments] == [text]


VERDICT = "### ❌ Capability diff: added\n\nB did 9 things that A did not.\n"


@pytest.mark.parametrize("entries", [10, 1_000, 5_000])
def test_the_verdict_of_the_comparison_stands_first_however_long_it_and_the_report_are(
    job: Job, entries: int
) -> None:
    compared = job.temp / "compared.md"
    compared.write_text(VERDICT + "\n#### Files read: added\n\n" + "- + `a file`\n" * entries)
    bundle = job.record("mkdir made && touch made/{1..900}-" + "x" * 100)
    done = job.step("report.sh", BUNDLE=bundle, COMPARISON=str(compared))
    assert done.returncode == 0, done.stderr
    text = Path(job.outputs["report"]).read_text()
    assert text.startswith(f"{MARKER}\n{VERDICT}")
    assert text.index(VERDICT) < text.index("Steno: ")
    assert "did not fit here" in text  # the report is what was cut
    assert len(text.encode()) <= 65_536
    assert compared.read_text() in (job.temp / "summary").read_text()
    assert ("the summary of the job has them" in text) == (entries > 1_500)


# A stand-in for steno: the baseline says itself how the comparison ends.
COMPARER = """#!/bin/sh
[ "$1" = diff ] || exit 0
echo "### judged by $(cat "$2")${5:+ and $(cat "$5")}"
printf '\\n#### A list\\n'
[ "$(cat "$2")" = lenient ]
"""


@pytest.fixture
def judged(job: Job) -> Job:
    """A job with a strict baseline and its rules, kept."""
    comparer = job.temp / "steno"
    comparer.write_text(COMPARER)
    comparer.chmod(0o700)
    job.program = str(comparer)
    (job.work / "strict.lock").write_text("strict")
    (job.work / "rules.yaml").write_text("rules")
    job.keep("strict.lock", "rules.yaml")
    return job


@pytest.mark.parametrize("to_it", ["write_text", "unlink"])
def test_a_command_that_overwrites_its_baseline_is_judged_by_the_one_from_before(
    judged: Job, to_it: str
) -> None:
    for name in ("strict.lock", "rules.yaml"):
        path = judged.work / name
        path.unlink() if to_it == "unlink" else path.write_text("lenient")
    done = judged.compare("strict.lock", "rules.yaml")
    assert judged.outputs["gate-exit-code"] == "1"
    text = Path(judged.outputs["comparison"]).read_text()
    assert text.startswith("### judged by strict and rules\n")
    for name in ("baseline", "ignore"):
        note = f"The run changed the file that `{name}` names."
        assert text.index(note) < text.index("#### A list")
        assert f"the file that `{name}` names" in done.stdout


def test_what_the_run_left_alone_is_not_said_to_be_changed(judged: Job) -> None:
    judged.compare("strict.lock", "rules.yaml")
    assert Path(judged.outputs["comparison"]).read_text() == (
        "### judged by strict and rules\n\n#### A list\n"
    )


@pytest.mark.parametrize("kept", ["baseline", "ignore"])
@pytest.mark.parametrize("to_it", ["write_text", "unlink"])
def test_a_kept_copy_that_was_changed_is_no_pass(judged: Job, kept: str, to_it: str) -> None:
    path = Path(judged.outputs[kept])
    path.chmod(0o600)
    path.unlink() if to_it == "unlink" else path.write_text("lenient")
    judged.compare("strict.lock", "rules.yaml")
    assert judged.outputs["gate-exit-code"] == "2"
    assert f"the copy of `{kept}`" in Path(judged.outputs["comparison"]).read_text()


def test_the_copies_lie_outside_of_the_checkout_for_their_owner_alone(judged: Job) -> None:
    place = Path(judged.outputs["baseline"]).parent
    assert place.parent == judged.temp
    assert place.stat().st_mode & 0o777 == 0o700


def test_the_baseline_is_kept_before_the_command_runs() -> None:
    names = [step.get("id") for step in STEPS]
    assert names.index("keep") < names.index("record") < names.index("compare")


@pytest.mark.parametrize("missing", ["strict.lock", "rules.yaml"])
def test_a_file_that_is_not_there_when_the_run_begins_is_no_pass(judged: Job, missing: str) -> None:
    judged.forget()
    (judged.work / missing).unlink()
    judged.keep("strict.lock", "rules.yaml")
    (judged.work / missing).write_text("lenient")  # the command makes it
    done = judged.compare("strict.lock", "rules.yaml")
    assert "::error" in done.stdout
    assert judged.outputs["gate-exit-code"] == "2"
    assert Path(judged.outputs["comparison"]).read_text().startswith("### ❌ Not compared")


def test_the_comment_is_replaced_and_those_of_others_are_left_alone(job: Job) -> None:
    strangers = [
        {"id": 1, "mine": False, "body": f"{MARKER}\nnot by us"},
        {"id": 2, "mine": True, "body": "by us, about something else"},
    ]
    (job.github / "comments.json").write_text(json.dumps(strangers))
    for text in ("first", "second"):
        report = job.temp / "report.md"
        report.write_text(f"{MARKER}\n{text} $(id) `id` @ada\n")
        assert job.comment(report).returncode == 0
    assert job.comments[:2] == strangers
    assert [one["body"] for one in job.comments[2:]] == [f"{MARKER}\nsecond $(id) `id` @ada\n"]


def test_a_token_that_may_not_comment_is_a_warning(job: Job) -> None:
    (job.github / "refuse").touch()
    done = job.comment(job.temp / "report.md")
    assert done.returncode == 0
    assert "::warning title=Steno::the comment could not be written" in done.stdout


@pytest.mark.parametrize("number", ["", "7; touch x", "-1"])
def test_what_is_no_number_is_no_pull_request(job: Job, number: str) -> None:
    assert "this is no pull request" in job.comment(job.temp / "report.md", number).stdout
    assert not (job.github / "calls.ndjson").exists()


@pytest.mark.parametrize(
    ("whose", "command", "gate", "code"),
    [
        ("command", "3", "1", 3),
        ("command", "0", "1", 0),
        ("command", "7", "", 7),
        ("gate", "3", "0", 0),
        ("gate", "0", "1", 1),
        ("gate", "0", "", 2),
        ("both", "0", "3", 3),
        ("both", "5", "1", 5),
        ("both", "0", "", 2),
        ("neither", "0", "0", 2),
    ],
)
def test_the_action_ends_as_it_is_told(job: Job, whose: str, command: str, gate: str, code: int) -> None:
    done = job.step("finish.sh", EXIT_CODE=whose, COMMAND_CODE=command, GATE_CODE=gate)
    assert done.returncode == code


def test_the_stand_in_says_that_it_is_one(job: Job) -> None:
    done = subprocess.run(["gh", "--version"], env=job.env, capture_output=True, check=True, timeout=SECONDS)
    assert done.stdout.startswith(b"a stand-in for gh")
