"""A small program that talks with whoever sits at the terminal, as agents do: it edits its lines itself.

In: keys: letters, the arrows left and up, Enter, Control-C; a new size of the window. Out: what was heard,
said backwards; the size; a warning at the first Control-C, and the end, with code 4, at the second. Signals
come through a pipe, so that none is lost between two looks.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import tty

PROMPT = "you> "
KEYS = re.compile(r"\x1b\[[AD]|.", re.DOTALL)
LEFT, UP, ENTER = "\x1b[D", "\x1b[A", "\n"  # a terminal makes a newline of the key
LEAVES = 4


class Editor:
    def __init__(self) -> None:
        self._line, self._at, self._before = "", 0, ""
        self._interrupted = False

    def key(self, key: str) -> None:
        self._interrupted = False
        if key == ENTER:
            print("\nheard", self._line[::-1])
            self._line, self._at, self._before = "", 0, self._line
        elif key == LEFT:
            self._at = max(self._at - 1, 0)
        elif key == UP:
            self._line, self._at = self._before, len(self._before)
        else:
            self._line = self._line[: self._at] + key + self._line[self._at :]
            self._at += 1
        self.show()

    def signal(self, number: int) -> None:
        if number == signal.SIGWINCH:
            print("\nnow", *os.get_terminal_size())
        elif self._interrupted:
            sys.exit(LEAVES)
        else:
            print("\nonce more to leave")
            self._interrupted = True
        self.show()

    def show(self) -> None:
        back = len(self._line) - self._at
        print(f"\r\x1b[K{PROMPT}{self._line}" + (f"\x1b[{back}D" if back else ""), end="", flush=True)


def main() -> None:
    signals, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for watched in (signal.SIGINT, signal.SIGWINCH):
        signal.signal(watched, lambda *_: None)
    tty.setcbreak(0)
    editor = Editor()
    editor.show()
    while True:
        ready, _, _ = select.select([0, signals], [], [])
        for number in os.read(signals, 64) if signals in ready else b"":
            editor.signal(number)
        for key in KEYS.findall(os.read(0, 64).decode()) if 0 in ready else ():
            editor.key(key)


if __name__ == "__main__":
    main()
