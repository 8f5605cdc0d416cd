"""Where the program begins."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.program import SECONDS

# Control-C comes while the command line is being imported.
_INTERRUPTED = """\
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
sys.argv = ["steno", "list"]
from steno.cli.entry import main
main()
"""


def test_control_c_while_the_command_line_loads_is_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], capture_output=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


# A part of Steno is gone, as after an installation that was cut short.
_BROKEN = """\
import sys
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise ImportError(name)
sys.meta_path.insert(0, Broken())
sys.argv = ["steno", sys.argv[1]]
from steno.cli.entry import main
main()
"""


@pytest.mark.parametrize(("word", "code"), [("verify", 70), ("run", 125)])
def test_a_program_that_cannot_be_loaded_never_ends_as_a_verdict_does(word: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BROKEN, word], capture_output=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (code, b"")
    assert b"ImportError: click" in done.stderr
