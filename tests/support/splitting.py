"""A command on a terminal, bare and recorded, and what the record says of its stdout and stderr."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steno.bundle.verify import Status
from steno.evidence import layout
from support.recorded import Recorded, only_run
from support.screen import Screen

Keys = Callable[[Screen], None]


class Terminal:
    """Runs the same words bare and recorded, each on a terminal of its own."""

    def __init__(self, env: dict[str, str], cwd: Path, store: Path, observer: str = "auto") -> None:
        self.env = {**env, "TERM": "xterm"}
        self.cwd = cwd
        self._store = store
        self._observer = observer
        self.options: list[str] = []

    def bare(self, words: list[str], keys: Keys | None = None) -> bytes:
        return self._shown(words, keys)

    def recorded(
        self, words: list[str], keys: Keys | None = None, status: Status = Status.VALID
    ) -> tuple[bytes, Recorded]:
        options = ["--no-git", "--observer", self._observer, *self.options]
        shown = self._shown(["steno", "run", *options, "--", *words], keys)
        shown, _, _ = shown.rpartition(b"steno: recorded ")
        shown, _, _ = shown.partition(b"steno: the record has a gap")
        run = only_run(self._store)
        assert run.verdict().status == status
        return shown, run

    def split(self, words: list[str], keys: Keys | None = None) -> Recorded:
        """Recorded, when nothing differs on the screen and every byte is attributed."""
        shown, run = self.recorded(words, keys)
        assert shown == self.bare(words, keys)
        assert run.json("run.json")["terminal"]["streams"] == "split"
        assert every_byte_is_attributed(run)
        return run

    def program(self, text: str) -> str:
        path = self.cwd / "program"
        path.write_text(text)
        return str(path)

    def _shown(self, words: list[str], keys: Keys | None) -> bytes:
        screen = Screen(words, self.env, self.cwd)
        if keys is not None:
            keys(screen)
        return screen.rest()


def counters(run: Recorded) -> dict[str, int]:
    found = run.event("kernel_observed")["split"]
    assert isinstance(found, dict)
    return found


def every_byte_is_attributed(run: Recorded) -> bool:
    split = counters(run)
    told = (split["stdout"] + split["tty"], split["stderr"])
    return told == (len(run.stream("stdout")), len(run.stream("stderr"))) and split["unattributed"] == 0


def every_byte_is_attributed_by_size(run: Recorded, stdout: int, stderr: int) -> bool:
    """As above, without a gigabyte in memory."""
    sizes = ((run.path / name).stat().st_size for name in (layout.STDOUT, layout.STDERR))
    split = counters(run)
    return tuple(sizes) == (stdout, stderr) == (split["stdout"], split["stderr"])


def streams(run: Recorded) -> tuple[bytes, bytes]:
    return run.stream("stdout"), run.stream("stderr")
