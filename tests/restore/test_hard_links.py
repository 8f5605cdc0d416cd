"""Files with several names: whatever a run does through any of them, undo gives all back, as one file."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from support.observers import STOPPING, observers
from support.program import Steno
from support.snapshots import Snapshot, snapshot

NAMES = ("a", "b", "c", "d")
RUNS = 40
LONGEST = 7
# Each in a directory of its own, where a and b are one file, and c is another one.
SCRIPTS = (
    "echo x >>a; rm b",
    "rm a; echo x >>b",
    "echo x >>a; mv b d",
    "echo x >>a; cp c b",
    "echo x >>a; mv c b",
    "ln a d; echo x >>d; rm a b",
    "ln b d; ln d e; echo x >>b; rm a; echo y >>e; rm b",
    "chmod 600 a; chmod 640 b",
    "chmod 600 a; touch -d 2001-01-01 b; rm a",
    "echo x >>a; cat b",
    "cat b; echo x >>a",
    "cat b; sed -i s/one/two/ a",
    "echo x >>a; mkdir e; mv b e; mv e f; rm f/b",
    "sh -c 'echo x >>a'; touch -d '+2 minutes' b; sh -c 'echo y >>b'",
    "rm a b; echo new >e; ln e a",
    "echo x >>a; rm a b; echo new >e; ln e f; echo more >>f; rm e",
    "cd .git; ln a b; echo x >>b; rm a b",
)
# What a run does in each directory: words of json, because it is one recording of many runs.
PROGRAM = """
import json, os, sys
for directory, doings in json.load(open(sys.argv[1])):
    os.chdir(directory)
    for word, name, other in doings:
        try:
            if word == "append":
                open(name, "a").write("more")
            elif word == "overwrite":
                open(name, "w").write("other")
            elif word == "remove":
                os.unlink(name)
            elif word == "rename":
                os.rename(name, other)
            elif word == "link":
                os.link(name, other)
            elif word == "chmod":
                os.chmod(name, 0o600)
            elif word == "touch":
                os.utime(name, ns=(0, 5))
            elif word == "look":
                os.stat(name)
        except OSError:
            pass
"""
WORDS = ("append", "append", "overwrite", "remove", "rename", "link", "chmod", "touch", "look")

Found = tuple[Snapshot, set[frozenset[bytes]]]


def files(root: Path) -> set[frozenset[bytes]]:
    """The names of every file."""
    names: dict[tuple[int, int], set[bytes]] = defaultdict(set)
    for path in root.rglob("*"):
        if path.is_file():
            found = path.lstat()
            names[found.st_dev, found.st_ino].add(os.fsencode(path))
    return {frozenset(one) for one in names.values()}


def look(root: Path) -> Found:
    return snapshot(root), files(root)


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_a_run_that_used_some_names_of_a_file_is_undone_under_all_of_them(
    steno: Steno, tmp_path: Path, observer: str
) -> None:
    root = tmp_path / "root"
    words = []
    for number, script in enumerate(SCRIPTS):
        place = root / str(number)
        place.mkdir(parents=True)
        (place / "a").write_text("one\n")
        (place / "b").hardlink_to(place / "a")
        (place / "c").write_text("another\n")
        (place / ".git").mkdir()
        (place / ".git" / "a").write_text("kept when it goes\n")
        words.append(f"cd {place}; {script}")
    before = look(root)
    steno("run", "--observer", observer, "--", "sh", "-c", "\n".join(words)).check_returncode()
    assert look(root) != before
    undone = steno("undo", "@last")
    assert (undone.returncode, undone.stderr) == (0, b"")
    assert look(root) == before


def some_doings(dice: random.Random) -> list[tuple[str, str, str]]:
    doings = [
        (dice.choice(WORDS), dice.choice(NAMES), dice.choice(NAMES)) for _ in range(dice.randint(1, LONGEST))
    ]
    looks = [("look", name, "") for name in NAMES]
    return looks + doings if dice.random() < 0.3 else doings + looks


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_whatever_a_run_does_to_files_of_several_names_is_undone(
    steno: Steno, tmp_path: Path, observer: str
) -> None:
    dice = random.Random(f"{observer} {os.environ.get('STENO_SEED', '')}")
    root = tmp_path / "root"
    runs = []
    for number in range(RUNS):
        place = root / str(number)
        place.mkdir(parents=True)
        made: list[Path] = []
        for name in dice.sample(NAMES, dice.randint(2, len(NAMES))):
            if made and dice.random() < 0.7:
                (place / name).hardlink_to(dice.choice(made))
            else:
                (place / name).write_text(f"{name} of {number}\n")
            made.append(place / name)
        runs.append((str(place), some_doings(dice)))
    (tmp_path / "runs.json").write_text(json.dumps(runs))
    before = look(root)
    program = (sys.executable, "-c", PROGRAM, str(tmp_path / "runs.json"))
    steno("run", "--observer", observer, "--", *program).check_returncode()
    undone = steno("undo", "@last")
    assert undone.returncode == 0, (undone.stderr.decode(), runs)
    after = look(root)
    wrong = [doings for place, doings in runs if below(place, after) != below(place, before)]
    assert wrong == []
    assert after == before


def below(place: str, found: Found) -> Found:
    above = os.fsencode(place) + b"/"
    states, names = found
    return (
        {path: state for path, state in states.items() if path.startswith(above)},
        {one for one in names if min(one).startswith(above)},
    )
